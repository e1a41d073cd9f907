// The guards of what processes leave behind: leases, what is handed over, the sweep, and what must be durable.
import type { Guard } from './guard.js';

const BELIEVED_DEAD = 'test/transactions/believed-dead.test.ts';
const FINISH = 'src/transactions/finish.ts';
const RESOLVER = 'src/transactions/resolver.ts';
const LEASES_OF_AUDITS = 'src/transactions/audit-leases.ts';
const LEASES_SQL = 'src/transactions/audit-leases.sql.ts';
const REGISTRY = 'src/transactions/process-registry.ts';
const DEAD_SQL = 'src/transactions/dead-processes.sql.ts';
const RESOLVERS = 'test/transactions/resolver.test.ts';
const COMMITS = 'test/transactions/commit-order.test.ts';
const SWEEP = 'src/transactions/sweep.ts';
const SWEEPS = 'test/transactions/sweep.test.ts';
const LEASES = 'test/transactions/leases.test.ts';
const HEARTBEATS = 'test/transactions/missed-heartbeats.test.ts';
const DURABILITY = 'test/postgres/durability.test.ts';
const SERVER = 'src/embedded-postgres/process.ts';

export const PROCESS_GUARDS: readonly Guard[] = [
  {
    name: 'dead processes: what they left is handed over',
    slow: true,
    file: RESOLVER,
    find: 'const handedOver = await this.#deadProcesses.handOver();',
    replace: 'const handedOver = 0;',
    tests: [[BELIEVED_DEAD, 'approval that comes after the reversal']],
  },
  {
    name: 'dead processes: what the living are doing is left to them',
    slow: true,
    file: DEAD_SQL,
    find: "const SILENT = `p.seen_at < now() - p.timeout_ms * interval '1 millisecond'`;",
    replace: 'const SILENT = `p.timeout_ms > 0`;',
    tests: [[BELIEVED_DEAD, 'a living process waits for its acquirer']],
  },
  {
    name: 'dead processes: a process does not take its own',
    file: DEAD_SQL,
    find: ' AND p.id <> $1',
    replace: ' AND $1 > 0',
    tests: [[BELIEVED_DEAD, 'a process that could not report for a while']],
  },
  {
    // Each of the two is enough by itself.
    name: 'dead processes: what was handed over once is not taken from its resolver',
    slow: true,
    file: DEAD_SQL,
    find: "status = 'unknown' AND resolve_at IS NULL\n        AND EXISTS",
    replace: "status = 'unknown'\n        AND EXISTS",
    also: [
      {
        file: 'src/transactions/status.sql.ts',
        find: "AND t.status = 'unknown' AND t.resolve_at IS NULL",
        replace: "AND t.status = 'unknown'",
      },
    ],
    tests: [[RESOLVERS, 'left by a dead process and taken by a resolver']],
  },
  {
    name: 'dead processes: forgotten with their leases only after what they left was handed over',
    file: 'src/transactions/dead-processes.ts',
    find: 'total += await this.#handOverLeasesOf(process);',
    replace: 'if (!process.forGood) total += await this.#handOverLeasesOf(process);',
    tests: [[LEASES, 'dead for more than an hour']],
  },
  {
    name: 'leases: kept while one audit of the block is in doubt',
    slow: true,
    file: LEASES_OF_AUDITS,
    find: 'if (block.inDoubt === 0 && block.next > block.last) {',
    replace: 'if (block.next > block.last) {',
    tests: [[LEASES, 'all other audits of its block are decided']],
  },
  {
    name: 'leases: kept by a process that stops and leaves something in doubt',
    file: REGISTRY,
    find: 'if (!leases.inDoubt)',
    replace: '',
    tests: [[LEASES, 'stopped with an audit still in doubt']],
  },
  {
    name: 'leases: audits given back only if nobody leased later ones',
    file: LEASES_SQL,
    find: 'WHERE id = $1 AND next_audit = $3',
    replace: 'WHERE id = $1 AND $3::bigint > 0',
    tests: [[LEASES, 'stopped after another leased later audits']],
  },
  {
    name: 'leases: a process that was forgotten uses none of its old ones',
    file: LEASES_OF_AUDITS,
    find: 'block.next = block.last + 1;',
    replace: '',
    tests: [[LEASES, 'forgotten by the others']],
  },
  {
    name: 'leases: what is in doubt is leased anew when the database has lost its lease',
    file: REGISTRY,
    find: 'if (row.goneBack || row.lineage !== this.#renewedIn) await leases.renew();',
    replace: '',
    tests: [[LEASES, 'what is in doubt is leased anew']],
  },
  {
    name: 'leases: none while the counters may have gone back',
    file: LEASES_SQL,
    find: 'AND (SELECT lineage = database_lineage() FROM gateway)',
    replace: '',
    tests: [[LEASES, 'leases nothing until the counters were moved']],
  },
  {
    name: 'leases: counters that may have gone back are moved past what was handed out',
    file: REGISTRY,
    find: 'if (row.goneBack) await this.database.query(MOVE_AHEAD, [AHEAD]);',
    replace: 'if (row.goneBack) await this.database.query(MOVE_AHEAD, [0]);',
    tests: [[LEASES, 'leases nothing until the counters were moved']],
  },
  {
    name: 'sweep: hands over what nobody looks after',
    file: SWEEP,
    find: 'const audits = unleased.filter(({ old }) => old)',
    replace: 'const audits = unleased.filter(() => false)',
    tests: [[SWEEPS, 'finds what is in doubt under no lease']],
  },
  {
    name: 'sweep: leaves what is under a lease',
    file: 'src/transactions/sweep.sql.ts',
    find: 'WHERE l.organisation_id = $1 AND t.audit BETWEEN l.first_audit AND l.last_audit)',
    replace: 'WHERE l.organisation_id = $1 AND false)',
    tests: [[SWEEPS, 'leaves what is under a lease']],
  },
  {
    name: 'sweep: leaves what is young',
    file: SWEEP,
    find: 'const audits = unleased.filter(({ old }) => old)',
    replace: 'const audits = unleased',
    tests: [[SWEEPS, 'waits at what is young']],
  },
  {
    name: 'leases: a process without a heartbeat claims nothing',
    slow: true,
    file: LEASES_OF_AUDITS,
    find: "if (!this.process.alive) throw fault('not_processed');",
    replace: '',
    tests: [[LEASES, 'without a heartbeat for longer than four fifths']],
  },
  {
    name: 'processes: one that missed its heartbeats sends nothing of what it claimed before',
    slow: true,
    file: 'src/transactions/process-registry.ts',
    find: 'return term === this.#term && this.alive;',
    replace: 'return this.alive;',
    tests: [[HEARTBEATS, 'claimed before heartbeats were missed']],
  },
  {
    name: 'processes: one that missed its heartbeats is stale before the others presume it dead',
    slow: true,
    file: 'src/transactions/process-times.ts',
    find: 'staleAfterMs: Math.min(timeoutMs, FENCES_WAIT_MS / 2) - heartbeatEveryMs,',
    replace: 'staleAfterMs: 15_000,',
    tests: [[HEARTBEATS, 'it is stale a heartbeat before']],
  },
  {
    name: 'processes: what a process left is not asked about before the deadline for its answer',
    slow: true,
    file: 'src/transactions/status.sql.ts',
    find: "now())) + $5 * interval '1 millisecond')",
    replace: "now())) + 0 * $5 * interval '1 millisecond')",
    tests: [[HEARTBEATS, 'not reversed by the others']],
  },
  {
    name: 'a claim of which nobody knows: should it turn up, it is closed as not sent',
    slow: true,
    file: 'src/transactions/create.ts',
    find: 'finisher.closeAsNotSent({ organisationId, audit, ...targetOf(priced) });',
    replace: '',
    tests: [[COMMITS, 'its connection breaks']],
  },
  {
    name: 'an answer that could not be stored: kept until it can',
    slow: true,
    file: FINISH,
    find: 'const stored = this.#keep(this.#untilStored(intent, away ? ending : IN_DOUBT));',
    replace: 'const stored = Promise.resolve();',
    tests: [[COMMITS, 'the connection breaks while the answer is stored']],
  },
  ...['fsync', 'full_page_writes', 'synchronous_commit'].map(
    (setting): Guard => ({
      name: `durability: the gateway’s own PostgreSQL runs with ${setting}`,
      slow: true,
      file: SERVER,
      find: `${setting}: 'on',`,
      replace: `${setting}: 'off',`,
      tests: [['test/embedded-postgres/embedded-postgres.test.ts', 'a server is durable']],
    }),
  ),
  {
    name: 'durability: a PostgreSQL with fsync off is refused',
    file: 'src/gateway/connection.ts',
    find: "if (server.fsync !== 'on')",
    replace: "if (server.fsync === 'never')",
    tests: [[DURABILITY, 'fsync off']],
  },
  {
    name: 'durability: a PostgreSQL with synchronous_commit off is refused',
    file: 'src/postgres/session.ts',
    find: 'if (!DURABLE.includes(found.synchronousCommit)) {',
    replace: "if (found.synchronousCommit === 'never') {",
    tests: [[DURABILITY, 'a database with synchronous_commit']],
  },
];
