// Cards that are kept: who starts a payment, under which agreement, what the network calls it, and which cards are not tried again.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Json, type PaymentChange, paymentBody } from '../../testkit/bodies.js';
import type { Answer } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { scrape } from '../../testkit/scrape.js';
import { cardAnsweredWith, DECLINED_CARD, LOST_ANSWER_CARD } from '../../testkit/test-cards.js';
import { vaultOf } from '../../testkit/vault-client.js';

const SETTINGS = { ACQUIRER_DEADLINE_MS: '300', RESOLVER_INTERVAL_MS: '100', RESOLVER_FIRST_PAUSE_MS: '100' };

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: SETTINGS });
});
afterAll(() => gateway.close());

const BY_MERCHANT = { initiator: 'merchant', reason: 'recurring', sequence: 'subsequent' };

interface Sent extends PaymentChange {
  readonly credential?: unknown;
  readonly check?: unknown;
  readonly withCvv?: boolean;
}

function bodyWith({ credential, check, withCvv = false, ...change }: Sent): Json {
  const body = paymentBody(change);
  const card = body.transaction.payment_method.creditcard;
  if (!withCvv) delete card.cvv;
  if (credential !== undefined) body.transaction.credential = credential;
  if (check !== undefined) card.three_d_secure = check;
  return body;
}

const pay = (sent: Sent, operation = 'purchase'): Promise<Answer> =>
  gateway.api.post(`/transactions/${operation}`, bodyWith(sent));

/** By the merchant itself. */
const again = (change: PaymentChange, credential: object = BY_MERCHANT) => pay({ credential, ...change });

/** The last part of each location. */
const placesOf = ({ errors }: Answer) => errors.map((error) => error.split('/').at(-1)).sort();

const lookedUp = async ({ body }: Answer): Promise<Json> => (await gateway.api.lookUp(body.audit)).body;

test.each(['purchase', 'preauthorisation'])(
  'a %s with a credential → shown by look-ups, with what the network calls it',
  async (operation) => {
    const first = await pay(
      { credential: { reason: 'recurring', sequence: 'initial' }, withCvv: true },
      operation,
    );
    expect(first.status).toBe(201);
    const { transaction, status } = await lookedUp(first);
    expect(transaction.credential).toEqual({
      initiator: 'customer',
      reason: 'recurring',
      sequence: 'initial',
    });
    const id = status.acquirer.network_transaction_id;
    expect(id).toMatch(/^SIM[0-9A-F]{12}$/);
    expect(first.body.status.acquirer.network_transaction_id).toBe(id);
    const credential = { ...BY_MERCHANT, network_transaction_id: id };
    const second = await pay({ credential }, operation);
    expect((await lookedUp(second)).transaction.credential).toEqual(credential);
  },
);

test('a payment without a credential → neither shown nor named', async () => {
  const { transaction, status } = await lookedUp(await gateway.api.purchase());
  expect(transaction.credential).toBeUndefined();
  expect(status.acquirer.network_transaction_id).toBeUndefined();
});

test('what a credential must not be → 422, each field named', async () => {
  const refused = await pay({ credential: { initiator: 'nobody', network_transaction_id: 'x'.repeat(37) } });
  expect(refused.status).toBe(422);
  expect(placesOf(refused)).toEqual(['initiator', 'network_transaction_id', 'reason', 'sequence']);
  const initial = await again({}, { ...BY_MERCHANT, sequence: 'initial' });
  expect(placesOf(initial)).toEqual(['sequence']);
  const withCvv = await pay({ credential: BY_MERCHANT, withCvv: true });
  expect(placesOf(withCvv)).toEqual(['cvv']);
  const misplaced = await again({}, { ...BY_MERCHANT, network_transaction_id: '4111111111111111' });
  expect(misplaced.code).toBe('card_number_misplaced');
  for (const value of [7, 'text', null, []]) expect((await pay({ credential: value })).status).toBe(422);
});

test.each(['delayed_charge', 'no_show', 'incremental', 'resubmission'])(
  'a merchant that pays by itself for %s → needs no agreement before it',
  async (reason) => {
    expect((await again({}, { initiator: 'merchant', reason, sequence: 'initial' })).status).toBe(201);
  },
);

test('a network’s ID of 15 digits that would pass for a card → taken', async () => {
  const id = '378282246310005';
  expect((await again({}, { ...BY_MERCHANT, network_transaction_id: id })).status).toBe(201);
});

test('payments by token → the network’s ID of the first approved one is kept', async () => {
  const { virtualPan, customerId, id: tokenId } = await vaultOf(gateway.api).newToken();
  const token = (pan = virtualPan) =>
    gateway.sql<{ id: string | null }>(
      'SELECT network_transaction_id AS id FROM token WHERE virtual_pan = $1',
      [pan],
    );
  expect(await token()).toEqual([{ id: null }]);
  const first = await lookedUp(await pay({ pan: virtualPan }));
  const id = first.status.acquirer.network_transaction_id;
  expect(await token()).toEqual([{ id }]);
  await pay({ pan: virtualPan });
  expect(await token()).toEqual([{ id }]);
  // Another card has no payments yet.
  const account = {
    general_creditcard: { 'CARD.PAN': '5555555555554444', 'CARD.EXPIRY': '1239', 'CARD.NAME': 'A' },
  };
  const changed = await vaultOf(gateway.api).changeToken(customerId, tokenId, { account });
  expect(changed.status, changed.text).toBe(200);
  expect(await token()).toEqual([{ id: null }]);
});

