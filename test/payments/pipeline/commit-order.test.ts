// The two commits of a transaction, delayed or interrupted: nothing is sent before the first, nothing answered before the
// second.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Clock } from '../../../src/clock/clock.js';
import { RECORD_RESOLUTIONS } from '../../../src/directdebit/intake.sql.js';
import { Claims } from '../../../src/payments/pipeline/claim.js';
import { Records } from '../../../src/payments/pipeline/record.js';
import { RECORD_DIRECT, STORED_OUTCOME } from '../../../src/payments/pipeline/record.sql.js';
import type { StoredOutcome } from '../../../src/payments/transaction.js';
import { Database } from '../../../src/postgres/database.js';
import type { Audit, MerchantId, OrganisationId } from '../../../src/values/ids.js';
import { cents } from '../../../src/values/money.js';
import { DataKeys } from '../../../src/vault/keys/keys.js';
import { expectBooksToAgree } from '../../../testkit/books-agree.js';
import type { Answer } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { locker, somebodyWaits } from '../../../testkit/locks.js';
import { answered, ScriptedAcquirer } from '../../../testkit/scripted-acquirer.js';
import { operatorOf } from '../../../testkit/sealed-rows.js';

const acquirer = new ScriptedAcquirer();
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ acquirers: [acquirer], settings: { ACQUIRER_DEADLINE_MS: '30000' } });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
});
afterAll(() => gateway.close());

const REFUNDABLE = 'GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT';
const COPY_OF_ROW = `
  INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, transaction_type, currency,
    correlation_id, reference, acquirer)
  SELECT organisation_id, $2, created_at, amount_cents, merchant_id, transaction_type, currency, $3, reference, acquirer
  FROM transaction WHERE organisation_id = 1 AND audit = $1`;

/** The request, and whether it was answered yet. */
function watched(answer: Promise<Answer>) {
  const request = { answer, answered: false };
  void answer.then(() => {
    request.answered = true;
  });
  return request;
}

async function refundable(audit: number): Promise<string> {
  return (await gateway.api.lookUp(audit)).body.kvps[REFUNDABLE];
}

async function statusOf(audit: number): Promise<unknown> {
  return (await gateway.api.lookUp(audit)).body.status;
}

/** Claims refunds as another process would, by itself: nobody has repeated a correlation ID yet. */
function claiming() {
  const database = new Database(gateway.databaseUrl, { maxConnections: 1 });
  let [statements, claimed] = [0, 0];
  const counting = {
    query: (...query: Parameters<Database['query']>) => ++statements && database.query(...query),
  };
  const claims = new Claims(counting as Database, { id: 0 }, { maxBatch: 10, lanes: 1 });
  return {
    statements: () => statements,
    close: () => database.close(),
    refund: (targetAudit: Audit | undefined, amount: number, correlationId: string) =>
      claims.targeted({
        organisationId: 1 as OrganisationId,
        audit: (FIRST_CLAIMED + claimed++) as Audit,
        merchantId: 1 as MerchantId,
        transactionType: 'refund',
        correlationId,
        createdMs: Date.now(),
        refundableFromMs: 0,
        reference: 'r',
        targetAudit: targetAudit as Audit,
        amountCents: cents(amount),
        currency: 'AUD',
        kvps: {},
        attestation: Buffer.alloc(16),
        userId: 1,
        inFlight: {
          correlationId,
          epoch: Number.MAX_SAFE_INTEGER,
          heard: 0,
          unseen: false,
          begun: true,
          turnedAway: false,
        },
      }),
  };
}

const FIRST_CLAIMED = 2_000_000_010;

/** Nothing was sent: the acquirer's books have none of them. */
async function forgetClaims(targets: readonly Audit[]): Promise<void> {
  await gateway.sql('DELETE FROM transaction WHERE audit >= $1', [FIRST_CLAIMED]);
  await gateway.sql(
    'UPDATE transaction SET refunded_cents = 0 WHERE organisation_id = 1 AND audit = ANY($1)',
    [targets],
  );
}

