// The guards of what operators do with money: once under a key, with a second person above the limit, in time, as it was sealed, and
// never for another organisation.
import type { Guard } from './guard.js';

const REQUESTS = 'src/admin/operator-requests.ts';
const STATEMENTS = 'src/admin/operator-requests.sql.ts';
const APPROVING = 'src/admin/approvals.ts';
const RUNNER = 'src/admin/request-runner.ts';
const MONEY = 'test/console/money-actions.test.ts';
const APPROVALS = 'test/cli/approval-commands.test.ts';
const OPERATIONS = 'test/cli/transaction-operations.test.ts';
const PROCESSES = 'test/processes/operator-requests.test.ts';
const WITHOUT_GATEWAY = 'runs → refused with what to do, nothing is stored';
const ACCEPTORS = 'test/console/acceptors.test.ts';
const ADMINISTRATION = 'test/console/administration-actions.test.ts';

export const OPERATOR_REQUEST_GUARDS: readonly Guard[] = [
  {
    name: 'operator: the same key is the same correlation ID',
    file: 'src/admin/operator-request.ts',
    find: "createHash('sha256').update(`operator request",
    replace: "createHash('sha256').update(String(Math.random())).update(`operator request",
    tests: [[MONEY, 'by a double click, in two tabs and after a reload']],
  },
  {
    name: 'operator: a key stands for one thing',
    file: REQUESTS,
    find: "  if (!isSame || (wish.operation !== 'void' && (wish.amountCents ?? amountCents) !== amountCents))",
    replace: '  if (!isSame && targetAudit === 0)',
    tests: [[MONEY, 'for something else']],
  },
  {
    name: 'four eyes: what the same operator asks for counts together',
    file: REQUESTS,
    find: 'const togetherCents = amountCents + (rows[0]?.cents ?? 0);',
    replace: 'const togetherCents = amountCents + 0 * (rows[0]?.cents ?? 0);',
    tests: [[APPROVALS, 'many small ones of the same operator']],
  },
  {
    name: 'four eyes: whoever asks for it does not approve it',
    file: STATEMENTS,
    find: "state = 'waiting' AND expires_at > now() AND requested_by <> $3",
    replace: "state = 'waiting' AND expires_at > now()",
    tests: [[APPROVALS, 'approved by']],
  },
  {
    name: 'four eyes: not after its time',
    file: STATEMENTS,
    find: "state = 'waiting' AND expires_at > now() AND requested_by <> $3",
    replace: "state = 'waiting' AND requested_by <> $3",
    tests: [[APPROVALS, 'for too long']],
  },
  {
    name: 'four eyes: a request of another organisation is not there',
    file: STATEMENTS,
    find: 'WHERE r.id = $1 AND ($2::integer IS NULL OR r.organisation_id = $2)',
    replace: 'WHERE r.id = $1 AND ($2::integer IS NULL OR $2 > 0)',
    tests: [[MONEY, 'by an operator of another organisation → the request is not there']],
  },
  {
    name: 'operator: what was made up or changed in the database is not carried out',
    file: RUNNER,
    find: 'if (!isSealed(key, request)) {',
    replace: 'if (!isSealed(key, request) && request.id === 0) {',
    tests: [[APPROVALS, 'changed in the database, or made up there']],
  },
  {
    name: 'four eyes: nobody approves what was changed in the database',
    file: APPROVING,
    find: "if (!isSealed(key, found)) refuse('request_altered'",
    replace: "if (!isSealed(key, found) && found.id === 0) refuse('request_altered'",
    tests: [[APPROVALS, 'changed in the database, or made up there']],
  },
  {
    name: 'four eyes: whoever asked may still do it',
    file: APPROVING,
    find: '  await permit(connection, requester, TASKS[operation], { organisations: [organisation] });',
    replace: '',
    tests: [[APPROVALS, 'whoever asked may not any more']],
  },
  {
    name: 'operator: whoever was changed or removed since has nothing carried out',
    file: RUNNER,
    find: "if (!(await this.#areAsChecked(request))) return 'request_of_changed_operator';",
    replace: '',
    tests: [[PROCESSES, WITHOUT_GATEWAY]],
    processes: true,
    slow: true,
  },
  {
    name: 'operator: what has expired is not taken',
    file: STATEMENTS,
    find: "const LAST_CALL = `interval '1 minute'`;",
    replace: "const LAST_CALL = `interval '-1 day'`;",
    tests: [[PROCESSES, WITHOUT_GATEWAY]],
    processes: true,
    slow: true,
  },
  {
    name: 'operator: what was taken is not claimed after its time',
    file: 'src/transactions/claim.sql.ts',
    find: 'AND to_timestamp(ordered.until_ms / 1000) <= now())',
    replace: 'AND to_timestamp(ordered.until_ms / 1000) <= to_timestamp(0))',
    tests: [[OPERATIONS, 'taken, and claimed too late']],
  },
  {
    name: 'operator: nothing is stored that no gateway could carry out',
    file: REQUESTS,
    find: '    if (!waits) await needGateway(connection);',
    replace: '',
    tests: [[PROCESSES, WITHOUT_GATEWAY]],
    processes: true,
    slow: true,
  },
  {
    name: 'console: what is named otherwise than by its merchant lies inside the fence, too',
    file: 'src/console/named.ts',
    find: 'await permit(database, { name, role, organisationId: organisation }, task, named).catch(',
    replace: 'await permit(database, { name, role, organisationId: null }, task, named).catch(',
    tests: [[ADMINISTRATION, 'an endpoint of another']],
  },
  {
    name: 'acquirers: an operator of one organisation does not say what an acquirer knows a merchant by',
    file: 'src/admin/merchant-acquirers.ts',
    find: '  if (organisationId === null) return;',
    replace: '  if (organisationId !== 0) return;',
    tests: [[ACCEPTORS, 'by the command line → refused, with the option']],
  },
  {
    name: 'acquirers: an operator of one organisation sets no routes',
    file: 'src/admin/operator-roles.ts',
    find: "'route set': can('operator', 'installation'),",
    replace: "'route set': can('operator', 'organisation'),",
    tests: [[ACCEPTORS, 'sets a route or takes it off']],
  },
  {
    name: 'acquirers: a terminal with its acceptor ID is one merchant’s',
    file: 'migrations/0043_requests_and_acceptors.sql',
    find: 'CONSTRAINT terminal_of_one_merchant PRIMARY KEY (acquirer, acceptor_id, terminal),',
    replace:
      'CONSTRAINT terminal_of_one_merchant PRIMARY KEY (acquirer, acceptor_id, terminal, merchant_id),',
    tests: [[ACCEPTORS, 'set, or added with']],
  },
  {
    name: 'acquirers: a terminal stays one merchant’s at the links that it has left',
    file: 'migrations/0043_requests_and_acceptors.sql',
    find: '    UNION SELECT h.acquirer FROM acquirer_terminal h WHERE h.organisation_id = organisation AND h.merchant_id = merchant);',
    replace: '    );',
    tests: [[ACCEPTORS, 'of one that has left the link']],
  },
];
