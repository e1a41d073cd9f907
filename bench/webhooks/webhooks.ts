// Purchases a second with a fast, a slow and a dead webhook endpoint, beside none, in turns. The bench also shows how long the fast
// endpoint takes to catch up.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { run } from '../../testkit/gateway-process.js';
import { load, PURCHASE } from '../../testkit/load.js';
import { programOptions } from '../../testkit/program-options.js';
import { compiledProgram } from '../../testkit/project.js';
import { median, say } from '../../testkit/report.js';
import { startStandalone } from '../../testkit/standalone.js';

const values = programOptions({
  seconds: 8,
  rounds: 5,
  'warm-up': 15,
  /** How long the fast one may take to catch up after a round. */
  'catch-up': 120,
});
const { seconds, rounds } = values;
const warmUpSeconds = values['warm-up'];
const catchUpMs = values['catch-up'] * 1_000;
const CONNECTIONS = 64;
const NETWORK = '127.0.0.0/8';
const LEAST_SHARE = 0.9;

interface Receivers {
  readonly fast: string;
  readonly slow: string;
  readonly dead: string;
}

const receivers = spawn(process.execPath, [compiledProgram('bench/webhooks/receivers')], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const urls = await new Promise<Receivers>((resolve) => {
  createInterface({ input: receivers.stdout }).once('line', (line) => resolve(JSON.parse(line)));
});
const gateway = await startStandalone({ WEBHOOK_NETWORKS: NETWORK });
const database = new pg.Client({ connectionString: await gateway.databaseUrl() });
await database.connect();
try {
  await load(gateway, { ...PURCHASE, connections: CONNECTIONS, seconds: warmUpSeconds });
  const ids: number[] = [];
  for (const url of [urls.fast, urls.slow, urls.dead]) {
    ids.push(JSON.parse(await command('add', url, '--merchant', '1', '--json')).id);
  }
  const fastId = ids[0] as number;
  await switchTo('disable', ids);
  const shares: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const without = await load(gateway, { ...PURCHASE, connections: CONNECTIONS, seconds });
    await switchTo('enable', ids);
    const before = await deliveredTo(fastId);
    const withThem = await load(gateway, { ...PURCHASE, connections: CONNECTIONS, seconds });
    const during = (await deliveredTo(fastId)) - before;
    const caughtUpMs = await caughtUp(fastId);
    await switchTo('disable', ids);
    shares.push(withThem.perSecond / without.perSecond);
    say(
      `round ${round}: ${without.perSecond} purchases/s without, ${withThem.perSecond} with three endpoints ` +
        `(${(withThem.perSecond / without.perSecond).toFixed(2)}), p99 ${without.p99Ms} and ${withThem.p99Ms} ms; ` +
        `${Math.round(during / seconds)} webhooks/s to the fast one meanwhile, which ` +
        `${caughtUpMs === undefined ? 'had not caught up in time' : `had caught up ${(caughtUpMs / 1000).toFixed(1)} s later`}`,
    );
    if (caughtUpMs === undefined) process.exitCode = 1;
  }
  const share = median(shares);
  say(`purchases with a fast, a slow and a dead endpoint: ${share.toFixed(2)} of those without`);
  if (share < LEAST_SHARE) process.exitCode = 1;
} finally {
  await database.end();
  await gateway.stop();
  receivers.kill('SIGTERM');
}

async function command(...args: string[]): Promise<string> {
  const settings = { TOLLGATE_DATA_DIR: gateway.dataDir, TOLLGATE_WEBHOOK_NETWORKS: NETWORK };
  const { code, stdout, stderr } = await run(['webhook', ...args], settings);
  if (code !== 0) throw new Error(`tollgate webhook ${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

/** The slow and the dead one go on from here: what they have missed is not what is measured. */
async function switchTo(state: 'enable' | 'disable', endpoints: readonly number[]): Promise<void> {
  if (state === 'enable') {
    await database.query('DELETE FROM webhook_delivery');
    await database.query('UPDATE webhook_endpoint SET position = (SELECT position FROM event_sequencer)');
  }
  for (const endpoint of endpoints) await command(state, String(endpoint));
}

async function deliveredTo(endpoint: number): Promise<number> {
  const { rows } = await database.query<{ delivered: number }>(
    `SELECT count(*)::integer AS delivered FROM webhook_attempt WHERE endpoint_id = $1 AND result = 'delivered'`,
    [endpoint],
  );
  return rows[0]?.delivered ?? 0;
}

/** Undefined where the time is up first. */
async function caughtUp(endpoint: number): Promise<number | undefined> {
  const beganMs = performance.now();
  while (performance.now() - beganMs < catchUpMs) {
    const { rows } = await database.query(
      `SELECT 1 FROM webhook_endpoint e WHERE e.id = $1 AND NOT EXISTS (SELECT FROM event)
         AND NOT EXISTS (SELECT FROM event_feed f WHERE f.merchant_id = e.merchant_id AND f.position > e.position)`,
      [endpoint],
    );
    if (rows.length > 0) return performance.now() - beganMs;
    await sleep(250);
  }
  return undefined;
}
