// The columns of the journal.
import { Link } from 'wouter';
import type { Answer } from '../../../src/console/interface.js';
import type { Column } from '../lists/column.js';
import { When } from '../marks.js';

type Entry = Answer<'GET /journal'>[number];

export const JOURNAL_COLUMNS: readonly Column<Entry>[] = [
  { key: 'id', title: 'Entry', number: true, show: ({ id }) => id, wide: true },
  { key: 'at', title: 'When', show: ({ at }) => <When at={at} /> },
  { key: 'actor', title: 'Who', show: ({ actor }) => actor },
  { key: 'action', title: 'What', show: ({ action }) => action },
  {
    key: 'detail',
    title: 'Detail',
    show: ({ detail }) => (
      <div className="cut" title={detail ?? ''}>
        {detail ?? '–'}
      </div>
    ),
  },
  {
    key: 'audit',
    title: 'Audit',
    wide: true,
    show: ({ audit, organisation }) =>
      audit === null || organisation === null ? (
        '–'
      ) : (
        <Link href={`/transactions/${organisation}/${audit}`}>{audit}</Link>
      ),
  },
  { key: 'merchant', title: 'Merchant', show: ({ merchant }) => merchant ?? '–', wide: true },
  { key: 'address', title: 'From', show: ({ address }) => address ?? '–', wide: true },
];
