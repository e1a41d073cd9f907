// Commands that would do something else than was meant, or nothing, without saying so: in the wrong folder, for a merchant that does
// not exist, with options that contradict each other, and with nobody to read what they print.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, copyFile, open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { addCast, type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import { dataDirectory, eventually, freePort, run } from '../../testkit/gateway-process.js';
import { environmentWithoutSettings, PROJECT_ROOT, TOLLGATE } from '../../testkit/project.js';

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  [database, folder] = await Promise.all([testDatabase(), dataDirectory()]);
  await addCast(database.url, readSettings({ TOLLGATE_DATA_DIR: folder }));
});
afterAll(() => database.drop());

function environment(): Record<string, string> {
  return { DATABASE_URL: database.url, TOLLGATE_DATA_DIR: folder };
}
const { refusal } = commands((line) => runHere(wordsOf(line), environment()));

test.concurrent.each(['user list', 'journal', 'keys status', 'organisation add Ours'])(
  // catches(commands: none but serve and migrate makes a database) processes
  '%s where there is no database → one line that says where it was looked for, and none is made',
  async (line) => {
    const nowhere = join(folder, 'nowhere');
    const { code, stdout, stderr } = await runHere(wordsOf(line), { TOLLGATE_DATA_DIR: nowhere });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      `tollgate: there is no database in ${nowhere}; set TOLLGATE_DATA_DIR or DATABASE_URL to where it is, or make one with \`tollgate serve\` or \`tollgate migrate\`\n`,
    );
    expect(existsSync(nowhere)).toBe(false);
  },
);

// catches(key file: one that others can read is refused) slow, processes
test.concurrent('a key file that others can read → serve and key commands refuse, and say what to do; made private again → they work', async () => {
  const dataDir = await dataDirectory();
  const file = join(dataDir, 'key-encryption-key');
  await copyFile(join(folder, 'key-encryption-key'), file);
  await chmod(file, 0o640);
  const own = { DATABASE_URL: database.url, TOLLGATE_DATA_DIR: dataDir, TOLLGATE_PORT: '0' };
  const said = await Promise.all([run(['serve'], own), run(['keys', 'status'], own)]);
  for (const { code, stdout, stderr } of said) {
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^tollgate: the key-encryption key .* by others \(mode 640\); .*\(chmod 600\).*\n$/,
    );
  }
  await chmod(file, 0o600);
  const { code, stdout } = await run(['keys', 'status', '--json'], own);
  expect([code, JSON.parse(stdout)]).toEqual([0, expect.any(Array)]);
});

test.concurrent.each([
  'keys rotate --merchant 99',
  'journal --merchant 99',
  'webhook list --merchant 99',
  'transaction in-doubt --merchant 99',
  'directdebit status --merchant 99',
])('%s, which does not exist → one line, exit code 1', async (line) => {
  expect(await refusal(line)).toBe('there is no merchant 99');
});