// catches(commit order: nothing is sent before commit A)
test('while commit A waits → the acquirer is not asked; once committed → asked once, and approved', async () => {
  const earlier = (await gateway.api.purchase()).body.audit;
  const { query, rollback } = await locker(gateway);
  // Until this commits or not, it is open whether the correlation ID is free.
  await query(COPY_OF_ROW, [earlier, 2_000_000_002, 'commit-a']);
  const before = acquirer.requests.length;
  const sent = watched(gateway.api.purchase({ correlationId: 'commit-a' }));
  await somebodyWaits(gateway);
  // Another request passes through the whole gateway meanwhile.
  expect((await gateway.api.lookUp(earlier)).status).toBe(200);
  expect(acquirer.requests).toHaveLength(before);
  expect(sent.answered).toBe(false);
  await rollback();
  expect((await sent.answer).body.status.transaction_status_code).toBe('approved');
  expect(acquirer.requests).toHaveLength(before + 1);
});

// catches(commit order: nothing is answered before commit B) slow
test('while commit B waits → no answer, and the transaction is unknown; once committed → 201', async () => {
  const held = acquirer.holdNextAnswer();
  const sent = watched(gateway.api.purchase({ correlationId: 'commit-b' }));
  await held.asked;
  const { audit } = (await gateway.api.search('commit-b')).body.results[0];
  const { query, commit } = await locker(gateway);
  await query('SELECT FROM transaction WHERE audit = $1 FOR UPDATE', [audit]);
  held.answer(answered('00'));
  await somebodyWaits(gateway);
  // Other requests pass through the whole gateway meanwhile.
  for (let time = 0; time < 20; time += 1)
    expect(await statusOf(audit)).toMatchObject({ gateway_status_code: -99 });
  expect(sent.answered).toBe(false);
  await commit();
  expect((await sent.answer).status).toBe(201);
});

// catches(correlation ID: won by another at the same moment → refused, reservation included)
// catches(correlation ID: unique by constraint) slow
test('refund under a correlation ID that another request is just claiming → 409 afterwards, and nothing is reserved', async () => {
  const { audit } = (await gateway.api.purchase({ amount: 100 })).body;
  const { query, commit } = await locker(gateway);
  await query(COPY_OF_ROW, [audit, 2_000_000_001, 'contested']);
  const refund = gateway.api.refund(audit, 10, { correlationId: 'contested' });
  await somebodyWaits(gateway);
  await commit();
  const { status, body } = await refund;
  expect(status).toBe(409);
  expect(body._links.transaction.href).toBe('/v1/transactions/2000000001');
  expect(await refundable(audit)).toBe('100');
  await gateway.sql('DELETE FROM transaction WHERE audit = 2000000001');
});

test('two refunds under one correlation ID in one batch → claimed again; one refund, and only its target is reserved', async () => {
  const audits: Audit[] = [];
  for (let made = 0; made < 3; made += 1) {
    audits.push((await gateway.api.purchase({ amount: 100 })).body.audit);
  }
  const { refund, statements, close } = claiming();
  const [first, second, other] = await Promise.all([
    refund(audits[0], 60, 'met-in-a-batch'),
    refund(audits[1], 60, 'met-in-a-batch'),
    refund(audits[2], 60, 'of-its-own'),
  ]);
  await close();
  expect(statements()).toBe(2);
  expect([first, second].filter((intent) => intent !== undefined)).toHaveLength(1);
  expect(other?.amountCents).toBe(60);
  const left = await Promise.all(audits.map(refundable));
  expect(left).toEqual([first ? '40' : '100', second ? '40' : '100', '40']);
  await forgetClaims(audits);
});

test.each([
  ['nobody', false],
  ['a client', true],
])(
  // catches(target: locked while it decides, so that two batches cannot both have what is left of it)
  'refund while another refund of the same target is under way, and %s repeats correlation IDs → waits, and finds nothing left',
  async (_, isRepeated) => {
    const audit: Audit = (await gateway.api.purchase({ amount: 100 })).body.audit;
    const other: Audit = (await gateway.api.purchase({ amount: 100 })).body.audit;
    const { refund, statements, close } = claiming();
    if (isRepeated) {
      await refund(other, 10, 'repeated');
      expect(await refund(other, 10, 'repeated')).toBeUndefined();
    }
    const { query, commit } = await locker(gateway);
    await query('UPDATE transaction SET refunded_cents = 60 WHERE organisation_id = 1 AND audit = $1', [
      audit,
    ]);
    const before = statements();
    const waiting = refund(audit, 60, 'waiting');
    await somebodyWaits(gateway);
    await commit();
    expect(await waiting).toBeUndefined();
    expect(statements()).toBe(before + 1);
    await close();
    expect(await refundable(audit)).toBe('40');
    await forgetClaims([audit, other]);
  },
);

