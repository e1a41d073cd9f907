// The guards of backups: half of one is none, a changed one is refused, and nothing is given out twice after a restore.
import type { Guard } from './guard.js';

const BACKUP = 'test/processes/backup.test.ts';
const RESTORE = 'src/embedded-postgres/restore.ts';
const GUARD = 'src/admin/restored.ts';
const DAMAGED = 'a backup that is not whole, or was changed, is refused';
const ARCHIVE = 'test/cli/archive-commands.test.ts';
const COUNTERS = 'test/cli/counter-commands.test.ts';

export const BACKUP_GUARDS: readonly Guard[] = [
  {
    name: 'restore: each file is what was backed up',
    slow: true,
    file: RESTORE,
    find: 'if (copied.bytes === bytes && copied.sha256 === sha256) return;',
    replace: 'return;',
    tests: [[BACKUP, DAMAGED]],
  },
  {
    name: 'restore: a manifest leads nowhere else',
    slow: true,
    file: 'src/embedded-postgres/manifest.ts',
    find: ' || !paths.every(isInside)',
    replace: '',
    tests: [[BACKUP, DAMAGED]],
  },
  {
    name: 'restore: a used data directory is left alone',
    slow: true,
    file: RESTORE,
    find: '    await refuseUsed(place, manifest);\n',
    replace: '',
    tests: [[BACKUP, 'a data directory in use']],
  },
  {
    name: 'restore: no new database where a restore was interrupted',
    slow: true,
    processes: true,
    file: 'src/embedded-postgres/files.ts',
    find: 'if (names.some((name) => name.startsWith(',
    replace: 'if (names.length < 0 && names.some((name) => name.startsWith(',
    tests: [[BACKUP, 'a restore that was killed']],
  },
  {
    name: 'restore: each time it moves further',
    slow: true,
    file: 'src/gateway/backup.ts',
    find: ".split('\\n').filter((line) => line !== '').length + 1;",
    replace: ".split('\\n').filter((line) => line === '-').length + 1;",
    tests: [[BACKUP, 'restored twice more']],
  },
  {
    name: 'restore: audits and IDs move past what may have been used',
    slow: true,
    processes: true,
    file: 'src/transactions/restored.sql.ts',
    find: 'next_audit = o.next_audit + m.audits, next_customer_id = o.next_customer_id + m.customers',
    replace: 'next_audit = o.next_audit, next_customer_id = o.next_customer_id + m.customers',
    tests: [[BACKUP, 'restored → what was paid is there']],
  },
  {
    name: 'restore: merchants and organisations are numbered further on',
    slow: true,
    processes: true,
    file: GUARD,
    find: '    await connection.query(MOVE_SEQUENCES, [times]);\n',
    replace: '',
    tests: [[BACKUP, 'restored → what was paid is there']],
  },
  {
    name: 'backup: the key is not in it',
    slow: true,
    processes: true,
    file: 'src/gateway/backup.ts',
    find: 'beside: [PASSWORD, ...(withKey ? [KEY] : [])],',
    replace: 'beside: [PASSWORD, KEY],',
    tests: [[BACKUP, 'a backup → says what it holds']],
  },
  {
    name: 'archive: what is changed later is not removed',
    slow: true,
    processes: true,
    file: 'src/cli/archive.ts',
    find: " || end.sha256 !== hash.digest('hex')",
    replace: '',
    tests: [[ARCHIVE, 'a file that was changed or cut short']],
  },
  {
    name: 'archive: a card that lives keeps its transaction',
    slow: true,
    processes: true,
    file: 'src/transactions/archive.sql.ts',
    find: 'AND t.payment_details_sealed IS NULL AND target.payment_details_sealed IS NULL',
    replace: '',
    tests: [[ARCHIVE, 'archive → a file with what is old and finished']],
  },
  {
    name: 'restore: no other backup than the one that is meant',
    slow: true,
    file: RESTORE,
    find: 'options.fingerprint !== undefined && options.fingerprint !== fingerprint',
    replace: 'options.fingerprint === fingerprint.slice(1)',
    tests: [[BACKUP, 'with another fingerprint']],
  },
  {
    name: 'restore: it begins a new timeline, by which processes know that the database has gone back',
    slow: true,
    processes: true,
    file: RESTORE,
    find: "      await prepareRecovery(join(staging, 'postgres'));\n",
    replace: '',
    also: [
      {
        file: RESTORE,
        find: 'async function prepareRecovery(',
        replace: 'export async function prepareRecovery(',
      },
    ],
    tests: [[BACKUP, 'restored → what was paid is there']],
  },
  {
    name: 'counters: not while a gateway works on the database',
    file: GUARD,
    find: "if (processes > 0 && !isAlone) refuse('gateways_at_work', { processes });",
    replace: "if (processes < 0 && !isAlone) refuse('gateways_at_work', { processes });",
    tests: [[COUNTERS, 'while a gateway works on the database']],
  },
  {
    name: 'counters: STANs move past what was leased',
    file: 'src/acquirers/restored.sql.ts',
    find: 'SELECT terminal, leased + ahead, database_lineage() FROM moved',
    replace: 'SELECT terminal, leased + 0 * ahead, database_lineage() FROM moved',
    tests: [[COUNTERS, 'STANs → past what was leased']],
  },
  {
    name: 'counters: no STAN that may have been used is used for a day',
    file: 'src/acquirers/restored.sql.ts',
    find: 'INSERT INTO stan_lease (terminal, first) SELECT terminal, leased FROM moved',
    replace: 'INSERT INTO stan_lease (terminal, first) SELECT terminal, leased FROM moved WHERE false',
    tests: [[COUNTERS, 'STANs of a terminal that comes round']],
  },
  {
    name: 'counters: events get positions that no reader knows',
    file: 'src/events/restored.sql.ts',
    find: 'position = greatest(event_positions_begin(position, day) + $1::bigint * 1000000,',
    replace: 'position = least(position + 0 * $1::bigint,',
    tests: [[COUNTERS, 'events → later positions']],
  },
  {
    name: 'counters: what can still be decided gets a version that nobody has seen',
    file: 'src/transactions/restored.sql.ts',
    find: "UPDATE transaction SET version = version + $1 WHERE status IN ('unknown', 'pending')",
    replace: "UPDATE transaction SET version = version + 0 * $1 WHERE status IN ('unknown', 'pending')",
    tests: [[COUNTERS, 'events → later positions']],
  },
  {
    name: 'counters: none moves past its end',
    file: GUARD,
    find: "if (ahead === undefined && left < SHOULD_BE_LEFT) refuse('counters_exhausted', { organisation });",
    replace: "if (left < 0) refuse('counters_exhausted', { organisation });",
    tests: [[COUNTERS, 'more than there are audits left']],
  },
  {
    name: 'archive: nothing that events are still told from',
    file: 'src/admin/archive.ts',
    find: "  if (beforeMs > Date.now() - LEAST_DAYS * DAY_MS) refuse('archive_too_young', { days: LEAST_DAYS });\n",
    replace:
      "  if (beforeMs > Date.now() + LEAST_DAYS * DAY_MS) refuse('archive_too_young', { days: LEAST_DAYS });\n",
    tests: [[ARCHIVE, 'what is younger than events are kept']],
  },
];