const CHECK = {
  version: '2.2.0',
  eci: '05',
  authentication_value: 'AAABBWFlmQAAAABjRWWZEEFgFz8=',
  ds_transaction_id: 'f38e6948-5388-41a6-bca4-b49723c19437',
  status: 'Y',
};

test('the result of a 3-D Secure check → shown in part, and sealed with the card', async () => {
  const paid = await pay({ check: CHECK, withCvv: true });
  expect(paid.status).toBe(201);
  const { transaction } = await lookedUp(paid);
  expect(transaction.payment_method.creditcard.three_d_secure).toEqual({
    version: '2.2.0',
    eci: '05',
    status: 'Y',
  });
  const rows = await gateway.sql<{ row: string }>(
    'SELECT t::text AS row FROM transaction t WHERE audit = $1',
    [paid.body.audit],
  );
  expect(rows[0]?.row).not.toContain(CHECK.authentication_value);
});

test.each(['N', 'R', 'C'])('a check with status %s → 422, and nothing is sent', async (status) => {
  const refused = await pay({ check: { ...CHECK, status } });
  expect([refused.code, ...placesOf(refused)]).toEqual(['authentication_failed', 'status']);
});

test('what a check must not be → 422, each field named', async () => {
  const wrong = {
    version: '1.0',
    eci: '5',
    authentication_value: 'AA==',
    ds_transaction_id: 'x',
    status: 'Q',
  };
  const refused = await pay({ check: wrong });
  expect(placesOf(refused)).toEqual([
    'authentication_value',
    'ds_transaction_id',
    'eci',
    'status',
    'version',
  ]);
});

// catches(retries: are checked before anything is stored)
// catches(retries: a card that was declined for good is not tried again)
// catches(retries: declines count for 30 days)
test('a card that was declined for good → not tried again by the merchant for 30 days; the customer may', async () => {
  const own = await testGateway({ settings: SETTINGS });
  const pan = cardAnsweredWith('43');
  const send = (credential: unknown, change: PaymentChange = {}) =>
    own.api.post('/transactions/purchase', bodyWith({ credential, pan, ...change }));
  const first = await send(BY_MERCHANT);
  expect(first.body.status.transaction_status_code).toBe('declined');
  const refused = await own.api.post(
    '/transactions/purchase',
    bodyWith({ credential: BY_MERCHANT, pan }),
    'tried-again',
  );
  expect([refused.code, ...placesOf(refused)]).toEqual(['retry_forbidden', 'pan']);
  expect((await own.api.search('tried-again')).body.results).toEqual([]);
  // Another card, the customer in person, and the same card in another spelling of its expiry date.
  expect((await send(BY_MERCHANT, { pan: DECLINED_CARD })).status).toBe(201);
  expect((await send(undefined)).status).toBe(201);
  expect((await send(BY_MERCHANT, { expiry: '0140' })).code).toBe('retry_forbidden');
  const events = (await own.api.get('/events')).body.results.filter(
    ({ type }: Json) => type === 'limit.reached',
  );
  expect(events.map(({ data }: Json) => [data.limit.per, data.limit.mode])).toEqual([['retry', 'block']]);
  await own.advance('29d');
  expect((await send(BY_MERCHANT)).code).toBe('retry_forbidden');
  await own.advance('31d');
  expect((await send(BY_MERCHANT)).status).toBe(201);
  await own.close();
});

// catches(retries: a card is not tried again for ever)
test('a card that was declined twenty times → not tried again by the merchant', async () => {
  const change = { pan: cardAnsweredWith('51') };
  for (let time = 0; time < 20; time += 1) expect((await again(change)).status).toBe(201);
  const refused = await again(change);
  expect(refused.code).toBe('retry_forbidden');
  const metrics = await scrape(gateway.operatorsUrl);
  expect(metrics.sum('tollgate_limits_reached_total', { per: 'retry', mode: 'block' })).toBeGreaterThan(0);
});

// catches(retries: what was found declined counts)
test('a decline that was found out later → counts as well', async () => {
  const correlationId = 'found-declined';
  const body = bodyWith({ pan: LOST_ANSWER_CARD, expiry: '0120' });
  const lost = await gateway.api.post('/transactions/purchase', body, correlationId);
  expect(lost.status).toBe(504);
  const status = async () =>
    (await gateway.api.search(correlationId)).body.results[0].status.transaction_status_code;
  await expect.poll(status).toBe('declined');
  expect(
    await gateway.sql(
      `SELECT d.response_code FROM declined_card d JOIN transaction t USING (organisation_id, audit) WHERE t.correlation_id = $1`,
      [correlationId],
    ),
  ).toEqual([{ response_code: '54' }]);
});
