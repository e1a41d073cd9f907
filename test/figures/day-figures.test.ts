// Figures by minute and hour equal the transactions, in every status, whichever process counts, and wherever counting is
// interrupted.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { DayFigures } from '../../src/figures/day-figures.js';
import { Database, type Queryable } from '../../src/postgres/database.js';
import { bankDayOf, moveClock } from '../../testkit/bank-day.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import {
  DECLINED_CARD,
  LOST_ANSWER_CARD,
  LOST_REQUEST_CARD,
  UNREACHABLE_CARD,
} from '../../testkit/test-cards.js';

let gateway: TestGateway;
let database: Database;

beforeAll(async () => {
  gateway = await testGateway();
  database = new Database(gateway.databaseUrl, { maxConnections: 4 });
  await trade();
  await counted();
});
afterAll(async () => {
  await database.close();
  await gateway.close();
});

/** Every status, and every transition between statuses. */
async function trade(): Promise<void> {
  const { api } = gateway;
  const stranger = gateway.as(gateway.stranger);
  const audit = async (made: Promise<{ body: { audit: number } }>) => (await made).body.audit;
  await audit(api.purchase({ amount: 1_000 }));
  await audit(api.purchase({ amount: 2_000, merchant: 2, pan: '5555555555554444', currency: 'NZD' }));
  await audit(api.purchase({ pan: DECLINED_CARD }));
  await audit(api.purchase({ pan: UNREACHABLE_CARD }));
  await audit(stranger.purchase({ merchant: 4, amount: 7 }));
  await audit(stranger.purchase({ merchant: 4, pan: DECLINED_CARD }));
  const voided = await audit(api.purchase({ amount: 300 }));
  await api.void(voided);
  const refunded = await audit(api.purchase({ amount: 900 }));
  await api.refund(refunded, 100);
  const held = await audit(api.preauthorise({ amount: 5_000 }));
  await api.complete(held, 4_000);
  for (const pan of [LOST_ANSWER_CARD, LOST_REQUEST_CARD]) {
    const { body } = await api.purchase({ pan });
    await api.decided(body.audit ?? (await newestAudit()));
  }
  const bank = bankDayOf(gateway);
  const debits = ['1111111', '2222222', '3333333'];
  const pending: number[] = [];
  for (const account_number of debits)
    pending.push(await audit(api.purchase({ bankAccount: { account_number }, amount: 50 })));
  await api.void(pending[2] as number);
  await moveClock(gateway, 12);
  for (const one of pending.slice(0, 2))
    await vi.waitFor(
      async () => expect((await api.lookUp(one)).body.status.transaction_status_code).not.toBe('pending'),
      20_000,
    );
  await audit(api.purchase({ amount: 1_000 }));
  await bank.close();
}

async function newestAudit(): Promise<number> {
  const [row] = await gateway.sql<{ audit: number }>(
    'SELECT max(audit) AS audit FROM transaction WHERE merchant_id = 1',
  );
  return row?.audit as number;
}

/** Waits until the gateway has counted every event. */
async function counted(): Promise<void> {
  await vi.waitFor(async () => {
    const [row] = await gateway.sql(
      `SELECT (SELECT count(*)::integer FROM event) AS waiting, s.position > f.position AS behind
       FROM event_sequencer s, figures_progress f`,
    );
    expect(row).toEqual({ waiting: 0, behind: false });
  }, 300_000);
}

const BY_MINUTE = `
  SELECT organisation_id, minute, mode, currency, transaction_type, status, count::integer, cents::integer
  FROM figures_by_minute WHERE count <> 0 OR cents <> 0`;
const MINUTES_OF_TRANSACTIONS = `
  SELECT whose.id AS organisation_id, date_bin('1 minute', t.created_at, 'epoch') AS minute, m.mode, t.currency, t.transaction_type, t.status,
    count(*)::integer, sum(t.amount_cents)::integer AS cents
  FROM transaction t JOIN merchant m ON m.id = t.merchant_id CROSS JOIN LATERAL (VALUES (t.organisation_id), (0)) whose(id)
  GROUP BY 1, 2, 3, 4, 5, 6`;
const BY_HOUR = `
  SELECT organisation_id, hour, mode, currency, transaction_type, status, acquirer, method, response_code, count::integer, cents::integer
  FROM figures_by_hour WHERE count <> 0 OR cents <> 0`;
const HOURS_OF_TRANSACTIONS = `
  SELECT whose.id AS organisation_id, date_bin('1 hour', t.created_at, 'epoch') AS hour, m.mode, t.currency, t.transaction_type, t.status,
    t.acquirer, CASE WHEN t.bank_account IS NULL THEN coalesce(t.card_type, '') ELSE 'bankaccount' END AS method,
    coalesce(t.response_code, '') AS response_code, count(*)::integer, sum(t.amount_cents)::integer AS cents
  FROM transaction t JOIN merchant m ON m.id = t.merchant_id CROSS JOIN LATERAL (VALUES (t.organisation_id), (0)) whose(id)
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9`;

