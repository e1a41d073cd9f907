// Somebody writes to the table of transactions, as the login of a gateway or of operators: nothing is sent, nothing is shown that the gateway has
// not decided, and it is noticed.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { verifySeals } from '../../src/installation/seals.js';
import { SealBroken } from '../../src/vault/keys/keys.js';
import { runHere } from '../../testkit/command-here.js';
import { expectEach } from '../../testkit/each-case.js';
import { LOGINS, type TestGateway, testGateway } from '../../testkit/gateway.js';
import { scrape } from '../../testkit/scrape.js';
import { answered, ScriptedAcquirer } from '../../testkit/scripted-acquirer.js';
import { operatorOf } from '../../testkit/sealed-rows.js';

const SOON = { timeout: 300_000 };

/** Prepares orders, as links with messages do. */
const acquirer = Object.assign(new ScriptedAcquirer(), {
  prepare: ({ reference }: { reference: string }) => ({ stan: reference.length, by: 'scripted' }),
});
const other = Object.assign(new ScriptedAcquirer(), { name: 'other' });
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({
    acquirers: [acquirer, other],
    settings: {
      RESOLVER_INTERVAL_MS: '100',
      RESOLVER_FIRST_PAUSE_MS: '3600000',
      RESOLVER_LONGEST_PAUSE_MS: '3600000',
    },
  });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
});
afterAll(() => gateway.close());

/** Past every trigger, as no login can: what seals alone keep. */
const pastTriggers = (statement: string) =>
  gateway.sql(`BEGIN; SET LOCAL session_replication_role = replica; ${statement}; COMMIT`);

async function approved(sending = gateway.api.purchase({ amount: 1_000 })): Promise<number> {
  const { status, body } = await sending;
  expect([status, body.status?.transaction_status_code]).toEqual([201, 'approved']);
  return body.audit;
}

/** Until the resolver has asked once, and asks no more of itself. */
const postponed = (audit: number, also = 'true') =>
  vi.waitUntil(async () => {
    const later = `resolve_at > now() + interval '30 minutes' AND ${also}`;
    return (await gateway.sql(`SELECT FROM transaction WHERE audit = ${audit} AND ${later}`)).length > 0;
  }, SOON);

/** Left in doubt, and not due. */
async function inDoubt(sending: () => ReturnType<typeof gateway.api.purchase>): Promise<number> {
  acquirer.nextAnswers(() => ({ kind: 'unknown', reason: 'timeout' }));
  acquirer.nextFindings(() => ({ kind: 'no_answer' }));
  const { status } = await sending();
  expect(status).toBe(504);
  const [row] = await gateway.sql<{ audit: number }>(
    `SELECT max(audit) AS audit FROM transaction WHERE status = 'unknown'`,
  );
  const audit = row?.audit as number;
  await postponed(audit);
  return audit;
}

const due = (audit: number) => `UPDATE transaction SET resolve_at = now() WHERE audit = ${audit}`;

const reversalOf = (reference: string, link: string) => `
  INSERT INTO acquirer_reversal (organisation_id, acquirer, reference, stan, terminal, original_stan, retrieval_reference, again_at)
  VALUES (1, '${link}', '${reference}', 1, 'T', 1, 'R', now())`;

const asked = () =>
  [acquirer, other].flatMap((link) => [...link.requests, ...link.inquiries, ...link.reversals]).length;

const reports = async (audit: number) =>
  (await gateway.sql(`SELECT FROM journal WHERE action = 'seal.broken' AND audit = $1`, [audit])).length;

const reported = (audit: number) => vi.waitUntil(async () => (await reports(audit)) > 0, SOON);

async function problemsOf(audit: number): Promise<string[]> {
  const { database, provider, close } = await operatorOf(gateway);
  const { problems } = await verifySeals(database, 'operator:test', provider, gateway.credentialKey).finally(
    close,
  );
  return problems.filter(({ where }) => where === `transaction ${audit}`).map(({ problem }) => problem);
}

const statusOf = async (audit: number) =>
  (await gateway.sql<{ status: string }>('SELECT status FROM transaction WHERE audit = $1', [audit]))[0]
    ?.status;

