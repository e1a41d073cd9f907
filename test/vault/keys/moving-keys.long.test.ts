// From one key provider to another while gateways serve: both providers' keys open meanwhile, and in the end the new one is
// enough.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openKeyProvider } from '../../../src/gateway/settings/key-encryption.js';
import { readSettings } from '../../../src/gateway/settings/settings.js';
import { rewrapKeys } from '../../../src/installation/keys.js';
import { Database } from '../../../src/postgres/database.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { eventually, start } from '../../../testkit/gateway-process.js';
import { type KmsServer, kmsServer } from '../../../testkit/kms-server.js';
import { asEnvironment } from '../../../testkit/project.js';
import { dataDirOf, payWith, tokensOf } from '../../../testkit/sealed-rows.js';

let gateway: TestGateway;
let kms: KmsServer;
beforeAll(async () => {
  gateway = await testGateway();
  kms = await kmsServer();
});
afterAll(async () => {
  await gateway.close();
  await kms.close();
});

const inKms = () => ({
  KEY_PROVIDER: 'aws-kms',
  KMS_KEY: 'alias/tollgate',
  KMS_REGION: kms.region,
  KMS_ENDPOINT: kms.endpoint,
  AWS_ACCESS_KEY_ID: kms.credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: kms.credentials.secretAccessKey,
  AWS_SESSION_TOKEN: kms.credentials.sessionToken,
});

async function moved(settings: Readonly<Record<string, string>>): Promise<number> {
  const database = new Database(gateway.databaseUrl, { maxConnections: 2, patient: true });
  try {
    const environment = asEnvironment({ DATA_DIR: dataDirOf(gateway), ...settings });
    return await rewrapKeys(
      database,
      'operator:test',
      await openKeyProvider(readSettings(environment), database),
    );
  } finally {
    await database.close();
  }
}

const wrappedBy = async () => {
  const rows = await gateway.sql<{ key: string }>(
    `SELECT DISTINCT key_encryption_key AS key FROM data_key UNION SELECT key_encryption_key FROM installation_key
     UNION SELECT key_proof_key FROM gateway ORDER BY 1`,
  );
  return rows.map(({ key }) => key).sort();
};

// catches(moving the key: the keys of the installation go along)
test('from the file to AWS KMS, and back', async () => {
  const tokens = await tokensOf(gateway, 1, 2);
  await payWith(gateway, tokens);
  const [file] = await wrappedBy();
  expect(file).toMatch(/^[0-9a-f]{16}$/);

  // A process with both beside one with the file alone: from now on KMS wraps new keys.
  const moving = await testGateway({
    shareWith: gateway,
    settings: { ...inKms(), PREVIOUS_KEY_PROVIDER: 'file' },
  });
  await payWith(moving, tokens);
  await payWith(moving, await tokensOf(moving, 2, 1), 2);
  expect(await wrappedBy()).toEqual([file, `aws-kms/${kms.key()}`].sort());
  expect(await moved({ ...inKms(), PREVIOUS_KEY_PROVIDER: 'file' })).toBe(2);
  expect(await wrappedBy()).toEqual([`aws-kms/${kms.key()}`]);
  await payWith(moving, tokens);
  await moving.close();

  const alone = await testGateway({ shareWith: gateway, settings: inKms() });
  await payWith(alone, tokens);
  await alone.close();
  await expect(moved({})).rejects.toThrow(/is not the one that this database was sealed under/);

  expect(await moved({ ...inKms(), KEY_PROVIDER: 'file', PREVIOUS_KEY_PROVIDER: 'aws-kms' })).toBe(2);
  expect(await wrappedBy()).toEqual([file]);
  await payWith(gateway, tokens);
});

test('keys move, killed in the middle → both keys together open everything, and the next run finishes the move', async () => {
  const tokens = await tokensOf(gateway, 1, 2);
  const others = await tokensOf(gateway, 2, 1);
  const [file] = await wrappedBy();
  const environment = { KEY_PROVIDER: 'environment', KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64') };
  const settings = { ...environment, DATA_DIR: dataDirOf(gateway), PREVIOUS_KEY_PROVIDER: 'file' };
  const move = () =>
    start(['keys', 'move', '--json'], { DATABASE_URL: gateway.databaseUrl, ...asEnvironment(settings) });
  const holder = new pg.Client(gateway.databaseUrl);
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT FROM data_key WHERE merchant_id = 2 FOR UPDATE');
  const killed = move();
  await eventually(async () => {
    const [waiting] = await gateway.sql(
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'tollgate-cli' AND wait_event_type = 'Lock'
        AND datname = current_database()`,
    );
    return waiting;
  });
  killed.kill('SIGKILL');
  expect((await killed.ended).signal).toBe('SIGKILL');
  // The server would finish the statement of a client that it does not know to be gone.
  await gateway.sql(
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
     WHERE application_name = 'tollgate-cli' AND datname = current_database()`,
  );
  await holder.query('ROLLBACK');
  await holder.end();
  const half = await wrappedBy();
  expect(half).toHaveLength(2);
  expect(half).toContain(file);

  const both = await testGateway({
    shareWith: gateway,
    settings: { ...environment, PREVIOUS_KEY_PROVIDER: 'file' },
  });
  await payWith(both, tokens);
  await payWith(both, others, 2);
  const { code, stderr } = await move().ended;
  expect([code, stderr]).toEqual([0, '']);
  expect(await wrappedBy()).toEqual(half.filter((key) => key !== file));
  await payWith(both, tokens);
  await both.close();
  const alone = await testGateway({ shareWith: gateway, settings: environment });
  await payWith(alone, tokens);
  await payWith(alone, others, 2);
  await alone.close();
  await moved({ ...settings, KEY_PROVIDER: 'file', PREVIOUS_KEY_PROVIDER: 'environment' });
});
