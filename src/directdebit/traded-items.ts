// Direct debits of the past, for the demo alone: the files that the simulated bank took, and what became of their items.
import type { Queryable } from '../postgres/database.js';
import { directEntryOf } from './direct-entry.js';
import { settingsOfFile } from './files/files.js';
import type { TradedDebit, TradedFile, TradedItem } from './traded-debit.js';
import {
  ADD_TRADED_FILES,
  ADD_TRADED_ITEMS,
  NEXT_FILE_NUMBER,
  TRADED_FILES,
  TRADED_ITEMS,
} from './traded-items.sql.js';

/** Those of one merchant, in the order of their audits. */
export async function addTradedDebits(connection: Queryable, debits: readonly TradedDebit[]): Promise<void> {
  const [first] = debits;
  if (first === undefined) return;
  const { organisationId, merchantId } = first;
  const entry = await directEntryOf(connection, merchantId);
  const { rows } = await connection.query<{ next: number }>(NEXT_FILE_NUMBER, [organisationId, merchantId]);
  let number = rows[0]?.next ?? 1;
  const files: TradedFile[] = [];
  const items: TradedItem[] = [];
  for (const day of new Set(debits.map((debit) => debit.day))) {
    const ofDay = debits.filter((debit) => debit.day === day);
    const filed = ofDay.filter(({ state }) => state !== 'waiting');
    for (const debit of ofDay) items.push(itemOf(debit, number, filed.indexOf(debit) + 1));
    if (filed.length === 0) continue;
    files.push({
      organisationId,
      merchantId,
      number,
      madeMs: (filed[0] as TradedDebit).closesMs,
      processingDay: day,
      settings: settingsOfFile(entry, true),
      items: filed.length,
      debitCents: filed.reduce((sum, { amountCents }) => sum + amountCents, 0),
    });
    number += 1;
  }
  if (files.length > 0) await connection.query(ADD_TRADED_FILES, TRADED_FILES.encode(files));
  await connection.query(ADD_TRADED_ITEMS, TRADED_ITEMS.encode(items));
}

function itemOf(debit: TradedDebit, number: number, line: number): TradedItem {
  const { organisationId, merchantId, audit, state, returnCode, nextMs } = debit;
  const filed = state !== 'waiting';
  return {
    organisationId,
    merchantId,
    audit,
    state,
    nextMs,
    fileNumber: filed ? number : undefined,
    line: filed ? line : undefined,
    returnCode: state === 'returned' ? returnCode : undefined,
    simulatedReturn: filed ? returnCode : undefined,
  };
}
