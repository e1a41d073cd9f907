// Direct debits on the simulated bank, from the request to what the bank makes of them as the days go by.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setSurcharges } from '../../src/organisations/surcharges.js';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { type Answer, type Json, TEST_MODE } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { bankAccount, vaultOf } from '../../testkit/vault-client.js';
import {
  CLOSE_OF_DAY,
  DAY,
  DEBIT,
  lasting,
  links,
  MEANINGS,
  REQUEST,
  RESPONSE,
  SHOWN_ACCOUNT,
  SYDNEY_TIME,
  status,
} from './shown-payments.js';

const RETURN_CODES = [1, 2, 3, 4, 5, 6, 7, 8, 9];
/** Account numbers that only look like one that is returned. */
const CLEARING = ['123456789', '900000', '90006', '9000060', '0900006', '800006', '16'];

/** What was seen of one payment: when it was made, and when the bank was through with it. */
interface Seen {
  readonly created: Answer;
  readonly pending: Json;
  readonly found: Json;
  readonly ended: Json;
}

let gateway: TestGateway;
const seen = new Map<string, Seen>();

function of(name: string): Seen {
  return seen.get(name) as Seen;
}

beforeAll(async () => {
  gateway = await testGateway();
  const database = operatorsDatabase(gateway);
  await setSurcharges(database, 'operator:test', 2, [
    { scope: 'default', thousandths: 9_000 },
    { scope: 'method:bankaccount', thousandths: 1_500 },
  ]);
  await database.close();

  const { api } = gateway;
  const made = new Map<string, Omit<Seen, 'ended'>>();
  const make = async (name: string, sending: Promise<Answer>, correlationId?: string, merchant = 1) => {
    const created = await sending;
    const pending = (await api.lookUp(created.body.audit)).body;
    const found = correlationId && (await api.search(correlationId, merchant)).body;
    made.set(name, { created, pending, found });
  };
  const account = (account_number: string) => ({ bankAccount: { account_number } });
  const { virtualPan } = await vaultOf(api).newToken({
    account: bankAccount({ 'BANK.ACCOUNT_NUMBER': '44 55-66', 'BANK.ACCOUNT_NAME': 'Ada Lovelace' }),
  });
  await Promise.all([
    ...RETURN_CODES.map((code) => make(`debit ${code}`, api.purchase(account(`90000${code}`)))),
    ...RETURN_CODES.map((code) => make(`credit ${code}`, api.standaloneRefund(account(`90000${code}`)))),
    ...CLEARING.map((number) => make(`debit ${number}`, api.purchase(account(number)))),
    make(
      'debit',
      api.purchase({
        amount: 1_995,
        bankAccount: { bsb: '062000' },
        reference: 'order-9',
        kvps: { order: '7' },
        correlationId: 'the-debit',
      }),
      'the-debit',
    ),
    make(
      'credit',
      api.standaloneRefund({ bankAccount: { account_number: '16' }, correlationId: 'the-credit' }),
      'the-credit',
    ),
    make(
      'surcharged',
      api.purchase({ merchant: 2, amount: 1_995, bankAccount: {}, correlationId: 'the-surcharged' }),
      'the-surcharged',
      2,
    ),
    make('surcharged credit', api.standaloneRefund({ merchant: 2, amount: 1_995, bankAccount: {} })),
    make('token', api.purchase({ pan: virtualPan, expiry: 'none' })),
    make('token credit', api.standaloneRefund({ pan: virtualPan, amount: 5 })),
  ]);
  await make('voided', api.purchase({ bankAccount: {} }));
  await make('void', api.void(made.get('voided')?.created.body.audit, { reference: 'not wanted' }));

  await gateway.advance('12d');
  for (const [name, early] of made) {
    seen.set(name, { ...early, ended: (await api.lookUp(early.created.body.audit)).body });
  }
});
afterAll(() => gateway.close());

