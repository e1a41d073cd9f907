// The columns of a list of transactions.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { TransactionLine } from '../../../src/console/interface.js';
import type { Column } from '../lists/column.js';
import { transactionAt } from '../lists/filtered.js';
import { ModeMark, StatusMark, When } from '../marks.js';
import { money, spaced } from '../words.js';

function Cut({ children }: { readonly children: string | null }): ReactNode {
  return (
    <div className="cut" title={children ?? ''}>
      {children ?? '–'}
    </div>
  );
}

export const TRANSACTION_COLUMNS: readonly Column<TransactionLine>[] = [
  {
    key: 'audit',
    title: 'Audit',
    show: (line) => (
      <Link href={transactionAt(line)} data-row-link>
        {line.audit}
      </Link>
    ),
  },
  { key: 'time', title: 'Time', show: ({ gateway_timestamp }) => <When at={gateway_timestamp} /> },
  { key: 'type', title: 'Type', show: ({ transaction_type }) => spaced(transaction_type), wide: true },
  { key: 'status', title: 'Status', show: ({ status }) => <StatusMark status={status} /> },
  {
    key: 'amount',
    title: 'Amount',
    number: true,
    show: ({ amount_cents, currency }) => money(amount_cents, currency),
  },
  { key: 'reference', title: 'Reference', show: ({ reference }) => <Cut>{reference}</Cut>, wide: true },
  {
    key: 'account',
    title: 'Card or account',
    show: ({ card, bank_account }) => card ?? bank_account ?? '–',
    wide: true,
  },
  { key: 'card_type', title: 'Card type', show: ({ card_type }) => spaced(card_type), extra: true },
  { key: 'code', title: 'Code', show: ({ response_code }) => response_code ?? '–', wide: true },
  { key: 'acquirer', title: 'Acquirer', show: ({ acquirer }) => acquirer, wide: true },
  { key: 'merchant', title: 'Merchant', show: ({ merchant }) => merchant, wide: true },
  { key: 'organisation', title: 'Organisation', show: ({ organisation }) => organisation, extra: true },
  // The header says it of everything that is shown.
  { key: 'mode', title: 'Mode', show: ({ mode }) => <ModeMark mode={mode} />, extra: true },
  { key: 'settlement', title: 'Settles', show: ({ settlement_date }) => settlement_date ?? '–', extra: true },
  {
    key: 'correlation',
    title: 'Correlation ID',
    show: ({ correlation_id }) => <Cut>{correlation_id}</Cut>,
    extra: true,
  },
  { key: 'target', title: 'Of audit', show: ({ target_audit }) => target_audit ?? '–', extra: true },
];
