// The same program and the same tests run on a Citus cluster. The proof shows how many tasks each statement becomes and on which
// clusters a start is refused. It runs the tests of the interface and the proofs of races, crashes (the cluster's servers are killed,
// too), settlement, the journal and tenants.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { adapted } from '../../src/postgres/distributed.js';
import type { Statement } from '../../src/postgres/statement.js';
import {
  addressAt,
  ask,
  CITUS_URL,
  dropCitusDatabase,
  makeCitusDatabase,
  prepareByCommands,
  type Server,
  serversOf,
} from '../../testkit/citus.js';
import { CitusCluster } from '../../testkit/citus-cluster.js';
import { dataDirectory, leaveNothingBehind, start } from '../../testkit/gateway-process.js';
import { programOptions } from '../../testkit/program-options.js';
import { asEnvironment, compiledProgram, PROJECT_ROOT } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';
import { verdict } from '../arena/verdict.js';
import { brokenWhileAway } from './away.js';

const EARLIER_VERSION = '13.1-1';

const SERVED = 'it is served';

/** The program as it is installed: beside this file there is only what proofs use of it. */
const PROGRAM = pathToFileURL(join(PROJECT_ROOT, 'dist/'));

const values = programOptions({
  rounds: 60,
  kills: 30,
  days: 4,
  entries: 100_000,
  seconds: 3,
  /** A part of the name of a step: only those that have it. */
  only: '',
});

/** What goes through the interface, and needs nothing of the server that a distributed one does not have (such as triggers on every table). */
const CONFORMANCE = [
  'test/payments/pipeline/purchase.test.ts',
  'test/payments/pipeline/refund.test.ts',
  'test/payments/pipeline/void.test.ts',
  'test/payments/pipeline/completion.test.ts',
  'test/payments/pipeline/response-codes.test.ts',
  'test/api/correlation-ids.test.ts',
  'test/api/correlation-search.test.ts',
  'test/events/feed.test.ts',
  'test/directdebit/returns.test.ts',
  'test/directdebit/refunds.test.ts',
  'test/directdebit/clearing.test.ts',
  'test/settlement/settlement.long.test.ts',
  'test/settlement/report.test.ts',
  'test/settlement/closed-days.test.ts',
  'test/settlement/reconcile.long.test.ts',
];

const { CITUS_BIN } = process.env;
if (CITUS_URL === undefined && !CITUS_BIN) {
  say(
    'citus: skipped. Set CITUS_URL to a database on the coordinator of a Citus cluster, by a superuser; or CITUS_BIN to the programs of a PostgreSQL with Citus, and a cluster is made of them, whose servers are killed, too.',
  );
  process.exit(0);
}

const cluster = CITUS_URL === undefined && CITUS_BIN ? await CitusCluster.start(CITUS_BIN) : undefined;
const adminUrl = CITUS_URL ?? (cluster as CitusCluster).adminUrl;
const broken: Record<string, readonly string[]> = {};

/** Ends with the exit code of the program. */
async function run(
  name: string,
  args: readonly string[],
  environment: Record<string, string>,
): Promise<void> {
  if (!name.includes(values.only)) return;
  say(`\n— ${name}`);
  const { CITUS_BIN: _bin, CITUS_URL: _url, ...others } = process.env;
  const child = spawn(process.execPath, [...args], { stdio: 'inherit', env: { ...others, ...environment } });
  const [code] = await once(child, 'exit');
  broken[name] = code === 0 ? [] : [`ended with ${code}`];
}

async function plans(): Promise<void> {
  if (!'statements'.includes(values.only)) return;
  const name = `tollgate_plans_${process.pid}`;
  const url = await makeCitusDatabase(adminUrl, name);
  const planned = await plan(url, await everyStatement());
  await dropCitusDatabase(adminUrl, name);
  const sent = planned.filter(({ tasks }) => tasks.length > 0);
  const refused = planned.filter(({ refusal }) => refusal !== undefined);
  for (const { name: statement, tasks } of sent)
    say(`${statement}: ${tasks.join(' + ')} ${tasks.length > 1 || tasks[0] !== 1 ? 'tasks' : 'task'}`);
  const everywhere = sent.filter(({ tasks }) => tasks.some((count) => count > 1));
  say(
    `${planned.length} statements: ${planned.length - sent.length - refused.length} on the coordinator, ${sent.length - everywhere.length} on one server, ${everywhere.length} on all, ${refused.length} refused`,
  );
  broken['every statement can be planned'] = refused
    // In its place one for each organisation is sent.
    .filter(({ name: statement }) => statement !== 'payments/doubt/resolver TAKE_DUE')
    .map(({ name: statement, refusal }) => `${statement}: ${refusal}`);
}