// catches(schema: what is decided is never in doubt again)
// catches(schema: what was declined, has failed or was voided stays so)
// catches(roles: nobody removes a transaction)
// catches(roles: nobody changes the amount of a transaction)
test('either login takes a decision back, removes a transaction or changes what it is about → refused by the database', async () => {
  const paid = await approved();
  const undone = await approved();
  await approved(gateway.api.void(undone));
  const debited = (await gateway.api.purchase({ bankAccount: {} })).body;
  expect(debited.status.transaction_status_code).toBe('pending');
  const doubted = `status = 'unknown', gateway_status_code = -99, reversing = true, resolve_at = now()`;
  const statements = [
    `UPDATE transaction SET status = 'unknown' WHERE audit = ${paid}`,
    `UPDATE transaction SET ${doubted} WHERE audit = ${paid}`,
    `UPDATE transaction SET ${doubted} WHERE audit = ${debited.audit}`,
    `UPDATE transaction SET status = 'approved' WHERE audit = ${undone}`,
    `DELETE FROM transaction WHERE audit = ${paid}`,
    'TRUNCATE transaction',
    `UPDATE transaction SET amount_cents = 1 WHERE audit = ${paid}`,
    `UPDATE transaction SET target_audit = ${paid} WHERE audit = ${undone}`,
    `UPDATE transaction SET correlation_id = 'mine' WHERE audit = ${paid}`,
    `UPDATE transaction SET created_at = now() WHERE audit = ${paid}`,
    `UPDATE transaction SET audit = 999999 WHERE audit = ${paid}`,
    'DROP TRIGGER transaction_stays_decided ON transaction',
  ];
  for (const login of LOGINS)
    for (const statement of statements)
      await expect(gateway.sqlAs(login, statement), `${login}: ${statement}`).rejects.toMatchObject({
        code: expect.stringMatching(/^(42501|23514)$/),
      });
  for (const change of [`acquirer = 'other'`, 'reversing = true'])
    await expect(
      gateway.sqlAs('tollgate_operator', `UPDATE transaction SET ${change}`),
    ).rejects.toMatchObject({ code: '42501' });
  expect([await statusOf(paid), await statusOf(undone)]).toEqual(['approved', 'voided']);
});

