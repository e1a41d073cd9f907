// A start that fails at any step leaves nothing behind: no session, file, socket or row in the registry.
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Background } from '../../src/gateway/background.js';
import { startGateway } from '../../src/gateway/gateway.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { Finisher } from '../../src/payments/pipeline/record.js';
import { Database } from '../../src/postgres/database.js';
import { credentialKeyOf, type TestDatabase, testDatabase } from '../../testkit/gateway.js';

interface Stage {
  url: string;
  readonly sql: (text: string) => Promise<unknown[]>;
  /** As environment variables, without the prefix TOLLGATE_. */
  readonly settings: {
    PORT: string;
    HOST?: string;
    SIMULATOR_LEDGER?: string;
    DATA_DIR: string;
    CHECKOUT_PORT: string;
  };
  readonly dataDir: string;
}

/** How each step of a start is made to fail, in order, and the message. */
const FAILURES: readonly [step: string, spoil: (stage: Stage) => unknown, message: RegExp][] = [
  [
    'there is no such database',
    (stage) => {
      stage.url = stage.url.replace(/tollgate_test/, 'no_such');
    },
    /database/,
  ],
  [
    'the simulator’s ledger cannot be written',
    ({ settings, dataDir }) => {
      settings.SIMULATOR_LEDGER = dataDir;
    },
    /TOLLGATE_SIMULATOR_LEDGER: .* cannot be written/,
  ],
  [
    'the key-encryption key cannot be read',
    ({ settings }) => {
      Object.assign(settings, { KEY_PROVIDER: 'environment', KEY_ENCRYPTION_KEY: 'none' });
    },
    /TOLLGATE_KEY_ENCRYPTION_KEY/,
  ],
  [
    'the process cannot be registered',
    ({ sql }) => sql('ALTER TABLE gateway RENAME COLUMN installation TO mislaid'),
    /installation/,
  ],
  ['the first heartbeat fails', ({ sql }) => sql('ALTER TABLE audit_lease RENAME TO mislaid'), /audit_lease/],
  [
    'the background loops do not start',
    () =>
      vi.spyOn(Background.prototype, 'start').mockImplementation(() => {
        throw new Error('no loops');
      }),
    /no loops/,
  ],
  [
    'the port is taken',
    async ({ settings }) => {
      const other = createServer();
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => void other.close());
      settings.PORT = String((other.address() as { port: number }).port);
    },
    /EADDRINUSE/,
  ],
];

describe('a start', () => {
  let own: TestDatabase;
  let client: pg.Client;
  let stage: Stage;
  beforeEach(async () => {
    own = await testDatabase();
    client = new pg.Client(own.url);
    await client.connect();
    const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-failed-start-'));
    // Serving processes create no keys.
    const database = new Database(own.url, { maxConnections: 1 });
    await credentialKeyOf(database, readSettings({ TOLLGATE_DATA_DIR: dataDir }));
    await database.close();
    const sql = async (text: string) => (await client.query(text)).rows;
    stage = { url: own.url, sql, dataDir, settings: { DATA_DIR: dataDir, PORT: '0', CHECKOUT_PORT: 'off' } };
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await client.end();
    await own.drop();
    await rm(stage.dataDir, { recursive: true, force: true });
  });

  function start() {
    const environment = Object.entries(stage.settings).map(([name, value]) => [`TOLLGATE_${name}`, value]);
    const settings = readSettings(Object.fromEntries(environment));
    return startGateway({ settings, databaseUrl: stage.url, log: pino({ enabled: false }) });
  }

  /** Descriptors of this process (files, sockets and others), by target if the system shows it. */
  const descriptors = async () => {
    const numbers = await readdir('/dev/fd');
    const leads = numbers.map((number) =>
      // The descriptor that read the folder is closed by now.
      readlink(`/dev/fd/${number}`).catch(({ code }) => (['ENOENT', 'EBADF'].includes(code) ? [] : number)),
    );
    return (await Promise.all(leads)).flat();
  };
  /** Descriptors that an earlier test left open may close meanwhile. */
  const openedSince = (before: readonly string[]) => async () =>
    (await descriptors()).filter((descriptor) => !before.includes(descriptor));
  const sessions = () =>
    stage.sql(`
      SELECT application_name FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`);

  for (const [step, spoil, message] of FAILURES) {
    test(`in which ${step} → fails, and leaves no session and no descriptor open`, async () => {
      await spoil(stage);
      const before = await descriptors();
      await expect(start()).rejects.toThrow(message);
      await expect.poll(sessions).toEqual([]);
      await expect.poll(openedSince(before)).toEqual([]);
    });
  }

  test('that fails at its last step → the loops have stopped, and the process is not in the registry', async () => {
    const stop = vi.spyOn(Background.prototype, 'stop');
    stage.settings.HOST = '203.0.113.1';
    await expect(start()).rejects.toThrow('EADDRNOTAVAIL');
    expect(stop).toHaveBeenCalledOnce();
    expect(await stage.sql('SELECT FROM process')).toEqual([]);
  });

  test('that succeeds, and a stop in which one thing cannot be closed → the rest is still closed', async () => {
    const before = await descriptors();
    const gateway = await start();
    vi.spyOn(Finisher.prototype, 'close').mockRejectedValue(new Error('will not close'));
    await expect(gateway.close()).rejects.toThrow('will not close');
    await expect.poll(sessions).toEqual([]);
    await expect.poll(openedSince(before)).toEqual([]);
    expect(await stage.sql('SELECT FROM process')).toEqual([]);
  });
});
