// The result of a reconciliation: the differences to work through.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { ReconciliationAnswer } from '../../../src/console/interface.js';
import type { Column } from '../lists/column.js';
import { DataTable } from '../lists/data-table.js';
import { Section } from '../shell/page.js';
import { count, money, spaced } from '../words.js';

const DIFFERENT: readonly Column<ReconciliationAnswer['different_lines'][number]>[] = [
  { key: 'line', title: 'Line', number: true, show: ({ line }) => line },
  { key: 'reference', title: 'Reference', show: ({ reference }) => reference },
  { key: 'there', title: 'In the file', show: ({ there }) => there },
  { key: 'here', title: 'Here', show: ({ here }) => here },
];

const MISSING_THERE: readonly Column<ReconciliationAnswer['missing_there_transactions'][number]>[] = [
  {
    key: 'audit',
    title: 'Audit',
    show: ({ audit }) => <Link href={`/transactions?q=${audit}`}>{audit}</Link>,
  },
  { key: 'reference', title: 'Reference', show: ({ reference }) => reference },
  { key: 'type', title: 'Type', show: ({ transaction_type }) => spaced(transaction_type) },
  {
    key: 'amount',
    title: 'Amount',
    number: true,
    show: ({ amount_cents, currency }) => money(amount_cents, currency),
  },
];

const MISSING_HERE: readonly Column<ReconciliationAnswer['missing_here_lines'][number]>[] = [
  { key: 'line', title: 'Line', number: true, show: ({ line }) => line },
  { key: 'reference', title: 'Reference', show: ({ reference }) => reference },
  { key: 'type', title: 'Type', show: ({ transaction_type }) => spaced(transaction_type) },
  {
    key: 'amount',
    title: 'Amount',
    number: true,
    show: ({ amount_cents, currency }) => money(amount_cents, currency),
  },
];

const WRONG: readonly Column<ReconciliationAnswer['wrong_lines'][number]>[] = [
  { key: 'line', title: 'Line', number: true, show: ({ line }) => line },
  { key: 'reason', title: 'What is wrong with it', show: ({ reason }) => spaced(String(reason)) },
];

export function Differences({ found }: { readonly found: ReconciliationAnswer }): ReactNode {
  const { lines, matched } = found;
  const all = found.different + found.missing_here + found.missing_there + found.wrong;
  const keyed = (row: object) => JSON.stringify(row);
  return (
    <div role="status">
      <p>
        {count(lines)} lines, {count(matched)} matched.{' '}
        {all === 0 ? 'Both sides agree.' : `${count(all)} to work through, above with what to do about each:`}
        {!found.closed && ' The day is still open, more may come.'}
      </p>
      {found.different_lines.length > 0 && (
        <Section title={`Different (${count(found.different)})`}>
          <DataTable caption="Different" columns={DIFFERENT} rows={found.different_lines} keyOf={keyed} />
        </Section>
      )}
      {found.missing_there_transactions.length > 0 && (
        <Section title={`Not in the file (${count(found.missing_there)})`}>
          <DataTable
            caption="Not in the file"
            columns={MISSING_THERE}
            rows={found.missing_there_transactions}
            keyOf={keyed}
          />
        </Section>
      )}
      {found.missing_here_lines.length > 0 && (
        <Section title={`Not here (${count(found.missing_here)})`}>
          <DataTable
            caption="Not here"
            columns={MISSING_HERE}
            rows={found.missing_here_lines}
            keyOf={keyed}
          />
        </Section>
      )}
      {found.wrong_lines.length > 0 && (
        <Section title={`Not readable (${count(found.wrong)})`}>
          <DataTable caption="Not readable" columns={WRONG} rows={found.wrong_lines} keyOf={keyed} />
        </Section>
      )}
    </div>
  );
}
