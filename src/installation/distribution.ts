// Spreads the transactions of organisations over the servers of a Citus cluster. Everything else stays on its coordinator, which all
// gateways talk to. It can be run again, and must be after an upgrade that says so.
import { WAIT_FOR_SERVERS } from '../events/events.sql.js';
import { DISTRIBUTION, MARK_DISTRIBUTED } from '../payments/processes/distribution.sql.js';
import { LIVING_PROCESSES } from '../payments/processes/restored.sql.js';
import type { Database, Statement } from '../postgres/database.js';
import { count } from '../tasks/kinds.js';
import { optional, task } from '../tasks/task.js';
import { refuse } from '../values/refusal.js';
import {
  ALLOW_TRIGGERS,
  CITUS_VERSION,
  COMMIT_TOGETHER,
  DURABLE_WORKERS,
  FORGET_COPIED,
  IS_KNOWN_TO_CITUS,
  LET_IN,
  MAKE_KNOWN_TO_CITUS,
  PLAN_BY_INDEX_THERE,
  ROLES_TO_LET_IN,
  SERVERS_OF_CLUSTER,
  SHARDS,
  SPREAD_TRANSACTIONS,
} from './distribution.sql.js';

/** Counts up whenever what `distribute` does has changed. */
const CURRENT = 1;
const DEFAULT_SHARDS = 32;

interface Distributed {
  readonly citus: string;
  readonly shards: number;
  /** That have some of them. */
  readonly servers: number;
  /** What was done, in sentences; nothing where all had been done before. */
  readonly done: readonly string[];
}

export async function distribute(database: Database, shards: number): Promise<Distributed> {
  const citus = await citusVersion(database);
  if (citus === undefined) refuse('not_distributed_engine');
  await checkCluster(database, citus);
  const { rows: living } = await database.query<{ processes: number }>(LIVING_PROCESSES);
  if (living[0] !== undefined && living[0].processes > 0)
    refuse('gateways_at_work', { processes: living[0].processes });
  const done: string[] = [];
  await database.transaction(async (connection) => {
    const { rows: roles } = await connection.query<{ role: string }>(ROLES_TO_LET_IN);
    if (roles.length > 0) await database.script(connection, LET_IN);
    for (const { role } of roles)
      done.push(`The role ${role} may log in: Citus does so from server to server.`);
    if ((await spreadOver(database)).shards === 0) {
      await connection.query(asked(ALLOW_TRIGGERS));
      await connection.query(asked(SPREAD_TRANSACTIONS), [shards]);
      done.push(`Transactions are spread by organisation, over ${shards} shards.`);
    }
    const { rows: known } = await connection.query<{ known: boolean }>(asked(IS_KNOWN_TO_CITUS));
    if (!known[0]?.known) await connection.query(asked(MAKE_KNOWN_TO_CITUS));
    const { rows: marked } = await connection.query<{ distribution: number | null }>(DISTRIBUTION);
    if (marked[0]?.distribution === CURRENT) return;
    await database.script(connection, COMMIT_TOGETHER);
    await connection.query(WAIT_FOR_SERVERS);
    await connection.query(MARK_DISTRIBUTED, [CURRENT]);
    done.push('What is told of transactions is committed together with them, in two phases.');
  });
  await database.query(asked(FORGET_COPIED));
  await database.query(asked(PLAN_BY_INDEX_THERE));
  return { citus, ...(await spreadOver(database)), done };
}

/** Refuses a server that is not to be talked to, whatever tables it has. Nothing is asked of a plain PostgreSQL. */
export async function checkServerOfCluster(database: Database): Promise<void> {
  const citus = await citusVersion(database);
  if (citus !== undefined) await checkCoordinator(database, citus);
}

/** Refuses a cluster that this release cannot work on. Nothing is asked of a plain PostgreSQL. */
export async function checkEngine(database: Database): Promise<void> {
  const citus = await citusVersion(database);
  const { rows } = await database.query<{ distribution: number | null }>(DISTRIBUTION);
  const distribution = rows[0]?.distribution ?? undefined;
  if (citus === undefined && distribution === undefined) return;
  if (citus === undefined) refuse('distributed_without_citus');
  await checkCluster(database, citus);
  if (distribution !== CURRENT || (await spreadOver(database)).shards === 0) refuse('not_distributed');
}

function asked(text: string): Statement {
  return { name: '', text };
}

async function citusVersion(database: Database): Promise<string | undefined> {
  return (await database.query<{ version: string }>(CITUS_VERSION)).rows[0]?.version;
}

interface Cluster {
  readonly isWorker: boolean;
  readonly workers: number;
  /** Whether it is known to the cluster. */
  readonly coordinator: boolean;
}

async function checkCoordinator(database: Database, version: string): Promise<Cluster> {
  const [major = 0, minor = 0] = version.split(/[.-]/).map(Number);
  if (major !== 13 || minor < 2) refuse('distribution_version', { version });
  const { rows } = await database.query<Cluster>(asked(SERVERS_OF_CLUSTER));
  const cluster = rows[0] as Cluster;
  if (cluster.isWorker) refuse('not_coordinator');
  if (!cluster.coordinator) refuse('coordinator_unknown');
  return cluster;
}

async function checkCluster(database: Database, version: string): Promise<void> {
  if ((await checkCoordinator(database, version)).workers === 0) refuse('no_workers');
  const { rows: workers } = await database.query<{ server: string; durable: boolean }>(
    asked(DURABLE_WORKERS),
  );
  const forgetful = workers.find(({ durable }) => !durable);
  if (forgetful !== undefined) refuse('worker_forgets', { server: forgetful.server });
}

async function spreadOver(database: Database): Promise<{ shards: number; servers: number }> {
  return (await database.query<{ shards: number; servers: number }>(asked(SHARDS))).rows[0] as {
    shards: number;
    servers: number;
  };
}

export const DISTRIBUTE = {
  name: 'distribute',
  tasks: [
    task({
      name: 'distribute',
      help: 'spread the transactions of organisations over the servers of a Citus cluster; can be run again',
      scope: 'nobody',
      on: 'as owner',
      input: {
        shards: optional(count(1_024), '--shards <count>', 'how many parts, the first time', {
          default: DEFAULT_SHARDS,
        }),
      },
      run: ({ database }, { shards }) => distribute(database, shards),
      says: ({ citus, shards, servers, done }) =>
        [...done, `Citus ${citus}: ${shards} shards on ${servers} servers.`].join('\n'),
    }),
  ],
} as const;
