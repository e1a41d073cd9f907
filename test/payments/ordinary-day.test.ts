// Each operation once, on a gateway in which nothing goes wrong. Also the control of `npm run proof guards`: with
// one guard removed, a gateway still does all this.
import { expect, test } from 'vitest';
import { testGateway } from '../../testkit/gateway.js';
import { vaultOf } from '../../testkit/vault-client.js';

test('an ordinary day: every valid operation once → 201 and approved', async () => {
  const { api } = await testGateway();
  const { virtualPan } = await vaultOf(api).newToken();
  const purchase = await api.purchase({ amount: 100 });
  const preauthorisation = await api.preauthorise({ amount: 100 });
  const answers = [
    purchase,
    preauthorisation,
    await api.purchase({ pan: virtualPan, amount: 50 }),
    await api.standaloneRefund({ amount: 10 }),
    await api.refund(purchase.body.audit, 40),
    await api.complete(preauthorisation.body.audit, 60),
    await api.void((await api.purchase({ amount: 30 })).body.audit),
  ];
  expect(answers.map(({ status, body }) => [status, body.status?.transaction_status_code])).toEqual(
    answers.map(() => [201, 'approved']),
  );
});
