// A private Citus cluster, a coordinator and two workers, whose servers can be killed and restarted. `CITUS_BIN` is the
// directory of PostgreSQL's programs, for a PostgreSQL with Citus.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { makeCitusDatabase } from './citus.js';

const SERVERS = 3;
const START_LIMIT_MS = 60_000;
const SETTINGS = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_preload_libraries = 'citus'
max_connections = 200
max_worker_processes = 32
max_prepared_transactions = 400
shared_buffers = 128MB
# A commit that a killed server has not heard of is brought to its end soon after it is back.
citus.recover_2pc_interval = '1s'
`;

interface Server {
  readonly directory: string;
  readonly port: number;
  process: ChildProcess | undefined;
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

export class CitusCluster {
  #killed: Server | undefined;
  #kills = 0;
  #url = '';

  private constructor(
    private readonly binaries: string,
    private readonly directory: string,
    private readonly user: User | undefined,
    private readonly servers: readonly Server[],
  ) {}

  /** Of a database in which the servers know each other, and nothing else is. */
  get adminUrl(): string {
    return urlOf(this.servers[0] as Server);
  }

  /** Of a database with the current schema, distributed. */
  get url(): string {
    return this.#url;
  }

  /** It comes back under the same address. */
  get lastingUrl(): string {
    return this.#url;
  }

  /** Of the server that was killed, until it is back. */
  get portOfKilled(): number | undefined {
    return this.#killed?.port;
  }

  /** With a database to serve from. */
  static async open(): Promise<CitusCluster> {
    const cluster = await CitusCluster.start(process.env.CITUS_BIN as string);
    cluster.#url = await makeCitusDatabase(cluster.adminUrl, 'tollgate');
    return cluster;
  }

  static async start(binaries: string): Promise<CitusCluster> {
    const user = process.getuid?.() === 0 ? await ordinaryUser() : undefined;
    const directory = await mkdtemp(join(tmpdir(), 'tollgate-citus-'));
    if (user !== undefined) await chown(directory, user.uid, user.gid);
    const servers = await Promise.all(
      Array.from({ length: SERVERS }, async (_, number) => ({
        directory: join(directory, `server-${number}`),
        port: await freePort(),
        process: undefined,
      })),
    );
    const cluster = new CitusCluster(binaries, directory, user, servers);
    process.once('exit', () => cluster.#leave());
    for (const server of servers) await cluster.#make(server);
    await Promise.all(servers.map((server) => cluster.#run(server)));
    await Promise.all(servers.map((server) => ask(urlOf(server), 'CREATE EXTENSION citus')));
    const [coordinator, ...workers] = servers as [Server, ...Server[]];
    await ask(urlOf(coordinator), `SELECT citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`);
    for (const { port } of workers)
      await ask(urlOf(coordinator), `SELECT citus_add_node('127.0.0.1', ${port})`);
    return cluster;
  }

  /** One of its servers, in turns: a worker, the other one, the coordinator. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    this.#kills += 1;
    const server = this.servers[this.#kills % SERVERS] as Server;
    this.#killed = server;
    const ended = once(server.process as ChildProcess, 'exit');
    server.process?.kill(signal);
    await ended;
  }

  async start(): Promise<void> {
    if (this.#killed !== undefined) await this.#run(this.#killed);
    this.#killed = undefined;
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.servers.map(async (server) => {
        if (server.process === undefined || server.process.exitCode !== null) return;
        const ended = once(server.process, 'exit');
        server.process.kill('SIGQUIT');
        await ended;
      }),
    );
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  async #make({ directory, port }: Server): Promise<void> {
    await mkdir(directory, { mode: 0o700 });
    if (this.user !== undefined) await chown(directory, this.user.uid, this.user.gid);
    const made = this.#spawn('initdb', [
      '-D',
      directory,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C',
      '--no-sync',
    ]);
    const [code] = await once(made, 'exit');
    if (code !== 0) throw new Error(`initdb ended with ${code}`);
    await appendFile(join(directory, 'postgresql.conf'), `${SETTINGS}port = ${port}\n`);
  }

  /** What a killed server has left behind may take a moment to go. */
  async #run(server: Server): Promise<void> {
    const untilMs = performance.now() + START_LIMIT_MS;
    while (performance.now() < untilMs) {
      server.process = this.#spawn('postgres', ['-D', server.directory]);
      while (server.process.exitCode === null && server.process.signalCode === null) {
        if (await isThere(urlOf(server))) return;
        await sleep(50);
      }
      await sleep(200);
    }
    throw new Error(`a server of the cluster did not start within ${START_LIMIT_MS} ms`);
  }

  #spawn(program: string, args: readonly string[]): ChildProcess {
    return spawn(join(this.binaries, program), [...args], {
      cwd: '/',
      stdio: 'ignore',
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
      ...this.user,
    });
  }

  /** At the end of the program, without waiting. */
  #leave(): void {
    for (const { process: server } of this.servers) server?.kill('SIGQUIT');
  }
}

function urlOf({ port }: Pick<Server, 'port'>): string {
  return `postgres://postgres@127.0.0.1:${port}/postgres`;
}

async function ask(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

async function isThere(url: string): Promise<boolean> {
  return ask(url, 'SELECT 1').then(
    () => true,
    () => false,
  );
}

/** PostgreSQL does not run as root. */
async function ordinaryUser(): Promise<User> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const found = ['postgres', 'nobody'].flatMap((name) => lines.filter(([called]) => called === name))[0];
  if (found === undefined) throw new Error('PostgreSQL does not run as root, and there is nobody else');
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
