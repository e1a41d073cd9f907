// A backup of the PostgreSQL that comes with the gateway, made while it serves: restored, refused if incomplete, and guarded so
// that no number is assigned twice. One gateway, and one backup for most tests.
import { chmod, chown, cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signerIfAvailable } from '../../src/gateway/callers.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { restore } from '../../src/installation/backup.js';
import type { Queryable } from '../../src/postgres/database.js';
import { client, type Json } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import {
  dataDirectory,
  type Ended,
  run,
  smallDisk,
  start,
  startGatewayProcess,
} from '../../testkit/gateway-process.js';
import { asEnvironment } from '../../testkit/project.js';
import { type StandaloneGateway, startStandalone } from '../../testkit/standalone.js';

let gateway: StandaloneGateway;
let folder: string;
let made: Json;
let paid: Json;
let customer: Json;

const environmentOf = (dataDir: string) => asEnvironment({ DATA_DIR: dataDir });
const inLife = (dataDir: string) => commands((line) => runHere(wordsOf(line), environmentOf(dataDir)));

beforeAll(async () => {
  gateway = await startStandalone();
  folder = join(await dataDirectory(), 'backup');
  const api = client(gateway.baseUrl, gateway);
  paid = (await api.purchase()).body;
  customer = (await api.post('/customers', { reference: 'ada', name: 'Ada Lovelace' })).body;
  made = await inLife(gateway.dataDir).json(`backup ${folder}`);
});
afterAll(() => gateway.stop());

/** Restored in this process, which is quicker than in one of its own. */
function restoreInto(dataDir: string, from = folder, options: { fingerprint?: string } = {}) {
  const settings = readSettings(environmentOf(dataDir));
  const doing = {
    settings,
    actor: 'operator:test',
    progress: () => () => {},
    signal: new AbortController().signal,
    means: {
      paidElsewhere: async () => [],
      signerIfAvailable: (database: Queryable, into: string) =>
        signerIfAvailable({ ...settings, dataDir: into }, database),
    },
  };
  return restore(doing, { folder: from, ...options });
}

async function filesOf(dataDir: string): Promise<string[]> {
  return (await readdir(dataDir)).sort();
}

// catches(backup: the key is not in it) slow, processes
test('a backup → says what it holds, holds neither the key nor the demo’s secret, and is readable only by its owner', async () => {
  const files = await readdir(folder);
  expect(files.sort()).toEqual(['manifest.json', 'postgres', 'postgres-password']);
  expect(made).toEqual({
    folder,
    taken: expect.stringMatching(/^20\d\d-.*Z$/),
    bytes: expect.any(Number),
    files: expect.any(Number),
    fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    key_encryption_key: expect.any(String),
    with_key: false,
  });
  expect((await stat(folder)).mode & 0o077).toBe(0);
  expect(await inLife(gateway.dataDir).json('journal --limit 1')).toMatchObject([
    { action: 'gateway.backed_up', detail: expect.stringContaining(made.fingerprint) },
  ]);
});

// catches(backup: no entry without a MAC) slow
test('while the key is elsewhere → made, and says that the journal does not have it: an entry would look forged', async () => {
  const [key, away] = ['key-encryption-key', 'elsewhere'].map((name) => join(gateway.dataDir, name)) as [
    string,
    string,
  ];
  const entries = () => inLife(gateway.dataDir).json('journal --action gateway.backed_up');
  const before = await entries();
  await rename(key, away);
  const without = join(await dataDirectory(), 'without');
  const { code, stderr } = await runHere(['backup', without], environmentOf(gateway.dataDir)).finally(() =>
    rename(away, key),
  );
  expect([code, stderr]).toEqual([0, expect.stringContaining('The backup is not in the journal')]);
  expect(await entries()).toEqual(before);
  expect(await inLife(gateway.dataDir).json('journal verify')).toMatchObject({ problems: [] });
});

