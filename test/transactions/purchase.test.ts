import { expect, test } from 'vitest';
import { testGateway } from '../support/gateway.js';

test('purchase, any ordinary card → 201, approved, and a lookup finds it under its audit', async () => {
  const { api } = await testGateway();
  const answer = await api.purchase({ amount: 1995 });
  expect(answer.status).toBe(201);
  expect(answer.body.status.transaction_status_code).toBe('approved');
  expect(answer.headers.get('location')).toBe(`/v1/transactions/${answer.body.audit}`);
  const found = await api.lookUp(answer.body.audit);
  expect(found.body.transaction.amount_details).toEqual({ total_amount: '1995', currency: 'AUD' });
});
