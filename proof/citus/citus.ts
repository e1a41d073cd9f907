// The same program and the same tests run on a Citus cluster. The proof shows how many tasks each statement becomes and on which
// clusters a start is refused. It runs the tests of the interface and the proofs of races, crashes (the cluster's servers are killed,
// too), settlement, the journal and tenants.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { CITUS_URL, dropCitusDatabase, makeCitusDatabase } from '../../testkit/citus.js';
import { CitusCluster } from '../../testkit/citus-cluster.js';
import { leaveNothingBehind } from '../../testkit/gateway-process.js';
import { programOptions } from '../../testkit/program-options.js';
import { compiledProgram } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';
import { verdict } from '../arena/verdict.js';
import { brokenWhileAway } from './away.js';
import { wrongStarts } from './refusals.js';
import { everyStatement, plan } from './statements.js';

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
