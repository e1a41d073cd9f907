// The guards of what a caller may see and use: look-ups, searches, surcharges, merchants and credentials.
import type { Guard } from './guard.js';

const SEALED = 'test/http/sealed-users.test.ts';
const AS_A_WHOLE = '→ the user is refused as a whole, known or not';
const OPERATORS = 'test/cli/operator-roles.test.ts';
const ROLES = 'refused what takes a higher role';

export const CALLER_GUARDS: readonly Guard[] = [
  {
    name: 'body: no member stands twice in one object',
    file: 'src/values/json.ts',
    find: 'if (membersWritten(text) !== membersKept(value))',
    replace: 'if (membersWritten(text) < membersKept(value))',
    tests: [['test/api/doubled-members.test.ts', 'a member that stands twice in one object']],
  },
  {
    name: 'connections: nothing is begun behind an answer that ends the connection',
    file: 'src/http/one-at-a-time.ts',
    find: 'if (this.#ending !== undefined || !this.socket.writable) return;',
    replace: 'if (this.#ending !== undefined) return;',
    tests: [['test/http/http-versions.test.ts', '505 http_version_not_supported with the correlation ID']],
  },
  {
    name: 'look-up by audit: only of merchants that the caller may use',
    file: 'src/transactions/lookup.sql.ts',
    find: 'WHERE merchant_id = ANY (of_merchants::integer[])',
    replace: 'WHERE of_merchants IS NOT NULL',
    tests: [['test/http/callers.test.ts', 'lookup by the']],
  },
  {
    name: 'search by correlation ID: only of the merchant that is named',
    file: 'src/transactions/lookup.sql.ts',
    find: `AND merchant_id = of_merchant
      AND correlation_id = of_correlation_id
    WHERE`,
    replace: `AND of_merchant > 0
      AND correlation_id = of_correlation_id
    WHERE`,
    tests: [['test/api/correlation-search.test.ts', 'that nobody used, or another merchant used']],
  },
  {
    name: 'search by correlation ID: finds what is in doubt, however old',
    file: 'src/transactions/lookup.sql.ts',
    find: " OR status IN ('unknown', 'pending')",
    replace: '',
    tests: [['test/api/correlation-search.test.ts', 'in doubt after 25 hours']],
  },
  {
    name: 'search by correlation ID: its hours count from the decision',
    file: 'src/transactions/lookup.sql.ts',
    find: 'WHERE decided_at > to_timestamp',
    replace: 'WHERE created_at > to_timestamp',
    tests: [['test/api/correlation-search.test.ts', 'decided after 25 hours']],
  },
  {
    name: 'surcharge: a total of at most twelve digits',
    file: 'src/plugins/plugins.ts',
    find: "  if (changed.amountCents > MAX_AMOUNT_CENTS) throw fault('priced_amount_too_large', 'amount');\n",
    replace: '',
    tests: [['test/plugins/surcharge-rules.test.ts', 'longer than twelve digits']],
  },
  {
    name: 'completion: the surcharge of its preauthorisation, and no other',
    file: 'src/plugins/contract.ts',
    find: 'payment.target.pricing?.decisions[name]',
    replace: 'undefined',
    tests: [['test/plugins/surcharge-rules.test.ts', 'never more than the preauthorisation']],
  },
  {
    name: 'callers: only merchants that the user was given',
    file: 'src/merchants/callers.sql.ts',
    find: `(m.id = u.merchant_id OR EXISTS (
          SELECT FROM user_grant g WHERE g.username = u.username AND g.merchant_id = m.id))`,
    replace: 'true',
    tests: [['test/http/callers.test.ts', 'lookup by the']],
  },
  {
    name: 'users: revoking takes the secrets away',
    slow: true,
    file: 'src/admin/users.ts',
    find: 'work: async () => ({ revoked: true, secretTag: null,',
    replace: 'work: async (_, { secretTag }) => ({ revoked: false, secretTag,',
    tests: [['test/http/operator-changes.test.ts', 'a user that is revoked']],
  },
  {
    name: 'callers: nobody who is not as it was sealed',
    slow: true,
    file: 'src/merchants/callers.ts',
    find: 'if (!this.key.isSealed(first, first.seal)) {',
    replace: 'if (first.username === undefined) {',
    tests: [['test/http/sealed-users.test.ts', '→ the user is refused as a whole, known or not']],
  },
  {
    name: 'credentials: a secret is bound to the name of its user',
    file: 'src/merchants/credentials.ts',
    find: "['tollgate secret of a user', organisationId, username, digest.toString('hex')]",
    replace: "['tollgate secret of a user', organisationId, username.length > 0, digest.toString('hex')]",
    tests: [['test/http/sealed-users.test.ts', 'a tag is that of one name, one organisation and one secret']],
  },
  {
    name: 'operations: only with the permission for it',
    file: 'src/http/operation-routes.ts',
    find: 'if ((context.caller.permissions & permission) === 0) throw',
    replace: 'if (context.caller.permissions + permission === 0) throw',
    tests: [['test/http/permissions.test.ts', 'exactly the operations of the table']],
  },
  {
    name: 'callers: only from networks that they were given',
    file: 'src/http/authentication.ts',
    find: 'if (networks !== undefined) refuseFromElsewhere',
    replace: "if (networks !== undefined && username === '') refuseFromElsewhere",
    tests: [['test/http/permissions.test.ts', 'from elsewhere → 403']],
  },
  {
    name: 'merchants: nothing is created for one that is suspended',
    slow: true,
    file: 'src/merchants/callers.ts',
    find: "  if (merchant.suspended) throw fault('merchant_suspended', 'merchant');\n",
    replace: '',
    tests: [['test/http/permissions.test.ts', 'one that is suspended']],
  },
  {
    name: 'callers: sealed with the merchants that they were given',
    slow: true,
    file: 'src/merchants/credentials.ts',
    find: '      user.grants,\n',
    replace: '      user.grants.length >= 0,\n',
    tests: [[SEALED, AS_A_WHOLE]],
  },
  {
    name: 'callers: sealed with what they may do',
    slow: true,
    file: 'src/merchants/credentials.ts',
    find: '      user.permissions,\n',
    replace: '      user.permissions.length >= 0,\n',
    tests: [[SEALED, AS_A_WHOLE]],
  },
  {
    name: 'callers: sealed with the secret before, and its end',
    slow: true,
    file: 'src/merchants/credentials.ts',
    find: '      hex(user.previousSecretTag),\n      user.previousUntilMs,\n',
    replace: '',
    tests: [[SEALED, AS_A_WHOLE]],
  },
  {
    name: 'callers: sealed with that they are revoked',
    file: 'src/merchants/credentials.ts',
    find: '      user.revoked,\n      user.version,\n      hex(user.secretTag),\n',
    replace: '      user.version >= 0,\n',
    tests: [[SEALED, 'one that was revoked, and is put back']],
  },
  {
    name: 'failed log-ins: too many of one name or address are answered late',
    file: 'src/http/failed-log-ins.ts',
    find: '    if (userMay && addressMay) return;\n',
    replace: '    if (userMay || addressMay || this.#held >= 0) return;\n',
    tests: [['test/http/client-addresses.test.ts', 'failed log-ins are throttled by it']],
  },
  {
    name: 'operators: no more than their role',
    file: 'src/admin/operator-roles.ts',
    find: "if (!isAtLeast(role, least)) refuse('operator_role_too_low', { name, role, task, least });",
    replace: "if (RANKS[role] < 0) refuse('operator_role_too_low', { name, role, task, least });",
    tests: [[OPERATORS, ROLES]],
  },
  {
    name: 'operators: what is refused is in the journal',
    file: 'src/admin/operator-roles.ts',
    find: "action: 'operator.refused',",
    replace: "action: 'operator.link_made',",
    tests: [[OPERATORS, ROLES]],
  },
  {
    name: 'operators: of one organisation, and not of another',
    file: 'src/admin/operator-roles.ts',
    find: 'if (organisations.some((each) => each !== organisationId))',
    replace: 'if (organisations.every((each) => each === null))',
    tests: [[OPERATORS, 'refused everything of another']],
  },
  {
    name: 'operators: nobody who is not as it was sealed',
    file: 'src/admin/operators.ts',
    find: "if (key !== undefined && !isSealed(row, key)) refuse('operator_seal_broken', { name });\n  return row;",
    replace: 'return row;',
    tests: [[OPERATORS, 'a role that was written into the database']],
  },
  {
    name: 'credentials: the secret before ends when it was said to',
    file: 'src/merchants/log-in.ts',
    find: 'isCurrent ? Number.POSITIVE_INFINITY : (previousUntilMs ?? 0),',
    replace: 'isCurrent || previousUntilMs !== null ? Number.POSITIVE_INFINITY : 0,',
    tests: [['test/http/permissions.test.ts', 'when it is over, only the new one']],
  },
  {
    name: 'credentials: a user ends when it was said to',
    file: 'src/merchants/log-in.ts',
    find: '    expiresMs ?? Number.POSITIVE_INFINITY,\n',
    replace: '',
    tests: [['test/http/permissions.test.ts', 'a user that has expired']],
  },
];