describe('the resolver', () => {
  // catches(doubt: what has an outcome is not in doubt)
  // catches(doubt: what was changed is neither inquired about nor reversed)
  test('an approved payment is called in doubt, due and reversing, past the triggers → nothing is sent, and it is reported', async () => {
    const audit = await approved();
    const before = asked();
    await pastTriggers(
      `UPDATE transaction SET status = 'unknown', gateway_status_code = -99, resolve_at = now() WHERE audit = ${audit}`,
    );
    await reported(audit);
    expect([asked(), await statusOf(audit)]).toEqual([before, 'unknown']);
    expect(await problemsOf(audit)).toEqual(['its outcome is not as it was decided']);
  });

  // catches(seal of payment details: bound to the link)
  // catches(seal of payment details: bound to what the link has prepared)
  // catches(doubt: for the link and the message that it was claimed for)
  // catches(reversal: only of what the journal says is being reversed)
  // catches(reversal: an entry of the journal without a MAC begins none)
  test('a payment in doubt gets another link or message, or is called reversing → neither link is asked, and it is reported', async () => {
    await expectEach(
      [
        // The operating login may change neither.
        ['another link', 'tollgate_application', `acquirer = 'other'`],
        ['a reversal', 'tollgate_application', 'reversing = true'],
        ['no message', 'tollgate_application', 'prepared = NULL'],
        ...LOGINS.flatMap((login) => [
          ['another message', login, `prepared = '{"by": "scripted", "stan": 7}'`] as const,
          [
            'another card',
            login,
            `payment_details_sealed = (SELECT payment_details_sealed FROM transaction o WHERE o.audit = 1)`,
          ] as const,
          ['a seal of its outcome', login, `outcome_seal = '\\x00'`] as const,
        ]),
      ] as const,
      async ([, login, change]) => {
        const audit = await inDoubt(() => gateway.api.purchase({ amount: 1_000 }));
        const before = asked();
        await gateway.sqlAs(
          login,
          `UPDATE transaction SET ${change} WHERE audit = ${audit};
          INSERT INTO journal (organisation_id, merchant_id, actor, action, audit, detail)
          VALUES (1, 1, 'gateway:resolver', 'transaction.reversal_begun', ${audit}, 'forged');
          ${due(audit)}`,
        );
        await reported(audit);
        expect(asked()).toBe(before);
        expect(await statusOf(audit)).toBe('unknown');
        expect((await problemsOf(audit)).length).toBeGreaterThan(0);
      },
    );
  });

  // catches(seal of an operation: bound to what its link has prepared)
  // catches(doubt: an operation is as it was asked for)
  // catches(target: its own link is asked)
  // catches(target: decided as its seal says)
  test('a refund in doubt gets another link, message or target → neither link is asked; as it was asked for → resolved', async () => {
    const paid = await approved();
    const MESSAGE = `prepared = '{"by": "scripted", "stan": 7}'`;
    await expectEach(
      [
        ['another link', 'tollgate_application', `acquirer = 'other'`],
        ...LOGINS.flatMap((login) => [
          ['another message', login, MESSAGE] as const,
          ['a target with another outcome', login, `response_code = '08'`] as const,
        ]),
      ] as const,
      async ([what, login, change]) => {
        const target = await approved();
        const audit = await inDoubt(() => gateway.api.refund(target, 100));
        const before = asked();
        const changed = what.includes('target') ? target : audit;
        await gateway.sqlAs(
          login,
          `UPDATE transaction SET ${change} WHERE audit = ${changed}; ${due(audit)}`,
        );
        await reported(audit);
        expect(asked()).toBe(before);
        expect(await problemsOf(changed)).not.toEqual([]);
      },
    );
    const good = await inDoubt(() => gateway.api.refund(paid, 100));
    acquirer.nextFindings(() => answered('00'));
    await gateway.sql(due(good));
    await vi.waitUntil(async () => (await statusOf(good)) === 'approved', SOON);
    expect(await reports(good)).toBe(0);
  });

  test('nobody has changed anything → inquired about, reversed, and decided', async () => {
    const audit = await inDoubt(() => gateway.api.purchase({ amount: 1_000 }));
    acquirer.nextFindings(() => ({ kind: 'not_seen' }));
    acquirer.nextReversals(
      () => 'no_answer',
      () => 'reversed',
    );
    await gateway.sql(due(audit));
    await postponed(audit, 'reversing');
    await gateway.sql(due(audit));
    await vi.waitUntil(async () => (await statusOf(audit)) === 'error', SOON);
    expect([await reports(audit), await problemsOf(audit)]).toEqual([0, []]);
  });

  // catches(reversal again: over the link that it was sent over)
  test('either login asks for another reversal of a reversed payment over another link → that link is not asked, and it is reported', async () => {
    for (const login of LOGINS) {
      const audit = await inDoubt(() => gateway.api.purchase({ amount: 1_000 }));
      const reference = acquirer.requests.at(-1)?.reference as string;
      acquirer.nextFindings(() => ({ kind: 'not_seen' }));
      await gateway.sql(due(audit));
      await vi.waitUntil(async () => (await statusOf(audit)) === 'error', SOON);
      const before = asked();
      await gateway.sqlAs(login, reversalOf(reference, 'other'));
      await reported(audit);
      expect(asked()).toBe(before);
    }
  });

  // catches(reversal again: only of what was reversed)
  test('either login asks for another reversal of an approved payment → not reversed, and reported', async () => {
    for (const login of LOGINS) {
      const audit = await approved();
      const { reference } = acquirer.requests.at(-1) as { reference: string };
      const before = asked();
      await gateway.sqlAs(login, reversalOf(reference, 'scripted'));
      await reported(audit);
      expect([asked(), await statusOf(audit)]).toEqual([before, 'approved']);
    }
  });
});

