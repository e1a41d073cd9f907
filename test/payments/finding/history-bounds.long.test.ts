// Lists over more transactions than a page looks at: pages may be short, and nothing is left out, shown twice or out of order.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  History,
  type HistoryWish,
  LOOKS_AT_LEAST,
  LOOKS_AT_MOST,
  SORTED_AT_MOST,
} from '../../../src/payments/finding/history.js';
import { Database } from '../../../src/postgres/database.js';
import type { Audit, MerchantId, OrganisationId, TokenId } from '../../../src/values/ids.js';
import type { Answer, Json } from '../../../testkit/client.js';
import { explaining, nodesOf, type PlanNode } from '../../../testkit/explained.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { pagesFrom } from '../../../testkit/vault-client.js';

/** Of merchant 1. Merchants 2 and 3 have a tenth of it each, in the same time, and so does the stranger. */
const STORED = 3 * LOOKS_AT_MOST;

let gateway: TestGateway;

// One in 7,000 is rare; what is rare of merchant 1 is the oldest, too. Many have the same microsecond.
const FILL = `
  INSERT INTO transaction (organisation_id, merchant_id, audit, created_at, amount_cents, gateway_status_code, settlement_date,
    transaction_type, status, currency, correlation_id, reference, acquirer, card_mask, card_type, response_code)
  SELECT CASE WHEN merchant = 4 THEN 2 ELSE 1 END, merchant, 1000000 * merchant + n,
    timestamptz '2026-01-05 00:00Z' + (n * every / 8) * interval '8 seconds',
    CASE WHEN n % 7000 = 1 THEN 77 ELSE 1995 END, 0, '2026-01-05', 'purchase',
    CASE WHEN n % 7000 = 1 THEN 'error' ELSE 'approved' END, 'AUD', 'filled-' || merchant || '-' || n,
    CASE WHEN n % 7000 = 1 THEN 'rare-' ELSE 'order-' END || n, 'simulator',
    CASE WHEN n % 7000 = 1 THEN '411111******9999' ELSE '411111******1111' END, 'visa', '00'
  FROM (VALUES (1, 1), (2, 10), (3, 10), (4, 10)) AS of(merchant, every), generate_series(1, $1::integer / every) n`;

const RARE = `
  SELECT audit FROM transaction WHERE organisation_id = 1 AND amount_cents = 77 AND merchant_id = ANY ($1)
  ORDER BY created_at DESC, audit DESC`;

beforeAll(async () => {
  gateway = await testGateway();
  await gateway.sql(FILL, [STORED]);
  await gateway.sql('ANALYZE transaction');
});
afterAll(() => gateway.close());

const auditsOf = (pages: readonly Answer[]) =>
  pages.flatMap(({ body }) => body.results.map(({ audit }: Json) => audit));
const rareOf = async (merchants: readonly number[]) =>
  (await gateway.sql<{ audit: number }>(RARE, [merchants])).map(({ audit }) => audit);
const follow = async (query: string) =>
  pagesFrom(gateway.api, await gateway.api.get(`/transactions/history?${query}`));

describe('rare matches', () => {
  test.each(['amount=77', 'last_four=9999', 'status=error', 'amount=77&last_four=9999&status=error'])(
    '%s of one merchant → short pages, and all results in order by following next',
    async (query) => {
      const pages = await follow(`merchant_id=1&${query}`);
      expect(auditsOf(pages)).toEqual(await rareOf([1]));
      expect(pages.length).toBeGreaterThanOrEqual(STORED / LOOKS_AT_MOST);
      expect(pages.length).toBeLessThanOrEqual(STORED / LOOKS_AT_LEAST + 1);
    },
  );

  test.each(['amount=77', 'last_four=9999&limit=3', 'status=error&limit=1'])(
    '%s of three merchants → all results in one order, whichever scan stopped first',
    async (query) => {
      expect(auditsOf(await follow(query))).toEqual(await rareOf([1, 2, 3]));
    },
  );

  test.each([
    'amount=78',
    'reference=nothing',
    'status=declined&card_type=jcb',
    'settlement_date=2026-01-06',
  ])('%s, which no transaction has → ends without results', async (query) => {
    const pages = await follow(query);
    expect(auditsOf(pages)).toEqual([]);
    expect(pages.length).toBeLessThanOrEqual((STORED * 3) / LOOKS_AT_LEAST);
  });

  test('a reference with a rare beginning → all results on the first page, however old', async () => {
    const pages = await follow('merchant_id=1&reference=rare-');
    expect(pages).toHaveLength(1);
    expect(auditsOf(pages)).toEqual(await rareOf([1]));
  });
});

