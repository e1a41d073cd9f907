// Limits against card testing: how often the same card, address, issuer or customer is tried at a merchant, over all processes.
import { expect, onTestFinished, test } from 'vitest';
import { luhnDigit } from '../../src/values/card.js';
import { type Json, paymentBody } from '../../testkit/bodies.js';
import { CARD, type Client } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { createCheckout, CARD as GIVEN, Payer } from '../../testkit/payer.js';
import { scrape } from '../../testkit/scrape.js';
import { cardAnsweredWith } from '../../testkit/test-cards.js';
import { vaultOf } from '../../testkit/vault-client.js';

const REACHED = 'GATEWAY.RESPONSE.KVP.LIMIT_REACHED';
const OTHER_CARD = '5555555555554444';

const limit = ({ databaseUrl, dataDir }: TestGateway) =>
  commands((line) =>
    runHere(['limit', ...wordsOf(line)], { DATABASE_URL: databaseUrl, TOLLGATE_DATA_DIR: dataDir }),
  );

/** A gateway with a merchant 1 that has these limits, in force. */
async function limited(
  lines: readonly string[],
  settings: Record<string, string> = {},
): Promise<TestGateway> {
  const gateway = await testGateway({ settings });
  for (const line of lines) await limit(gateway).json(`set --merchant 1 ${line}`);
  return gateway;
}

function purchaseFrom(api: Client, address: string, pan?: string): Promise<Json> {
  const body = paymentBody({ ...(pan !== undefined && { pan }) });
  body.transaction.payer = { address };
  return api.post('/transactions/purchase', body);
}

const card = (n: number, bin = '41111122') => {
  const digits = bin + String(n).padStart(7, '0');
  return digits + luhnDigit(digits);
};

const charges = async ({ ledger }: TestGateway) =>
  (await ledger()).filter(({ operation }) => operation === 'purchase').length;

const eventsOf = async ({ api }: TestGateway) =>
  (await api.get('/events')).body.results.filter(({ type }: Json) => type === 'limit.reached');

// catches(limits: what reaches one that blocks is not paid)
// catches(limits: what was blocked does not count)
// catches(limits: an attempt counts for as long as its limit says)
test('a card beyond its limit → 422, without an audit and without the acquirer, until the time is over; others pay', async () => {
  const gateway = await limited(['--per card --attempts 2 --within 10m --mode block']);
  const first = await gateway.api.purchase();
  await gateway.advance('6m');
  const second = await gateway.api.purchase();
  const [audit] = await gateway.sql<{ audit: number }>('SELECT max(audit) AS audit FROM transaction');
  for (let time = 0; time < 3; time += 1) {
    const refused = await gateway.api.purchase();
    expect([refused.status, refused.errors]).toEqual([
      422,
      ['limit_reached body/transaction/payment_method/creditcard/pan'],
    ]);
  }
  expect(await gateway.sql('SELECT max(audit) AS audit FROM transaction')).toEqual([audit]);
  expect(await charges(gateway)).toBe(2);
  expect((await gateway.api.preauthorise()).code).toBe('limit_reached');
  expect((await gateway.api.purchase({ pan: OTHER_CARD })).status).toBe(201);
  expect((await gateway.api.purchase({ merchant: 2 })).status).toBe(201);
  // What was paid before goes on as ever.
  expect((await gateway.api.refund(first.body.audit, 100)).status).toBe(201);
  expect((await gateway.api.void(second.body.audit)).status).toBe(201);
  await gateway.advance('5m');
  expect((await gateway.api.purchase()).status).toBe(201);
  expect((await gateway.api.purchase()).code).toBe('limit_reached');
});

test('a limit that watches → the payment goes on and says so; an event and a metric, once and each time', async () => {
  const gateway = await limited(['--per card --attempts 1 --within 1h --mode watch']);
  const before = await gateway.api.purchase();
  expect(before.body.kvps[REACHED]).toBeUndefined();
  const { body } = await gateway.api.purchase({ kvps: { LIMIT_REACHED: 'made up' } });
  expect(body.kvps[REACHED]).toBe('card');
  expect(body.kvps['GATEWAY.REQUEST.KVP.LIMIT_REACHED']).toBe('made up');
  expect((await gateway.api.lookUp(body.audit)).body.kvps[REACHED]).toBe('card');
  await gateway.api.purchase();
  expect(await charges(gateway)).toBe(3);
  await expect
    .poll(async () =>
      (await eventsOf(gateway)).map(({ data, version }: Json) => ({ ...data.limit, version })),
    )
    .toEqual([{ per: 'card', mode: 'watch', reached_by: '411111******1111', version: 1 }]);
  const metrics = await scrape(gateway.operatorsUrl);
  expect(metrics.sum('tollgate_limits_reached_total', { per: 'card', mode: 'watch' })).toBe(2);
  await gateway.advance('2h');
  await gateway.api.purchase();
  await gateway.api.purchase();
  await expect
    .poll(async () => (await eventsOf(gateway)).map(({ version }: Json) => version))
    .toEqual([1, 2]);
});

