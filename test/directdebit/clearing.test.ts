// Direct debits on the simulated bank as days go by: everything at its time, and once.
import { expect, test, vi } from 'vitest';
import { addBusinessDays, settlementCutOff } from '../../src/values/time.js';
import { moveClock } from '../../testkit/bank-day.js';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import { LOGINS, testGateway } from '../../testkit/gateway.js';

const VOIDABLE_UNTIL = 'GATEWAY.RESPONSE.KVP.VOIDABLE_UNTIL';

// catches(clearing: not before its time) slow
test('the day closes, a return comes one business day later, clearing two business days later → each at its time, not before', async () => {
  const timed = await testGateway();
  const { api } = timed;
  const clears = (await api.purchase({ bankAccount: {} })).body.audit;
  const returns = (await api.purchase({ bankAccount: { account_number: '900003' } })).body.audit;
  const shown = async () =>
    Promise.all(
      [clears, returns].map(async (audit) => {
        const { body } = await api.lookUp(audit);
        return [body.status.transaction_status_code, 'void' in body._links];
      }),
    );
  let nowMs = Date.now();
  /** Ten minutes before or after an instant: a slow machine is no earlier and no later than that. */
  const advanceTo = async (instantMs: number, minutes: number) => {
    const seconds = Math.round((instantMs + minutes * 60_000 - nowMs) / 1000);
    nowMs += seconds * 1000;
    await timed.advance(`${seconds}s`);
  };
  const closeMs = Date.parse((await api.lookUp(clears)).body.kvps[VOIDABLE_UNTIL]);
  expect(await shown()).toEqual([
    ['pending', true],
    ['pending', true],
  ]);
  await advanceTo(closeMs, 10);
  expect(await shown()).toEqual([
    ['pending', false],
    ['pending', false],
  ]);
  const day = (await api.lookUp(clears)).body.status.acquirer.settlement_date;
  expect(settlementCutOff(day)).toBe(closeMs);
  await advanceTo(settlementCutOff(addBusinessDays(day, 1)), 10);
  expect(await shown()).toEqual([
    ['pending', false],
    ['declined', false],
  ]);
  await advanceTo(settlementCutOff(addBusinessDays(day, 2)), -10);
  expect((await shown())[0]).toEqual(['pending', false]);
  await advanceTo(settlementCutOff(addBusinessDays(day, 2)), 10);
  expect(await shown()).toEqual([
    ['approved', false],
    ['declined', false],
  ]);
  await expectBooksToAgree(timed);
});

// catches(direct debit: what was changed neither clears nor comes back)
test('either login changes debits that wait → they neither clear nor come back, and it is reported; others do', async () => {
  const own = await testGateway();
  const { api } = own;
  const lodged = async () => [
    (await api.purchase({ bankAccount: {} })).body.audit,
    (await api.purchase({ bankAccount: { account_number: '900003' } })).body.audit,
  ];
  const untouched = await lodged();
  const changed: number[] = [];
  for (const login of LOGINS) {
    const audits = await lodged();
    changed.push(...audits);
    await own.sqlAs(login, `UPDATE transaction SET response_code = '00' WHERE audit IN (${audits})`);
  }
  await moveClock(own, 12);
  const statuses = async (audits: readonly number[]) =>
    (
      await own.sql<{ status: string }>(
        'SELECT status FROM transaction WHERE audit = ANY($1) ORDER BY audit',
        [audits],
      )
    ).map(({ status }) => status);
  await vi.waitUntil(async () => (await statuses(untouched)).join() === 'approved,declined', {
    timeout: 300_000,
  });
  expect(await statuses(changed)).toEqual(Array(4).fill('pending'));
  const broken = `SELECT DISTINCT audit FROM journal WHERE action = 'seal.broken' ORDER BY audit`;
  await expect.poll(async () => (await own.sql(broken)).map(({ audit }) => audit)).toEqual(changed);
  for (const audit of changed) expect((await api.lookUp(audit)).status).toBe(503);
});

test('two processes of one gateway over several days → every item goes to the bank once', async () => {
  const first = await testGateway();
  const second = await testGateway({ shareWith: first });
  try {
    await Promise.all(
      Array.from({ length: 40 }, (_, number) =>
        (number % 2 ? first : second).api.purchase({
          amount: 100 + number,
          bankAccount: { account_number: number % 5 ? '16' : '900001' },
        }),
      ),
    );
    await first.advance('12d');
    const rows = await first.sql<{ status: string; count: string }>(
      'SELECT status, count(*) FROM transaction GROUP BY status ORDER BY status',
    );
    expect(rows.map(({ status, count }) => [status, Number(count)])).toEqual([
      ['approved', 32],
      ['declined', 8],
    ]);
    await expectBooksToAgree(first);
  } finally {
    await second.close();
  }
});

test('the same correlation ID again, same body or not → 409, and one item goes to the bank', async () => {
  const own = await testGateway();
  const { api } = own;
  const correlationId = 'once';
  const { audit } = (await api.purchase({ bankAccount: {}, correlationId })).body;
  const again = [
    await api.purchase({ bankAccount: {}, correlationId }),
    await api.purchase({ bankAccount: { account_number: '900001' }, amount: 1, correlationId }),
    await api.purchase({ correlationId }),
    await api.standaloneRefund({ bankAccount: {}, correlationId }),
    await api.void(audit, { correlationId }),
  ];
  for (const { status: code, errors, body } of again) {
    expect([code, errors]).toEqual([409, ['correlation_id_already_used header/X-Correlation-Id']]);
    expect(body._links.transaction.href).toBe(`/v1/transactions/${audit}`);
  }
  const race = await Promise.all(
    Array.from({ length: 10 }, () => api.purchase({ bankAccount: {}, correlationId: 'raced' })),
  );
  expect(race.map((answer) => answer.status).sort()).toEqual([201, ...Array(9).fill(409)]);
  await own.advance('12d');
  const entries = await own.ledger();
  expect(entries.map(({ operation, amountCents }) => [operation, amountCents])).toEqual([
    ['purchase', 10_000],
    ['purchase', 10_000],
  ]);
  await expectBooksToAgree(own);
});
