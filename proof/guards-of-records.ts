// The guards of commit B and of the resolver: who may decide, what is given back, and that doubt is never taken for a no.
// Not among them: `status = 'unknown'` in BEGIN_REVERSAL and TAKE_DUE, since only the current attempt can have decided.
import type { Guard } from './guard.js';

const RECORD = 'src/transactions/status.sql.ts';
const FINISH = 'src/transactions/finish.ts';
const RESOLVER = 'src/transactions/resolver.ts';
const RESOLVER_SQL = 'src/transactions/resolver.sql.ts';
const LEASES_OF_AUDITS = 'src/transactions/audit-leases.ts';
const LEASES_SQL = 'src/transactions/audit-leases.sql.ts';
const REGISTRY = 'src/transactions/process-registry.ts';
const DEAD_SQL = 'src/transactions/dead-processes.sql.ts';
const DEADLINE = 'src/acquirers/deadline.ts';
const ANSWERS = 'test/transactions/acquirer-answers.test.ts';
const LATE = 'test/transactions/late-answers.test.ts';
const IN_DOUBT = 'test/transactions/in-doubt.test.ts';
const RESOLVERS = 'test/transactions/resolver.test.ts';
const COMMITS = 'test/transactions/commit-order.test.ts';
const SWEEP = 'src/transactions/sweep.ts';
const SWEEPS = 'test/transactions/sweep.test.ts';
const LEASES = 'test/transactions/leases.test.ts';
const REFUND = 'test/transactions/refund.test.ts';
const DURABILITY = 'test/postgres/durability.test.ts';
const SERVER = 'src/embedded-postgres/process.ts';

