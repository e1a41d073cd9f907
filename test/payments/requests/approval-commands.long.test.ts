// Four eyes: above the limit an operator's request waits for a second one, and is done once.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addOperator } from '../../../src/operators/operators.js';
import type { OperatorRole } from '../../../src/tasks/task.js';
import { operatorsDatabase } from '../../../testkit/cast.js';
import type { Json } from '../../../testkit/client.js';
import { runHere } from '../../../testkit/command-here.js';
import { type Commands, commands, wordsOf } from '../../../testkit/commands.js';
import { knownForLong, moneyNeedsApproval, tokenFor } from '../../../testkit/console.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { eventually, run } from '../../../testkit/gateway-process.js';

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await testGateway();
  const database = operatorsDatabase(gateway);
  const add = (name: string, role: OperatorRole, organisation?: number) =>
    addOperator(database, 'operator:test', gateway.credentialKey, 'http://127.0.0.1:8081', name, {
      role,
      organisation,
    });
  try {
    await add('ada', 'administrator');
    await add('olga', 'operator');
    await add('otto', 'operator');
    await add('vera', 'viewer');
    await add('sue', 'operator', 2);
    await knownForLong(database, gateway.credentialKey);
    await moneyNeedsApproval(gateway, 1_000);
  } finally {
    await database.close();
  }
});
afterAll(() => gateway.close());

const environment = async (name: string) => ({
  DATABASE_URL: gateway.databaseUrl,
  TOLLGATE_DATA_DIR: gateway.dataDir,
  TOLLGATE_ACQUIRER_DEADLINE_MS: '1500',
  TOLLGATE_DATABASE_TIMEOUT_MS: '15000',
  TOLLGATE_OPERATOR_TOKEN: await tokenFor(gateway, name),
});
const as = (name: string): Commands =>
  commands(async (line) => runHere(wordsOf(line), await environment(name)));

async function purchase(amount: number): Promise<number> {
  const { status, body } = await gateway.api.purchase({ amount });
  expect(status).toBe(201);
  return body.audit;
}
const leftOf = async (target: number): Promise<string | undefined> =>
  (await gateway.api.get(`/transactions/${target}`)).body.kvps['GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT'];
const refund = (name: string, target: number, cents: number, key: string = randomUUID()): Promise<Json> =>
  as(name).json(`transaction refund ${target} --amount ${cents} --reason 'because' --key ${key}`);
const actionsOn = async (target: number): Promise<string[]> =>
  (
    await gateway.sql<{ said: string }>(
      `SELECT actor || ' ' || action AS said FROM journal WHERE audit = $1 AND action LIKE 'approval.%' ORDER BY id`,
      [target],
    )
  ).map(({ said }) => said);

// catches(four eyes: whoever asks for it does not approve it)
test('up to the limit → done; above it → waits, nothing happens; approved by another operator → done, both journalled', async () => {
  const target = await purchase(5_000);
  expect(await refund('olga', target, 1_000)).toMatchObject({ state: 'done', status: 'approved' });
  const other = await purchase(5_000);
  const key = randomUUID();
  const asked = await refund('olga', other, 1_001, key);
  expect(asked).toMatchObject({ state: 'waiting', audit: null, requested_by: 'operator:olga' });
  expect(await refund('olga', other, 1_001, key)).toEqual(asked);
  expect(await leftOf(other)).toBe('5000');
  expect(await as('otto').json('approval list')).toMatchObject([
    { request: asked.request, state: 'waiting' },
  ]);

  const done = await as('otto').json(`approval approve ${asked.request} --reason 'looked at it'`);
  expect(done).toMatchObject({
    state: 'done',
    status: 'approved',
    decided_by: 'operator:otto',
    amount_cents: 1_001,
  });
  expect(await leftOf(other)).toBe('3999');
  expect(await actionsOn(other)).toEqual([
    'operator:olga approval.requested',
    'operator:otto approval.approved',
  ]);
  const [entry] = await gateway.sql(`SELECT actor, detail FROM journal WHERE audit = $1`, [done.audit]);
  expect(entry).toEqual({
    actor: 'operator:olga',
    detail: `refund of ${other}, 10.01 AUD: because, approved by operator:otto`,
  });
  expect(await as('olga').json(`transaction show ${done.audit} --organisation 1`)).toMatchObject({
    operator: 'olga',
  });
  // Once more, by whoever: it is the same.
  expect(await as('ada').json(`approval approve ${asked.request}`)).toMatchObject({ audit: done.audit });
  expect(await refund('olga', other, 1_001, key)).toMatchObject({ audit: done.audit, state: 'done' });
  expect(await leftOf(other)).toBe('3999');
});

