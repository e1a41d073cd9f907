// The guards of card data: what a seal is bound to, whose token may be charged, and what is locked meanwhile.
import type { Guard, NamedTest } from './guard.js';

const SEALING = 'src/vault/sealing.ts';
const TOKENS = 'src/vault/tokens.sql.ts';
const CUSTOMERS = 'src/vault/customers.sql.ts';
const ROTATION = 'src/vault/rotation.sql.ts';
const SEALS = 'test/vault/sealing.test.ts';
const VIRTUAL_PANS = 'test/vault/virtual-pans.test.ts';
const ISOLATION = 'test/vault/vault-isolation.test.ts';
const CUSTOMER_TESTS = 'test/vault/customers.test.ts';
const KEYS = 'test/vault/keys.test.ts';
const VAULT_RACES = 'test/vault/locks.test.ts';
const SEALED_ROWS = 'src/vault/sealed-rows.ts';
const WRITER = 'test/vault/database-writer.test.ts';

const BOUND_TO = ['table', 'organisationId', 'merchantId', 'row', 'field', 'version'];
const binding = (without?: string) =>
  BOUND_TO.map((part) => (part === without ? '-' : `\${${part}}`)).join('/');
const bound = (
  to: string,
  part: string,
  tests: readonly NamedTest[] = [[SEALS, 'ten thousand ciphertexts']],
): Guard => ({
  name: `seal: bound to its ${to}`,
  file: SEALING,
  find: binding(),
  replace: binding(part),
  tests,
});

const TOKEN_SAYS = ['customerId', 'virtualPan', 'accountType', 'sealVersion'];
const saying = (without?: string) =>
  TOKEN_SAYS.map((part) => (part === without ? '-' : `\${${part}}`)).join('/');
const tokenBound = (to: string, part: string, test: string): Guard => ({
  name: `seal of a token: bound to its ${to}`,
  file: SEALED_ROWS,
  find: saying(),
  replace: saying(part),
  tests: [[WRITER, test]],
});

