// Error answers repeat nothing that was sent: no card number, no CVV, no credentials.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, CARD, paymentBody } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { bodyWith, withoutChance } from '../../testkit/requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '20000' } });
});
afterAll(() => gateway.close());

const CVV = '7391';
const SECRET_BODY = paymentBody({ cvv: CVV });

describe('no error repeats a value from the request', () => {
  test('any refused request → no card number, CVV or secret in the error or the log', () =>
    expectEach<[string, () => Promise<Answer>]>(
      [
        [
          'JSON that breaks off',
          () => gateway.api.call('/transactions/purchase', { raw: JSON.stringify(SECRET_BODY).slice(0, -1) }),
        ],
        [
          'another media type',
          () =>
            gateway.api.call('/transactions/purchase', {
              raw: JSON.stringify(SECRET_BODY),
              headers: { 'content-type': 'text/plain' },
            }),
        ],
        [
          'too large a body',
          () =>
            gateway.api.call('/transactions/purchase', { raw: JSON.stringify(SECRET_BODY).padEnd(140_000) }),
        ],
        ['a card number as reference', () => gateway.api.purchase({ reference: CARD, cvv: CVV })],
        ['a card number as KVP value', () => gateway.api.purchase({ kvps: { key: CARD }, cvv: CVV })],
        ['a card number as KVP key', () => gateway.api.purchase({ kvps: { [CARD]: CVV }, cvv: CVV })],
        [
          'a card number as key of a bad KVP',
          () =>
            gateway.api.post(
              '/transactions/purchase',
              bodyWith('kvps', { [CARD]: 1, [`${CARD}/x`]: 'é', [`x ${CARD}`]: null }),
            ),
        ],
        ['a card number as correlation ID', () => gateway.api.purchase({ correlationId: CARD })],
        [
          'a card number as the correlation ID of a lookup',
          () => gateway.api.call('/transactions/1', { correlationId: CARD }),
        ],
        ['a card number as correlation_id_lookup', () => gateway.api.search(`${CARD} ${CVV}`)],
        ['a card number as audit', () => gateway.api.get(`/transactions/${CARD}`)],
        ['a card number as address', () => gateway.api.get(`/${CARD}?cvv=${CVV}`)],
        ['a card number as currency', () => gateway.api.purchase({ currency: CARD })],
        ['a card number as amount', () => gateway.api.purchase({ amount: CARD })],
        ['a card number as expiry date', () => gateway.api.purchase({ expiry: CARD })],
        ['a card number as CVV', () => gateway.api.purchase({ cvv: CARD })],
        ['a card number as merchant', () => gateway.api.purchase({ merchant: Number(CARD) })],
        [
          'a card number and a CVV of the wrong type',
          () =>
            gateway.api.post(
              '/transactions/purchase',
              bodyWith('transaction.payment_method.creditcard', {
                pan: Number(CARD),
                cvv: Number(CVV),
                expiry_date: 1,
              }),
            ),
        ],
        ['a card number with a blemish', () => gateway.api.purchase({ pan: `${CARD} `, cvv: CVV })],
        ['a wrong secret', () => gateway.as({ username: CARD, password: CVV }).purchase()],
        [
          'an acquirer that cannot be read',
          () => gateway.api.purchase({ pan: '4200000000000059', cvv: CVV }),
        ],
      ],
      async ([_, provoke]) => {
        const answer = await provoke();
        expect(answer.status).toBeGreaterThanOrEqual(400);
        const headers = withoutChance(
          JSON.stringify([...answer.headers].filter(([name]) => name !== 'date')),
        );
        const logged = withoutChance(gateway.logged());
        for (const secret of [CARD, '4200000000000059', CVV, gateway.owner.password]) {
          expect(answer.text).not.toContain(secret);
          expect(headers).not.toContain(secret);
          expect(logged).not.toContain(secret);
        }
      },
    ));
});
