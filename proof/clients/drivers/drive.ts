// Drives the gateway with types from openapi-typescript and requests by openapi-fetch.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import createClient from 'openapi-fetch';
import type { components, paths } from './tollgate.js';

type Schemas = components['schemas'];

const [username, password, merchantId, ...addresses] = process.argv.slice(2) as [string, string, string];
const merchant = { id: Number(merchantId) };
const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

function amount(total_amount: string): Schemas['AmountDetails'] {
  return { total_amount, currency: 'AUD' };
}

function got<T>({ data, error }: { data?: T; error?: unknown }): T {
  assert.ok(data !== undefined, JSON.stringify(error));
  return data;
}

/** A later gateway answers with values and members that this client has never heard of. */
async function trade(baseUrl: string, later: boolean) {
  const client = createClient<paths>({ baseUrl, headers: { authorization } });
  const fresh = () => ({ 'X-Correlation-Id': randomUUID() });
  const known = (value: string) => (later ? 'later_value' : value);
  const outcome = ({ status }: { status: Schemas['TransactionStatus'] }) => status.transaction_status_code;

  const pay = async (payment_method: Schemas['PaymentMethod'], header = fresh()) => {
    const transaction = { reference: 'order-1', amount_details: amount('10000'), payment_method };
    const answer = await client.POST('/transactions/purchase', {
      params: { header },
      body: { merchant, kvps: { order_number: '1001' }, transaction },
    });
    assert.equal(answer.response.status, 201);
    assert.equal(answer.response.headers.get('x-correlation-id'), header['X-Correlation-Id']);
    return got(answer);
  };
  const lookUp = async (audit: number) =>
    got(await client.GET('/transactions/{audit}', { params: { path: { audit } } }));

  const creditcard = { pan: '4111111111111111', expiry_date: '1239', cvv: '123' };
  const header = fresh();
  const purchase = await pay({ creditcard }, header);
  assert.equal(outcome(purchase), known('approved'));
  assert.equal(purchase.kvps['GATEWAY.REQUEST.KVP.order_number'], '1001');

  const shown = (await lookUp(purchase.audit)).transaction;
  assert.equal(shown.transaction_type, known('purchase'));
  assert.ok(shown.payment_method !== undefined && 'creditcard' in shown.payment_method);
  const card = shown.payment_method.creditcard as Schemas['MaskedCreditcard'];
  assert.deepEqual([card.pan, card.type], ['411111******1111', known('visa')]);

  const query = { merchant_id: merchant.id, correlation_id_lookup: header['X-Correlation-Id'] };
  const found = got(await client.GET('/transactions', { params: { query } }));
  assert.deepEqual(
    found.results.map(({ audit }) => audit),
    [purchase.audit],
  );
  const none = { ...query, correlation_id_lookup: randomUUID() };
  assert.deepEqual(got(await client.GET('/transactions', { params: { query: none } })).results, []);

  const refund = (total: string) =>
    client.POST('/transactions/{audit}/refund', {
      params: { path: { audit: purchase.audit }, header: fresh() },
      body: { merchant, transaction: { reference: 'order-1', amount_details: amount(total) } },
    });
  const refunded = got(await refund('2500'));
  assert.equal(outcome(refunded), known('approved'));
  assert.equal((await lookUp(refunded.audit)).transaction.target_audit, purchase.audit);
  const refused = await refund('9999999');
  assert.equal(refused.response.status, 422);
  assert.equal(refused.error?.errors[0]?.error_code, known('refund_exceeds_original'));

  const second = await pay({ creditcard });
  const voided = got(
    await client.POST('/transactions/{audit}/void', {
      params: { path: { audit: second.audit }, header: fresh() },
      body: { merchant, transaction: { reference: 'order-2' } },
    }),
  );
  assert.equal(outcome(voided), known('approved'));
  assert.equal(outcome(await lookUp(second.audit)), known('voided'));

  const bankaccount = { bsb: '062-000', account_number: '123456789', account_name: 'A Customer' };
  const debit = await pay({ bankaccount });
  assert.equal(outcome(debit), known('pending'));
  const method = (await lookUp(debit.audit)).transaction.payment_method;
  assert.ok(method !== undefined && 'bankaccount' in method);
  assert.equal((method.bankaccount as Schemas['MaskedBankaccount']).account_number, '******789');

  const customer = got(
    await client.POST('/customers', {
      params: { header: fresh() },
      body: { reference: randomUUID(), name: 'Ada Lovelace' },
    }),
  );
  const tokenise = async (preferred_name: string, account: Schemas['Account']) =>
    got(
      await client.POST('/customers/{customer_id}/tokens', {
        params: { path: { customer_id: customer.id }, header: fresh() },
        body: { preferred_name, active: true, account },
      }),
    );
  const token = await tokenise('Card', {
    general_creditcard: {
      'CARD.PAN': '4111111111111111',
      'CARD.EXPIRY': '1239',
      'CARD.NAME': 'Ada Lovelace',
    },
  });
  assert.ok('general_creditcard' in token.account);
  const account = token.account.general_creditcard as Schemas['MaskedGeneralCreditcard'];
  assert.deepEqual([account['CARD.PAN'], account['CARD.TYPE']], ['411111******1111', known('visa')]);
  await tokenise('Account', {
    general_bankaccount: {
      'BANK.BSB': '062-000',
      'BANK.ACCOUNT_NUMBER': '123456789',
      'BANK.ACCOUNT_NAME': 'A Customer',
    },
  });
  const path = { customer_id: customer.id };
  const tokens = got(await client.GET('/customers/{customer_id}/tokens', { params: { path } }));
  assert.equal(tokens.results.length, 2);
  assert.equal(outcome(await pay({ creditcard: { pan: token.virtual_pan } })), known('approved'));
  const removal = await client.DELETE('/customers/{customer_id}', { params: { path, header: fresh() } });
  assert.equal(removal.response.status, 204);
}

const [now = '', later = ''] = addresses as string[];
await trade(now, false);
await trade(later, true);