// catches(record: what is decided stays decided) slow
test('declined refund stored twice because the first confirmation was lost → its amount is released once', async () => {
  const { audit } = (await gateway.api.purchase({ amount: 100 })).body;
  await gateway.api.refund(audit, 60);
  const held = acquirer.holdNextAnswer();
  const refunding = gateway.api.refund(audit, 40, { correlationId: 'stored-twice' });
  await held.asked;
  const refund = (await gateway.api.search('stored-twice')).body.results[0].audit;
  const { database, provider, close } = await operatorOf(gateway);
  const keys = new DataKeys(database, provider);
  const intake = { direct: RECORD_DIRECT, resolutions: RECORD_RESOLUTIONS };
  const records = new Records(
    { database, clock: new Clock(), intake, keys, retries: { tagOfStored: async () => undefined } },
    { maxBatch: 1, lanes: 1 },
  );
  const { rows } = await database.query<{ stored: StoredOutcome }>(STORED_OUTCOME, [1, refund]);
  const { stored: intent } = rows[0] as { stored: StoredOutcome };
  const declined = { status: 'declined', gatewayStatusCode: 0, responseCode: '05' } as const;
  const stored = [await records.record(intent, declined), await records.record(intent, declined)];
  await close();
  expect(stored).toEqual([true, false]);
  expect(await refundable(audit)).toBe('40');
  held.answer(answered('05'));
  expect((await refunding).body.status.transaction_status_code).toBe('declined');
  expect(await refundable(audit)).toBe('40');
});

// catches(a claim of which nobody knows: should it turn up, it is closed as not sent) slow
test('purchase whose connection breaks while the claim is sent → 503; if the claim arrives late: error with 1, never sent', async () => {
  const earlier = (await gateway.api.purchase()).body.audit;
  const { query, rollback } = await locker(gateway);
  await query(COPY_OF_ROW, [earlier, 2_000_000_003, 'late-claim']);
  const sent = gateway.api.purchase({ correlationId: 'late-claim' });
  await gateway.sql('SELECT pg_terminate_backend($1)', [await somebodyWaits(gateway)]);
  const { status, code } = await sent;
  expect([status, code]).toEqual([503, 'not_processed']);
  await rollback();
  // One process, one request: it had the next audit.
  await gateway.sql(COPY_OF_ROW, [earlier, earlier + 1, 'late-claim']);
  await expect
    .poll(() => statusOf(earlier + 1))
    .toMatchObject({ gateway_status_code: 1, transaction_status_code: 'error' });
  expect(acquirer.requests.filter(({ reference }) => reference.endsWith(`-${earlier + 1}`))).toEqual([]);
});

// catches(an answer that could not be stored: kept until it can) slow
test('the connection breaks while the answer is stored → the process keeps the answer, and stores it when it can', async () => {
  const held = acquirer.holdNextAnswer();
  const sent = gateway.api.purchase({ correlationId: 'kept-answer' });
  const reference = await held.asked;
  const { audit } = (await gateway.api.search('kept-answer')).body.results[0];
  const { query, commit } = await locker(gateway);
  await query('SELECT FROM transaction WHERE audit = $1 FOR UPDATE', [audit]);
  held.answer(answered('00'));
  await gateway.sql('SELECT pg_terminate_backend($1)', [await somebodyWaits(gateway)]);
  await commit();
  expect([201, 504]).toContain((await sent).status);
  await expect.poll(() => statusOf(audit)).toMatchObject({ transaction_status_code: 'approved' });
  // It was the original answer, without an inquiry.
  expect(acquirer.inquiries).not.toContain(reference);
});

test('everything delayed or broken off → the acquirer has the same books', async () => {
  await vi.waitUntil(
    async () => (await gateway.sql(`SELECT FROM transaction WHERE status = 'unknown'`)).length === 0,
    { timeout: 300_000 },
  );
  await expectBooksToAgree(gateway, async () => acquirer.entries);
});
