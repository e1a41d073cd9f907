import { bigint, columns, date, float, integer, smallint, text } from '../postgres/batches.js';
import type { Statement } from '../postgres/database.js';
import type { TradedFile, TradedItem } from './traded-debit.js';

export const NEXT_FILE_NUMBER: Statement = {
  name: '',
  text: `
    SELECT 1 + coalesce(max(number), 0) AS next FROM directdebit_file WHERE organisation_id = $1 AND merchant_id = $2`,
};

export const TRADED_FILES = columns<TradedFile>('made', {
  organisation_id: integer(({ organisationId }) => organisationId),
  merchant_id: integer(({ merchantId }) => merchantId),
  number: integer(({ number }) => number),
  made_ms: float(({ madeMs }) => madeMs),
  processing_day: date(({ processingDay }) => processingDay),
  settings: text(({ settings }) => JSON.stringify(settings)),
  items: integer(({ items }) => items),
  debit_cents: bigint(({ debitCents }) => debitCents),
});

/** The simulated bank has taken them. */
export const ADD_TRADED_FILES: Statement = {
  name: '',
  text: `
    INSERT INTO directdebit_file (organisation_id, merchant_id, number, made_at, processing_day, settings, items, debit_cents,
      credit_cents, written_at, taken_at, simulated)
    SELECT organisation_id, merchant_id, number, to_timestamp(made_ms / 1000), processing_day, settings::json, items, debit_cents, 0,
      to_timestamp(made_ms / 1000), to_timestamp(made_ms / 1000), true
    FROM ${TRADED_FILES.rows}`,
};

export const TRADED_ITEMS = columns<TradedItem>('item', {
  organisation_id: integer(({ organisationId }) => organisationId),
  merchant_id: integer(({ merchantId }) => merchantId),
  audit: integer(({ audit }) => audit),
  file_number: integer(({ fileNumber }) => fileNumber),
  line: integer(({ line }) => line),
  state: text(({ state }) => state),
  return_code: smallint(({ returnCode }) => returnCode),
  simulated_return: smallint(({ simulatedReturn }) => simulatedReturn),
  next_ms: float(({ nextMs }) => nextMs),
});

export const ADD_TRADED_ITEMS: Statement = {
  name: '',
  text: `
    INSERT INTO directdebit_item (organisation_id, merchant_id, audit, account_audit, file_number, line, state, return_code,
      simulated_return, next_at, simulated)
    SELECT organisation_id, merchant_id, audit, audit, file_number, line, state, return_code, simulated_return,
      to_timestamp(next_ms / 1000), true
    FROM ${TRADED_ITEMS.rows}`,
};