// catches(restore: it begins a new timeline, by which processes know that the database has gone back) slow, processes
// catches(restore: merchants and organisations are numbered further on) slow, processes
// catches(restore: audits and IDs move past what may have been used) slow, processes
test('restored → payments are there and can be refunded; audits, customers and tokens continue far ahead of any used before', async () => {
  // After the backup, and lost with it.
  const api = client(gateway.baseUrl, gateway);
  const lost = (await api.purchase()).body;
  const lostCustomer = (await api.post('/customers', { reference: 'lost', name: 'Lost' })).body;

  const dataDir = await dataDirectory();
  const ledger = join(gateway.dataDir, 'simulator-ledger.ndjson');
  await cp(join(gateway.dataDir, 'key-encryption-key'), join(dataDir, 'key-encryption-key'));
  const printed = await inLife(dataDir).text(`restore ${folder} --fingerprint ${made.fingerprint}`);
  expect(printed).toContain(`Restored into ${dataDir}, as of ${made.taken}.`);
  expect(printed).toMatch(/^Organisation 1: the next audit is \d{7,} \(was \d+\), /m);
  expect(printed).toMatch(/^1 users can log in: secrets that were replaced/m);
  expect(await filesOf(dataDir)).toEqual(['key-encryption-key', 'postgres', 'postgres-password']);
  // A new timeline, by which processes know that the database has gone back.
  expect(await filesOf(join(dataDir, 'postgres', 'pg_wal'))).toContain('00000002.history');

  const restored = await startGatewayProcess({
    ...environmentOf(dataDir),
    TOLLGATE_SIMULATOR_LEDGER: ledger,
  });
  const again = client(restored.baseUrl, gateway);
  expect((await again.get(`/transactions/${paid.audit}`)).body).toMatchObject({ audit: paid.audit });
  // It was processed: no client is told that it was not.
  expect((await again.lookUp(lost.audit)).status).toBe(503);
  const refunded = await again.refund(paid.audit, 1);
  expect([refunded.status, refunded.body.status?.transaction_status_code]).toEqual([201, 'approved']);
  expect(refunded.body.audit).toBeGreaterThan(lost.audit + 1_000_000);
  const added = (await again.post('/customers', { reference: 'new', name: 'New' })).body;
  expect(added.id).toBeGreaterThan(lostCustomer.id + 1_000_000);
  expect((await again.get(`/customers/${customer.id}`)).body.reference).toBe('ada');
  expect(await inLife(dataDir).json('journal --limit 100')).toContainEqual(
    expect.objectContaining({ action: 'gateway.restored' }),
  );
  // Merchants, too, are numbered further on.
  expect((await inLife(dataDir).json('organisation add Next')).id).toBeGreaterThan(10_000);
  await restored.stop();
});

// catches(restore: each time it moves further) slow
test('restored twice more, without its key → counters move past those of the earlier restores; the gateway does not start, and says what is missing', async () => {
  const [first, second] = [await dataDirectory(), await dataDirectory()];
  const nextAudit = async (dataDir: string) => (await restoreInto(dataDir)).moved[0]?.toAudit ?? 0;
  const earlier = await nextAudit(first);
  expect(await nextAudit(second)).toBeGreaterThan(earlier + 999_999);
  const { code, stderr } = await run(['serve'], environmentOf(second));
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^tollgate: the key-encryption key .*bring it back/m),
  ]);
});

test('with the key → the backup has it, and the restore brings it back', async () => {
  const withKey = join(await dataDirectory(), 'with-key');
  expect(await inLife(gateway.dataDir).text(`backup ${withKey} --with-key`)).toContain(
    'guard it as you guard the cards',
  );
  const dataDir = await dataDirectory();
  await restoreInto(dataDir, withKey);
  const key = (directory: string) => readFile(join(directory, 'key-encryption-key'), 'utf8');
  expect(await key(dataDir)).toBe(await key(gateway.dataDir));
});

// catches(restore: a manifest leads nowhere else) slow
// catches(restore: each file is what was backed up) slow
describe('an incomplete or changed backup is refused, and nothing is left of the attempt', () => {
  const half = (content: Buffer) => content.subarray(0, content.length / 2);
  const longer = (content: Buffer) => Buffer.concat([content, Buffer.from(' ')]);
  const elsewhere = (content: Buffer) =>
    Buffer.from(content.toString().replace('"path": "postgres-password"', '"path": "../postgres-password"'));
  const damages: [string, string, ((content: Buffer) => Buffer) | 'gone', RegExp][] = [
    ['without a manifest', 'manifest.json', 'gone', /holds no complete backup/],
    ['with half a manifest', 'manifest.json', half, /manifest\.json is damaged/],
    ['with a path that leads elsewhere', 'manifest.json', elsewhere, /manifest\.json is damaged/],
    ['with a file that is missing', 'postgres/PG_VERSION', 'gone', /postgres\/PG_VERSION is missing/],
    ['with half a file', 'postgres/global/pg_control', half, /pg_control is not what was backed up/],
    ['with a file that is longer', 'postgres/PG_VERSION', longer, /PG_VERSION is not what was backed up/],
    [
      'with another password',
      'postgres-password',
      (own) => Buffer.alloc(own.length, 'x'),
      /postgres-password is not/,
    ],
  ];
  test.each(damages)('%s', async (_, name, damage, reason) => {
    const path = join(folder, name);
    const content = await readFile(path);
    if (damage === 'gone') await rm(path);
    else await writeFile(path, damage(content));
    const dataDir = await dataDirectory();
    try {
      await expect(restoreInto(dataDir)).rejects.toThrow(reason);
    } finally {
      await writeFile(path, content);
    }
    expect(await filesOf(dataDir)).toEqual([]);
  });

  // catches(restore: no other backup than the one that is meant) slow
  test('with a fingerprint other than the requested one', async () => {
    const dataDir = await dataDirectory();
    await expect(restoreInto(dataDir, folder, { fingerprint: 'f'.repeat(64) })).rejects.toThrow(
      `the fingerprint of the backup in ${folder} is ${made.fingerprint}`,
    );
  });
});

