// `tollgate transaction void|refund|complete|ask`: what an operator does with a transaction goes the way of a request, with a reason,
// under the operator's name, and once.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer, Json } from '../../../testkit/client.js';
import { runHere } from '../../../testkit/command-here.js';
import { commands, wordsOf } from '../../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { eventually, run } from '../../../testkit/gateway-process.js';
import { locker, waitingForLocks } from '../../../testkit/locks.js';
import { inDoubtForLong } from '../../../testkit/sealed-transactions.js';
import { cardAnsweredLaterWith, cardWithFaultLater } from '../../../testkit/test-cards.js';

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await testGateway({ settings: { PROCESS_TIMEOUT_MS: '10000' } });
});
afterAll(() => gateway.close());

const environment = (more: Readonly<Record<string, string>> = {}) => ({
  DATABASE_URL: gateway.databaseUrl,
  TOLLGATE_DATA_DIR: gateway.dataDir,
  TOLLGATE_ACQUIRER_DEADLINE_MS: '1500',
  TOLLGATE_DATABASE_TIMEOUT_MS: '15000',
  ...more,
});
const { json, text, refusal } = commands((line) => runHere(wordsOf(line), environment()));

async function audit(made: Promise<Answer>): Promise<number> {
  const { status, body } = await made;
  expect(status).toBe(201);
  return body.audit;
}

const lookedUp = async (of: number): Promise<Json> => (await gateway.api.get(`/transactions/${of}`)).body;
const ledgerOf = async (target: number) => {
  const reference = new RegExp(`[-/]1[-/]${target}$`);
  return (await gateway.ledger()).filter((entry) => reference.test(entry.targetReference ?? ''));
};

test('partial refund → as the interface shows it, with the operator and the reason', async () => {
  const target = await audit(gateway.api.purchase({ amount: 2_000, reference: 'order-7' }));
  const made = await json(`transaction refund ${target} --amount 500 --reason 'one was broken'`);
  expect(made).toMatchObject({
    organisation: 1,
    merchant: 1,
    operation: 'refund',
    target_audit: target,
    amount_cents: 500,
    currency: 'AUD',
    reason: 'one was broken',
    state: 'done',
    status: 'approved',
    response_code: '00',
  });
  const shown = await lookedUp(made.audit);
  expect(shown.transaction).toMatchObject({
    reference: 'order-7',
    transaction_type: 'refund',
    target_audit: target,
    amount_details: { total_amount: '500', currency: 'AUD' },
  });
  const { kvps } = await lookedUp(target);
  expect(kvps).toMatchObject({ 'GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT': '1500' });
  const entries = await gateway.sql(`SELECT * FROM journal WHERE audit = $1`, [made.audit]);
  expect(entries).toMatchObject([
    {
      action: 'transaction.refund',
      actor: expect.stringMatching(/^operator:account:/),
      detail: `refund of ${target}, 5.00 AUD: one was broken`,
      merchant_id: 1,
      mark: expect.any(Buffer),
      address: expect.any(String),
    },
  ]);
  const { operator, user } = await json(`transaction show ${made.audit} --organisation 1`);
  expect([operator, user]).toEqual(['an account of the system', null]);
});

test('refund without an amount → all that is left; another one → refused, nothing happens', async () => {
  const target = await audit(gateway.api.purchase({ amount: 2_000 }));
  await audit(gateway.api.refund(target, 700));
  const { amount_cents, status } = await json(`transaction refund ${target} --reason 'cancelled'`);
  expect([amount_cents, status]).toEqual([1_300, 'approved']);
  expect(await refusal(`transaction refund ${target} --reason again`)).toMatch(
    /^transaction \d+ cannot be refunded/,
  );
  expect(await refusal(`transaction refund ${target} --amount 1 --reason again`)).toMatch(
    /cannot be refunded/,
  );
  expect((await ledgerOf(target)).map(({ amountCents }) => amountCents)).toEqual([700, 1_300]);
});

test('void and completion → as in the interface', async () => {
  const purchase = await audit(gateway.api.purchase());
  expect(await text(`transaction void ${purchase} --reason 'entered twice'`)).toMatch(
    /^void of \d+.*approved/,
  );
  expect((await lookedUp(purchase)).status.transaction_status_code).toBe('voided');
  expect(await refusal(`transaction void ${purchase} --reason 'entered twice'`)).toMatch(/cannot be voided/);

  const held = await audit(gateway.api.preauthorise({ amount: 900 }));
  const made = await json(`transaction complete ${held} --amount 400 --reason delivered`);
  expect(made).toMatchObject({ operation: 'completion', amount_cents: 400, status: 'approved' });
  expect(await refusal(`transaction complete ${held} --reason delivered`)).toMatch(/cannot be completed/);
});