// catches(four eyes: what the same operator asks for counts together)
test('many small ones of one operator on one transaction → counted together; of another operator → not', async () => {
  const target = await purchase(5_000);
  expect(await refund('olga', target, 600)).toMatchObject({ state: 'done' });
  expect(await refund('olga', target, 400)).toMatchObject({ state: 'done' });
  expect(await refund('olga', target, 1)).toMatchObject({ state: 'waiting' });
  expect(await refund('otto', target, 1_000)).toMatchObject({ state: 'done' });
  expect(await leftOf(target)).toBe('3000');
});

test('many at once → no more than the limit in total without a second operator', async () => {
  const target = await purchase(5_000);
  const olga = await environment('olga');
  const made = await Promise.all(
    Array.from({ length: 4 }, () =>
      run(wordsOf(`transaction refund ${target} --amount 400 --reason x --json`), olga),
    ),
  );
  const states = made.map(({ stdout }) => JSON.parse(stdout).state).sort();
  expect(states).toEqual(['done', 'done', 'waiting', 'waiting']);
  expect(await leftOf(target)).toBe('4200');
});

test('a void above the limit → waits too', async () => {
  const target = await purchase(5_000);
  const asked = await as('olga').json(`transaction void ${target} --reason x`);
  expect(asked).toMatchObject({ state: 'waiting', amount_cents: 5_000 });
  await as('otto').json(`approval approve ${asked.request}`);
  const { body } = await gateway.api.get(`/transactions/${target}`);
  expect(body.status.transaction_status_code).toBe('voided');
});

describe('a request that waits', () => {
  let target: number;
  let request: number;
  beforeAll(async () => {
    target = await purchase(5_000);
    ({ request } = await refund('olga', target, 2_000));
  });

  test.each([['olga', /needs the approval of another operator/]])(
    // catches(four eyes: whoever asks for it does not approve it)
    'approved by %s → refused',
    async (name, told) => {
      expect(await as(name).refusal(`approval approve ${request}`)).toMatch(told);
      expect(await leftOf(target)).toBe('5000');
    },
  );

  test('of one organisation, approved for another → not found', async () => {
    expect(await as('sue').refusal(`approval approve ${request} --organisation 2`)).toBe(
      `there is no request ${request}`,
    );
    expect(await as('sue').json('approval list --organisation 2')).toEqual([]);
  });

  test('refused → not done, and can no longer be approved', async () => {
    expect(await as('otto').json(`approval refuse ${request} --reason 'too much'`)).toMatchObject({
      state: 'refused',
      decision_reason: 'too much',
    });
    expect(await as('ada').refusal(`approval approve ${request}`)).toBe(
      `request ${request} cannot be decided any more: it is refused`,
    );
    expect(await actionsOn(target)).toEqual([
      'operator:olga approval.requested',
      'operator:otto approval.refused',
    ]);
    expect(await leftOf(target)).toBe('5000');
  });

  // catches(four eyes: not after its time)
  test('for too long → expired', async () => {
    const other = await purchase(5_000);
    const late = await refund('olga', other, 2_000);
    await gateway.sql('UPDATE operator_request SET expires_at = now() WHERE id = $1', [late.request]);
    expect(await as('otto').refusal(`approval approve ${late.request}`)).toMatch(/it is expired$/);
    expect(await as('otto').json(`approval list --all --audit ${other}`)).toMatchObject([
      { state: 'expired' },
    ]);
    expect(await leftOf(other)).toBe('5000');
  });
});

