// `npm run bench:stored`: purchases with ten million stored transactions beside purchases with ten thousand, in turns.
import { parseArgs } from 'node:util';
import pg from 'pg';
import { load, PURCHASE, startGateway } from './gateway.js';
import { median, say } from './report.js';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000000' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '5' },
  },
});
const CHUNK = 500_000;
/** Audits that the fill takes; those of the measured purchases come after it. */
const FIRST_AUDIT = 1_000_000;

/** Rows as purchases leave them, over a year. */
async function fill(gateway, rows) {
  const database = new pg.Client({ connectionString: await gateway.databaseUrl() });
  await database.connect();
  try {
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
    await database.query('VACUUM (ANALYZE) transaction');
    await database.query('CHECKPOINT');
    const { rows: sizes } = await database.query(
      `SELECT pg_size_pretty(pg_total_relation_size('transaction')) AS size`,
    );
    return sizes[0].size;
  } finally {
    await database.end();
  }
}

const few = { name: '10000', gateway: await startGateway(), perSecond: [] };
const many = { name: values.rows, gateway: await startGateway(), perSecond: [] };
try {
  // A first purchase each, so that the merchant has its data key.
  for (const { gateway } of [few, many]) await load(gateway, { ...PURCHASE, connections: 1, count: 5 });
  const startedMs = performance.now();
  await fill(few.gateway, 10_000);
  const size = await fill(many.gateway, Number(values.rows));
  say(
    `${values.rows} transactions stored in ${Math.round((performance.now() - startedMs) / 1000)} s, ${size} with indexes`,
  );
  for (const { gateway } of [few, many]) await load(gateway, { ...PURCHASE, connections: 64, seconds: 5 });
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    for (const { gateway, perSecond } of [few, many]) {
      const result = await load(gateway, { ...PURCHASE, connections: 64, seconds: Number(values.seconds) });
      perSecond.push(result.perSecond);
    }
    say(
      `round ${round}: ${few.perSecond.at(-1)}/s with 10000, ${many.perSecond.at(-1)}/s with ${values.rows}`,
    );
  }
  const ratio = median(many.perSecond) / median(few.perSecond);
  say(
    `purchases per second: ${median(many.perSecond)} with ${values.rows} stored, ${median(few.perSecond)} with 10000: ${ratio.toFixed(2)}`,
  );
} finally {
  await few.gateway.stop();
  await many.gateway.stop();
}
