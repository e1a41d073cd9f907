// Completions, refunds and voids that the acquirer declines or fails: test cards 43 and 44.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectBooksToAgree } from '../../../testkit/books-agree.js';
import type { Answer, Json } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { cardAnsweredLaterWith, cardWithFaultLater } from '../../../testkit/test-cards.js';

let gateway: TestGateway;
beforeAll(async () => {
  // Longer than the two seconds that fault 06 takes.
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '6000' } });
});
afterAll(() => gateway.close());

interface Later {
  readonly pay: (pan: string) => Promise<Answer>;
  readonly act: (audit: number) => Promise<Answer>;
  /** The look-up of the payment once the operation has happened. */
  readonly happened: (target: Json) => void;
}

const REFUNDABLE = 'GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT';
const purchase = (pan: string) => gateway.api.purchase({ pan, amount: 1_000 });
const preauthorise = (pan: string) => gateway.api.preauthorise({ pan, amount: 1_000 });
const voided = (target: Json) => expect(target.status.transaction_status_code).toBe('voided');

const OPERATIONS: Record<string, Later> = {
  'refund of a purchase': {
    pay: purchase,
    act: (audit) => gateway.api.refund(audit, 400),
    happened: (target) => expect(target.kvps[REFUNDABLE]).toBe('600'),
  },
  'completion of a preauthorisation': {
    pay: preauthorise,
    act: (audit) => gateway.api.complete(audit, 400),
    happened: (target) => expect(target._links).not.toHaveProperty('completion'),
  },
  'void of a purchase': { pay: purchase, act: (audit) => gateway.api.void(audit), happened: voided },
  'void of a preauthorisation': {
    pay: preauthorise,
    act: (audit) => gateway.api.void(audit),
    happened: voided,
  },
};

interface Expected {
  /** Of the answer to the operation. */
  readonly http: number;
  /** Its final status by look-up. */
  readonly status: string;
  readonly gatewayStatusCode: number;
}

const CARDS: readonly (readonly [name: string, pan: string, Expected])[] = [
  ['declined', cardAnsweredLaterWith('05'), { http: 201, status: 'declined', gatewayStatusCode: 0 }],
  ["the acquirer's fault", cardAnsweredLaterWith('96'), { http: 201, status: 'error', gatewayStatusCode: 3 }],
  ['not reached', cardWithFaultLater('01'), { http: 201, status: 'error', gatewayStatusCode: 1 }],
  ['request lost', cardWithFaultLater('02'), { http: 504, status: 'error', gatewayStatusCode: 2 }],
  ['answer lost', cardWithFaultLater('03'), { http: 504, status: 'approved', gatewayStatusCode: 0 }],
  ['answer late', cardWithFaultLater('04'), { http: 504, status: 'approved', gatewayStatusCode: 0 }],
  ['answer unreadable', cardWithFaultLater('05'), { http: 502, status: 'approved', gatewayStatusCode: 0 }],
  ['answer slow', cardWithFaultLater('06'), { http: 201, status: 'approved', gatewayStatusCode: 0 }],
];

const lookedUp = async (audit: number): Promise<Json> => (await gateway.api.lookUp(audit)).body;

test.concurrent.each(Object.entries(OPERATIONS))(
  '%s, declined or with any fault → resolved; a failed operation releases what it held',
  async (_, { pay, act, happened }) => {
    await Promise.all(
      CARDS.map(async ([name, pan, expected]) => {
        const payment = await pay(pan);
        expect([name, payment.body.status.transaction_status_code]).toEqual([name, 'approved']);
        const { audit } = payment.body;
        const before = await lookedUp(audit);

        const answer = await act(audit);
        expect([name, answer.status]).toEqual([name, expected.http]);
        const own: number =
          answer.body.audit ?? Number(answer.body._links.transaction.href.split('/').at(-1));
        const ended = await gateway.api.decided(own);
        expect([name, ended.status]).toMatchObject([
          name,
          { transaction_status_code: expected.status, gateway_status_code: expected.gatewayStatusCode },
        ]);

        const after = await lookedUp(audit);
        if (expected.status === 'approved') happened(after);
        else expect([name, after]).toEqual([name, before]);
      }),
    );
  },
);

test('refund whose request is lost → holds its amount until it is resolved', async () => {
  const { audit } = (await purchase(cardWithFaultLater('02'))).body;
  const refund = gateway.api.refund(audit, 400);
  const reserved = async () => (await lookedUp(audit)).kvps[REFUNDABLE];
  await expect.poll(reserved).toBe('600');
  expect((await gateway.api.refund(audit, 601)).code).toBe('refund_exceeds_original');
  await gateway.api.decided(Number((await refund).body._links.transaction.href.split('/').at(-1)));
  expect(await reserved()).toBe('1000');
});

test('card whose mask looks like a test card’s → refunded like any other', async () => {
  const { audit } = (await purchase('4300001000000510')).body;
  const refund = await gateway.api.refund(audit, 400);
  expect(refund.body.status.transaction_status_code).toBe('approved');
});

test('after all faults → the acquirer has the same books', async () => {
  const { audit } = (await purchase(cardAnsweredLaterWith('51'))).body;
  expect((await gateway.api.refund(audit, 400)).body.status.acquirer.response_code).toBe('51');
  await expectBooksToAgree(gateway);
});
