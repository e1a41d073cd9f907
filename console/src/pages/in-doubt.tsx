// In doubt: payments whose outcome is not known yet, what was tried, and what comes next.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { DoubtLine } from '../../../src/console/interface.js';
import { useRead } from '../api/queries.js';
import type { Column } from '../lists/column.js';
import { transactionAt } from '../lists/filtered.js';
import { List } from '../lists/list.js';
import { Mark, When } from '../marks.js';
import { useMode } from '../mode.js';
import { useMay } from '../session.js';
import { Page } from '../shell/page.js';
import { count, moment } from '../words.js';
import { AskNow } from './one-transaction.js';

const AGAIN_MS = 5_000;

const COLUMNS: readonly Column<DoubtLine>[] = [
  {
    key: 'audit',
    title: 'Audit',
    show: (line) => (
      <Link href={transactionAt(line)} data-row-link>
        {line.audit}
      </Link>
    ),
    sortBy: ({ audit }) => audit,
  },
  {
    key: 'since',
    title: 'In doubt since',
    show: ({ since }) => <When at={since} />,
    sortBy: ({ since }) => since,
  },
  { key: 'state', title: 'What happens now', show: ({ state }) => <Mark word={state} tone="doubt" /> },
  {
    key: 'attempts',
    title: 'Tried',
    number: true,
    show: ({ attempts }) => count(attempts),
    sortBy: ({ attempts }) => attempts,
  },
  { key: 'next', title: 'Next attempt', show: ({ next_attempt }) => moment(next_attempt), wide: true },
  { key: 'process', title: 'Process', show: ({ process }) => process ?? '–', wide: true },
  { key: 'merchant', title: 'Merchant', show: ({ merchant }) => merchant, wide: true },
];

const ASK: Column<DoubtLine> = {
  key: 'ask',
  title: 'Ask',
  show: ({ organisation, audit }) => <AskNow organisation={organisation} audit={audit} />,
};

export default function InDoubt(): ReactNode {
  const mode = useMode();
  const query = useRead('GET /in-doubt', { query: { mode, limit: 100 } }, { everyMs: AGAIN_MS });
  const columns = useMay('transaction ask') ? [...COLUMNS, ASK] : COLUMNS;
  return (
    <Page title="In doubt">
      <p className="dim">
        The gateway asks the acquirer about each of these until it knows, with growing pauses, and never gives
        up. Asking now only brings the next attempt forward.
      </p>
      <List
        caption="In doubt"
        query={query}
        columns={columns}
        keyOf={({ organisation, audit }) => `${organisation}/${audit}`}
        empty="Nothing is in doubt"
        emptyAdvice="Every payment has an answer that the gateway could read."
      />
    </Page>
  );
}