describe('unsuitable destinations', () => {
  const refusals: [string, () => string, RegExp][] = [
    ['a folder with something in it', () => folder, /is not empty, and no backup is overwritten/],
    ['the data directory', () => join(gateway.dataDir, 'backup'), /lies in the data directory/],
    ['a folder that cannot be made', () => '/proc/backup', /cannot be made/],
  ];
  test.each(refusals)('%s → refused', async (_, to, reason) => {
    expect(await inLife(gateway.dataDir).refusal(`backup ${to()}`)).toMatch(reason);
  });

  // catches(restore: a used data directory is left alone) slow
  test('a data directory in use → no restore, and nothing is changed', async () => {
    const before = await filesOf(gateway.dataDir);
    await expect(restoreInto(gateway.dataDir)).rejects.toThrow(
      /is in use \(.*postgres.*\): restore into an empty one/,
    );
    expect(await filesOf(gateway.dataDir)).toEqual(before);
  });

  test('an external PostgreSQL → refused, with what to use instead', async () => {
    const foreign = { DATABASE_URL: 'postgres://tollgate@127.0.0.1:1/tollgate' };
    const refused = async (...args: string[]) => (await runHere(args, foreign)).stderr;
    expect(await refused('backup', '/tmp/never')).toMatch(/^tollgate: DATABASE_URL is set.*pg_basebackup/);
    expect(await refused('restore', '/tmp/never')).toMatch(
      /^tollgate: DATABASE_URL is set.*`tollgate counters advance`/,
    );
  });
});

// catches(restore: no new database where a restore was interrupted) slow, processes
test('a killed restore → no gateway starts there, and the next restore starts over', async () => {
  const dataDir = await dataDirectory();
  const killed = start(['restore', folder], environmentOf(dataDir));
  await expect.poll(() => filesOf(dataDir)).toContainEqual(expect.stringMatching(/^restoring\./));
  killed.kill('SIGKILL');
  await killed.ended;
  const { code, stderr } = await run(['serve'], environmentOf(dataDir));
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/A restore into .* was interrupted: run `tollgate restore` again/),
  ]);
  await restoreInto(dataDir);
  expect(await filesOf(dataDir)).toEqual(['postgres', 'postgres-password']);
});

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0 && process.platform === 'linux';
describe.skipIf(!isRoot)(`as root on Linux${isRoot ? '' : ' (skipped)'}`, () => {
  test('another user of the system → cannot make a backup, one line', async () => {
    await chmod(gateway.dataDir, 0o700);
    const folderOfOthers = join(await dataDirectory(), 'others');
    const { stderr, code } = await asNobody(['backup', folderOfOthers], environmentOf(gateway.dataDir));
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^tollgate: [^\n]*cannot be (written|used|read)[^\n]*\n$/),
    ]);
  });

  test('root restores into the directory of an ordinary user → everything belongs to that user', async () => {
    const dataDir = await dataDirectory();
    await chown(dataDir, NOBODY, NOBODY);
    await restoreInto(dataDir);
    const names = ['.', ...(await readdir(dataDir, { recursive: true }))];
    const owners = await Promise.all(names.map(async (name) => (await stat(join(dataDir, name))).uid));
    expect(new Set(owners)).toEqual(new Set([NOBODY]));
  });

  test('a full disk → one line, and nothing is left', async () => {
    const disk = await smallDisk('24m');
    const refused = await inLife(gateway.dataDir).refusal(`backup ${join(disk, 'backup')}`);
    expect(refused).toMatch(/^there is not enough room for a backup in .*: it takes \d+ MB/);
    expect(await readdir(disk)).toEqual([]);
    await mkdir(join(disk, 'data'));
    await expect(restoreInto(join(disk, 'data'))).rejects.toThrow(/^there is not enough room in /);
    expect(await filesOf(join(disk, 'data'))).toEqual([]);
  });

  /** It must be able to read the program, which a folder of root's may prevent. */
  async function asNobody(args: string[], environment: Record<string, string>): Promise<Ended> {
    const names = [
      'setpriv',
      '--reuid=65534',
      '--regid=65534',
      '--clear-groups',
      process.execPath,
      'bin/tollgate.js',
    ];
    return start([...names.slice(1), ...args], environment, { command: 'setpriv' }).ended;
  }
});
