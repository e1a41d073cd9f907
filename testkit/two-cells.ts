// Two cells with keys of their own, whose gateways ask the same simulated acquirer, and the fleet file that lists them. The first has the
// cast, the second nobody.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { readSettings } from '../src/gateway/settings/settings.js';
import { Database } from '../src/postgres/database.js';
import { FileKeys } from '../src/vault/keys/local-keys.js';
import { credentialKeyOf } from './cast.js';
import { runHere } from './command-here.js';
import { type TestGateway, type TestGatewayOptions, testDatabase, testGateway } from './gateway.js';
import { asEnvironment } from './project.js';

export interface TwoCells {
  readonly one: TestGateway;
  readonly two: TestGateway;
  /** A folder with the settings of each, and `fleet.json`. */
  readonly folder: string;
  /** A command with the settings of a cell. */
  command(
    cell: 'one' | 'two',
    ...words: string[]
  ): Promise<{ code: number | null; stdout: string; stderr: string }>;
  /** The environment of such a command. */
  environment(cell: 'one' | 'two'): Record<string, string>;
  close(): Promise<void>;
}

interface TwoCellsOptions extends TestGatewayOptions {
  /** Of the second cell alone. */
  readonly second?: Readonly<Record<string, string>>;
}

/** Gateways of both have these settings and links. */
export async function twoCells({ second = {}, ...options }: TwoCellsOptions = {}): Promise<TwoCells> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-cells-'));
  const one = await testGateway(options);
  const database = await testDatabase();
  const own = join(folder, 'two-data');
  await mkdir(own);
  await new FileKeys(join(own, 'key-encryption-key')).prepare();
  await name(one.databaseUrl, 'one', 1, true);
  await name(database.url, 'two', 2, false);
  const ofSecond = asEnvironment(second);
  await makeKeys(database.url, { TOLLGATE_DATA_DIR: own, ...ofSecond });
  const two = await testGateway({
    ...options,
    settings: { ...options.settings, ...second, SIMULATOR_LEDGER: one.ledgerPath },
    shareWith: { ...one, databaseUrl: database.url, ledgerPath: join(own, 'ledger') },
  });
  const cells = { one, two };
  const settingsOf = (cell: 'one' | 'two'): Record<string, string> => ({
    DATABASE_URL: cells[cell].databaseUrl,
    TOLLGATE_DATA_DIR: cells[cell].dataDir,
    ...(cell === 'two' && ofSecond),
  });
  for (const cell of ['one', 'two'] as const) {
    const lines = Object.entries(settingsOf(cell)).map(([setting, value]) => `${setting}='${value}'\n`);
    await writeFile(join(folder, cell), lines.join(''));
  }
  const fleet = Object.entries(cells).map(([cell, { baseUrl }]) => ({
    name: cell,
    address: `https://${cell}.pay.example`,
    gateways: [new URL(baseUrl).host],
    settings: join(folder, cell),
  }));
  const fleetFile = join(folder, 'fleet.json');
  await writeFile(fleetFile, JSON.stringify({ cells: fleet }));
  const environment = (cell: 'one' | 'two') => ({ ...settingsOf(cell), TOLLGATE_FLEET_FILE: fleetFile });
  return {
    one,
    two,
    folder,
    environment,
    command: (cell, ...words) => runHere(words, environment(cell)),
    close: async () => {
      await Promise.all([one.close(), two.close()]);
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Of the installation, as its first start would. */
async function makeKeys(url: string, settings: Readonly<Record<string, string>>): Promise<void> {
  const database = new Database(url, { maxConnections: 1 });
  await credentialKeyOf(database, readSettings(settings)).finally(() => database.close());
}

/** `isKept`: it has organisations, and keeps the number that it has. */
async function name(url: string, cell: string, number: number, isKept: boolean): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(
      isKept ? 'UPDATE gateway SET cell = $1' : 'UPDATE gateway SET cell = $1, cell_number = $2',
      isKept ? [cell] : [cell, number],
    );
    if (isKept) return;
    // Test databases are copies of one.
    await client.query(
      `BEGIN; SET LOCAL session_replication_role = replica; UPDATE gateway SET installation = 'SECOND'; COMMIT`,
    );
    await client.query('UPDATE event_sequencer SET cursor_key = gen_random_uuid()');
  } finally {
    await client.end();
  }
}