test('more than is left, another organisation’s audit, a suspended merchant → refused as in the interface', async () => {
  const target = await audit(gateway.api.purchase({ amount: 100 }));
  expect(await refusal(`transaction refund ${target} --amount 101 --reason x`)).toBe(
    `1.00 AUD can still be refunded of transaction ${target}`,
  );
  const held = await audit(gateway.api.preauthorise({ amount: 100 }));
  expect(await refusal(`transaction complete ${held} --amount 101 --reason x`)).toBe(
    `transaction ${held} was preauthorised for less`,
  );
  expect(await refusal(`transaction void ${target} --organisation 2 --reason x`)).toBe(
    `there is no transaction ${target}`,
  );
  await text('merchant suspend 1');
  try {
    expect(await refusal(`transaction refund ${target} --reason x`)).toBe('merchant 1 is suspended');
  } finally {
    await text('merchant resume 1');
  }
  expect(await ledgerOf(target)).toEqual([]);
});

test.each([
  ['--reason 4111111111111111', /^a reason is needed/],
  [`--reason '   '`, /^a reason is needed/],
  [`--reason ${'x'.repeat(201)}`, /^a reason is needed/],
  ['--reason x --key short', /^a key takes 16 to 64/],
  ['', /required option '--reason <text>'/],
])('refund with %s → refused', async (options, told) => {
  expect(await refusal(`transaction refund 1 --organisation 1 ${options}`)).toMatch(told);
});

test('declined by the acquirer → reported, and the target is as before', async () => {
  const target = await audit(gateway.api.purchase({ amount: 300, pan: cardAnsweredLaterWith('05') }));
  const made = await json(`transaction refund ${target} --reason x`);
  expect(made).toMatchObject({ state: 'done', status: 'declined', response_code: '05' });
  expect((await lookedUp(target)).kvps).toMatchObject({ 'GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT': '300' });
});

describe('under the same key', () => {
  test('again, and many at once → one transaction, shown each time', async () => {
    const target = await audit(gateway.api.purchase({ amount: 1_000 }));
    const key = randomUUID();
    const line = `transaction refund ${target} --amount 200 --reason x --key ${key}`;
    const processes = await Promise.all(
      [1, 2, 3].map(() => run([...wordsOf(line), '--json'], environment())),
    );
    const audits = processes.map(({ code, stdout, stderr }) => {
      expect([code, stderr]).toEqual([0, '']);
      return JSON.parse(stdout).audit;
    });
    expect(new Set(audits).size).toBe(1);
    expect(await json(line)).toMatchObject({ audit: audits[0], status: 'approved' });
    expect(await ledgerOf(target)).toHaveLength(1);
    expect((await lookedUp(target)).kvps).toMatchObject({
      'GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT': '800',
    });
  });

  test('the whole amount, again after it is done → the same answer, although nothing is left', async () => {
    const target = await audit(gateway.api.purchase({ amount: 1_000 }));
    const line = `transaction refund ${target} --reason x --key ${randomUUID()}`;
    const first = await json(line);
    expect(await json(line)).toEqual(first);
  });

  test('another operation → refused', async () => {
    const [one, other] = [await audit(gateway.api.purchase()), await audit(gateway.api.purchase())];
    const key = randomUUID();
    await json(`transaction refund ${one} --amount 5 --reason x --key ${key}`);
    const told = `this key was used for something else: a refund of transaction ${one}`;
    for (const line of [
      `transaction refund ${other} --amount 5`,
      `transaction refund ${one} --amount 6`,
      `transaction void ${one}`,
    ])
      expect(await refusal(`${line} --reason x --key ${key}`)).toBe(told);
    expect(await ledgerOf(other)).toEqual([]);
  });
});

test('requested from two gateways, one believed dead → one refund', async () => {
  const second = await testGateway({ shareWith: gateway });
  const target = await audit(gateway.api.purchase({ amount: 1_000 }));
  const lock = await locker(gateway);
  await lock.query('SELECT FROM transaction WHERE organisation_id = 1 AND audit = $1 FOR UPDATE', [target]);
  const line = `transaction refund ${target} --amount 300 --reason x --key ${randomUUID()}`;
  const asking = json(line);
  const claims = async (count: number) =>
    (await waitingForLocks(gateway)).length >= count ? true : undefined;
  await eventually(() => claims(1));
  // Its time is over before it has claimed: the other takes it.
  await eventually(async () => {
    await gateway.sql(
      `UPDATE operator_request SET taken_until = now() WHERE state = 'ready' AND target_audit = $1`,
      [target],
    );
    return claims(2);
  });
  await lock.rollback();
  await asking;
  const made = await eventually(async () => {
    const shown = await json(line);
    return shown.status === 'approved' ? shown : undefined;
  });
  expect(made).toMatchObject({ state: 'done', amount_cents: 300 });
  expect(await ledgerOf(target)).toHaveLength(1);
  expect((await lookedUp(target)).kvps).toMatchObject({ 'GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT': '700' });
  await second.close();
});

