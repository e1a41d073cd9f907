// The guards of what operators do with money: once under a key, with a second person above the limit, and never for another organisation.
import type { Guard } from './guard.js';

const REQUESTS = 'src/admin/operator-requests.ts';
const STATEMENTS = 'src/admin/operator-requests.sql.ts';
const MONEY = 'test/console/money-actions.test.ts';
const APPROVALS = 'test/cli/approval-commands.test.ts';
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
    name: 'console: what is named otherwise than by its merchant lies inside the fence, too',
    file: 'src/console/named.ts',
    find: 'await permit(database, { name, role, organisationId: organisation }, task, named).catch(',
    replace: 'await permit(database, { name, role, organisationId: null }, task, named).catch(',
    tests: [[ADMINISTRATION, 'an endpoint of another']],
  },
];
