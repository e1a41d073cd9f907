// The links and generated KVPs of a transaction: each is present exactly while its operation is allowed.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import { type Answer, TEST_MODE } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { cardAnsweredWith, DECLINED_CARD } from '../../testkit/test-cards.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const KVP = 'GATEWAY.RESPONSE.KVP.';

async function auditOf(answer: Promise<Answer>): Promise<number> {
  return (await answer).body.audit;
}

const purchase = () => auditOf(gateway.api.purchase({ amount: 100 }));
const preauthorisation = () => auditOf(gateway.api.preauthorise({ amount: 100 }));
const completion = async () => auditOf(gateway.api.complete(await preauthorisation(), 80));
const refund = async () => auditOf(gateway.api.refund(await purchase(), 30));

/** Creates a transaction, changes it, and returns its audit. */
function after(make: () => Promise<number>, act: (audit: number) => Promise<unknown>) {
  return async () => {
    const audit = await make();
    await act(audit);
    return audit;
  };
}

const STATES: Record<string, () => Promise<number>> = {
  'a purchase': purchase,
  'a purchase, refunded in part': after(purchase, (audit) => gateway.api.refund(audit, 40)),
  'a purchase, refunded in full': after(purchase, (audit) => gateway.api.refund(audit, 100)),
  'a purchase whose refund was voided': after(purchase, async (audit) =>
    gateway.api.void(await auditOf(gateway.api.refund(audit, 100))),
  ),
  'a voided purchase': after(purchase, (audit) => gateway.api.void(audit)),
  'a declined purchase': () => auditOf(gateway.api.purchase({ pan: DECLINED_CARD })),
  'a purchase in error': () => auditOf(gateway.api.purchase({ pan: cardAnsweredWith('96') })),
  'a preauthorisation': preauthorisation,
  'a preauthorisation, completed in part': after(preauthorisation, (audit) => gateway.api.complete(audit, 1)),
  'a preauthorisation, completed in full': after(preauthorisation, (audit) =>
    gateway.api.complete(audit, 100),
  ),
  'a preauthorisation whose completion was voided': after(preauthorisation, async (audit) =>
    gateway.api.void(await auditOf(gateway.api.complete(audit, 100))),
  ),
  'a voided preauthorisation': after(preauthorisation, (audit) => gateway.api.void(audit)),
  'a declined preauthorisation': () => auditOf(gateway.api.preauthorise({ pan: DECLINED_CARD })),
  'a completion': completion,
  'a completion, refunded in part': after(completion, (audit) => gateway.api.refund(audit, 79)),
  'a completion, refunded in full': after(completion, (audit) => gateway.api.refund(audit, 80)),
  'a voided completion': after(completion, (audit) => gateway.api.void(audit)),
  'a refund': refund,
  'a voided refund': after(refund, (audit) => gateway.api.void(audit)),
  'a standalone refund': () => auditOf(gateway.api.standaloneRefund({ amount: 100 })),
  'a voided standalone refund': after(
    () => auditOf(gateway.api.standaloneRefund({ amount: 100 })),
    (audit) => gateway.api.void(audit),
  ),
  'a void': async () => auditOf(gateway.api.void(await purchase())),
};

describe('a transaction in any state', () => {
  test('each link → present exactly if the operation is accepted', () =>
    expectEach(Object.entries(STATES), ([_, make]) =>
      expectEach(
        [
          ['completion', (audit: number) => gateway.api.complete(audit, 1)],
          ['refund', (audit: number) => gateway.api.refund(audit, 1)],
          ['void', (audit: number) => gateway.api.void(audit)],
        ],
        async ([link, attempt]) => {
          const audit = await make();
          const { _links } = (await gateway.api.lookUp(audit)).body;
          const { status } = await attempt(audit);
          expect([201, 422]).toContain(status);
          expect(link in _links).toBe(status === 201);
          if (link in _links) expect(_links[link]).toEqual({ href: `/v1/transactions/${audit}/${link}` });
        },
      ),
    ));

  test('generated KVPs → each present exactly with its link', () =>
    expectEach(Object.entries(STATES), async ([_, make]) => {
      const { _links, kvps, status, transaction } = (await gateway.api.lookUp(await make())).body;
      const isPayment = ['purchase', 'preauthorisation'].includes(transaction.transaction_type);
      const isDeclined = isPayment && status.transaction_status_code === 'declined';
      const beside = {
        completion: [`${KVP}COMPLETABLE_AMOUNT`, `${KVP}COMPLETABLE_UNTIL`],
        refund: [`${KVP}REFUNDABLE_AMOUNT`],
        void: [`${KVP}VOIDABLE_UNTIL`],
      };
      const expected = Object.entries(beside).flatMap(([link, keys]) => (link in _links ? keys : []));
      const advice = isDeclined ? [`${KVP}DECLINE_ADVICE`] : [];
      expect(Object.keys(kvps).sort()).toEqual([`${KVP}MODE`, ...advice, ...expected].sort());
    }));
});

test('lookup of a purchase → shows the amount left to refund, and until when it can be voided', async () => {
  const audit = await purchase();
  const { kvps, status } = (await gateway.api.lookUp(audit)).body;
  expect(kvps).toEqual({
    ...TEST_MODE,
    [`${KVP}REFUNDABLE_AMOUNT`]: '100',
    [`${KVP}VOIDABLE_UNTIL`]: expect.stringMatching(
      new RegExp(`^${status.acquirer.settlement_date}T18:00:00\\.000\\+1[01]:00$`),
    ),
  });
  await gateway.api.refund(audit, 30);
  expect((await gateway.api.lookUp(audit)).body.kvps).toEqual({
    ...TEST_MODE,
    [`${KVP}REFUNDABLE_AMOUNT`]: '70',
  });
});

test('lookup of a preauthorisation → shows the amount to complete, and until when: seven days', async () => {
  const { kvps, gateway_timestamp } = (await gateway.api.lookUp(await preauthorisation())).body;
  expect(kvps[`${KVP}COMPLETABLE_AMOUNT`]).toBe('100');
  const until = kvps[`${KVP}COMPLETABLE_UNTIL`];
  expect(until).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+1[01]:00$/);
  expect(Date.parse(until) - Date.parse(gateway_timestamp)).toBe(7 * 24 * 3_600_000);
});

test('creating response → links, but no generated KVPs', async () => {
  const { body } = await gateway.api.purchase({ kvps: { colour: 'red' } });
  expect(body.kvps).toEqual({ ...TEST_MODE, 'GATEWAY.REQUEST.KVP.colour': 'red' });
  expect(Object.keys(body._links)).toContain('refund');
});

test('links → lead to the operation when followed unchanged', async () => {
  const { body } = await gateway.api.preauthorise({ amount: 100 });
  const origin = new URL(gateway.baseUrl).origin;
  const follow = (href: string, body: unknown) =>
    gateway.api.post(new URL(href, origin).pathname.replace(/^\/v1/, ''), body);
  const amount = {
    merchant: { id: 1 },
    transaction: { reference: 'a', amount_details: { total_amount: '50', currency: 'AUD' } },
  };
  const completed = await follow(body._links.completion.href, amount);
  const refunded = await follow(completed.body._links.refund.href, amount);
  const voided = await follow(refunded.body._links.void.href, amount);
  const target = await gateway.api.get(voided.body._links.target.href.replace(/^\/v1/, ''));
  expect(target.body.audit).toBe(refunded.body.audit);
  expect(target.body.status.transaction_status_code).toBe('voided');
});

test('everything that the links allowed → the acquirer has the same books', () =>
  expectBooksToAgree(gateway));
