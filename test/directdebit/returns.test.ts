// Returns files: what comes back in time, late, too late, twice, or belongs to nobody.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { importReturns } from '../../src/directdebit/files/returns-file.js';
import { Refusal } from '../../src/values/refusal.js';
import { addDays, sydneyInstant } from '../../src/values/time.js';
import { type BankDay, bankDayOf, moveClock, stateOf } from '../../testkit/bank-day.js';
import {
  type DirectEntryFile,
  type Item,
  itemOf,
  type Returned,
  returnsFile,
} from '../../testkit/bank-file-layout.js';
import { expectReservationsToBeHeld } from '../../testkit/books-agree.js';
import { type Client, type Json, TEST_MODE } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

const REAL = 2;
const DISPUTE_DAYS = 40;

let gateway: TestGateway;
let bank: BankDay;
let api: Client;
/** Carries everything below; all of it has cleared. */
let file: DirectEntryFile;
const audits = new Map<string, number>();

/** Debits that are approved by now, each of the test that bears its name. */
const DEBITS = [
  'LATE',
  'LAST DAY',
  'TOO LATE',
  'REFUNDED',
  'UNREFUNDED',
  'TWICE',
  'OTHERS',
  'OTHER CODE',
  'FINE',
  'WHOLE',
];

beforeAll(async () => {
  gateway = await testGateway();
  api = gateway.api;
  bank = bankDayOf(gateway);
  await bank.setDirectEntry(REAL, { disputeDays: DISPUTE_DAYS });
  for (const account_name of DEBITS) audits.set(account_name, await pay(account_name));
  const credit = await api.standaloneRefund({ merchant: REAL, bankAccount: { account_name: 'CREDIT' } });
  audits.set('CREDIT', credit.body.audit);
  file = (await bank.export(REAL)) as DirectEntryFile;
  await moveClock(gateway, 12);
  for (const audit of audits.values()) expect(await statusOf(audit)).toBe('approved');
});
afterAll(async () => {
  await bank.close();
  await gateway.close();
});

async function pay(account_name: string): Promise<number> {
  return (await api.purchase({ merchant: REAL, bankAccount: { account_name, account_number: '1234567' } }))
    .body.audit;
}

function audit(name: string): number {
  return audits.get(name) as number;
}

async function lookedUp(of: number): Promise<Json> {
  return (await api.lookUp(of)).body;
}

async function statusOf(of: number): Promise<string> {
  return (await lookedUp(of)).status.transaction_status_code;
}

function back(name: string, change: Partial<Item> = {}, returnCode = 6): Returned {
  return { item: { ...itemOf(file, name), ...change }, returnCode };
}

const returning = (...returned: Returned[]) => bank.importReturns(returnsFile(file.header, returned));

/** How the journal tells of late returns of this transaction. */
function toldLate(of: number): Promise<object[]> {
  return gateway.sql(
    `SELECT actor, merchant_id, detail FROM journal WHERE action = 'directdebit.returned_late' AND audit = $1`,
    [of],
  );
}

const NOTHING = { items: 1, returned: 0, late: 0, returnedAlready: 0, refunded: [] };

describe('late returns', () => {
  test('an approved debit is returned → declined with the return code, and journalled', async () => {
    const before = await lookedUp(audit('LATE'));
    expect(await returning(back('LATE', {}, 2))).toEqual({ ...NOTHING, returned: 1, late: 1, unmatched: [] });
    const { kvps, _links, status } = await lookedUp(audit('LATE'));
    expect(status).toEqual({
      ...before.status,
      transaction_status_code: 'declined',
      acquirer: {
        response_code: '2',
        response_message: 'Payment stopped',
        settlement_date: before.status.acquirer.settlement_date,
      },
    });
    expect([kvps, Object.keys(_links)]).toEqual([TEST_MODE, ['self']]);
    expect((await api.refund(audit('LATE'), 1, { merchant: REAL })).code).toBe('target_not_refundable');
    expect(await toldLate(audit('LATE'))).toEqual([
      { actor: 'operator:test', merchant_id: REAL, detail: 'approved before, returned with code 2' },
    ]);
  });

  test('an approved credit is returned → declined too', async () => {
    expect(await returning(back('CREDIT'))).toMatchObject({ returned: 1, late: 1, unmatched: [] });
    expect(await statusOf(audit('CREDIT'))).toBe('declined');
    expect(await toldLate(audit('CREDIT'))).toHaveLength(1);
  });

  // catches(return: not after the dispute days)
  test('on the last dispute day → accepted; a day later → listed, and nothing changes', async () => {
    const { settlement_date } = (await lookedUp(audit('LAST DAY'))).status.acquirer;
    const lastDay = addDays(settlement_date, DISPUTE_DAYS);
    const text = returnsFile(file.header, [back('TOO LATE')]);
    const before = await stateOf(gateway);
    expect(await bank.importReturns(text, sydneyInstant(addDays(lastDay, 1), '00:01'))).toEqual({
      ...NOTHING,
      unmatched: [{ line: 2, lodgementReference: itemOf(file, 'TOO LATE').reference, reason: 'too late' }],
    });
    expect(await stateOf(gateway)).toEqual(before);
    const inTime = returnsFile(file.header, [back('LAST DAY')]);
    expect(await bank.importReturns(inTime, sydneyInstant(lastDay, '23:59'))).toMatchObject({ returned: 1 });
    expect(await statusOf(audit('LAST DAY'))).toBe('declined');
  });

  test('a refunded debit is returned → declined, and the import names it', async () => {
    const refund = (await api.refund(audit('REFUNDED'), 2_000, { merchant: REAL })).body.audit;
    expect(await returning(back('REFUNDED'), back('UNREFUNDED'))).toMatchObject({
      returned: 2,
      late: 2,
      refunded: [audit('REFUNDED')],
    });
    expect(await statusOf(audit('REFUNDED'))).toBe('declined');
    expect(await statusOf(refund)).toBe('pending');
    await expectReservationsToBeHeld(gateway);
  });
});

