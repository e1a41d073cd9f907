// Correlation IDs that are taken, by whatever became of their transaction, and those that are still free.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, client, paymentBody } from '../../testkit/client.js';
import { gatedAcquirer } from '../../testkit/gated-acquirer.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { ANY_BODY, bodyWith, storedRows } from '../../testkit/requests.js';
import { vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '20000' } });
});
afterAll(() => gateway.close());

let last = 0;
const freshId = () => `fresh-${++last}`;

describe('a correlation ID that is taken', () => {
  /** Expects 409, a link to the holder, and that nothing came of it. */
  async function expectConflict(holder: number, repeat: () => Promise<Answer>): Promise<void> {
    const before = [await storedRows(gateway), (await gateway.ledger()).length];
    const answer = await repeat();
    expect(answer.status).toBe(409);
    expect(answer.errors).toEqual(['correlation_id_already_used header/X-Correlation-Id']);
    expect(answer.body._links).toEqual({ transaction: { href: `/v1/transactions/${holder}` } });
    expect(answer.headers.get('location')).toBeNull();
    expect([await storedRows(gateway), (await gateway.ledger()).length]).toEqual(before);
  }

  test.each<[string, (correlationId: string) => Promise<Answer>]>([
    ['the same body', (correlationId) => gateway.api.purchase({ correlationId })],
    ['another amount', (correlationId) => gateway.api.purchase({ correlationId, amount: 1 })],
    ['another card', (correlationId) => gateway.api.purchase({ correlationId, pan: '5555555555554444' })],
    ['another operation', (correlationId) => gateway.api.preauthorise({ correlationId })],
    ['a standalone refund', (correlationId) => gateway.api.standaloneRefund({ correlationId })],
    [
      'a virtual PAN of nobody',
      (correlationId) => gateway.api.purchase({ correlationId, pan: '9111111111111110' }),
    ],
    [
      'an invalid body',
      (correlationId) => gateway.api.purchase({ correlationId, amount: '0', reference: '' }),
    ],
    [
      'only a merchant',
      (correlationId) => gateway.api.post('/transactions/purchase', { merchant: { id: 1 } }, correlationId),
    ],
    [
      'a target that does not exist',
      (correlationId) => gateway.api.refund(2_147_483_647, 1, { correlationId }),
    ],
    ['an audit out of range', (correlationId) => gateway.api.refund(0, 1, { correlationId })],
    // catches(correlation ID: a payment that lost it is not sent to the acquirer)
    // catches(correlation ID: a batch that fails because one is taken is claimed again without it)
    // catches(correlation ID: a payment that lost it is not inserted, and told so)
    // catches(correlation ID: unique by constraint) slow
  ])('repeated with %s → 409, and nothing changes', async (_, repeat) => {
    const correlationId = freshId();
    const first = await gateway.api.purchase({ correlationId });
    expect(first.status).toBe(201);
    await expectConflict(first.body.audit, () => repeat(correlationId));
  });

  test('repeated among many others at the same moment, twice → 409 for it, and each of the others is paid once', async () => {
    const before = (await gateway.ledger()).length;
    const { body: first } = await gateway.api.purchase({ correlationId: 'taken' });
    const ids = Array.from({ length: 40 }, (_, index) => `crowd-${index}`);
    const answers = await Promise.all(
      [...ids, 'taken', 'crowd-7'].map((correlationId) => gateway.api.purchase({ correlationId })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...ids.map(() => 201), 409, 409]);
    const paid = answers.filter(({ status }) => status === 201).map(({ body }) => body.audit);
    expect(new Set([first.audit, ...paid]).size).toBe(41);
    expect(await gateway.ledger()).toHaveLength(before + 41);
  });

  test('the same with a token, at a gateway that has seen no repetition yet → likewise, and each opening of the token is journalled once', async () => {
    const fresh = await testGateway();
    const { virtualPan: pan } = await vaultOf(fresh.api).newToken();
    const { body: first } = await fresh.api.purchase({ correlationId: 'taken', pan });
    const ids = Array.from({ length: 40 }, (_, index) => `crowd-${index}`);
    const answers = await Promise.all(
      [...ids, 'taken', 'crowd-7'].map((correlationId) => fresh.api.purchase({ correlationId, pan })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...ids.map(() => 201), 409, 409]);
    const audits = [first, ...answers.filter(({ status }) => status === 201).map(({ body }) => body)]
      .map(({ audit }) => audit)
      .toSorted((one, other) => one - other);
    expect(await fresh.ledger()).toHaveLength(41);
    expect(await fresh.sql(`SELECT audit FROM journal WHERE action = 'token.opened' ORDER BY audit`)).toEqual(
      audits.map((audit) => ({ audit })),
    );
  });

  test('held by a declined purchase → 409', async () => {
    const correlationId = freshId();
    const { body } = await gateway.api.purchase({ correlationId, pan: '4100000000000050' });
    expect(body.status.transaction_status_code).toBe('declined');
    await expectConflict(body.audit, () => gateway.api.purchase({ correlationId }));
  });

  test('completion, refund and void repeated when their target no longer allows them → 409, not 422', async () => {
    const { body: held } = await gateway.api.preauthorise();
    const { body: completion } = await gateway.api.complete(held.audit, 10_000, { correlationId: 'take' });
    await expectConflict(completion.audit, () =>
      gateway.api.complete(held.audit, 10_000, { correlationId: 'take' }),
    );
    const { body: refund } = await gateway.api.refund(completion.audit, 10_000, { correlationId: 'give' });
    await expectConflict(refund.audit, () =>
      gateway.api.refund(completion.audit, 10_000, { correlationId: 'give' }),
    );
    const { body: undo } = await gateway.api.void(refund.audit, { correlationId: 'undo' });
    await expectConflict(undo.audit, () => gateway.api.void(refund.audit, { correlationId: 'undo' }));
  });

  test('twenty purchases at once under one correlation ID → one is created, the other nineteen get its link', async () => {
    const before = [await storedRows(gateway), (await gateway.ledger()).length] as const;
    const correlationId = freshId();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => gateway.api.purchase({ correlationId })),
    );
    const [created, ...others] = answers.filter(({ status }) => status === 201);
    expect(others).toEqual([]);
    const conflicts = answers.filter(({ status }) => status === 409);
    expect(conflicts).toHaveLength(19);
    for (const { body } of conflicts) expect(body._links.transaction).toEqual(created?.body._links.self);
    expect(await storedRows(gateway)).toBe(before[0] + 1);
    expect(await gateway.ledger()).toHaveLength(before[1] + 1);
  });

  test('while the first is still in flight → 409 at once, and the first is not disturbed', async () => {
    const acquirer = gatedAcquirer();
    const { api } = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '60000' }, acquirers: [acquirer] });
    const first = api.purchase({ correlationId: 'slow' });
    await acquirer.reached;
    for (const repeat of [
      () => api.purchase({ correlationId: 'slow' }),
      () => api.purchase({ correlationId: 'slow', amount: 5 }),
      () => api.purchase({ correlationId: 'slow', amount: 'invalid' }),
      () => api.void(77, { correlationId: 'slow' }),
    ]) {
      const answer = await repeat();
      expect(answer.status).toBe(409);
      const { href } = answer.body._links.transaction;
      const open = await api.get(href.replace('/v1', ''));
      expect(open.body.status).toMatchObject({
        gateway_status_code: -99,
        transaction_status_code: 'unknown',
      });
    }
    acquirer.release();
    const { status, body } = await first;
    expect(status).toBe(201);
    expect(body.status.transaction_status_code).toBe('approved');
  });

  test('slow test card, repeated after it was answered → 409', async () => {
    const correlationId = freshId();
    const { body } = await gateway.api.purchase({ correlationId, pan: '4200000000000067' });
    expect(body.status.transaction_status_code).toBe('approved');
    await expectConflict(body.audit, () => gateway.api.purchase({ correlationId, pan: '4200000000000067' }));
  });
});

