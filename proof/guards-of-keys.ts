// The guards of keys: how long one seals, what it is wrapped for, what becomes of it when another takes its place, and who hears of a seal that is broken.
import type { Guard } from './guard.js';

const RENEWAL = 'src/vault/renewal.sql.ts';
const REWRAPPING = 'src/vault/rewrapping.ts';
const KEYS = 'src/vault/keys.ts';
const KMS = 'src/vault/kms-keys.ts';
const LIMITS = 'test/vault/key-limits.test.ts';
const WRITER = 'test/vault/database-writer.test.ts';
const MOVING = 'test/vault/moving-keys.test.ts';

export const KEY_GUARDS: readonly Guard[] = [
  {
    name: 'renewal of keys: of those that are too old',
    file: RENEWAL,
    find: "WHEN k.created_at < now() - $1::integer * interval '24 hours' THEN 'age'",
    replace: "WHEN k.created_at < now() - $1::integer * interval '9999 hours' THEN 'age'",
    tests: [[LIMITS, 'a key that is too old, or has sealed too much']],
  },
  {
    name: 'renewal of keys: of those that have sealed too much',
    file: RENEWAL,
    find: "AND u.version = k.version) >= $2 THEN 'seals' END`",
    replace: "AND u.version = k.version) >= $2 * 1000 THEN 'seals' END`",
    tests: [[LIMITS, 'a key that is too old, or has sealed too much']],
  },
  {
    name: 'renewal of keys: the seals of all processes count',
    file: 'src/vault/keys.sql.ts',
    find: 'DO UPDATE SET seals = data_key_use.seals + excluded.seals`',
    replace: 'DO UPDATE SET seals = excluded.seals`',
    tests: [[LIMITS, 'seals are counted, by every process that seals']],
  },
  {
    name: 'renewal of keys: one that was interrupted is finished',
    file: RENEWAL,
    find: 'AND older.version < k.version AND older.emptied_at IS NULL)',
    replace: 'AND older.version > k.version)',
    tests: [[LIMITS, 'a rotation that was interrupted']],
  },
  {
    name: 'renewal of keys: whoever comes second makes no further version',
    file: 'src/vault/renewal.ts',
    find: "because !== 'unfinished' && newest.version === version",
    replace: 'newest.version >= version',
    tests: [[LIMITS, 'a rotation that was interrupted']],
  },
  {
    name: 'destroying a key: with its entry in the journal, or not at all',
    slow: true,
    file: 'src/vault/rotation.ts',
    find: '    await this.parts.database.transaction(async (connection) => {\n      const values = [merchant, version,',
    replace:
      '    const connection = this.parts.database;\n    await (async () => {\n      const values = [merchant, version,',
    also: [
      {
        file: 'src/vault/rotation.ts',
        find: `'keys.destroyed', \`version \${version}\`));\n    });`,
        replace: `'keys.destroyed', \`version \${version}\`));\n    })();`,
      },
    ],
    tests: [['test/vault/renewal-killed.test.ts', 'and the earlier one is destroyed']],
  },
  {
    name: 'data key: wrapped for the form of its seals',
    file: KEYS,
    find: `return form === 1 ? context : \`\${context}/bound\`;`,
    replace: 'return form === 1 ? context : context;',
    tests: [['test/vault/seal-forms.test.ts', 'made one of the earlier form']],
  },
  {
    name: 'renewing the key-encryption key: what a process has just stored under the old one is wrapped anew, too',
    slow: true,
    file: REWRAPPING,
    find: '      await sleep(SETTLE_MS);\n      count = await this.#rewrapAll(current);',
    replace: '      await sleep(SETTLE_MS);',
    tests: [['test/vault/key-encryption-key.test.ts', 'that one opens too']],
  },
  {
    name: 'moving the key: the keys of the installation go along',
    file: REWRAPPING,
    find: 'for (const { all, rewrap, context } of kinds) {',
    replace: 'for (const { all, rewrap, context } of kinds.slice(kinds.length)) {',
    tests: [[MOVING, 'from the file to AWS KMS, and back']],
  },
  {
    name: 'AWS KMS: a key is wrapped for one purpose only',
    file: KMS,
    find: "Plaintext: key.toString('base64'),\n      EncryptionContext: { purpose: context },",
    replace: "Plaintext: key.toString('base64'),",
    also: [
      {
        file: KMS,
        find: "CiphertextBlob: wrapped.toString('base64'),\n      EncryptionContext: { purpose: context },",
        replace: "CiphertextBlob: wrapped.toString('base64'),",
      },
    ],
    tests: [['test/vault/kms-keys.test.ts', 'for the same purpose and no other']],
  },
  {
    name: 'broken seals: each is told',
    file: KEYS,
    find: '    this.onBroken(place);\n',
    replace: '',
    tests: [[WRITER, 'a broken token is tried a hundred times']],
  },
  {
    name: 'broken seals: each is in the journal',
    file: 'src/vault/broken-seals.ts',
    find: 'const writing = journal(this.parts.database, this.#entry(place)).catch(this.parts.onUnjournalled);',
    replace: 'const writing = Promise.resolve(this.#entry(place)).catch(this.parts.onUnjournalled);',
    tests: [[WRITER, 'a broken token is tried a hundred times']],
  },
  {
    name: 'broken seals: a seal under a key that was destroyed is one',
    file: KEYS,
    find: 'if (error instanceof SealBroken || error instanceof KeyDestroyed) throw this.broken(place);',
    replace: 'if (error instanceof SealBroken) throw this.broken(place);',
    tests: [[WRITER, 'a data key that was destroyed is put back']],
  },
  {
    name: 'webhooks: what is signed for one receiver is not sent to another',
    file: 'src/webhooks/secrets.ts',
    find: "field: 'secrets', says: url }",
    replace: "field: 'secrets', says: url.slice(0, 4) }",
    tests: [['test/webhooks/delivery.test.ts', 'an endpoint is led to another address in the database']],
  },
];
