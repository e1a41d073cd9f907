// Two gateway processes on one database: shared work is done once, and each leaves the other's work alone.
import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import {
  type Installation,
  type InstalledGateway,
  installation,
  outcomeOf,
} from '../../testkit/cloned-installation.js';
import { claimed, prepare, send } from '../../testkit/operations.js';
import { LOST_ANSWER_CARD, SLOW_CARD } from '../../testkit/test-cards.js';

let shared: Installation;
let gateways: [InstalledGateway, InstalledGateway];

beforeAll(async () => {
  shared = await installation();
  // Neither presumes the other dead, however busy the machine is.
  const settings = { PROCESS_TIMEOUT_MS: '8000' };
  gateways = await Promise.all([shared.start(settings), shared.start(settings)]);
});

/** Alternates between the two processes. */
function apiOf(number: number) {
  return gateways[number % 2 === 0 ? 0 : 1].api;
}

test('purchase, two hundred at once with one correlation ID → one 201, 199 times 409 with its link, one charge', async () => {
  const correlationId = randomUUID();
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, number) => apiOf(number).purchase({ correlationId, amount: 1995 })),
  );
  const created = answers.filter(({ status }) => status === 201);
  expect(created).toHaveLength(1);
  const { audit } = created[0]?.body ?? {};
  const refused = answers.filter(({ status }) => status === 409);
  expect(refused).toHaveLength(199);
  for (const { code, body, headers } of refused) {
    expect(code).toBe('correlation_id_already_used');
    expect(body._links.transaction.href).toBe(`/v1/transactions/${audit}`);
    expect(headers.get('x-correlation-id')).toBe(correlationId);
  }
  for (const { api } of gateways) {
    const { body } = await api.search(correlationId);
    expect(body.results.map((found: { audit: number }) => found.audit)).toEqual([audit]);
  }
  expect(await shared.ledgerOf(audit)).toHaveLength(1);
  expect(await shared.sql(`SELECT audit FROM transaction WHERE correlation_id = '${correlationId}'`)).toEqual(
    [{ audit }],
  );
  await expectBooksToAgree(shared);
});

test('refund, eighty of a twentieth at once → exactly twenty are accepted', async () => {
  const { audit } = (await apiOf(0).purchase({ amount: 2_000 })).body;
  const answers = await Promise.all(
    Array.from({ length: 80 }, (_, number) => apiOf(number).refund(audit, 100)),
  );
  const accepted = answers.filter(({ status }) => status === 201);
  expect(accepted).toHaveLength(20);
  const refused = answers.filter(({ status }) => status !== 201);
  expect(new Set(refused.map(({ status, code }) => `${status} ${code}`))).toEqual(
    new Set(['422 refund_exceeds_original']),
  );
  expect((await apiOf(1).lookUp(audit)).body._links.refund).toBeUndefined();
  await expectBooksToAgree(shared);
});

test('one waits long for its acquirer → a third leaves that payment alone until the first is killed, then resolves it', async () => {
  const [waiting] = gateways;
  // It looks as often as it can.
  const eager = await shared.start({ RESOLVER_INTERVAL_MS: '10' });
  const slow = await prepare(waiting.api, 'purchase', SLOW_CARD);
  const answer = send(waiting.api, slow);
  // Asked of its own process: an empty answer of another would have it refused.
  const audit = await claimed(waiting.api, slow);
  expect((await eager.api.lookUp(audit)).body.status).toMatchObject({
    gateway_status_code: -99,
    transaction_status_code: 'unknown',
  });
  expect((await answer).body.status.transaction_status_code).toBe('approved');
  // When the eager one resolves this, it has also looked at the slow one's.
  const later = await prepare(eager.api, 'purchase', LOST_ANSWER_CARD);
  await send(eager.api, later);
  await outcomeOf(eager.api, later.correlationId);
  expect((await eager.api.lookUp(audit)).body.status.transaction_status_code).toBe('approved');
  expect((await shared.ledgerOf(audit)).map((entry) => entry.operation)).toEqual(['purchase']);

  const attempts = await Promise.all(
    [LOST_ANSWER_CARD, SLOW_CARD].map((pan) => prepare(waiting.api, 'purchase', pan)),
  );
  const answers = attempts.map((attempt) => expect(send(waiting.api, attempt)).rejects.toThrow());
  await Promise.all(attempts.map((attempt) => claimed(waiting.api, attempt)));
  await waiting.crash();
  await Promise.all(answers);
  const [charged, unheard] = await Promise.all(
    attempts.map(({ correlationId }) => outcomeOf(eager.api, correlationId)),
  );
  expect(charged.status.transaction_status_code).toBe('approved');
  expect(unheard.status).toMatchObject({ gateway_status_code: 2, transaction_status_code: 'error' });
  await expectBooksToAgree(shared);
});
