// What the vault costs, each figure beside a reference taken in the same run.
import { spawn } from 'node:child_process';
import pg from 'pg';
import type { CustomerQuery } from '../client/src/index.js';
import { cardAccount, paymentBody } from '../testkit/bodies.js';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { TOLLGATE } from '../testkit/project.js';
import { median, say } from '../testkit/report.js';
import { startStandalone } from '../testkit/standalone.js';
import { firstPage } from './measuring/measured.js';

const values = programOptions({
  customers: 1_000_000,
  tokens: 30_000,
});
const { customers } = values;
const gateway = await startStandalone();
const database = new pg.Client({ connectionString: await gateway.databaseUrl() });
await database.connect();

const { client } = gateway;
const page = (query: CustomerQuery) => firstPage(client.customers.list(query));
const deepest = Math.floor(customers * 0.9);

interface Sample {
  readonly id: number;
  readonly name: string;
}

/** Medians of several requests made in turns, one after the other, so that the machine treats all alike. */
async function medians(
  rounds: number,
  kinds: Readonly<Record<string, (round: number) => Promise<unknown>>>,
): Promise<Record<string, number>> {
  const timesMs: Record<string, number[]> = {};
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, ask] of Object.entries(kinds)) {
      const startedMs = performance.now();
      await ask(round);
      timesMs[name] = [...(timesMs[name] ?? []), performance.now() - startedMs];
    }
  }
  return Object.fromEntries(Object.entries(timesMs).map(([name, times]) => [name, median(times)]));
}

try {
  say(`filling ${customers} customers …`);
  // First names of two and surnames of three syllables out of a hundred: about as varied as a telephone book.
  const syllable = (divisor: number) =>
    `substr('bcdfghjklmnprstvwxyz', 1 + (n / ${divisor} * 7) % 20, 1) || substr('aeiou', 1 + (n / ${divisor} / 20) % 5, 1)`;
  const names = `initcap(${syllable(1)} || ${syllable(7)}) || ' ' || initcap(${syllable(3)} || ${syllable(61)} || ${syllable(1217)})`;
  for (let first = 1; first <= customers; first += 50_000) {
    const last = Math.min(first + 49_999, customers);
    await database.query(
      `INSERT INTO customer (organisation_id, merchant_id, id, name, reference)
       SELECT 1, 1, n, ${names}, 'ref-' || n FROM generate_series(${first}, ${last}) n`,
    );
  }
  await database.query(`UPDATE organisation SET next_customer_id = ${customers + 1} WHERE id = 1`);
  await database.query('VACUUM ANALYZE customer');
  say('… filled');
  const { rows: samples } = await database.query<Sample>(
    `SELECT id, name FROM customer ORDER BY random() LIMIT 500`,
  );
  const sample = (round: number) => samples[round % samples.length] as Sample;

  const part = (round: number, length: number) => {
    const { name } = sample(round);
    const start = round % (name.length - length);
    return name.slice(start, start + length).toLowerCase();
  };
  const found = await medians(100, {
    'look-up by id': (round) => client.customers.get(sample(round).id),
    'search, 8 letters of a name': (round) => page({ name: part(round, 8) }),
    'search, 6 letters of a name': (round) => page({ name: part(round, 6) }),
    'search, 4 letters, a page of 10': (round) => page({ limit: 10, name: part(round, 4) }),
    'search, a reference': (round) => page({ reference: String(sample(round).id) }),
    'page at offset 900,000': (round) => page({ limit: 10, offset: deepest + round }),
  });
  for (const [name, ms] of Object.entries(found)) {
    say(
      `${name.padEnd(40)} median ${ms.toFixed(2)} ms, ${(ms / (found['look-up by id'] ?? 1)).toFixed(1)} times a look-up by id`,
    );
  }
  const { next: after = '' } = await page({ limit: 10, offset: deepest });
  const next = await medians(100, { 'the page after it, by its cursor': () => page({ limit: 10, after }) });
  say(`the page after it, by its cursor         median ${Object.values(next)[0]?.toFixed(2)} ms`);

  const token = JSON.stringify({
    preferred_name: 'NAME',
    active: true,
    account: cardAccount(),
  });
  const tokenPaths = Array.from({ length: values.tokens }, (_, index) => `/v1/customers/${index + 1}/tokens`);
  // Each path once: a second token of the same name would be refused.
  const count = tokenPaths.length;
  const created = await load(gateway, {
    method: 'POST',
    paths: tokenPaths,
    count,
    body: token,
    connections: 64,
  });
  say(`token creation: ${created.perSecond}/s through HTTP, ${JSON.stringify(created.statuses)}`);

  const { rows: tokens } = await database.query<{ virtual_pan: string }>(
    'SELECT virtual_pan FROM token WHERE deleted_at IS NULL LIMIT 1',
  );
  const pan = tokens[0]?.virtual_pan ?? '';
  const byToken = {
    ...PURCHASE,
    body: JSON.stringify(paymentBody({ reference: 'bench', amount: 1995, pan })),
  };
  const rates: Record<'card' | 'token', number[]> = { card: [], token: [] };
  for (let round = 0; round < 3; round += 1) {
    for (const [name, request] of [
      ['card', PURCHASE],
      ['token', byToken],
    ] as const) {
      rates[name].push((await load(gateway, { ...request, connections: 64, seconds: 4 })).perSecond);
    }
  }
  say(
    `purchases: ${median(rates.card)}/s by card, ${median(rates.token)}/s by virtual PAN: it costs ${(median(rates.card) / median(rates.token)).toFixed(2)} times`,
  );

  const before = await load(gateway, { ...PURCHASE, connections: 4, seconds: 4 });
  const startedMs = performance.now();
  const rotating = spawn(process.execPath, [TOLLGATE, 'keys', 'rotate', '--json'], {
    env: { ...process.env, TOLLGATE_DATA_DIR: gateway.dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  rotating.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const during = load(gateway, { ...PURCHASE, connections: 4, seconds: 4 });
  await new Promise((resolve) => rotating.once('exit', resolve));
  const seconds = (performance.now() - startedMs) / 1000;
  const { rows } = JSON.parse(output);
  const { p50Ms } = await during;
  say(
    `rotation: ${rows} rows in ${seconds.toFixed(1)} s, ${Math.round(rows / seconds)}/s (start-up and a final wait of 2 s included); purchases meanwhile: median ${p50Ms} ms, ${before.p50Ms} ms before: ${(p50Ms / before.p50Ms).toFixed(2)} times`,
  );
} finally {
  await database.end();
  await gateway.stop();
}
