// The key-encryption key is lost or changed: the gateway does not start, says why in one line, and writes nothing.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startGateway } from '../../../src/gateway/gateway.js';
import { readSettings } from '../../../src/gateway/settings/settings.js';
import { KeyUnavailable } from '../../../src/vault/keys/key-provider.js';
import { client } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { dataDirOf } from '../../../testkit/sealed-rows.js';
import { type NewToken, vaultOf } from '../../../testkit/vault-client.js';

let gateway: TestGateway;
let token: NewToken;
let dataDir: string;
let keyFile: string;

beforeAll(async () => {
  gateway = await testGateway();
  token = await vaultOf(gateway.api).newToken();
  dataDir = dataDirOf(gateway);
  keyFile = join(dataDir, 'key-encryption-key');
});
afterAll(() => gateway.close());

/** A further process of the same gateway. */
function start(environment: Record<string, string> = {}) {
  const settings = readSettings({
    TOLLGATE_DATA_DIR: dataDir,
    TOLLGATE_PORT: '0',
    TOLLGATE_CHECKOUT_PORT: 'off',
    ...environment,
  });
  return startGateway({ settings, databaseUrl: gateway.databaseUrl, log: pino({ level: 'silent' }) });
}

/** Everything that a start could write, apart from the running gateway's heartbeats. */
async function state() {
  const [counts] = await gateway.sql(`
    SELECT (SELECT count(*) FROM data_key) AS keys, (SELECT count(*) FROM journal) AS entries,
      (SELECT count(*) FROM process) AS processes, (SELECT count(*) FROM audit_lease) AS leases,
      (SELECT count(*) FROM token) AS tokens, (SELECT encode(key_proof, 'hex') || key_proof_key FROM gateway) AS proof`);
  return { counts, files: (await readdir(dataDir)).sort() };
}

async function expectRefused(message: RegExp, environment?: Record<string, string>): Promise<void> {
  const before = await state();
  const error = await start(environment).then(
    () => new Error('it started'),
    (reason: unknown) => reason as Error,
  );
  expect(error).toBeInstanceOf(KeyUnavailable);
  expect(error.message).toMatch(message);
  expect(error.message).not.toContain('\n');
  expect(await state()).toEqual(before);
}

test('start with the key file present → starts, and pays with a token of another process', async () => {
  const other = await start();
  const api = client(other.baseUrl, gateway.owner);
  const answer = await api.purchase({ pan: token.virtualPan });
  expect(answer.body.status.transaction_status_code).toBe('approved');
  await other.close();
});

test('start without the key file → refused, and no new key is created', async () => {
  await rename(keyFile, `${keyFile}.away`);
  try {
    await expectRefused(/^the key-encryption key .*key-encryption-key cannot be read \(ENOENT\)/);
    expect(existsSync(keyFile)).toBe(false);
  } finally {
    await rename(`${keyFile}.away`, keyFile);
  }
});

test.each<[string, string, RegExp]>([
  ['another key', randomBytes(32).toString('base64'), /is not the one that this database was sealed under/],
  ['too short a key', randomBytes(16).toString('base64'), /must hold base64 of 32 bytes/],
  ['nothing', '', /must hold base64 of 32 bytes/],
  ['something else', 'not a key', /must hold base64 of 32 bytes/],
])('start with %s in the key file → refused, and the file is unchanged', async (_what, content, message) => {
  const before = await readFile(keyFile, 'utf8');
  await writeFile(keyFile, content);
  try {
    await expectRefused(message);
    expect(await readFile(keyFile, 'utf8')).toBe(content);
    if (content !== '') {
      const error = await start().catch((reason: Error) => reason);
      expect((error as Error).message).not.toContain(content);
    }
  } finally {
    await writeFile(keyFile, before);
  }
});

test('start with another data directory, or with a key from the environment → refused', async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), 'tollgate-elsewhere-'));
  try {
    await expectRefused(/cannot be read \(ENOENT\)/, { TOLLGATE_DATA_DIR: elsewhere });
    expect(existsSync(join(elsewhere, 'key-encryption-key'))).toBe(false);
    await expectRefused(/is not the one that this database was sealed under/, {
      TOLLGATE_KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    });
  } finally {
    await rm(elsewhere, { recursive: true });
  }
});

test('start with the same key from the environment → starts', async () => {
  const keys = (await readFile(keyFile, 'utf8')).trim();
  const other = await start({ TOLLGATE_KEY_ENCRYPTION_KEY: keys });
  const answer = await client(other.baseUrl, gateway.owner).purchase({ pan: token.virtualPan });
  expect(answer.status).toBe(201);
  await other.close();
});