describe('a correlation ID that is not taken', () => {
  test.each<[string, number, (correlationId: string) => Promise<Answer>]>([
    [
      'malformed JSON',
      400,
      (correlationId) => gateway.api.call('/transactions/purchase', { raw: '{', correlationId }),
    ],
    [
      'no credentials',
      401,
      (correlationId) => client(gateway.baseUrl).post('/transactions/purchase', ANY_BODY, correlationId),
    ],
    ['a foreign merchant', 403, (correlationId) => gateway.api.purchase({ correlationId, merchant: 4 })],
    ['an unknown target', 404, (correlationId) => gateway.api.void(2_147_483_647, { correlationId })],
    ['an invalid body', 422, (correlationId) => gateway.api.purchase({ correlationId, amount: 0 })],
    [
      'a virtual PAN of nobody',
      422,
      (correlationId) => gateway.api.purchase({ correlationId, pan: '9111111111111110' }),
    ],
    [
      'a target that does not allow it',
      422,
      async (correlationId) => {
        const { body } = await gateway.api.purchase();
        return gateway.api.complete(body.audit, 1, { correlationId });
      },
    ],
  ])(
    'refused for %s (%i) → not used up: the search finds nothing and the next request is processed',
    async (_, status, refused) => {
      const correlationId = freshId();
      expect((await refused(correlationId)).status).toBe(status);
      expect((await gateway.api.search(correlationId)).body).toEqual({ results: [] });
      expect((await gateway.api.purchase({ correlationId })).status).toBe(201);
    },
  );

  test('used by another merchant, of the same organisation or not → free for this merchant', async () => {
    const correlationId = freshId();
    const answers = await Promise.all([
      gateway.api.purchase({ correlationId, merchant: 1 }),
      gateway.api.purchase({ correlationId, merchant: 2 }),
      gateway.as(gateway.stranger).purchase({ correlationId, merchant: 4 }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    for (const [index, merchant] of [1, 2].entries()) {
      const { body } = await gateway.api.search(correlationId, merchant);
      expect(body.results[0].audit).toBe(answers[index]?.body.audit);
    }
  });

  test('that differs only in case → a different ID', async () => {
    const correlationId = freshId();
    expect((await gateway.api.purchase({ correlationId })).status).toBe(201);
    expect((await gateway.api.purchase({ correlationId: correlationId.toUpperCase() })).status).toBe(201);
    expect((await gateway.api.search(correlationId.replace('f', 'F'))).body.results).toEqual([]);
  });

  test('of a body whose merchant is not a number → 422, whoever used the ID', async () => {
    const correlationId = freshId();
    await gateway.api.purchase({ correlationId });
    const answer = await gateway.api.post(
      '/transactions/purchase',
      bodyWith('merchant.id', '1', paymentBody()),
      correlationId,
    );
    expect(answer.errors).toEqual(['field_type body/merchant/id']);
  });
});