describe('frequent matches', () => {
  test('a reference with a beginning too frequent to sort → still newest first', async () => {
    expect(STORED).toBeGreaterThan(SORTED_AT_MOST);
    const { body } = await gateway.api.get('/transactions/history?merchant_id=1&reference=order-&limit=10');
    const newest = await gateway.sql<{ audit: number }>(
      `SELECT audit FROM transaction WHERE merchant_id = 1 AND reference LIKE 'order-%'
       ORDER BY created_at DESC, audit DESC LIMIT 10`,
    );
    expect(body.results.map(({ audit }: Json) => audit)).toEqual(newest.map(({ audit }) => audit));
  });

  test('the settlement day of a direct debit that waited days for its file → found, once, even if it was once in doubt', async () => {
    const waited = await Promise.all([0, 1].map(() => gateway.api.purchase({ bankAccount: {} })));
    const audits = waited.map(({ body }) => body.audit);
    await gateway.sql(
      `UPDATE transaction SET created_at = '2026-02-02 00:00Z', settlement_date = '2026-02-06',
         resolve_attempts = CASE WHEN audit = $1 THEN 1 ELSE 0 END
       WHERE organisation_id = 1 AND audit = ANY ($2)`,
      [audits[0], audits],
    );
    const found = auditsOf(await follow('settlement_date=2026-02-06'));
    expect(found.toSorted()).toEqual(audits.toSorted());
  });

  test('everything of three merchants, page by page → each exactly once, in order', async () => {
    const seen: number[] = [];
    let address: string | undefined = '/transactions/history?from=2026-01-05T00:00Z&until=2026-01-05T01:00Z';
    while (address !== undefined) {
      const answer: Answer = await gateway.api.get(address);
      expect(answer.status).toBe(200);
      seen.push(...auditsOf([answer]));
      address = answer.body._links.next?.href.replace('/v1', '');
    }
    const all = await gateway.sql<{ audit: number }>(
      `SELECT audit FROM transaction WHERE organisation_id = 1 AND created_at <= '2026-01-05 01:00Z'
       ORDER BY created_at DESC, audit DESC`,
    );
    expect(seen).toEqual(all.map(({ audit }) => audit));
    expect(seen.length).toBeGreaterThan(4_000);
  });
});

describe('plans', () => {
  /** By which index each is walked. */
  const WALKS: readonly (readonly [
    string,
    Omit<HistoryWish, 'organisationId' | 'merchantIds' | 'limit' | 'nowMs'>,
  ])[] = [
    ['transaction_by_time', {}],
    ['transaction_by_time', { lastFour: '0000' }],
    ['transaction_by_time', { status: 'declined', amountCents: 1 }],
    ['transaction_by_time', { reference: 'order-', status: 'declined' }],
    ['transaction_by_time', { settlementDate: '2026-01-05', cardType: 'jcb' }],
    ['transaction_once_in_doubt', { settlementDate: '2026-02-05' }],
    ['transaction_once_in_doubt', { status: 'unknown' }],
    ['transaction_by_reference', { reference: 'rare-' }],
    ['transaction_by_type', { transactionType: 'refund' }],
    ['transaction_of_bank_account', { paymentMethod: 'bankaccount' }],
    ['transaction_of_bank_account', { status: 'pending' }],
    ['transaction_of_token', { tokenId: 1 as TokenId }],
    ['transaction_of_target', { targetAudit: 1 as Audit }],
  ];

  test.each(WALKS)('%s, %j → reads the index, and no more than one page allows', async (index, filter) => {
    const database = new Database(gateway.databaseUrl, { maxConnections: 1 });
    const plans: PlanNode[] = [];
    try {
      await new History({ of: () => explaining(database, plans) }).page({
        organisationId: 1 as OrganisationId,
        merchantIds: [1, 2, 3] as MerchantId[],
        limit: 100,
        nowMs: Date.now(),
        ...filter,
      });
    } finally {
      await database.close();
    }
    const scans = plans.flatMap(nodesOf).filter((node) => node['Relation Name'] === 'transaction');
    expect(scans.map((scan) => scan['Index Name'])).toContain(index);
    expect(scans.filter((scan) => !/^Index (Only )?Scan$/.test(scan['Node Type']))).toEqual([]);
    const looked = scans.map(
      (scan) => (scan['Actual Rows'] + (scan['Rows Removed by Filter'] ?? 0)) * scan['Actual Loops'],
    );
    // What is rounded up to a row for each loop, and the page itself.
    expect(looked.reduce((sum, rows) => sum + rows, 0)).toBeLessThan(LOOKS_AT_MOST + SORTED_AT_MOST + 1_000);
  });
});