export const RECORD_GUARDS: readonly Guard[] = [
  {
    name: 'record: only the current attempt decides',
    file: RECORD,
    find: ' AND t.resolve_attempts = answer.resolve_attempts`;',
    replace: '`;',
    tests: [[IN_DOUBT, 'approval that comes when a reversal is under way']],
  },
  {
    name: 'record: what is decided stays decided',
    slow: true,
    file: RECORD,
    find: "AND t.status = 'unknown' AND t.resolve_attempts = answer.resolve_attempts",
    replace: 'AND t.resolve_attempts = answer.resolve_attempts',
    tests: [[COMMITS, 'declined refund that is stored twice']],
  },
  {
    name: 'record: the answer that is given is the one that is stored',
    file: 'src/transactions/record.ts',
    find: 'if (rows.length === recordings.length) return',
    replace: 'if (rows.length <= recordings.length) return',
    tests: [[IN_DOUBT, 'approval that comes after the reversal']],
  },
  {
    name: 'record: a refund that did not happen gives its amount back',
    file: RECORD,
    find: "CASE WHEN transaction_type = 'refund' THEN amount_cents ELSE 0 END AS refund_cents_back",
    replace: '0 AS refund_cents_back',
    tests: [[ANSWERS, 'refund → 201 with that status, and it does not count']],
  },
  {
    name: 'record: a completion that did not happen frees the preauthorisation',
    file: RECORD,
    find: "transaction_type = 'completion' AS completion_back,",
    replace: 'false AS completion_back,',
    tests: [
      [ANSWERS, 'completion → 201 with that status, and the preauthorisation can be completed in full'],
    ],
  },
  {
    name: 'record: a void that did not happen frees its target',
    file: RECORD,
    find: "transaction_type = 'void' AS void_back,",
    replace: 'false AS void_back,',
    tests: [[ANSWERS, 'void → 201 with that status, and the target stays as it was']],
  },
  {
    name: 'record: a void that happened makes its target voided',
    file: RECORD,
    find: 'SELECT organisation_id, target_audit, 0, false, false, true',
    replace: 'SELECT organisation_id, target_audit, 0, false, false, false',
    tests: [['test/transactions/void.test.ts', 'void of a purchase approved']],
  },
  {
    name: 'record: only what did not happen gives back',
    file: RECORD,
    find: 'FROM decided WHERE NOT happened',
    replace: "FROM decided WHERE NOT happened OR transaction_type <> 'void'",
    tests: [[REFUND, 'one cent more than the rest']],
  },
  {
    name: 'record: a voided refund gives its amount back to its target',
    file: RECORD,
    find: "CASE WHEN undone.transaction_type = 'refund' THEN undone.amount_cents ELSE 0 END,",
    replace: '0,',
    tests: [[REFUND, 'refund by audit, voided → its amount can be refunded again']],
  },
  {
    name: 'record: a voided completion gives its preauthorisation back',
    file: RECORD,
    find: "undone.transaction_type = 'completion', false, false",
    replace: 'false, false, false',
    tests: [['test/transactions/completion.test.ts', 'after the first one was voided']],
  },
  {
    name: 'record: a void that did not happen gives nothing back',
    file: RECORD,
    find: "WHERE decided.happened AND decided.transaction_type = 'void' AND undone",
    replace: "WHERE decided.transaction_type = 'void' AND undone",
    tests: [[ANSWERS, 'void of a refund or a completion → the amount stays with it']],
  },
  {
    name: 'doubt: a link that fails is no decline',
    file: DEADLINE,
    find: "resolve({ kind: 'unknown', reason: 'unreadable' });",
    replace: "resolve({ kind: 'declined', responseCode: '05', responseMessage: '' });",
    tests: [[IN_DOUBT, 'asked once, and approved when it says so']],
  },
  {
    name: 'doubt: silence is no decline',
    file: DEADLINE,
    find: "{ kind: 'unknown', reason: 'timeout' } satisfies Answer",
    replace: "{ kind: 'declined', responseCode: '05', responseMessage: '' } satisfies Answer",
    tests: [[IN_DOUBT, 'never answers']],
  },
  {
    name: 'doubt: an answer that nothing can be made of is no decline',
    file: FINISH,
    find: "return this.finish(intent, { kind: 'unknown', reason: 'unreadable' });",
    replace: "return this.finish(intent, { kind: 'not_sent' });",
    tests: [[IN_DOUBT, 'answers what no contract allows']],
  },
  {
    name: 'doubt: is handed to the resolver',
    slow: true,
    file: FINISH,
    find: 'await this.records.handToResolver(intent);\n      this.onDoubt();',
    replace: '',
    tests: [[IN_DOUBT, 'finds that it was declined']],
  },
  {
    name: 'doubt: what was decided meanwhile is not taken up again',
    file: RECORD,
    find: "AND t.audit = doubt.audit\n        AND t.status = 'unknown' AND t.resolve_at IS NULL",
    replace: 'AND t.audit = doubt.audit\n        AND t.resolve_at IS NULL',
    tests: [[IN_DOUBT, 'unreadable answer that comes after the reversal']],
  },
  {
    name: 'inquiry: no answer does not mean that nothing was done',
    slow: true,
    file: RESOLVER,
    find: "if (finding.kind === 'no_answer') return this.#postpone(doubt);",
    replace: "if (finding.kind === 'no_answer') finding.kind = 'not_seen';",
    tests: [[IN_DOUBT, 'gives no answer to inquiries, breaks or hangs']],
  },
  {
    name: 'inquiry: what was not seen is reversed, since it may still arrive',
    file: RESOLVER,
    find: '() => link.reverse(order, prepared)',
    replace: "async () => 'reversed'",
    tests: [[IN_DOUBT, 'has not seen it → reversed once']],
  },
  {
    name: 'reversal: repeated until it is confirmed',
    slow: true,
    file: RESOLVER,
    find: "if (reversal === 'no_answer') return this.#postpone(doubt);",
    replace: '',
    tests: [[IN_DOUBT, 'does not confirm the reversal at first']],
  },
  {
    name: 'reversal: once it is under way a late approval no longer wins',
    slow: true,
    file: RESOLVER,
    find: 'if (!doubt.reversing) {',
    replace: 'if (doubt.attempt > 0) {',
    tests: [[IN_DOUBT, 'does not confirm the reversal at first']],
  },
  {
    name: 'late answer: it decides',
    slow: true,
    file: 'src/transactions/late-answers.ts',
    find: 'for (const { attempt } of rows) await records.record(intent, outcome, attempt);',
    replace: '',
    tests: [[LATE, 'and no inquiry answered']],
  },
  {
    name: 'late answer: not once a reversal has begun',
    slow: true,
    file: RESOLVER_SQL,
    find: "AND status = 'unknown' AND NOT reversing",
    replace: "AND status = 'unknown'",
    tests: [[LATE, 'after its reversal has begun']],
  },
  {
    name: 'reversal: its beginning is stored',
    slow: true,
    file: RESOLVER_SQL,
    find: 'UPDATE transaction SET reversing = true',
    replace: 'UPDATE transaction SET reversing = reversing',
    tests: [[IN_DOUBT, 'does not confirm the reversal at first']],
  },
  {
    name: 'reversal: not begun by an attempt that may not',
    slow: true,
    file: RESOLVER,
    find: 'if (!(await this.#beginReversal(doubt))) return;',
    replace: 'await this.#beginReversal(doubt);',
    tests: [[RESOLVERS, 'finds nothing, after the newer one found it approved']],
  },
  {
    name: 'reversal: not begun by an attempt that was overtaken',
    slow: true,
    file: RESOLVER_SQL,
    find: "UPDATE transaction SET reversing = true\n    WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND resolve_attempts = $3",
    replace:
      "UPDATE transaction SET reversing = true\n    WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND $3::integer > 0",
    tests: [[RESOLVERS, 'finds nothing, while the newer one still asks']],
  },
  {
    name: 'postponing: only by the current attempt, and only what is undecided',
    slow: true,
    file: RESOLVER_SQL,
    find: "interval '1 millisecond'\n    WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND resolve_attempts = $3",
    replace: "interval '1 millisecond'\n    WHERE organisation_id = $1 AND audit = $2 AND $3::integer > 0",
    tests: [[RESOLVERS, 'gets no answer, after the newer one found it approved']],
  },
  {
    name: 'taking: every taking is a new attempt',
    slow: true,
    file: RESOLVER_SQL,
    find: 'SET resolve_attempts = t.resolve_attempts + 1,',
    replace: 'SET resolve_attempts = greatest(t.resolve_attempts, 1),',
    tests: [[RESOLVERS, 'finds nothing, while the newer one still asks']],
  },
  {
    name: 'taking: for as long as the lease nobody else takes it',
    slow: true,
    file: RESOLVER_SQL,
    find: "resolve_at = now() + $2 * interval '1 millisecond'\n    FROM (",
    replace: "resolve_at = now() + $2 * interval '0 millisecond'\n    FROM (",
    tests: [[RESOLVERS, 'many in doubt and due at once, two resolvers']],
  },
  {
    name: 'taking: locks what it takes',
    slow: true,
    file: RESOLVER_SQL,
    find: ' FOR UPDATE SKIP LOCKED',
    replace: '',
    tests: [[RESOLVERS, 'taken by a resolver that has not committed yet']],
  },
  {
    name: 'dead processes: what they left is handed over',
    slow: true,
    file: RESOLVER,
    find: 'const handedOver = await this.#deadProcesses.handOver();',
    replace: 'const handedOver = 0;',
    tests: [[IN_DOUBT, 'approval that comes after the reversal']],
  },
  {
    name: 'dead processes: what the living are doing is left to them',
    slow: true,
    file: DEAD_SQL,
    find: "WHERE p.seen_at < now() - $1 * interval '1 millisecond' AND p.id <> $2",
    replace: "WHERE $1 * interval '1 millisecond' > interval '0' AND p.id <> $2",
    also: [
      {
        file: DEAD_SQL,
        find: "AND p.seen_at < now() - $1 * interval '1 millisecond')",
        replace: "AND $1 * interval '1 millisecond' > interval '0')",
      },
    ],
    tests: [[IN_DOUBT, 'a living process waits for its acquirer']],
  },
  {
    name: 'dead processes: a process does not take its own',
    file: DEAD_SQL,
    find: ' AND p.id <> $2',
    replace: ' AND $2 > 0',
    tests: [[IN_DOUBT, 'a process that could not report for a while']],
  },
  {
    name: 'dead processes: what was handed over once is not taken from its resolver',
    slow: true,
    file: DEAD_SQL,
    find: "status = 'unknown' AND resolve_at IS NULL\n        AND EXISTS",
    replace: "status = 'unknown'\n        AND EXISTS",
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
    tests: [[LEASES, 'without a heartbeat for fifteen seconds']],
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
    find: 'const settled = this.#keep(this.#untilSettled(intent, away ? ending : IN_DOUBT));',
    replace: 'const settled = Promise.resolve();',
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
    tests: [[DURABILITY, 'synchronous_commit off']],
  },
];
