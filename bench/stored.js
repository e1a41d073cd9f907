// `npm run bench:stored`: ten million stored transactions, analysed, beside an empty table, in turns: purchases, what PostgreSQL
// does while nobody asks for anything, and how long a doubt lasts.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { cpuSeconds, load, PURCHASE, startGateway } from './gateway.js';
import { median, say } from './report.js';

const { values } = parseArgs({
  options: {
    stored: { type: 'string', default: '10000000' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '5' },
    // How long nobody asks for anything.
    idle: { type: 'string', default: '60' },
    doubts: { type: 'string', default: '20' },
  },
});
const STORED = Number(values.stored);
const CHUNK = 500_000;
/** Audits that the fill takes; those of the measured purchases come after it. */
const FIRST_AUDIT = 1_000_000;
/** The simulator approves, and answers what cannot be read. */
const UNREADABLE_CARD = '4200000000000059';

async function withDatabase(gateway, work) {
  const database = new pg.Client({ connectionString: await gateway.databaseUrl() });
  await database.connect();
  try {
    return await work(database);
  } finally {
    await database.end();
  }
}

/** Rows as purchases leave them, over a year. */
function fill(gateway, rows) {
  return withDatabase(gateway, async (database) => {
    await database.query('UPDATE organisation SET next_audit = $1 WHERE id = 1', [FIRST_AUDIT + rows + 1]);
    for (let first = 0; first < rows; first += CHUNK) {
      const count = Math.min(CHUNK, rows - first);
      await database.query(
        `INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, gateway_status_code,
           voidable_until, settlement_date, transaction_type, status, currency, correlation_id, reference, acquirer,
           card_mask, card_type, response_code, response_message, authorisation_code, card_key_version, card_sealed)
         SELECT 1, $1 + n, now() - n * interval '3 seconds', 1995, 1, 0, now(), '2026-11-16', 'purchase', 'approved', 'AUD',
           md5(($1 + n)::text), 'order-' || n, 'simulator', '411111******1111', 'visa', '00', 'Approved', '123456', 1,
           decode(repeat(md5(n::text), 2), 'hex')
         FROM generate_series(1, $2::integer) n`,
        [FIRST_AUDIT + first, count],
      );
    }
    await tidyUp(database);
    const { rows: sizes } = await database.query(
      `SELECT pg_size_pretty(pg_total_relation_size('transaction')) AS size`,
    );
    return sizes[0].size;
  });
}

/** What autovacuum would do sooner or later: with statistics of its own time a plan can be another. */
async function tidyUp(database) {
  await database.query('VACUUM (ANALYZE)');
  await database.query('CHECKPOINT');
}

/** The share of a core that PostgreSQL takes, of each gateway, while nobody asks for anything. */
async function idleShares(gateways) {
  const before = await Promise.all(gateways.map(cpuSeconds));
  const startedMs = performance.now();
  await sleep(Number(values.idle) * 1000);
  const seconds = (performance.now() - startedMs) / 1000;
  const after = await Promise.all(gateways.map(cpuSeconds));
  return after.map(({ database }, at) => (database - before[at].database) / seconds);
}

/** An answer that cannot be read, from an acquirer that has approved: from the 502 until the look-up shows the outcome. */
async function doubtMs({ port, authorization }) {
  const url = `http://127.0.0.1:${port}`;
  const headers = { authorization, 'content-type': 'application/json' };
  const answer = await fetch(`${url}${PURCHASE.paths[0]}`, {
    method: 'POST',
    headers: { ...headers, 'x-correlation-id': `doubt-${crypto.randomUUID()}` },
    body: PURCHASE.body.replace('4111111111111111', UNREADABLE_CARD),
  });
  if (answer.status !== 502) throw new Error(`a purchase in doubt was answered ${answer.status}`);
  const startedMs = performance.now();
  for (;;) {
    const found = await (await fetch(`${url}${answer.headers.get('location')}`, { headers })).json();
    if (found.status.transaction_status_code !== 'unknown') return performance.now() - startedMs;
    await sleep(5);
  }
}

const percent = (share) => `${(100 * share).toFixed(2)} %`;
const empty = { gateway: await startGateway(), perSecond: [], doubtsMs: [] };
const full = { gateway: await startGateway(), perSecond: [], doubtsMs: [] };
const both = [empty, full];
const gateways = both.map(({ gateway }) => gateway);
try {
  // A first purchase each, so that the merchant has its data key.
  for (const gateway of gateways) await load(gateway, { ...PURCHASE, connections: 1, count: 5 });
  const startedMs = performance.now();
  const size = await fill(full.gateway, STORED);
  const filledSeconds = Math.round((performance.now() - startedMs) / 1000);
  say(`${STORED} transactions stored and analysed in ${filledSeconds} s, ${size} with indexes`);

  const [idleEmpty, idleFull] = await idleShares(gateways);
  say(
    `idle for ${values.idle} s: PostgreSQL takes ${percent(idleFull)} of a core with ${STORED} stored (wanted: under 2 %), ${percent(idleEmpty)} with none`,
  );
  for (const gateway of gateways) {
    await withDatabase(gateway, (database) => database.query('UPDATE gateway SET sweep_at = now()'));
  }
  const [, sweeping] = await idleShares(gateways);
  say(`while the sweep goes through them: ${percent(sweeping)}`);

  for (const gateway of gateways) await load(gateway, { ...PURCHASE, connections: 64, seconds: 5 });
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    for (const { gateway, perSecond } of both) {
      const result = await load(gateway, { ...PURCHASE, connections: 64, seconds: Number(values.seconds) });
      perSecond.push(result.perSecond);
    }
    say(`round ${round}: ${full.perSecond.at(-1)}/s with ${STORED}, ${empty.perSecond.at(-1)}/s with none`);
  }
  const ratio = median(full.perSecond) / median(empty.perSecond);
  say(
    `purchases per second: ${median(full.perSecond)} with ${STORED} stored, ${median(empty.perSecond)} with none: ${ratio.toFixed(2)} (wanted: at least 0.9)`,
  );

  for (let doubt = 1; doubt <= Number(values.doubts); doubt += 1) {
    for (const { gateway, doubtsMs } of both) doubtsMs.push(await doubtMs(gateway));
  }
  const [lastsEmpty, lastsFull] = both.map(({ doubtsMs }) => ({
    middle: Math.round(median(doubtsMs)),
    longest: Math.round(Math.max(...doubtsMs)),
  }));
  say(
    `a doubt lasts ${lastsFull.middle} ms (at most ${lastsFull.longest}) with ${STORED} stored, ${lastsEmpty.middle} ms (at most ${lastsEmpty.longest}) with none`,
  );
  if (ratio < 0.9 || idleFull >= 0.02) process.exitCode = 1;
} finally {
  for (const gateway of gateways) await gateway.stop();
}