describe('repeated imports', () => {
  // catches(return: once)
  test('the same file twice → the second changes nothing', async () => {
    const text = returnsFile(file.header, [back('TWICE')]);
    expect(await bank.importReturns(text)).toMatchObject({ returned: 1, returnedAlready: 0 });
    const after = await stateOf(gateway);
    expect(await bank.importReturns(text)).toEqual({ ...NOTHING, returnedAlready: 1, unmatched: [] });
    expect(await stateOf(gateway)).toEqual(after);
  });

  test('a debit and its refund returned in one file → both declined', async () => {
    const target = audit('WHOLE');
    const refund = (await api.refund(target, 10_000, { merchant: REAL })).body.audit;
    const credits = (await bank.export(REAL)) as DirectEntryFile;
    const credit = { item: itemOf(credits, 'WHOLE'), returnCode: 6 };
    expect(await returning(credit, back('WHOLE'))).toMatchObject({ returned: 2, unmatched: [] });
    expect([await statusOf(target), await statusOf(refund)]).toEqual(['declined', 'declined']);
    await expectReservationsToBeHeld(gateway);
  });
});

/** How an import is refused, which must have changed nothing. */
async function refusal(text: string): Promise<string> {
  const before = [await stateOf(gateway), await gateway.sql('SELECT count(*) FROM journal')];
  const error = await bank.importReturns(text).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Refusal);
  expect([await stateOf(gateway), await gateway.sql('SELECT count(*) FROM journal')]).toEqual(before);
  return (error as Error).message.replace(/^\S+ /, '');
}

describe('lines that do not match', () => {
  const fine = () => back('FINE');
  const CASES: [string, Partial<Item>][] = [
    // catches(return: only if everything agrees)
    ['another amount', { cents: 9_999 }],
    ['another account', { accountNumber: '1234568' }],
    ['a longer account', { accountNumber: '91234567' }],
    ['another BSB', { bsb: '062-001' }],
    ['a credit for a debit', { code: '50' }],
  ];

  test.each(CASES)(
    '%s, among matching lines → refused with its line number, and nothing is imported',
    async (_, change) => {
      const returned = back('OTHERS', change);
      expect(await refusal(returnsFile(file.header, [fine(), returned]))).toBe(
        `differs from what was lodged or imported before (line 3 ${returned.item.reference}: details differ); nothing was imported`,
      );
    },
  );

  test('an item imported before with another code → refused, and nothing is imported', async () => {
    await returning(back('OTHER CODE', {}, 6));
    expect(await refusal(returnsFile(file.header, [fine(), back('OTHER CODE', {}, 1)]))).toContain(
      ': returned with another code); nothing was imported',
    );
  });

  test('many lines → the first ten are named, and the others counted', async () => {
    const many = Array.from({ length: 12 }, () => back('OTHERS', { cents: 1 }));
    const said = await refusal(returnsFile(file.header, many));
    expect(said.match(/details differ/g)).toHaveLength(10);
    expect(said).toMatch(/; and 2 more\); nothing was imported$/);
  });
});

