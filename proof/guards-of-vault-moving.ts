// The guards of vaults that are moved: nothing is taken in twice, no card lies on a disk in clear, and nothing leaves by accident.
import type { Edit, Guard } from './guard.js';

const IMPORTS = 'src/vault/imports.ts';
const CARD_FILE = 'src/admin/card-file.ts';
const IMPORT_TESTS = 'test/cli/vault-import.test.ts';
const FILE_TESTS = 'test/cli/vault-import-files.test.ts';
const EXPORT_TESTS = 'test/cli/vault-export.test.ts';

const ONLY_WINNERS: Edit = {
  file: IMPORTS,
  find: 'return arriving.filter(({ token }) => won.has(token.formerId));',
  replace: 'return arriving.filter(({ token }) => won.size >= 0 && token !== undefined);',
};

export const VAULT_MOVING_GUARDS: readonly Guard[] = [
  {
    name: 'import: a token is added only for an old ID that the database had not',
    ...ONLY_WINNERS,
    also: [
      {
        file: IMPORTS,
        find: 'tokens.filter(({ formerId }) => !endings.has(formerId))',
        replace: 'tokens.filter(({ formerId }) => formerId !== "")',
      },
    ],
    tests: [[IMPORT_TESTS, 'the same file again']],
  },
  {
    name: 'import: a card that the customer has is no second token',
    ...ONLY_WINNERS,
    tests: [[IMPORT_TESTS, 'the same card of the same customer twice']],
  },
  {
    name: 'import: a token that is deleted, or has another card, is not taken for the card that it had',
    file: 'src/vault/former-ids.sql.ts',
    find: 'AND f.token_id = gone.id AND f.recognition IS NOT NULL',
    replace: 'AND f.token_id = gone.id AND f.recognition IS NULL',
    tests: [[IMPORT_TESTS, 'a token that was deleted']],
  },
  {
    name: 'import: no file of cards in clear',
    file: CARD_FILE,
    find: 'if (isOnDisk(path) && !mayBeClear) refuse',
    replace: 'if (isOnDisk(path) && mayBeClear && path === STDIN) refuse',
    tests: [[FILE_TESTS, 'cards in clear on a disk']],
  },
  {
    name: 'import: no file of cards in clear as standard input',
    file: CARD_FILE,
    find: 'path !== STDIN || fstatSync(process.stdin.fd).isFile()',
    replace: 'path !== STDIN || fstatSync(process.stdin.fd).isDirectory()',
    tests: [[FILE_TESTS, 'cards in clear on a disk']],
    processes: true,
  },
  {
    name: 'export: live cards only where somebody means it',
    file: 'src/admin/vault-export.ts',
    find: "if (owner.mode === 'live' && !confirmed)",
    replace: "if (owner.mode === 'live' && confirmed && total < 0)",
    tests: [[EXPORT_TESTS, 'live cards without --yes']],
  },
];