describe.concurrent('options that contradict each other → one line, exit code 1', () => {
  test.each([
    ['merchant set 1 --vault --no-vault', /^options '--vault' and '--no-vault' contradict each other /],
    [
      'merchant set 1 --no-acquirer --acquirer simulator',
      /^options '--no-acquirer' and '--acquirer <name>' contradict each other /,
    ],
    ['acquirer set bank --tls --no-tls', /^options '--tls' and '--no-tls' contradict each other /],
    [
      'acquirer set bank --no-mac --mac-key-file keys',
      /'--mac-key-file <file>' cannot be used with .*'--no-mac' /,
    ],
    [
      'acquirer set bank --institution 560001 --no-institution',
      /^options '--institution <id>' and '--no-institution' contradict each other /,
    ],
    [
      'acquirer set bank --no-tls-ca-file --tls-ca-file ca.pem',
      /^options '--no-tls-ca-file' and '--tls-ca-file <file>' contradict each other /,
    ],
    [
      'route set --merchant 1 --acquirer bank --currency AUD --currency NZD',
      /^option '--currency <code>' is given more than once /,
    ],
    ['merchant set 1 --name One --name Two', /^option '--name <name>' is given more than once /],
    [
      'transaction list --merchant 1 --merchant-id 2',
      /^option '--merchant, --merchant-id <id>' is given more than once /,
    ],
    [
      'keys rotate --merchant 1 --key-encryption-key',
      /^option '--key-encryption-key' cannot be used with option '--merchant <id>' /,
    ],
    [
      'surcharge set --merchant 1 --card amex=1 --card amex=2',
      /'amex=2' is invalid\. There are two percentages for amex\. /,
    ],
    ['transaction list --from 2026-02-02 --until 2026-02-01', /^--from must not be after --until$/],
    ['acquirer add bank --kind iso8583 --address localhost:1 --tls-ca-file package.json', /^--tls-ca-file /],
  ])('%s', async (line, expected) => {
    expect(await refusal(line)).toMatch(expected);
  });

  test('options that may be repeated → can be repeated', async () => {
    const lines = [
      'surcharge set --merchant 1 --card amex=1 --card visa=2',
      'user add seller --merchant 1 --grant 2 --grant 3',
    ];
    for (const line of lines) expect((await runHere(wordsOf(line), environment())).stderr).toBe('');
  });
});

interface Unread {
  readonly code: number | null;
  /** What came out of the other one. */
  readonly heard: string;
}

/** Runs a command of which nobody reads one of its outputs. */
function unread(line: string, output: 'stdout' | 'stderr'): Promise<Unread> {
  const child = spawn(process.execPath, [TOLLGATE, ...wordsOf(line)], {
    cwd: PROJECT_ROOT,
    env: { ...environmentWithoutSettings(), ...environment() },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child[output].destroy();
  let heard = '';
  (output === 'stdout' ? child.stderr : child.stdout).on('data', (data: Buffer) => {
    heard += data;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, heard })));
}

describe.concurrent('output that nobody reads', () => {
  test.each(['organisation list', 'organisation list --json'])('%s | head → ends quietly', async (line) => {
    expect(await unread(line, 'stdout')).toEqual({ code: 141, heard: '' });
  });

  test('the errors of a command → its exit code is still set', async () => {
    expect((await unread('merchant set 99 --vault', 'stderr')).code).toBeOneOf([1, 141]);
  });

  test.skipIf(!existsSync('/dev/full'))(
    'output to a file on a full disk → one line, exit code 1',
    async () => {
      const full = await open('/dev/full', 'w');
      const child = spawn(process.execPath, [TOLLGATE, 'organisation', 'list'], {
        env: { ...environmentWithoutSettings(), ...environment() },
        stdio: ['ignore', full.fd, 'pipe'],
      });
      let told = '';
      child.stderr?.on('data', (data: Buffer) => {
        told += data;
      });
      const code = await new Promise((resolve) => child.on('close', resolve));
      await full.close();
      expect([code, told]).toEqual([1, 'tollgate: the output cannot be written (ENOSPC)\n']);
    },
  );

  test('the start and the log of a gateway → it still serves', async () => {
    const port = await freePort();
    const child = spawn(process.execPath, [TOLLGATE, 'serve'], {
      cwd: PROJECT_ROOT,
      env: {
        ...environmentWithoutSettings(),
        ...environment(),
        TOLLGATE_PORT: String(port),
        TOLLGATE_CONSOLE_PORT: 'off',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise((resolve) => child.on('close', resolve));
    child.stdout.destroy();
    child.stderr.destroy();
    try {
      const ready = () =>
        fetch(`http://127.0.0.1:${port}/readyz`).then(
          ({ ok }) => ok || undefined,
          () => undefined,
        );
      await eventually(ready);
      // Once more, now that it has said where it listens.
      expect(await eventually(ready)).toBe(true);
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