test('so many declined ones → blocked, although more attempts are allowed', async () => {
  const gateway = await limited(['--per bin --attempts 50 --declines 3 --within 1d --mode block']);
  const approved = await gateway.api.purchase({ pan: cardAnsweredWith('00') });
  expect(approved.body.status.transaction_status_code).toBe('approved');
  for (const code of ['05', '14', '51']) {
    const { body } = await gateway.api.purchase({ pan: cardAnsweredWith(code) });
    expect(body.status.transaction_status_code).toBe('declined');
  }
  expect((await gateway.api.purchase({ pan: cardAnsweredWith('00') })).code).toBe('limit_reached');
  expect((await gateway.api.purchase()).status).toBe(201);
});

test('by the payer’s address, by the issuer and by the customer', async () => {
  const gateway = await limited([
    '--per address --attempts 2 --within 1d --mode block',
    '--per bin --attempts 5 --within 1d --mode block',
    '--per customer --attempts 2 --within 1d --mode block',
  ]);
  const { api } = gateway;
  // All addresses of a /64 are one payer's.
  expect((await purchaseFrom(api, '2001:db8::1', card(1))).status).toBe(201);
  expect((await purchaseFrom(api, '2001:DB8::FFFF', card(2))).status).toBe(201);
  const refused = await purchaseFrom(api, '2001:db8:0:0:7::1', card(3));
  expect(refused.errors).toEqual(['limit_reached body/transaction/payer/address']);
  expect((await purchaseFrom(api, '198.51.100.7', card(4))).status).toBe(201);
  for (const n of [5, 6]) expect((await api.purchase({ pan: card(n) })).status).toBe(201);
  expect((await api.purchase({ pan: card(7) })).code).toBe('limit_reached');
  const { virtualPan, customerId } = await vaultOf(api).newToken();
  const another = await vaultOf(api).newToken({}, customerId);
  for (const pan of [virtualPan, another.virtualPan]) expect((await api.purchase({ pan })).status).toBe(201);
  const beyond = await api.purchase({ pan: virtualPan });
  expect(beyond.errors).toEqual(['limit_reached body/transaction/payment_method']);
  const wrong = await purchaseFrom(api, 'shop.example');
  expect(wrong.errors).toEqual(['field_format body/transaction/payer/address']);
});

test('the same correlation ID again → 409 with the audit, although the limit was reached since', async () => {
  const gateway = await limited(['--per card --attempts 1 --within 1d --mode block']);
  const { body } = await gateway.api.purchase({ correlationId: 'order-1' });
  expect((await gateway.api.purchase()).code).toBe('limit_reached');
  const again = await gateway.api.purchase({ correlationId: 'order-1' });
  expect([again.code, again.body._links.transaction.href]).toEqual([
    'correlation_id_already_used',
    `/v1/transactions/${body.audit}`,
  ]);
  expect(await charges(gateway)).toBe(1);
});

// catches(limits: tried again under the same correlation ID it is the same attempt)
test('counted again under one correlation ID, as where the first request was not processed → one attempt', async () => {
  const gateway = await testGateway();
  const once = {
    place: 0,
    per: 'card',
    tag: '00',
    shown: 'x',
    attempts: 1,
    within_ms: 60_000,
    mode: 'block',
  };
  const counted = (called: string) =>
    gateway.sql('SELECT per, mode FROM count_attempt(1, 1, $1, $2)', [called, JSON.stringify([once])]);
  expect(await counted('order-1')).toEqual([]);
  expect(await counted('order-1')).toEqual([]);
  expect(await counted('order-2')).toEqual([{ per: 'card', mode: 'block' }]);
});

// catches(limits: one at a time counts the same card)
test('many at the same moment over two processes → exactly as many as the limit lets through', async () => {
  const gateway = await limited(['--per card --attempts 7 --within 1d --mode block']);
  const other = await testGateway({ shareWith: gateway });
  onTestFinished(() => other.close());
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? gateway : other).api.purchase()),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(7);
  expect(answers.filter(({ code }) => code === 'limit_reached')).toHaveLength(53);
  expect(await charges(gateway)).toBe(7);
});