describe('lines without a transaction', () => {
  const reference = () => itemOf(file, 'OTHERS').reference;
  const withAudit = (audit: number) =>
    reference().slice(0, 12) + audit.toString(36).toUpperCase().padStart(6, '0');
  const CASES: [string, (lodged: string) => string][] = [
    ['another installation’s', (lodged) => lodged.replace(/^./, (first) => (first === 'X' ? 'Y' : 'X'))],
    ['an audit that nobody has', (lodged) => `${lodged.slice(0, 12)}ZIK0ZJ`],
    ['an audit beyond all audits', (lodged) => `${lodged.slice(0, 12)}ZZZZZZ`],
    ['another organisation’s', (lodged) => `${lodged.slice(0, 6)}000002${lodged.slice(12)}`],
    ['words for a reference', () => 'RENT NOVEMBER'],
    ['no reference', () => ''],
  ];

  test.each(CASES)('%s → listed with its line and the reason, and nothing changes', async (_, change) => {
    const before = await stateOf(gateway);
    const returned = back('OTHERS', { reference: change(reference()) });
    const reason = 'unknown reference';
    expect(await returning(returned)).toEqual({
      ...NOTHING,
      unmatched: [{ line: 2, lodgementReference: returned.item.reference, reason }],
    });
    expect(await stateOf(gateway)).toEqual(before);
  });

  test('a card payment’s reference → unknown', async () => {
    const { audit: card } = (await api.purchase({ merchant: REAL })).body;
    const { unmatched } = await returning(back('OTHERS', { reference: withAudit(card) }));
    expect(unmatched).toMatchObject([{ reason: 'unknown reference' }]);
    expect(await statusOf(card)).toBe('approved');
  });

  // catches(return: only of what a bank has)
  test('an item that waits for its file, or was voided → unknown, since no bank has heard of it', async () => {
    const [waiting, voided] = [await pay('OTHERS'), await pay('OTHERS')];
    await api.void(voided, { merchant: REAL });
    const returned = [waiting, voided].map((number) => back('OTHERS', { reference: withAudit(number) }));
    const { unmatched } = await returning(...returned);
    expect(unmatched.map(({ reason }) => reason)).toEqual(['unknown reference', 'unknown reference']);
    expect([await statusOf(waiting), await statusOf(voided)]).toEqual(['pending', 'voided']);
  });
});

describe('a file that is invalid or incomplete', () => {
  const text = () => returnsFile(file.header, [back('FINE'), back('OTHERS')]).split('\r\n');
  const CUT_SHORT =
    'is cut short, or was changed (no trailer speaks of exactly its items); nothing was imported';
  const unreadable = (line: number) =>
    `is not a returns file, or is cut short (line ${line} cannot be read); nothing was imported`;
  const changed = (change: (line: string) => string) => (lines: string[]) =>
    lines.map((line, index) => (index === 1 ? change(line) : line));

  test.each<[string, (lines: string[]) => string[], string]>([
    ['a line is missing', ([header = '', first = '', , ...rest]) => [header, first, ...rest], CUT_SHORT],
    ['an amount was changed', changed((line) => line.replace(/0000010000/, '0000010001')), CUT_SHORT],
    ['the end is missing, trailer and all', (lines) => lines.slice(0, 2), CUT_SHORT],
    [
      'the end is missing in the middle of a line',
      (lines) => [...lines.slice(0, 2), lines[2]?.slice(0, 70) ?? ''],
      CUT_SHORT,
    ],
    ['everything is missing', () => [], CUT_SHORT],
    ['something follows the trailer', (lines) => [...lines.slice(0, -1), ...lines.slice(1, 2)], CUT_SHORT],
    ['another file begins before the trailer', (lines) => [...lines.slice(0, 2), ...lines], unreadable(3)],
    ['a letter', () => ['Dear customer, here are your returns'], unreadable(1)],
    ['the file that was lodged', changed((line) => line.replace(/^2/, '1')), unreadable(2)],
    ['a return code of nought', changed((line) => line.replace(/^(.{17})6/, '$10')), unreadable(2)],
    ['an unknown transaction code', changed((line) => line.replace(/^(.{18})13/, '$199')), unreadable(2)],
    ['a BSB that is none', changed((line) => line.replace(/^2062-000/, '206-2000')), unreadable(2)],
  ])('%s → refused, and nothing is imported', async (_, cut, said) => {
    expect(await refusal(cut(text()).join('\r\n'))).toBe(said);
  });

  test('a source that cannot be read twice → refused', async () => {
    const options = {
      installation: '',
      keys: bank.keys,
      nowMs: 0,
      actor: '',
      path: '/dev/null',
      progress: () => {},
    };
    await expect(importReturns(bank.database, options)).rejects.toThrow(
      '/dev/null cannot be read twice; nothing was imported',
    );
  });

  test('lines without trailing blanks, and two files in one → imported', async () => {
    const trimmed = text().map((line) => line.trimEnd());
    expect(await bank.importReturns(trimmed.join('\n'))).toMatchObject({ items: 2, returned: 2 });
    expect(await bank.importReturns([...text(), ...text()].join('\r\n'))).toMatchObject({
      items: 4,
      returned: 0,
      returnedAlready: 4,
    });
  });
});