export const VAULT_GUARDS: readonly Guard[] = [
  bound('table', 'table'),
  bound('organisation', 'organisationId'),
  bound('merchant', 'merchantId'),
  bound('row', 'row'),
  bound('field', 'field'),
  bound('key version', 'version', [[SEALS, 'with the same key under another version']]),
  {
    name: 'seal: bound to what its row says',
    file: SEALING,
    find: `\`\${where}/\${says}\``,
    replace: `\`\${where}/-\``,
    tests: [[SEALS, 'where the row says another thing']],
  },
  tokenBound('customer', 'customerId', 'given to another customer'),
  tokenBound('virtual PAN', 'virtualPan', 'the virtual PANs of two customers are swapped'),
  tokenBound('account type', 'accountType', 'made one of a bank account'),
  tokenBound('number', 'sealVersion', 'given another number of its seal'),
  {
    name: 'payment by virtual PAN: not with a seal that the journal knows to be replaced, or a token that it knows to be gone',
    file: 'src/vault/tokens.ts',
    find: 'if (journalled !== null && journalled !== sealVersion) throw',
    replace: 'if (journalled === sealVersion && journalled !== sealVersion) throw',
    tests: [
      [WRITER, 'a card that was replaced is put back, '],
      [WRITER, 'a token is put back after its '],
    ],
  },
  {
    name: 'keys: one that was destroyed does not come back',
    file: 'src/vault/keys.sql.ts',
    find: ` AND NOT \${KEY_DESTROYED}\``,
    replace: '`',
    tests: [[WRITER, 'a data key that was destroyed is put back']],
  },
  {
    name: 'keys: no seal is bound while a process runs that could not open it',
    file: 'src/vault/keys.sql.ts',
    find: 'CASE WHEN EXISTS (SELECT FROM process WHERE seal_form < 2) THEN 1 ELSE 2 END',
    replace: '2',
    tests: [['test/vault/seal-forms.test.ts', 'an earlier release runs beside this one']],
  },
  {
    name: 'direct debit: from the account that was given',
    file: 'src/directdebit/item-seals.ts',
    find: 'if (accountAudit !== (targetAudit ?? audit)) return false;',
    replace: '',
    tests: [[WRITER, 'an item is pointed at another account']],
  },
  {
    name: 'direct debit: for the amount that was asked for',
    file: 'src/transactions/payment-details.ts',
    find: `\${transactionType}/\${amountCents}/`,
    replace: `\${transactionType}/-/`,
    tests: [[WRITER, 'an item is pointed at another account']],
  },
  {
    name: 'direct debit: a refund as it was attested',
    file: 'src/directdebit/item-seals.ts',
    find: 'return this.keys.hasAttested(attestedWords(asked), attestation);',
    replace: 'return asked !== undefined;',
    tests: [[WRITER, 'a refund is pointed at another debit']],
  },
  {
    name: 'direct debit: what is not attested is from an earlier release, or it is not lodged',
    file: 'src/directdebit/item-seals.ts',
    find: '(await this.keys.newest(organisationId, merchantId)).form === 1',
    replace: 'true',
    tests: [[WRITER, 'a refund is pointed at another debit']],
  },
  {
    name: 'payment by virtual PAN: only of this merchant’s tokens',
    file: TOKENS,
    find: 'WHERE t.merchant_id = asked.merchant_id AND t.active',
    replace: 'WHERE t.active',
    tests: [[VIRTUAL_PANS, 'a virtual PAN used for']],
  },
  {
    name: 'payment by virtual PAN: only of active tokens',
    file: TOKENS,
    find: 'AND t.active AND t.deleted_at IS NULL',
    replace: 'AND t.deleted_at IS NULL',
    tests: [[VIRTUAL_PANS, 'with an inactive token']],
  },
  {
    name: 'payment by virtual PAN: only where the merchant has the vault',
    file: 'src/transactions/payment-method.ts',
    find: 'return merchant.vault ? tokens.openForPayment(organisationId, merchant.id, virtualPan) : undefined;',
    replace: 'return tokens.openForPayment(organisationId, merchant.id, virtualPan);',
    tests: [[VIRTUAL_PANS, 'a merchant that lost the vault']],
  },
  {
    name: 'payment by virtual PAN: no preauthorisation of a bank account',
    file: 'src/transactions/payment-method.ts',
    find: "(usable.kind === 'bank_account' && operation === 'preauthorisation')",
    replace: 'false',
    tests: [[VIRTUAL_PANS, 'preauthorisation with a virtual PAN of a bank account']],
  },
  {
    name: 'new token: only for a customer of this merchant',
    file: TOKENS,
    find: 'ON c.organisation_id = asked.organisation_id AND c.merchant_id = asked.merchant_id\n',
    replace: 'ON c.organisation_id = asked.organisation_id\n',
    tests: [[ISOLATION, 'of a customer of merchant 1']],
  },
  {
    name: 'new token: its customer is locked against deletion',
    file: TOKENS,
    find: '      FOR KEY SHARE OF c\n',
    replace: '',
    tests: [[VAULT_RACES, 'a token created while its customer is being deleted']],
  },
  {
    name: 'deleted customer: its tokens go too',
    file: 'src/vault/customers.ts',
    find: 'await connection.query<{ id: TokenId }>(DELETE_TOKENS_OF_CUSTOMER, values);',
    replace: 'await connection.query<{ id: TokenId }>(DELETE_TOKENS_OF_CUSTOMER, [0, 0, 0, 0]);',
    tests: [[CUSTOMER_TESTS, 'delete a customer with tokens']],
  },
  {
    name: 'deleted token: gone for payments',
    file: TOKENS,
    find: 'active = false, deleted_at = now(), sealed = NULL, key_version = NULL,\n        shown = NULL, preferred_name = NULL',
    replace: 'active = t.active',
    tests: [[VIRTUAL_PANS, 'with a deleted token']],
  },
  {
    name: 'token: looked up only by its merchant',
    file: TOKENS,
    find: `\${SHOWN} FROM token\n    WHERE organisation_id = $1 AND merchant_id = $2 AND customer_id = $3 AND id = $4`,
    replace: `\${SHOWN} FROM token\n    WHERE organisation_id = $1 AND $2::integer > 0 AND customer_id = $3 AND id = $4`,
    tests: [[ISOLATION, 'of a customer of merchant 1']],
  },
  {
    name: 'token: changed only by its merchant',
    file: TOKENS,
    find: 'seal_version = coalesce($11, seal_version)\n      WHERE organisation_id = $1 AND merchant_id = $2',
    replace:
      'seal_version = coalesce($11, seal_version)\n      WHERE organisation_id = $1 AND $2::integer > 0',
    tests: [[ISOLATION, 'of a customer of merchant 1']],
  },
  {
    name: 'customer: deleted, cards and all, only by its merchant',
    file: CUSTOMERS,
    find: 'DELETE FROM customer WHERE organisation_id = $1 AND merchant_id = $2 AND id = $3',
    replace: 'DELETE FROM customer WHERE organisation_id = $1 AND $2::integer > 0 AND id = $3',
    tests: [[ISOLATION, 'of a customer of merchant 1']],
  },
  {
    name: 'rotation: tokens are locked while they are sealed anew',
    slow: true,
    file: SEALED_ROWS,
    find: ' FOR NO KEY UPDATE SKIP LOCKED`',
    replace: '`',
    tests: [[VAULT_RACES, 'a card replaced while its token is being sealed anew']],
  },
  {
    name: 'destroying a key: not while a transaction is sealed under it',
    slow: true,
    file: ROTATION,
    find: `NOT EXISTS (SELECT FROM transaction t WHERE t.organisation_id = k.organisation_id
        AND t.merchant_id = k.merchant_id AND t.payment_details_key_version = k.version)`,
    replace: 'true',
    tests: [[KEYS, 'only transactions, or only tokens']],
  },
  {
    name: 'destroying a key: not the newest',
    slow: true,
    file: ROTATION,
    find: 'AND newer.version > k.version',
    replace: 'AND newer.version >= k.version',
    tests: [[KEYS, 'destroy the newest version, under which nothing is sealed yet']],
  },
  {
    name: 'destroying a key: not one that was just replaced',
    slow: true,
    file: ROTATION,
    find: "AND newer.created_at < now() - $3 * interval '1 millisecond')",
    replace: 'AND $3::bigint > 0)',
    tests: [[KEYS, 'refused while it seals, is the newest, is young']],
  },
  {
    name: 'renewing the key-encryption key: one at a time',
    slow: true,
    file: ROTATION,
    find: "pg_try_advisory_xact_lock(hashtext('tollgate rewrap')) AS locked",
    replace: 'true AS locked',
    tests: [['test/vault/key-encryption-key.test.ts', 'renew it several times at once']],
  },
  {
    name: 'data key: wrapped for one purpose only',
    file: 'src/vault/local-keys.ts',
    find: '  cipher.setAAD(Buffer.from(context));',
    replace: '',
    also: [{ file: 'src/vault/local-keys.ts', find: 'decipher.setAAD(Buffer.from(context));', replace: '' }],
    tests: [['test/vault/key-providers.test.ts', 'a key wrapped for one purpose']],
  },
];
