// The guards of commit B and of the resolver: who may decide, what is given back, and that doubt is never taken for a no.
// Not among them: `status = 'unknown'` in BEGIN_REVERSAL and TAKE_DUE, since only the current attempt can have decided.
import type { Guard } from './guard.js';

const BELIEVED_DEAD = 'test/transactions/believed-dead.test.ts';
const OVERTAKEN = 'test/transactions/overtaken-attempts.test.ts';
const RECORD = 'src/transactions/status.sql.ts';
const FINISH = 'src/transactions/finish.ts';
const RESOLVER = 'src/transactions/resolver.ts';
const RESOLVER_SQL = 'src/transactions/resolver.sql.ts';
const DEADLINE = 'src/acquirers/deadline.ts';
const ANSWERS = 'test/transactions/acquirer-answers.test.ts';
const AWKWARD = 'test/acquirers/awkward-link.test.ts';
const LATE = 'test/transactions/late-answers.test.ts';
const IN_DOUBT = 'test/transactions/in-doubt.test.ts';
const RESOLVERS = 'test/transactions/resolver.test.ts';
const COMMITS = 'test/transactions/commit-order.test.ts';
const REFUND = 'test/transactions/refund.test.ts';

export const RECORD_GUARDS: readonly Guard[] = [
  {
    name: 'record: only the current attempt decides',
    file: RECORD,
    find: ' AND t.resolve_attempts = answer.resolve_attempts`;',
    replace: '`;',
    tests: [[BELIEVED_DEAD, 'approval that comes when a reversal is under way']],
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
    find: 'if (asAnswered.length === recordings.length) return',
    replace: 'if (asAnswered.length <= recordings.length) return',
    tests: [[BELIEVED_DEAD, 'approval that comes after the reversal']],
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
    tests: [['test/transactions/void.test.ts', 'approved → 201, approved under an audit of its own']],
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
    find: "WHERE decided.happened AND decided.transaction_type = 'void'",
    replace: "WHERE decided.transaction_type = 'void'",
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
    tests: [[IN_DOUBT, 'which no contract allows']],
  },
  {
    name: 'doubt: is handed to the resolver',
    slow: true,
    file: FINISH,
    find: 'await this.parts.records.handToResolver(intent);\n      this.parts.onDoubt();',
    replace: '',
    tests: [[IN_DOUBT, 'finds that it was']],
  },
  {
    name: 'doubt: what was decided meanwhile is not taken up again',
    file: RECORD,
    find: "AND t.audit = doubt.audit\n        AND t.status = 'unknown' AND t.resolve_at IS NULL",
    replace: 'AND t.audit = doubt.audit\n        AND t.resolve_at IS NULL',
    tests: [[BELIEVED_DEAD, 'unreadable answer that comes after the reversal']],
  },
  {
    name: 'inquiry: no answer does not mean that nothing was done',
    slow: true,
    file: RESOLVER,
    find: "if (finding.kind === 'no_answer') return 'later';",
    replace: "if (finding.kind === 'no_answer') finding.kind = 'not_seen';",
    tests: [[IN_DOUBT, 'gives no answer to inquiries, breaks or hangs']],
  },
  {
    name: 'inquiry: what was not seen is reversed, since it may still arrive',
    file: DEADLINE,
    find: '() => link.reverse(order, prepared)',
    replace: "async () => 'reversed'",
    tests: [[IN_DOUBT, 'has not seen it → reversed once']],
  },
  {
    name: 'reversal: repeated until it is confirmed',
    slow: true,
    file: RESOLVER,
    find: "if (reversal === 'no_answer') return 'later';",
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
    find: 'for (const { attempt } of rows) {',
    replace: 'for (const { attempt } of [] as typeof rows) {',
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
    name: 'prepared: stored by commit A, before the order is asked',
    slow: true,
    file: 'src/transactions/claim.sql.ts',
    find: "(decisions::json -> 'prepared')::jsonb",
    replace: 'NULL',
    tests: [[AWKWARD, 'stored when it is asked']],
  },
  {
    name: 'prepared: stored by commit A of operations on a target',
    slow: true,
    file: 'src/transactions/claim.sql.ts',
    find: "(decisions -> 'prepared')::jsonb",
    replace: 'NULL',
    tests: [[AWKWARD, 'the numbers and codes of its target']],
  },
  {
    name: 'prepared: what was not prepared was not sent',
    slow: true,
    file: RESOLVER,
    find: 'if (link.prepare !== undefined && prepared === undefined)\n      return this.#decide(',
    replace: 'if (link.prepare !== undefined && prepared === null)\n      return this.#decide(',
    tests: [[AWKWARD, 'it cannot have been sent']],
  },
  {
    name: 'links: one that is not open is asked nothing',
    slow: true,
    file: 'src/transactions/link.ts',
    find: 'usable(links.opened(name), merchant)',
    replace: 'usable(links.known(name), merchant)',
    tests: [[AWKWARD, 'payments are not sent until it opens']],
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
    find: "if (!(await this.#beginReversal(doubt))) return 'done';",
    replace: 'await this.#beginReversal(doubt);',
    tests: [[OVERTAKEN, 'finds nothing, after the newer one found it approved']],
  },
  {
    name: 'reversal: not begun by an attempt that was overtaken',
    slow: true,
    file: RESOLVER_SQL,
    find: "UPDATE transaction SET reversing = true\n      WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND resolve_attempts = $3",
    replace:
      "UPDATE transaction SET reversing = true\n    WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND $3::integer > 0",
    tests: [[OVERTAKEN, 'finds nothing, while the newer one still asks']],
  },
  {
    name: 'postponing: only by the current attempt, and only what is in doubt',
    slow: true,
    file: RESOLVER_SQL,
    find: "interval '1 millisecond'\n    WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND resolve_attempts = $3",
    replace: "interval '1 millisecond'\n    WHERE organisation_id = $1 AND audit = $2 AND $3::integer > 0",
    tests: [[OVERTAKEN, 'gets no answer, after the newer one found it approved']],
  },
  {
    name: 'taking: every taking is a new attempt',
    slow: true,
    file: RESOLVER_SQL,
    find: 'SET resolve_attempts = t.resolve_attempts + 1,',
    replace: 'SET resolve_attempts = greatest(t.resolve_attempts, 1),',
    tests: [[OVERTAKEN, 'finds nothing, while the newer one still asks']],
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
];