// catches(four eyes: nobody approves what was changed in the database)
// catches(operator: what was made up or changed in the database is not carried out)
test('changed in or inserted into the database → not carried out, and reported', async () => {
  const target = await purchase(5_000);
  const { request } = await refund('olga', target, 2_000);
  const change = (what: string) =>
    gateway.sql(`UPDATE operator_request SET ${what} WHERE id = $1`, [request]);
  await change('amount_cents = 3000');
  const told = `request ${request} is not as it was stored: somebody has changed it in the database; nothing was done`;
  expect(await as('otto').refusal(`approval approve ${request}`)).toBe(told);
  await change('amount_cents = 2000');
  // Without a second person.
  await change(`state = 'ready', expires_at = now() + interval '5 minutes'`);
  const failed = (of: number) =>
    eventually(async () => {
      const [row] = await gateway.sql<Json>('SELECT state, failure FROM operator_request WHERE id = $1', [
        of,
      ]);
      return row?.state === 'ready' ? undefined : row;
    });
  expect(await failed(request)).toEqual({ state: 'failed', failure: 'request_altered' });
  const [made] = await gateway.sql<{ id: number }>(
    `INSERT INTO operator_request (organisation_id, merchant_id, target_audit, operation, amount_cents, currency, reason,
       requested_by, correlation_id, state, expires_at)
     VALUES (1, 1, $1, 'refund', 5000, 'AUD', 'x', 'operator:ada', $2, 'ready', now() + interval '5 minutes') RETURNING id`,
    [target, randomUUID()],
  );
  expect(await failed(made?.id as number)).toEqual({ state: 'failed', failure: 'request_altered' });
  for (const id of [request, made?.id])
    expect(gateway.logged()).toContain(`"subject":"request/${id}","problem":"changed"`);
  expect(await leftOf(target)).toBe('5000');
});

// catches(four eyes: whoever asked may still do it)
test('the requester no longer has the permission when it is approved → refused', async () => {
  const target = await purchase(5_000);
  await as('ada').text('operator add paul --role operator');
  const { request } = await refund('paul', target, 2_000);
  await as('ada').text('operator set paul --role viewer');
  expect(await as('otto').refusal(`approval approve ${request}`)).toMatch(/paul has the role viewer/);
  await as('ada').text('operator remove paul');
  expect(await as('otto').refusal(`approval approve ${request}`)).toBe('the operator paul was removed');
  expect(await leftOf(target)).toBe('5000');
});

// catches(four eyes: whoever asks for it does not approve it)
test('approved by two operators at once → one decides, and it is done once', async () => {
  const target = await purchase(5_000);
  const { request } = await refund('olga', target, 2_000);
  const both = await Promise.all(
    ['ada', 'otto'].map(async (name) =>
      run(wordsOf(`approval approve ${request} --json`), await environment(name)),
    ),
  );
  const audits = both.map(({ stdout }) => JSON.parse(stdout).audit);
  expect(audits[0]).toBe(audits[1]);
  expect(await leftOf(target)).toBe('3000');
  expect(await actionsOn(target)).toHaveLength(2);
});

test('no longer possible when it is approved → refused, and shown as failed', async () => {
  const target = await purchase(5_000);
  const { request } = await refund('olga', target, 4_000);
  await gateway.api.refund(target, 2_000);
  expect(await as('otto').refusal(`approval approve ${request}`)).toMatch(/cannot be refunded/);
  expect(await as('otto').json(`approval list --all --audit ${target}`)).toMatchObject([
    { state: 'failed', failure: 'transaction_not_refundable', audit: null },
  ]);
});