// catches(operator: what was taken is not claimed after its time)
test('taken, and claimed too late → not done; taken again → done once', async () => {
  const target = await audit(gateway.api.purchase({ amount: 1_000 }));
  // As if a gateway stood still for long in between.
  await gateway.sql(`
    CREATE SEQUENCE takes;
    CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM nextval('takes');
      NEW.taken_until := now() - interval '1 second';
      RETURN NEW;
    END $$;
    GRANT USAGE ON SEQUENCE takes TO tollgate_application;
    CREATE TRIGGER late BEFORE UPDATE OF taken_until ON operator_request FOR EACH ROW EXECUTE FUNCTION late()`);
  const asking = runHere(wordsOf(`transaction refund ${target} --reason x --json`), environment());
  await eventually(async () => {
    const [row] = await gateway.sql<{ takes: number }>('SELECT last_value::integer AS takes FROM takes');
    return (row?.takes ?? 0) > 3 ? true : undefined;
  });
  expect(await ledgerOf(target)).toEqual([]);
  expect((await lookedUp(target)).kvps).toMatchObject({ 'GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT': '1000' });
  await gateway.sql('DROP TRIGGER late ON operator_request');
  await asking;
  await eventually(async () => {
    const [request] = await json(`approval list --all --audit ${target}`);
    return request.status === 'approved' ? true : undefined;
  });
  expect(await ledgerOf(target)).toHaveLength(1);
});

test('outcome unknown → reported, with the key for another try; tried again → done once', async () => {
  const target = await audit(gateway.api.purchase({ amount: 400 }));
  const line = `transaction refund ${target} --reason x`;
  const lock = await locker(gateway);
  await lock.query('SELECT FROM transaction WHERE organisation_id = 1 AND audit = $1 FOR UPDATE', [target]);
  const asking = runHere(wordsOf(line), environment());
  await eventually(async () => ((await waitingForLocks(gateway)).length > 0 ? true : undefined));
  await gateway.sql('ALTER TABLE operator_request RENAME TO lost');
  const { code, stderr } = await asking;
  await gateway.sql('ALTER TABLE lost RENAME TO operator_request');
  await lock.rollback();
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/the outcome is unknown .*; repeat it with the same key.*--key \S+\n$/),
  ]);
  const [, key] = /--key (\S+)/.exec(stderr) ?? [];
  expect(await json(`${line} --key ${key}`)).toMatchObject({ state: 'done', status: 'approved' });
  expect(await ledgerOf(target)).toHaveLength(1);
});

describe('ask', () => {
  test('in doubt → the next attempt is due at once, and resolved; decided or unknown audit → refused', async () => {
    const target = await audit(gateway.api.purchase({ amount: 300, pan: cardWithFaultLater('03') }));
    const made = await json(`transaction refund ${target} --reason x`);
    expect(made).toMatchObject({ state: 'done', status: expect.stringMatching(/unknown|approved/) });
    const decided = await gateway.api.decided(made.audit);
    expect(decided.status.transaction_status_code).toBe('approved');
    expect(await refusal(`transaction ask ${made.audit} --organisation 1`)).toBe(
      `transaction ${made.audit} is not in doubt: it is approved`,
    );
    expect(await refusal('transaction ask 999999')).toBe('there is no transaction 999999');
  });

  test('the resolver’s next attempt is far off → asked now, once, and journalled', async () => {
    const { audit: doubtful } = (await gateway.api.purchase()).body;
    await inDoubtForLong(gateway, doubtful);
    const asked = await json(`transaction ask ${doubtful} --organisation 1`);
    expect(asked).toMatchObject({ audit: doubtful, merchant: 1, asked: true });
    const decided = await gateway.api.decided(doubtful);
    expect(decided.status).toMatchObject({ transaction_status_code: 'approved', gateway_status_code: 0 });
    expect(
      await gateway.sql(`SELECT actor FROM journal WHERE action = 'transaction.ask_now' AND audit = $1`, [
        doubtful,
      ]),
    ).toHaveLength(1);
  });
});