async function expectFiguresToBeRight(): Promise<void> {
  const inOrder = (text: string) => gateway.sql(`SELECT * FROM (${text}) f ORDER BY f::text`);
  expect(await inOrder(BY_MINUTE)).toEqual(await inOrder(MINUTES_OF_TRANSACTIONS));
  expect(await inOrder(BY_HOUR)).toEqual(await inOrder(HOURS_OF_TRANSACTIONS));
}

async function beginAnew(): Promise<void> {
  await gateway.sql('DELETE FROM figures_by_minute');
  await gateway.sql('DELETE FROM figures_by_hour');
  await gateway.sql('DELETE FROM figures_undecided');
  await gateway.sql('UPDATE figures_progress SET position = 0');
}

// catches(figures: what was approved and is undone is taken out from where it was counted)
test('transactions of two organisations in every status → the figures by minute and by hour match them, for each and for all', async () => {
  const [statuses] = await gateway.sql<{ all: string[] }>(
    'SELECT array_agg(DISTINCT status ORDER BY status) AS all FROM transaction',
  );
  expect(statuses?.all).toEqual(['approved', 'declined', 'error', 'voided']);
  await expectFiguresToBeRight();
});

// catches(figures: one at a time counts)
test('several processes count at the same time, a few events at once, from the beginning → the same figures', async () => {
  await beginAnew();
  const counters = [1, 2, 3].map((atOnce) => new DayFigures(database, 30, atOnce));
  await Promise.all(counters.map((counter) => counter.run()));
  await counted();
  await expectFiguresToBeRight();
});

test('killed before every second commit → nothing is counted twice, and nothing is left out', async () => {
  // Its one session keeps the gateway from counting meanwhile.
  const own = new Database(gateway.databaseUrl, { maxConnections: 1 });
  const lock = (text: string) =>
    own.query({ name: '', text: `SELECT ${text}(hashtext('tollgate figures'))` });
  await lock('pg_advisory_lock');
  await beginAnew();
  let turns = 0;
  const dying = {
    query: (...asked: Parameters<Queryable['query']>) => own.query(...asked),
    transaction: (work: (connection: Queryable) => Promise<unknown>) =>
      own.transaction(async (connection) => {
        const done = await work(connection);
        turns += 1;
        if (turns % 2 === 1) throw new Error('killed');
        return done;
      }),
  } as unknown as Database;
  let killed = 0;
  for (let done = false; !done; ) {
    done = await new DayFigures(dying, 30, 4).run().then(
      () => true,
      () => false,
    );
    if (!done) killed += 1;
  }
  expect(killed).toBeGreaterThan(3);
  await expectFiguresToBeRight();
  await lock('pg_advisory_unlock');
  await own.close();
});

// catches(figures: what is undecided is taken out from where it was counted)
test('transactions in doubt → counted as such, and moved when they are decided, even in another batch', async () => {
  const { body } = await gateway.api.purchase({ bankAccount: { account_number: '4444444' }, amount: 60 });
  await counted();
  await expectFiguresToBeRight();
  expect(await gateway.sql('SELECT status FROM figures_undecided WHERE audit = $1', [body.audit])).toEqual([
    { status: 'pending' },
  ]);
  await gateway.api.void(body.audit);
  await counted();
  await expectFiguresToBeRight();
  expect(await gateway.sql('SELECT FROM figures_undecided')).toEqual([]);
});

// catches(figures: what lies before the days that are kept is not counted)
test('old days → removed, the minutes first; later changes to their transactions are not counted', async () => {
  const old = (await gateway.api.purchase({ amount: 88 })).body.audit;
  await counted();
  // Also if the gateway's clock was moved ahead of the server's. Their hour stays: the events of its day are still kept.
  await gateway.sql(`UPDATE figures_by_minute SET minute = minute - interval '40 days'`);
  await gateway.sql(
    `UPDATE transaction SET created_at = created_at - interval '40 days' WHERE organisation_id = 1 AND audit = $1`,
    [old],
  );
  await new DayFigures(database, 30).forget();
  expect(
    await gateway.sql("SELECT FROM figures_by_minute WHERE minute < now() - interval '10 days'"),
  ).toEqual([]);
  expect(await gateway.sql('SELECT FROM figures_by_hour')).not.toEqual([]);
  expect((await gateway.api.void(old)).status).toBe(201);
  await counted();
  expect(
    await gateway.sql(`SELECT FROM figures_by_minute WHERE count < 0 OR minute < now() - interval '10 days'`),
  ).toEqual([]);
});
