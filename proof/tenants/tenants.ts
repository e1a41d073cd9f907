// One tenant's service stays good while other tenants attack the gateway they share. The proof prints what the victim sees before,
// during and after each attack, one line each; then a burst meets an idle gateway.
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Tollgate } from '../../client/src/index.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { addMerchant } from '../../src/organisations/merchants.js';
import { addOrganisation } from '../../src/organisations/organisations.js';
import { addUser } from '../../src/organisations/users/users.js';
import { Database } from '../../src/postgres/database.js';
import { basicAuthorization, paymentBody } from '../../testkit/bodies.js';
import { credentialKeyOf } from '../../testkit/cast.js';
import { Installation } from '../../testkit/installation.js';
import { programOptions } from '../../testkit/program-options.js';
import { compiledProgram } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';
import { verdict } from '../arena/verdict.js';
import { attacks, burst, ordinaryDay, type PlannedJob, type Tenant } from './attacks.js';
import type { Attended, Job } from './client.js';
import { type Day, dayOf, isInTime, isServed, told } from './day.js';

const values = programOptions({
  seconds: 6,
  /** A part of an attack's name: only those that have it. May be given several times. */
  only: [''],
  /** How many connections the attackers have, as a share of what they could. */
  much: 1,
  customers: 300_000,
  burst: 3000,
  /** Only whether the victim is served: how fast depends on what else the machine does. */
  'any-time': false,
});
const { seconds } = values;
const OPERATOR = 'operator:proof';
const CLIENT = compiledProgram('proof/tenants/client');
/** Refunds of one cent each: as many as anybody sends. */
const TARGETS = 40;

const installation = await Installation.open();
const gateway = await installation.firstGateway();
const port = Number(new URL(gateway.baseUrl).port);
const database = new Database(installation.database.url, { maxConnections: 1 });
const credentialKey = await credentialKeyOf(
  database,
  readSettings({ TOLLGATE_DATA_DIR: installation.dataDir }),
);
const broken = {
  'the victim is served': [] as string[],
  'the victim is served in time': [] as string[],
  'every attack is measured': [] as string[],
  'a burst is served': [] as string[],
};
let shown = 0;
const clients = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of clients) child.kill('SIGKILL');
});
try {
  const [victim, first, second, third] = await Promise.all([
    tenant('victim'),
    tenant('first'),
    tenant('second'),
    tenant('third'),
  ]);
  const attackers = [first, second, third] as const;
  await fill(first, values.customers);
  // Compiled, and the plans made: where time is measured, it is not that of the first minute.
  if (!values['any-time']) await Promise.all([day(victim, 3), client(burst(second, 400))]);

  const all = Object.entries(attacks({ victim, attackers, much: values.much }));
  const chosen = all.filter(([name]) => values.only.some((part) => name.includes(part)));
  for (const [name, jobs] of chosen) {
    shown += 1;
    try {
      const before = await day(victim, seconds / 2);
      // A merchant keeps its connections: they are there before the attackers' are.
      const ordinary = day(victim, seconds, 2);
      const attacking = sleep(1_000).then(() =>
        Promise.all(jobs.map((job) => client({ seconds: seconds + 1, ...job }))),
      );
      const [during, attacked] = await Promise.all([ordinary, attacking]);
      await sleep(1_000);
      const after = await day(victim, seconds / 2);
      say(
        `${name}: before ${told(before)}; during ${told(during)}; after ${told(after)}; attack ${sums(attacked)}`,
      );
      if (!isServed(during)) broken['the victim is served'].push(`${name}: ${told(during)}`);
      if (!isInTime(during, before) && !values['any-time'])
        broken['the victim is served in time'].push(`${name}: ${told(during)}`);
    } catch (error) {
      const failed = `${name}: ${(error as Error).message}`;
      say(failed);
      broken['every attack is measured'].push(failed);
    }
  }

  const count = values.burst;
  await sleep(2_000);
  const { statuses, p50Ms, lastMs } = await client(burst(second, count));
  say(`burst of ${count} purchases at once: ${JSON.stringify(statuses)}, p50 ${p50Ms} ms, last ${lastMs} ms`);
  if (statuses['201'] !== count) broken['a burst is served'].push(JSON.stringify(statuses));
} finally {
  await database.close();
  gateway.kill('SIGTERM');
  await gateway.ended;
  await installation.close();
}
process.exitCode = verdict(broken, `tenants: ${shown} attacks of ${seconds} s`);

async function tenant(name: string): Promise<Tenant> {
  const organisation = await addOrganisation(database, OPERATOR, name);
  const merchant = await addMerchant(database, OPERATOR, organisation.id, name, { vault: true });
  const { username, password } = await addUser(database, OPERATOR, credentialKey, name, {
    merchant: merchant.id,
  });
  const tollgate = new Tollgate({ baseUrl: gateway.baseUrl, username, password });
  const customer = await tollgate.customers.create({ reference: name, name });
  const body = paymentBody({ merchant: merchant.id, reference: 'tenants', amount: 100_000_000 });
  const targets = await Promise.all(Array.from({ length: TARGETS }, () => tollgate.purchase(body)));
  return {
    username,
    authorization: basicAuthorization({ username, password }),
    organisationId: organisation.id,
    merchantId: merchant.id,
    customerId: customer.id,
    audits: targets.map(({ audit }) => audit),
  };
}

/** Customers without a request for each; their identifiers are far from those that are handed out. */
async function fill({ organisationId, merchantId }: Tenant, count: number): Promise<void> {
  await installation.sql(
    `INSERT INTO customer (organisation_id, merchant_id, id, name, reference)
    SELECT $1, $2, 1000000 + n, 'Customer ' || md5(n::text), 'r-' || n FROM generate_series(1, $3::integer) n`,
    [organisationId, merchantId, count],
  );
  await installation.sql('ANALYZE customer');
}

/** What the victim sees of its ordinary day, of all that it does together. */
async function day(victim: Tenant, daySeconds: number, idleSeconds = 0): Promise<Day> {
  const parts = await Promise.all(
    ordinaryDay(victim).map((job) => client({ seconds: daySeconds, idleSeconds, ...job })),
  );
  return dayOf(parts, { anyTime: values['any-time'] });
}

function sums(parts: readonly Attended[]): string {
  const statuses: Record<string, number> = {};
  for (const part of parts)
    for (const [status, count] of Object.entries(part.statuses))
      statuses[status] = (statuses[status] ?? 0) + count;
  return JSON.stringify({ sent: parts.reduce((sum, { requests }) => sum + requests, 0), ...statuses });
}

/** Runs a job in a process of its own. */
function client(job: PlannedJob & Pick<Job, 'seconds'>): Promise<Attended> {
  const child = spawn(process.execPath, [CLIENT], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify({ port, ...job }));
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  clients.add(child);
  child.once('close', () => clients.delete(child));
  return new Promise((resolve, reject) => {
    child.once('close', (code) =>
      code === 0 ? resolve(JSON.parse(output)) : reject(new Error(`a client ended with ${code}`)),
    );
  });
}