describe('operations on a transaction', () => {
  // catches(target: refunds that are there count, whatever the counter says)
  // catches(target: nothing is sent for one that was changed)
  // catches(verification: counters against the operations)
  test('what was refunded is written to be nothing → a further refund is not sent, and it is reported', async () => {
    for (const login of LOGINS) {
      const audit = await approved();
      await approved(gateway.api.refund(audit, 1_000));
      await gateway.sqlAs(login, `UPDATE transaction SET refunded_cents = 0 WHERE audit = ${audit}`);
      expect(await problemsOf(audit)).toEqual(['what was asked of it does not add up']);
      const before = asked();
      const { body } = await gateway.api.refund(audit, 1);
      expect([body.status.transaction_status_code, body.status.gateway_status_code]).toEqual(['error', 1]);
      expect(asked()).toBe(before);
      await reported(audit);
    }
  });

  // catches(target: operations on it that were changed do not count as failed)
  // catches(seal of an outcome: has to fit)
  test('a refund is called failed, or loses its seal → a further refund is not sent, and it is reported', async () => {
    await expectEach(
      Object.entries({
        'failed, past the triggers': `status = 'error', gateway_status_code = 1`,
        'without a seal': 'outcome_seal = NULL',
      }),
      async ([, change]) => {
        const audit = await approved();
        const refund = await approved(gateway.api.refund(audit, 1_000));
        await pastTriggers(`UPDATE transaction SET ${change} WHERE audit = ${refund};
          UPDATE transaction SET refunded_cents = 0 WHERE audit = ${audit}`);
        const before = asked();
        expect((await gateway.api.refund(audit, 1)).body.status?.gateway_status_code).toBe(1);
        expect(asked()).toBe(before);
        await reported(refund);
        expect(await problemsOf(refund)).toEqual(['its outcome is not as it was decided']);
      },
    );
  });

  // catches(target: no refund of what a void has undone)
  test('a voided payment is put back with its earlier seal, past the triggers → no refund is sent, and it is reported', async () => {
    const audit = await approved();
    const [row] = await gateway.sql<{ seal: string }>(
      `SELECT encode(outcome_seal, 'hex') AS seal FROM transaction WHERE audit = ${audit}`,
    );
    await approved(gateway.api.void(audit));
    await pastTriggers(
      `UPDATE transaction SET status = 'approved', voided_by = NULL, outcome_seal = '\\x${row?.seal}' WHERE audit = ${audit}`,
    );
    const before = asked();
    expect((await gateway.api.refund(audit, 100)).body.status?.gateway_status_code).toBe(1);
    expect(asked()).toBe(before);
    await reported(audit);
    expect(await problemsOf(audit)).toEqual(['what was asked of it does not add up']);
  });

  // catches(card: opens for its own link only)
  test('a card is put back as it was sealed for the link that did not send it → not opened for the other link, and reported', async () => {
    // The merchant's own link takes what is not sent over this one.
    await gateway.sqlSealed(
      `INSERT INTO route (organisation_id, merchant_id, acquirer) VALUES (1, 3, 'other')`,
    );
    await vi.waitUntil(async () => {
      await approved(gateway.api.purchase({ merchant: 3 }));
      return other.requests.length > 0;
    }, SOON);
    const saved = `CREATE TABLE saved AS SELECT acquirer, prepared, payment_details_sealed FROM transaction
      WHERE merchant_id = 3 ORDER BY audit DESC LIMIT 1`;
    other.nextAnswers(async () => {
      await gateway.sql(saved);
      return { kind: 'not_sent' };
    });
    const audit = await approved(gateway.api.preauthorise({ merchant: 3, amount: 1_000 }));
    const completion = await approved(gateway.api.complete(audit, 1_000, { merchant: 3 }));
    await gateway.sql('GRANT SELECT ON saved TO tollgate_application');
    await gateway.sqlAs(
      'tollgate_application',
      `UPDATE transaction t SET acquirer = saved.acquirer, prepared = saved.prepared,
      payment_details_sealed = saved.payment_details_sealed FROM saved WHERE audit = ${audit}`,
    );
    let opened: unknown;
    acquirer.nextAnswers(async (order) => {
      opened = 'openCard' in order && (await order.openCard().catch((reason) => reason));
      return answered('05');
    });
    await gateway.api.refund(completion, 1_000, { merchant: 3 });
    expect(opened).toBeInstanceOf(SealBroken);
    await reported(audit);
  });

  // catches(look-up: an outcome that was changed is not shown)
  // catches(seal of an outcome: bound to the status)
  // catches(seal of an outcome: bound to amount and link)
  // catches(seal of an outcome: bound to the acquirer’s codes)
  // catches(seal of an outcome: bound to the correlation ID)
  // catches(seal of an outcome: bound to its transaction)
  // catches(seal of an outcome: without one nothing is decided)
  // catches(verification: every outcome)
  test('a decided transaction gets another outcome, link or code → not shown, not acted on, and reported', async () => {
    await expectEach(
      Object.entries({
        approved: `status = 'approved', gateway_status_code = 0`,
        'another link': `acquirer = 'other'`,
        'another code': `response_code = '00'`,
        'another amount': 'amount_cents = 999',
        'another correlation ID': `correlation_id = 'of-another'`,
        'another number': 'audit = audit + 500000',
        'the seal of another': `outcome_seal = (SELECT outcome_seal FROM transaction o WHERE o.audit = 1)`,
        'no seal': 'outcome_seal = NULL',
      }),
      async ([reference, change]) => {
        acquirer.nextAnswers(() => answered('05'));
        await gateway.api.purchase({ amount: 1_000, reference });
        await pastTriggers(`UPDATE transaction SET ${change} WHERE reference = '${reference}'`);
        const [row] = await gateway.sql(`SELECT audit FROM transaction WHERE reference = '${reference}'`);
        const audit = Number(row?.audit);
        const before = asked();
        const shown = await gateway.api.lookUp(audit);
        expect([shown.status, shown.code]).toEqual([503, 'unavailable']);
        expect((await gateway.api.refund(audit, 100)).status).toBe(503);
        expect(asked()).toBe(before);
        await reported(audit);
        expect(await problemsOf(audit)).toContain('its outcome is not as it was decided');
      },
    );
  });

  test('the log, the metric, keys verify and doctor tell, whichever login it was', async () => {
    const environment = { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir };
    const broken = async () =>
      (await scrape(gateway.operatorsUrl)).sum('tollgate_broken_seals_total', { of: 'vault' }) ?? 0;
    for (const [login, change] of [
      ['tollgate_application', `acquirer = 'other'`],
      ['tollgate_operator', `response_code = '08'`],
    ] as const) {
      const audit = await approved();
      await gateway.sqlAs(login, `UPDATE transaction SET ${change} WHERE audit = ${audit}`);
      const before = await broken();
      expect((await gateway.api.lookUp(audit)).status).toBe(503);
      expect(await broken()).toBe(before + 1);
      const line = gateway
        .logged()
        .split('\n')
        .find((each) => each.includes(`"row":${audit},`));
      expect(JSON.parse(line ?? '{}')).toMatchObject({
        level: 50,
        msg: 'a seal does not open',
        table: 'transaction',
      });
      await reported(audit);
      const { code, stdout } = await runHere(['keys', 'verify'], environment);
      const told = new RegExp(`transaction ${audit} +its outcome is not as it was decided`);
      expect([code, stdout]).toEqual([1, expect.stringMatching(told)]);
    }
    const { code, stdout } = await runHere(['doctor'], environment);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/failed +seals +\d+ reports of broken seals/)]);
  });
});