async function starts(): Promise<void> {
  if (!'starts'.includes(values.only)) return;
  say('\n— starts');
  broken['a start is refused where it must be, and says why'] = await wrongStarts(
    adminUrl,
    `tollgate_starts_${process.pid}`,
  );
}

/** The servers of somebody else's cluster are not ours to kill. */
async function away(): Promise<void> {
  if (cluster === undefined || !'away'.includes(values.only)) return;
  say('\n— away');
  Object.assign(broken, await brokenWhileAway(cluster, `tollgate_away_${process.pid}`));
}

const here = { CITUS_URL: adminUrl };
const proof = (name: string, options: string, environment: Record<string, string> = here) =>
  run(name, [compiledProgram(`proof/${name}/${name}`), ...options.split(' ')], environment);
await plans();
await starts();
await run('conformance', ['node_modules/vitest/vitest.mjs', 'run', ...CONFORMANCE], here);
await proof('races', `--rounds ${values.rounds}`);
await proof('crash', `--kills ${values.kills} --traders 12`, CITUS_BIN ? { CITUS_BIN } : here);
await away();
await proof('settlement', `--days ${values.days}`);
await proof('journal', `--entries ${values.entries} --kills ${values.kills}`);
await proof('tenants', `--seconds ${values.seconds} --customers 20000 --burst 500 --any-time`);
await cluster?.stop();
await leaveNothingBehind();
process.exitCode = verdict(broken, `citus: ${Object.keys(broken).length} steps`);

/** Starts that were not refused, or not as they should have been, in words. */
async function wrongStarts(adminUrl: string, name: string): Promise<string[]> {
  const servers = await serversOf(adminUrl);
  const coordinator = servers.find(({ isCoordinator }) => isCoordinator) as Server;
  const [worker, ...others] = servers.filter(({ isCoordinator }) => !isCoordinator) as [Server, ...Server[]];
  const on = (server: Server) => addressAt(adminUrl, server, name);
  const wrong: string[] = [];
  const expectStart = async (server: Server, expected: string) => {
    const said = await started(on(server));
    say(said);
    if (!said.includes(expected)) wrong.push(`instead of “${expected}”: ${said}`);
  };

  for (const server of servers) await ask(addressAt(adminUrl, server), [`CREATE DATABASE ${name}`]);
  // Of an earlier release, the programs being of a later one: as after an upgrade that was not brought to its end.
  await ask(on(coordinator), [
    'SET citus.enable_version_checks = off',
    `CREATE EXTENSION citus VERSION '${EARLIER_VERSION}'`,
  ]);
  await expectStart(coordinator, `Citus ${EARLIER_VERSION} is not one that this release was tried with`);
  await ask(on(coordinator), ['ALTER EXTENSION citus UPDATE']);
  for (const server of [worker, ...others]) await ask(on(server), ['CREATE EXTENSION citus']);
  await expectStart(coordinator, 'Citus does not know its own coordinator');
  await ask(on(coordinator), [
    `SELECT citus_set_coordinator_host('${coordinator.host}', ${coordinator.port})`,
  ]);
  await expectStart(coordinator, 'Citus knows no server but its coordinator');
  for (const { host, port } of [worker, ...others])
    await ask(on(coordinator), [`SELECT citus_add_node('${host}', ${port})`]);
  await expectStart(worker, 'this server is a worker of a Citus cluster');
  await expectStart(coordinator, 'the transactions are not distributed');
  await prepareByCommands(on(coordinator));
  const alter = (how: string) =>
    ask(on(worker), ['SET citus.enable_ddl_propagation = off', `ALTER DATABASE ${name} ${how}`]);
  await alter('SET synchronous_commit = off');
  await expectStart(
    coordinator,
    `${worker.host}:${worker.port} runs with fsync off, or commits without waiting`,
  );
  await alter('RESET synchronous_commit');
  await expectStart(coordinator, SERVED);
  await dropCitusDatabase(adminUrl, name);
  return wrong;
}