describe('what clients see', () => {
  test('purchase with a bank account → 201, pending, with a link to void it and no bank result yet', () => {
    const { status: code, headers, body } = of('debit').created;
    expect([code, headers.get('location')]).toEqual([201, `/v1/transactions/${body.audit}`]);
    expect(body).toEqual({
      audit: expect.any(Number),
      gateway_timestamp: SYDNEY_TIME,
      merchant: { id: 1 },
      kvps: { ...TEST_MODE, [`${REQUEST}order`]: '7' },
      status: status('pending', {}),
      _links: links(body.audit, 'void'),
    });
  });

  test('looked up while pending → account masked but for three digits, mode debit, and the time until which it can be voided', () => {
    const { created, pending } = of('debit');
    const { audit } = created.body;
    expect(pending).toEqual({
      ...lasting(audit, DEBIT, { [`${REQUEST}order`]: '7', [`${RESPONSE}VOIDABLE_UNTIL`]: CLOSE_OF_DAY }),
      status: status('pending', {}),
      _links: links(audit, 'void'),
    });
  });

  test('found by its correlation ID → the same as looked up', () => {
    for (const name of ['debit', 'credit', 'surcharged']) {
      expect(of(name).found).toEqual({ results: [of(name).pending] });
    }
  });

  test('looked up when cleared → approved, with a link to refund it and the amount left', () => {
    const { created, ended } = of('debit');
    const { audit } = created.body;
    expect(ended).toEqual({
      ...lasting(audit, DEBIT, { [`${REQUEST}order`]: '7', [`${RESPONSE}REFUNDABLE_AMOUNT`]: '1995' }),
      status: status('approved', {
        response_code: '00',
        response_message: 'Cleared',
        settlement_date: DAY,
      }),
      _links: links(audit, 'refund'),
    });
  });

  test('looked up when returned → declined, with the return code, and without links', () => {
    const { created, ended } = of('debit 6');
    const { audit } = created.body;
    expect(ended).toEqual({
      ...lasting(audit, {
        ...DEBIT,
        reference: 'order-1',
        amount_details: { total_amount: '10000', currency: 'AUD' },
        payment_method: { bankaccount: { ...SHOWN_ACCOUNT, account_number: '***006' } },
      }),
      status: status('declined', {
        response_code: '6',
        response_message: 'Refer to customer',
        settlement_date: DAY,
      }),
      _links: links(audit),
    });
  });

  test('standalone refund with a bank account → the same, as a credit', () => {
    const { created, pending, ended } = of('credit');
    const { audit } = created.body;
    const transaction = {
      reference: 'order-1',
      transaction_type: 'standalone_refund',
      amount_details: { total_amount: '10000', currency: 'AUD' },
      payment_method: { bankaccount: { ...SHOWN_ACCOUNT, account_number: '**' } },
      directdebit_mode: 'credit',
    };
    expect(created.body.status).toEqual(status('pending', {}));
    expect(pending).toEqual({
      ...lasting(audit, transaction, { [`${RESPONSE}VOIDABLE_UNTIL`]: CLOSE_OF_DAY }),
      status: status('pending', {}),
      _links: links(audit, 'void'),
    });
    expect(ended).toEqual({
      ...lasting(audit, transaction),
      status: status('approved', {
        response_code: '00',
        response_message: 'Cleared',
        settlement_date: DAY,
      }),
      _links: links(audit),
    });
  });

  test('voided while pending → voided; the void has a target and moves no money itself', () => {
    const target = of('voided');
    const { audit } = target.created.body;
    const transaction = {
      ...DEBIT,
      reference: 'order-1',
      amount_details: { total_amount: '10000', currency: 'AUD' },
    };
    expect(target.ended).toEqual({
      ...lasting(audit, transaction),
      status: status('voided', {}),
      _links: links(audit),
    });
    const { created, pending, ended } = of('void');
    const { directdebit_mode: _, ...withoutMode } = transaction;
    const approved = status('approved', {
      response_code: '00',
      response_message: 'Approved',
      settlement_date: DAY,
    });
    const _links = { ...links(created.body.audit), target: { href: `/v1/transactions/${audit}` } };
    expect(created.body).toMatchObject({ status: approved, kvps: TEST_MODE, _links });
    expect(pending).toEqual({
      ...lasting(created.body.audit, {
        ...withoutMode,
        reference: 'not wanted',
        transaction_type: 'void',
        target_audit: audit,
      }),
      status: approved,
      _links,
    });
    expect(ended).toEqual(pending);
  });

  test('purchase for a merchant with a surcharge on bank accounts → included in the total and in the KVPs', () => {
    const { created, pending, ended } = of('surcharged');
    const { audit } = created.body;
    const kvps = {
      [`${REQUEST}SURCHARGE.ORIGINAL_AMOUNT`]: '1995',
      [`${REQUEST}SURCHARGE.PERCENT`]: '1.5',
      [`${REQUEST}SURCHARGE.ADDED_AMOUNT`]: '30',
      [`${REQUEST}SURCHARGE.TOTAL_AMOUNT`]: '2025',
    };
    const transaction = {
      ...DEBIT,
      reference: 'order-1',
      amount_details: { total_amount: '2025', currency: 'AUD' },
    };
    expect(created.body.kvps).toEqual({ ...TEST_MODE, ...kvps });
    expect(pending).toEqual({
      ...lasting(audit, transaction, { ...kvps, [`${RESPONSE}VOIDABLE_UNTIL`]: CLOSE_OF_DAY }, 2),
      status: status('pending', {}),
      _links: links(audit, 'void'),
    });
    expect(ended.kvps).toEqual({ ...TEST_MODE, ...kvps, [`${RESPONSE}REFUNDABLE_AMOUNT`]: '2025' });
  });

  test('standalone refund for that merchant → no surcharge', () => {
    const { pending } = of('surcharged credit');
    expect(pending.transaction.amount_details.total_amount).toBe('1995');
    expect(Object.keys(pending.kvps)).toEqual([`${RESPONSE}MODE`, `${RESPONSE}VOIDABLE_UNTIL`]);
  });

  test('virtual PAN of a bank account → a direct debit from it, or a credit to it', () => {
    const method = {
      bankaccount: { bsb: '062-000', account_number: '***566', account_name: 'Ada Lovelace' },
    };
    const { created, pending, ended } = of('token');
    expect(created.status).toBe(201);
    expect(pending.transaction).toMatchObject({ payment_method: method, directdebit_mode: 'debit' });
    expect(pending.status.transaction_status_code).toBe('pending');
    expect(ended.status.transaction_status_code).toBe('approved');
    const credit = of('token credit');
    expect(credit.pending.transaction).toMatchObject({ payment_method: method, directdebit_mode: 'credit' });
    expect(credit.ended.status.transaction_status_code).toBe('approved');
  });
});

describe('behaviour of the simulated bank', () => {
  test.each(RETURN_CODES)('account number 90000%i → declined with that code, debit and credit', (code) => {
    for (const name of [`debit ${code}`, `credit ${code}`]) {
      const { pending, ended } = of(name);
      expect(pending.status.transaction_status_code).toBe('pending');
      expect(ended.status).toEqual(
        status('declined', {
          response_code: String(code),
          response_message: MEANINGS[code],
          settlement_date: DAY,
        }),
      );
    }
  });

  test.each(CLEARING)('account number %s → approved', (number) => {
    expect(of(`debit ${number}`).ended.status).toMatchObject({
      gateway_status_code: 0,
      transaction_status_code: 'approved',
      acquirer: { response_code: '00' },
    });
  });

  test('everything sent to the bank → its books agree with the gateway’s', () => expectBooksToAgree(gateway));
});
