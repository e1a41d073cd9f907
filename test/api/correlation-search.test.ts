// The search by correlation ID: whom it finds, for whom, and for how long.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { AcquirerLink } from '../../src/acquirers/contract.js';
import { decision } from '../../src/acquirers/simulator/simulator.js';
import { type Answer, CARD } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { gatedAcquirer } from '../../testkit/gated-acquirer.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

const PATIENT = { ACQUIRER_DEADLINE_MS: '60000' };

let gateway: TestGateway;
/** Its clock is moved from test to test. */
let later: TestGateway;
beforeAll(async () => {
  [gateway, later] = await Promise.all([
    testGateway({ settings: PATIENT }),
    testGateway({ settings: PATIENT }),
  ]);
});
afterAll(() => Promise.all([gateway.close(), later.close()]));

const audits = ({ body }: Answer) => body.results.map(({ audit }: { audit: number }) => audit);

describe('search by correlation ID', () => {
  test('of each operation → that transaction alone, as the lookup by audit shows it', async () => {
    const { api } = gateway;
    const purchase = await api.purchase({ correlationId: 'purchase', kvps: { key: 'value' } });
    const held = await api.preauthorise({ correlationId: 'preauthorisation' });
    await api.complete(held.body.audit, 500, { correlationId: 'completion' });
    await api.refund(purchase.body.audit, 500, { correlationId: 'refund' });
    const refund = await api.standaloneRefund({ correlationId: 'standalone_refund' });
    await api.void(refund.body.audit, { correlationId: 'void' });
    for (const type of [
      'purchase',
      'preauthorisation',
      'completion',
      'refund',
      'standalone_refund',
      'void',
    ]) {
      const { status, body } = await api.search(type);
      expect(status).toBe(200);
      expect(body.results).toHaveLength(1);
      const [found] = body.results;
      expect(found.transaction.transaction_type).toBe(type);
      expect((await api.lookUp(found.audit)).body).toEqual(found);
    }
  });

  // catches(search by correlation ID: only of the merchant that is named)
  test('unused, or used by another merchant → an empty array', async () => {
    const { api, as, colleague } = gateway;
    await as(colleague).purchase({ correlationId: 'theirs', merchant: 2 });
    expect((await api.search('nobodys')).body).toEqual({ results: [] });
    expect((await api.search('theirs', 1)).body).toEqual({ results: [] });
    expect((await api.search('theirs', 2)).body.results).toHaveLength(1);
  });

  test.each([CARD, '4111.1111.1111.1111', '4111+1111+1111+1111'])(
    'for the card number %s → 422, and it is stored nowhere',
    async (card) => {
      const answer = await gateway.api.search(card);
      expect([answer.status, answer.errors]).toEqual([
        422,
        ['card_number_misplaced query/correlation_id_lookup'],
      ]);
      expect(await gateway.sql('SELECT FROM absence WHERE correlation_id = $1', [card])).toEqual([]);
      expect(gateway.logged()).not.toContain(card);
    },
  );

  test('for a merchant that the user may not use → 403, the same whether the merchant exists or the ID is used', async () => {
    const { api, as, colleague, stranger } = gateway;
    await as(stranger).purchase({ correlationId: 'strangers', merchant: 4 });
    await api.purchase({ correlationId: 'ours', merchant: 1 });
    const answers = [
      await api.search('strangers', 4),
      await api.search('unused', 4),
      await api.search('strangers', 999),
      await as(colleague).search('ours', 1),
      await as(stranger).search('ours', 1),
    ];
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(403);
    expect(answers[0]?.errors).toEqual(['merchant_not_permitted query/merchant_id']);
  });

  test('an invalid query → 422', () =>
    expectEach(
      [
        ['merchant_id=1', ['field_missing query/correlation_id_lookup']],
        ['correlation_id_lookup=x', ['field_missing query/merchant_id']],
        ['', ['field_missing query/merchant_id', 'field_missing query/correlation_id_lookup']],
        ['merchant_id=&correlation_id_lookup=x', ['field_type query/merchant_id']],
        ['merchant_id=0&correlation_id_lookup=x', ['field_out_of_range query/merchant_id']],
        ['merchant_id=2147483648&correlation_id_lookup=x', ['field_out_of_range query/merchant_id']],
        [
          'merchant_id=99999999999999999999&correlation_id_lookup=x',
          ['field_out_of_range query/merchant_id'],
        ],
        ['merchant_id=%2B1&correlation_id_lookup=x', ['field_type query/merchant_id']],
        ['merchant_id=0x1&correlation_id_lookup=x', ['field_type query/merchant_id']],
        ['merchant_id=1e0&correlation_id_lookup=x', ['field_type query/merchant_id']],
        ['merchant_id=1&merchant_id=1&correlation_id_lookup=x', ['field_type query/merchant_id']],
        ['merchant_id=1&correlation_id_lookup=', ['field_too_short query/correlation_id_lookup']],
        [
          'merchant_id=1&correlation_id_lookup=x&correlation_id_lookup=y',
          ['field_type query/correlation_id_lookup'],
        ],
        [
          `merchant_id=1&correlation_id_lookup=${'x'.repeat(129)}`,
          ['field_too_long query/correlation_id_lookup'],
        ],
      ],
      async ([query, errors]) => {
        const answer = await gateway.api.get(`/transactions?${query}`);
        expect({ status: answer.status, errors: answer.errors }).toEqual({ status: 422, errors });
      },
    ));

  test('while the acquirer has not answered → found, -99 and unknown; afterwards decided', async () => {
    const acquirer = gatedAcquirer();
    const { api } = await testGateway({ settings: PATIENT, acquirers: [acquirer] });
    const answer = api.purchase({ correlationId: 'in-flight' });
    await acquirer.reached;
    const [open] = (await api.search('in-flight')).body.results;
    expect(open.status).toMatchObject({ gateway_status_code: -99, transaction_status_code: 'unknown' });
    expect(open._links).toEqual({ self: { href: `/v1/transactions/${open.audit}` } });
    acquirer.release();
    expect((await answer).body.audit).toBe(open.audit);
    const [decided] = (await api.search('in-flight')).body.results;
    expect(decided.status).toMatchObject({ gateway_status_code: 0, transaction_status_code: 'approved' });
  });

  test('after 23 hours → found; after 25 → empty, but found by audit and still 409', async () => {
    const { api, advance } = later;
    const { body } = await api.purchase({ correlationId: 'old' });
    await advance('23h');
    expect(audits(await api.search('old'))).toEqual([body.audit]);
    await advance('2h');
    expect((await api.search('old')).body).toEqual({ results: [] });
    expect((await api.lookUp(body.audit)).status).toBe(200);
    const repeated = await api.purchase({ correlationId: 'old' });
    expect(repeated.status).toBe(409);
    expect(repeated.body._links.transaction.href).toBe(`/v1/transactions/${body.audit}`);
  });

  test('the setting for how many hours → searches find IDs for that long', async () => {
    const { api, advance } = await testGateway({ settings: { ...PATIENT, CORRELATION_ID_HOURS: '48' } });
    const { body } = await api.purchase({ correlationId: 'kept' });
    await advance('47h');
    expect(audits(await api.search('kept'))).toEqual([body.audit]);
    await advance('2h');
    expect(audits(await api.search('kept'))).toEqual([]);
  });

  // catches(search by correlation ID: finds what is in doubt, however old)
  test('of a transaction in doubt after 25 hours → found: if it were not, the client would pay again', async () => {
    const acquirer = gatedAcquirer();
    const { api, advance } = await testGateway({
      settings: { ACQUIRER_DEADLINE_MS: '100' },
      acquirers: [acquirer],
    });
    const answer = await api.purchase({ correlationId: 'in-doubt' });
    expect(answer.status).toBe(504);
    await advance('25h');
    const [found] = (await api.search('in-doubt')).body.results;
    expect(found?.status).toMatchObject({ gateway_status_code: -99, transaction_status_code: 'unknown' });
    acquirer.release();
  });

  // catches(search by correlation ID: its hours count from the decision)
  test('of a transaction decided after 25 hours → found for another 24 hours', async () => {
    let resolvable = false;
    const acquirer: AcquirerLink = {
      ...gatedAcquirer(),
      inquire: async () =>
        resolvable ? decision({ responseCode: '00', responseMessage: 'Approved' }) : { kind: 'no_answer' },
    };
    const { api, advance } = await testGateway({
      settings: { ACQUIRER_DEADLINE_MS: '100' },
      acquirers: [acquirer],
    });
    const answer = await api.purchase({ correlationId: 'decided-late' });
    const audit = Number(answer.headers.get('location')?.split('/').at(-1));
    await advance('25h');
    resolvable = true;
    expect((await api.decided(audit)).status.transaction_status_code).toBe('approved');
    expect(audits(await api.search('decided-late'))).toEqual([audit]);
    await advance('23h');
    expect(audits(await api.search('decided-late'))).toEqual([audit]);
    await advance('2h');
    expect(audits(await api.search('decided-late'))).toEqual([]);
  });

  test('of a voided transaction → found for 24 hours after the void', async () => {
    const { api, advance } = later;
    const { body } = await api.preauthorise({ correlationId: 'voided-late' });
    await api.preauthorise({ correlationId: 'never-voided' });
    await advance('20h');
    await api.void(body.audit);
    await advance('20h');
    expect(audits(await api.search('voided-late'))).toEqual([body.audit]);
    expect(audits(await api.search('never-voided'))).toEqual([]);
  });

  test('of a direct debit that waits for the bank → found while it waits, and for 24 hours after it clears', async () => {
    const { api, advance, sql } = later;
    const { body } = await api.purchase({ correlationId: 'debit', bankAccount: {} });
    await advance('26h');
    const [waiting] = (await api.search('debit')).body.results;
    expect(waiting?.status.transaction_status_code).toBe('pending');
    await advance('9d');
    await vi.waitFor(
      async () => {
        const { status } = (await api.lookUp(body.audit)).body;
        expect(status.transaction_status_code).toBe('approved');
      },
      { timeout: 300_000 },
    );
    expect(audits(await api.search('debit'))).toEqual([body.audit]);
    await advance('25h');
    expect(audits(await api.search('debit'))).toEqual([]);
    expect(await sql('SELECT FROM transaction WHERE decided_at IS NULL')).toEqual([]);
  });
});
