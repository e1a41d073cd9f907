// Things that would open secrets to others on the machine: a file that everybody can read, and a debugger.
import { chmod, writeFile } from 'node:fs/promises';
import { close, open } from 'node:inspector';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkProduction } from '../../src/gateway/settings/production.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { dataDirectory } from '../../testkit/gateway-process.js';

test.each([
  ['DATABASE_URL', 'postgres://tollgate:secret@localhost/tollgate', {}],
  ['TOLLGATE_KEY_ENCRYPTION_KEY', Buffer.alloc(32).toString('base64'), {}],
  [
    'TOLLGATE_VAULT_TOKEN',
    'a token',
    { TOLLGATE_KEY_PROVIDER: 'vault-transit', TOLLGATE_VAULT_ADDRESS: 'https://vault.example:8200' },
  ],
])(
  '%s from a file that everybody can read → a warning later; that its owner’s group can read → none',
  async (name, value, others) => {
    const path = join(await dataDirectory(), 'secret');
    await writeFile(path, value);
    const openSecrets = () => readSettings({ ...others, [`${name}_FILE`]: path }).openSecrets;
    await chmod(path, 0o644);
    expect(openSecrets()).toEqual([{ setting: `${name}_FILE`, mode: '644' }]);
    await chmod(path, 0o640);
    expect(openSecrets()).toEqual([]);
  },
);

test('a debugger in production → one line that says what to do; without one → none', async () => {
  const settings = readSettings({
    TOLLGATE_ENVIRONMENT: 'production',
    DATABASE_URL: 'postgres://gateway:secret@127.0.0.1:1/gateway',
  });
  const lines = () => checkProduction(settings, 1_000).catch(({ message }: Error) => message);
  const LINE =
    'a debugger is open, by which anybody on this machine can read card numbers; start without --inspect';
  expect(await lines()).not.toContain(LINE);
  open(0, '127.0.0.1');
  try {
    expect(await lines()).toContain(LINE);
  } finally {
    close();
  }
});
