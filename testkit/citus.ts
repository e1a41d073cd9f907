// Databases on a Citus cluster, for tests and proofs that run there as well as on a plain PostgreSQL: `CITUS_URL` names a
// database on its coordinator that knows the other servers, with a superuser accepted by all.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { run } from './gateway-process.js';

export const CITUS_URL = process.env.CITUS_URL;

const OBJECT_IN_USE = '55006';
const DROP_ATTEMPTS = 20;

export interface Server {
  readonly host: string;
  readonly port: number;
  readonly isCoordinator: boolean;
}

/** A separate database on every server, with the current schema, distributed. A copy of a template is quicker. */
export async function makeCitusDatabase(adminUrl: string, name: string, template?: string): Promise<string> {
  const servers = await serversOf(adminUrl);
  await Promise.all(
    servers.map(async (server) => {
      const like = server.isCoordinator && template !== undefined ? ` TEMPLATE ${template}` : '';
      await ask(addressAt(adminUrl, server), [`CREATE DATABASE ${name}${like}`]);
      await ask(addressAt(adminUrl, server, name), ['CREATE EXTENSION citus']);
    }),
  );
  const coordinator = servers.find(({ isCoordinator }) => isCoordinator) as Server;
  const url = addressAt(adminUrl, coordinator, name);
  await inTurns(adminUrl, async () => {
    await ask(url, [
      `SELECT citus_set_coordinator_host('${coordinator.host}', ${coordinator.port})`,
      ...servers
        .filter(({ isCoordinator }) => !isCoordinator)
        .map(({ host, port }) => `SELECT citus_add_node('${host}', ${port})`),
    ]);
    await prepareByCommands(url);
  });
  return url;
}

/**
 * Joining servers or distributing tables announces all roles to the servers, which share them: of two at once, one might fail.
 */
async function inTurns(adminUrl: string, work: () => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(`SELECT pg_advisory_lock(hashtext('tollgate servers'))`);
    await work();
  } finally {
    await client.end();
  }
}

/** Through the program: this may run compiled, without the migrations. */
export async function prepareByCommands(url: string): Promise<void> {
  for (const command of ['migrate', 'distribute']) {
    const { code, stderr } = await run([command], { DATABASE_URL: url });
    if (code !== 0) throw new Error(`tollgate ${command} ended with ${code}: ${stderr}`);
  }
}

export async function dropCitusDatabase(adminUrl: string, name: string): Promise<void> {
  const servers = await serversOf(adminUrl);
  // The coordinator first: it would query the others for dropped objects.
  for (const server of servers.toSorted(
    (one, other) => Number(other.isCoordinator) - Number(one.isCoordinator),
  ))
    await drop(addressAt(adminUrl, server), name);
}

/** Disconnects everybody; but Citus itself may reconnect before the database is dropped. */
async function drop(url: string, name: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await ask(url, [`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`]);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== OBJECT_IN_USE || attempt === DROP_ATTEMPTS) throw error;
      await rollBackPrepared(url, name);
      await sleep(200);
    }
  }
}

/** Prepared transactions of a worker that was away: the coordinator's database is gone, and will not finish them. */
async function rollBackPrepared(url: string, name: string): Promise<void> {
  const rows = await ask(url, [`SELECT gid FROM pg_prepared_xacts WHERE database = '${name}'`]);
  const there = new URL(url);
  there.pathname = `/${name}`;
  if (rows.length > 0)
    await ask(
      there.href,
      rows.map(({ gid }) => `ROLLBACK PREPARED '${gid}'`),
    );
}

export async function serversOf(adminUrl: string): Promise<Server[]> {
  const rows = await ask(adminUrl, [
    'SELECT nodename AS host, nodeport AS port, groupid = 0 AS "isCoordinator" FROM pg_dist_node WHERE isactive',
  ]);
  return rows as Server[];
}

/** The first process of each server, where all run on this machine. */
export async function serverPids(adminUrl: string): Promise<number[]> {
  const servers = await serversOf(adminUrl);
  return Promise.all(
    servers.map(async (server) => {
      const [row] = await ask(addressAt(adminUrl, server), [
        `SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::integer AS pid`,
      ]);
      return Number(row?.pid);
    }),
  );
}

/** Of a database there: the same as the given one, unless another is named. */
export function addressAt(adminUrl: string, { host, port }: Server, name?: string): string {
  const url = new URL(adminUrl);
  url.hostname = host;
  url.port = String(port);
  if (name !== undefined) url.pathname = `/${name}`;
  return url.href;
}

/** Returns the rows of the last statement. */
export async function ask(url: string, statements: readonly string[]): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    let rows: pg.QueryResultRow[] = [];
    for (const statement of statements) ({ rows } = await client.query(statement));
    return rows;
  } finally {
    await client.end();
  }
}

/** A proof's database on a shared cluster: its servers are not ours to kill, its sessions are. */
export class CitusDatabase {
  readonly lastingUrl: string;

  private constructor(
    private readonly adminUrl: string,
    private readonly name: string,
    readonly url: string,
  ) {
    this.lastingUrl = url;
  }

  static async open(): Promise<CitusDatabase> {
    const adminUrl = CITUS_URL as string;
    const name = `tollgate_proof_${process.pid}_${Math.random().toString(36).slice(2)}`;
    return new CitusDatabase(adminUrl, name, await makeCitusDatabase(adminUrl, name));
  }

  async kill(): Promise<void> {
    for (const server of await serversOf(this.adminUrl))
      await ask(addressAt(this.adminUrl, server), [
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${this.name}' AND backend_type = 'client backend'`,
      ]);
  }

  async start(): Promise<void> {}

  stop(): Promise<void> {
    return dropCitusDatabase(this.adminUrl, this.name);
  }
}