/** What a gateway says that does not start. */
async function started(url: string): Promise<string> {
  const settings = asEnvironment({ DATA_DIR: await dataDirectory(), PORT: '0', LOG_LEVEL: 'warn' });
  const gateway = start(['serve'], { ...settings, DATABASE_URL: url });
  const baseUrl = await gateway.listening;
  gateway.kill('SIGTERM');
  const { stderr } = await gateway.ended;
  return baseUrl === undefined ? stderr.trim() : SERVED;
}

interface Planned {
  readonly name: string;
  /** Of each part that is sent elsewhere; none where all is done on the coordinator. */
  readonly tasks: readonly number[];
  /** Why it cannot be planned. */
  readonly refusal?: string;
}

/** Something of the type, for the organisation that is looked at. */
function sample(type: string): string {
  if (type.endsWith('[]')) return type === 'bytea[]' ? '{}' : `{${sample(type.slice(0, -2))}}`;
  if (/^(integer|bigint|smallint|double precision|real|numeric|oid)$/.test(type)) return '1';
  if (type === 'boolean') return 'true';
  if (type === 'date') return '2026-11-16';
  if (type.startsWith('timestamp')) return '2026-11-16T00:00:00Z';
  if (type === 'interval') return '1 second';
  if (type === 'uuid') return '00000000-0000-0000-0000-000000000000';
  if (/^jsonb?$/.test(type)) return '{}';
  if (type === 'bytea') return '\\x00';
  return '1';
}

/** Those that touch transactions, or may, by the names under which they are exported. */
async function everyStatement(): Promise<Map<string, Statement>> {
  const files = (await readdir(PROGRAM, { recursive: true }))
    .filter((name) => name.endsWith('.sql.js'))
    .sort();
  const found = new Map<string, Statement>();
  for (const file of files) {
    const exported: Record<string, unknown> = await import(new URL(file, PROGRAM).href);
    for (const [name, value] of Object.entries(exported))
      if (isStatement(value)) found.set(`${file.replace('.sql.js', '')} ${name}`, value);
  }
  return found;
}

function isStatement(value: unknown): value is Statement {
  const { name, text } = (value ?? {}) as Partial<Statement>;
  return typeof name === 'string' && typeof text === 'string';
}

async function plan(url: string, statements: ReadonlyMap<string, Statement>): Promise<Planned[]> {
  const client = new pg.Client({ connectionString: url, options: '-c plan_cache_mode=force_custom_plan' });
  await client.connect();
  const planned: Planned[] = [];
  for (const [name, statement] of statements) {
    // As batches are: one organisation's.
    const { text } = adapted(
      statement,
      Array.from({ length: 60 }, () => '{1}'),
    );
    await client.query('BEGIN');
    try {
      await client.query(`PREPARE tried AS ${text}`);
      const { rows: types } = await client.query(
        `SELECT coalesce(array_to_json(parameter_types::text[]), '[]') AS types FROM pg_prepared_statements WHERE name = 'tried'`,
      );
      const given = (types[0].types as string[]).map((type) => pg.escapeLiteral(sample(type)));
      const { rows } = await client.query(
        `EXPLAIN (COSTS OFF, FORMAT TEXT) EXECUTE tried${given.length === 0 ? '' : `(${given.join(', ')})`}`,
      );
      const lines = rows.map((row) => row['QUERY PLAN'] as string).join('\n');
      planned.push({ name, tasks: tasksOf(lines) });
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      planned.push({ name, tasks: [], refusal: `${code} ${message}` });
    }
    await client.query('ROLLBACK');
    await client.query('DEALLOCATE ALL');
  }
  await client.end();
  return planned;
}

/** Of each part, but for those that the coordinator does itself. */
function tasksOf(plan: string): number[] {
  const parts = [...plan.matchAll(/Task Count: (\d+)\n(?:.*\n){1,2}?.*-> {2}Task\n.*Node: host=(\S+)/g)];
  return parts.filter(([, , host]) => host !== 'localhost').map(([, count]) => Number(count));
}
