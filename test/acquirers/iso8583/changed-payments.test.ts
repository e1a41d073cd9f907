// Payments that somebody has changed in the database, where the acquirer wants the card number: what goes back to such a one is not sent.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runHere } from '../../../testkit/command-here.js';
import { LOGINS, type TestGateway } from '../../../testkit/gateway.js';
import { approved, GatewayAtHost } from './gateway-at-host.js';

let at: GatewayAtHost;
let gateway: TestGateway;
beforeAll(async () => {
  at = await GatewayAtHost.start();
  gateway = at.gateway;
});
afterAll(() => at.stop());

const broken = (audit: number) =>
  gateway.sql(`SELECT actor FROM journal WHERE action = 'seal.broken' AND audit = $1`, [audit]);

const verified = async () => {
  const environment = { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir };
  const { code, stdout } = await runHere(['keys', 'verify'], environment);
  return [code, stdout];
};

const refunded = async () => {
  const audit = await approved(gateway.api.purchase({ amount: 1_000 }));
  return approved(gateway.api.refund(audit, 1_000));
};

test.each([
  ['a larger amount', 'amount_cents = 99999900'],
  ['another currency', `currency = 'USD'`],
])(
  'a purchase is given %s and then refunded → nothing is sent, and the refusal is journalled',
  async (_, change) => {
    const audit = await approved(gateway.api.purchase({ amount: 1_000 }));
    await gateway.sql(`UPDATE transaction SET ${change} WHERE audit = $1`, [audit]);
    const sent = at.host.messages().length;
    const currency = change.startsWith('currency') ? 'USD' : 'AUD';
    const { status, code } = await gateway.api.refund(audit, 900, { currency });
    expect([status, code]).toEqual([503, 'not_processed']);
    expect(at.host.messages()).toHaveLength(sent);
    await vi.waitUntil(async () => (await broken(audit)).length > 0, { timeout: 300_000 });
    expect(await broken(audit)).toEqual([{ actor: 'gateway:vault' }]);
  },
);

test('a purchase is given the sealed card of another payment and then refunded → nothing is sent', async () => {
  const mine = await approved(gateway.api.purchase({ amount: 1_000 }));
  const theirs = await approved(gateway.api.purchase({ pan: '5555555555554444', amount: 1_000 }));
  await gateway.sql(
    `UPDATE transaction t SET payment_details_sealed = other.payment_details_sealed
     FROM transaction other WHERE t.audit = $1 AND other.audit = $2`,
    [mine, theirs],
  );
  const sent = at.host.messages().length;
  const { status, code } = await gateway.api.refund(mine, 1_000);
  expect([status, code]).toEqual([503, 'not_processed']);
  expect(at.host.messages()).toHaveLength(sent);
});

// catches(target: what the acquirer knows it by is as it was sent)
// catches(verification: operations as they were asked for)
test.each(LOGINS)(
  'as %s, a refund is given the numbers of another one and then voided → the host is not asked to void the other one',
  async (login) => {
    const [mine, theirs] = [await refunded(), await refunded()];
    await gateway.sqlAs(
      login,
      `UPDATE transaction t SET prepared = other.prepared FROM transaction other
       WHERE t.audit = $1 AND other.audit = $2`,
      [mine, theirs],
    );
    expect(await verified()).toEqual([
      1,
      expect.stringMatching(new RegExp(`transaction ${mine} +is not as it was asked for`)),
    ]);
    const sent = at.host.messages().length;
    const { status, code } = await gateway.api.void(mine);
    expect([status, code]).toEqual([503, 'not_processed']);
    expect(at.host.messages()).toHaveLength(sent);
    await vi.waitUntil(async () => (await broken(mine)).length > 0, { timeout: 300_000 });
    await approved(gateway.api.void(theirs));
  },
);

test('an unchanged purchase → refunded over the link', async () => {
  const audit = await approved(gateway.api.purchase({ amount: 1_000 }));
  await approved(gateway.api.refund(audit, 1_000));
  expect(await broken(audit)).toEqual([]);
});