describe('the row of the gateway', () => {
  // catches(schema: fences of searches are not set back)
  // catches(schema: the gateway is called at acquirers as before)
  // catches(schema: the row of the gateway is not removed)
  // catches(roles: nobody says that transactions are elsewhere)
  test('removed, called otherwise, its fences set back, its clock or its servers changed → refused, and everything is found', async () => {
    const audit = await approved();
    const changes = [
      'DELETE FROM gateway',
      'TRUNCATE gateway',
      `UPDATE gateway SET installation = 'MINE'`,
      'UPDATE gateway SET newest_absence = newest_absence - 1',
      'UPDATE gateway SET forgotten_absence = forgotten_absence - 1',
      `UPDATE gateway SET closed_day = '-infinity'`,
      'UPDATE gateway SET distribution = 0',
    ];
    await expect
      .poll(() => gateway.sql(`SELECT FROM gateway WHERE closed_day > '-infinity'`), SOON)
      .toHaveLength(1);
    for (const login of LOGINS)
      await expectEach(changes, (change) => expect(gateway.sqlAs(login, change)).rejects.toThrow());
    await expect(gateway.sqlAs('tollgate_application', 'UPDATE gateway SET advanced_ms = 1')).rejects.toThrow(
      'permission denied',
    );
    // The owner, too, does not do it by mistake.
    await expectEach(
      changes.filter((change) => !change.includes('distribution')),
      (change) => expect(gateway.sql(change)).rejects.toMatchObject({ constraint: 'gateway_is_kept' }),
    );
    expect((await gateway.api.lookUp(audit)).status).toBe(200);
  });
});