// catches(limits: a checkout has some from the start)
test('a card at the checkouts of a merchant → five times in ten minutes; what is blocked uses up no attempt', async () => {
  const gateway = await testGateway({ settings: { CHECKOUT_PORT: '0' } });
  for (let n = 0; n < 5; n += 1) {
    const { url } = (await createCheckout(gateway.api)).body;
    expect((await new Payer(url).pay(GIVEN)).text).toContain('you have paid');
  }
  const { url, id } = (await createCheckout(gateway.api)).body;
  const blocked = await new Payer(url).pay(GIVEN);
  expect([blocked.status, blocked.text.includes('tried too often')]).toEqual([422, true]);
  expect((await gateway.api.get(`/checkouts/${id}`)).body).toMatchObject({ status: 'open', attempts: [] });
  // The interface has no limits of its own.
  expect((await gateway.api.purchase()).status).toBe(201);
  expect((await new Payer(url).pay({ ...GIVEN, number: OTHER_CARD })).text).toContain('you have paid');
  const [caught] = await limit(gateway).json('reached --merchant 1');
  expect(caught).toMatchObject({ mode: 'block', per: 'card', what: '411111******1111', times: 1 });
  await limit(gateway).json('set --merchant 1 --per card --attempts 100 --within 10m --mode block');
  const next = (await createCheckout(gateway.api)).body;
  await expect.poll(async () => (await new Payer(next.url).pay(GIVEN)).text).toContain('you have paid');
});

test('without limits nothing is counted; what no limit counts any more is forgotten, and no card number is stored', async () => {
  const gateway = await limited(['--per card --attempts 2 --within 10m --mode block']);
  await gateway.api.purchase({ merchant: 2 });
  for (let n = 0; n < 3; n += 1) await gateway.api.purchase();
  const rows = await gateway.sql(
    'SELECT merchant_id, row_to_json(a)::text AS text FROM limit_attempt a UNION ALL SELECT merchant_id, row_to_json(r)::text FROM limit_reached r',
  );
  expect(rows.map(({ merchant_id }) => merchant_id)).toEqual([1, 1, 1]);
  for (const { text } of rows) expect(text).not.toContain(CARD);
  await gateway.advance('31d');
  const left = 'SELECT (SELECT count(*) FROM limit_attempt) + (SELECT count(*) FROM limit_reached) AS left';
  await expect.poll(() => gateway.sql(left)).toEqual([{ left: 0 }]);
});

test('set, list and off; what makes no sense is refused; the journal says who has set what', async () => {
  const gateway = await testGateway();
  const { json, refusal } = limit(gateway);
  await json('set --merchant 3 --per card --attempts 5 --within 10m --mode block');
  await json('set --merchant 3 --per card --attempts 3 --within 10m --mode watch');
  await json('set --merchant 3 --per card --attempts 6 --within 10m --mode block');
  expect(await json('list --merchant 3')).toEqual([
    { of: 'the merchant', per: 'card', attempts: 3, declines: null, within: '10m', mode: 'watch' },
    { of: 'the merchant', per: 'card', attempts: 6, declines: null, within: '10m', mode: 'block' },
    { of: 'checkouts', per: 'address', attempts: 20, declines: null, within: '10m', mode: 'block' },
  ]);
  const wish = 'set --merchant 3 --per bin --mode block --within';
  expect(await refusal(`${wish} 10m --attempts 5 --declines 6`)).toContain(
    'of 5 attempts 6 cannot be declined',
  );
  expect(await refusal(`${wish} 59s --attempts 5`)).toContain('one minute at least');
  expect(await refusal('list --merchant 99')).toContain('there is no merchant 99');
  await json('off --merchant 3 --per bin');
  expect(await json('off --merchant 3 --per card')).toMatchObject([
    { of: 'checkouts', per: 'card' },
    { of: 'checkouts', per: 'address' },
  ]);
  expect(await json('reached --merchant 3')).toEqual([]);
  const journalled = await gateway.sql(
    `SELECT action, detail FROM journal WHERE action LIKE 'limit.%' ORDER BY id LIMIT 3`,
  );
  expect(journalled.map(({ detail }) => detail)).toEqual([
    'block card after 5 attempts within 10m',
    'block card after 5 attempts within 10m; watch card after 3 attempts within 10m',
    'watch card after 3 attempts within 10m; block card after 6 attempts within 10m',
  ]);
});
