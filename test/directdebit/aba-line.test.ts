// The lines of a direct-entry file, whatever stands in them: held against a reader and a writer that know the format
// only, and against another program's lines.
import ABA from 'aba-generator';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type DirectEntrySettings,
  type FileItem,
  headerLine,
  itemLine,
  parseReturnedItem,
  parseTrailer,
  trailerLine,
} from '../../src/directdebit/files/aba-line.js';
import { lodgementReference } from '../../src/directdebit/files/lodgement-reference.js';
import { BankAccount, MOST_CENTS } from '../../src/values/bank-account.js';
import { cents } from '../../src/values/money.js';
import {
  type Header,
  type Returned,
  readHeader,
  readItem,
  readTrailer,
  returnedLine,
} from '../../testkit/bank-file-layout.js';
import { ASCII, digits, lodged, text } from '../../testkit/generated-items.js';

const bsb = digits(6).map((six) => `${six.slice(0, 3)}-${six.slice(3)}`);
const accountNumber = digits(2, 9).filter((number) => /[1-9]/.test(number));
const amount = fc
  .oneof(fc.integer({ min: 1, max: MOST_CENTS }), fc.constantFrom(1, 99, 100, MOST_CENTS - 1, MOST_CENTS))
  .map(cents);
const mode = fc.constantFrom('debit' as const, 'credit' as const);

const settings: fc.Arbitrary<DirectEntrySettings> = fc.record({
  bank: fc.constantFrom('CBA', 'WBC', 'NAB', 'ANZ', 'SIM'),
  userName: text(26),
  userId: digits(6),
  description: text(12),
  traceBsb: bsb,
  traceAccount: accountNumber,
  remitter: text(16),
});
const item: fc.Arbitrary<FileItem> = fc.record({
  account: fc.tuple(bsb, accountNumber, text(32)).map((parts) => new BankAccount(...parts)),
  mode,
  amountCents: amount,
  lodgementReference: lodged.map(lodgementReference),
});
const day = fc
  .date({ min: new Date('2024-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));

const CODES = { debit: '13', credit: '50' };
const trimEnd = (field: string) => field.replace(/ +$/, '');

test('a header has every field in its place', () => {
  fc.assert(
    fc.property(settings, day, (merchant, processingDay) => {
      const [year = '', month, date] = processingDay.split('-');
      expect(readHeader(headerLine(merchant, processingDay))).toEqual({
        reel: '01',
        bank: merchant.bank,
        userName: trimEnd(merchant.userName),
        userId: merchant.userId,
        description: trimEnd(merchant.description),
        day: `${date}${month}${year.slice(2)}`,
      });
    }),
  );
});

test('an item has every field in its place', () => {
  fc.assert(
    fc.property(item, settings, (lodgedItem, merchant) => {
      expect(readItem(itemLine(lodgedItem, merchant))).toEqual({
        bsb: lodgedItem.account.bsb,
        accountNumber: lodgedItem.account.reveal(),
        indicator: ' ',
        code: CODES[lodgedItem.mode],
        cents: lodgedItem.amountCents,
        title: trimEnd(lodgedItem.account.name),
        reference: lodgedItem.lodgementReference,
        traceBsb: merchant.traceBsb,
        traceAccount: merchant.traceAccount,
        remitter: trimEnd(merchant.remitter),
      });
    }),
  );
});

test('a trailer has every field in its place, and is read back', () => {
  const totals = fc.record({
    items: fc.integer({ min: 1, max: 999_999 }),
    debitCents: fc.integer({ min: 0, max: MOST_CENTS }).map(cents),
    creditCents: fc.integer({ min: 0, max: MOST_CENTS }).map(cents),
  });
  fc.assert(
    fc.property(totals, (file) => {
      const line = trailerLine(file);
      expect(readTrailer(line)).toEqual({
        netCents: Math.abs(file.creditCents - file.debitCents),
        creditCents: file.creditCents,
        debitCents: file.debitCents,
        count: file.items,
      });
      expect(parseTrailer(line)).toEqual(file);
    }),
  );
});

test('a value that is too long for its field is refused, and shifts no other field', () => {
  const [merchant] = fc.sample(settings, 1) as [DirectEntrySettings];
  const [lodgedItem] = fc.sample(item, 1) as [FileItem];
  expect(() => headerLine({ ...merchant, userName: 'x'.repeat(27) }, '2026-11-16')).toThrow();
  expect(() => itemLine({ ...lodgedItem, amountCents: cents(MOST_CENTS + 1) }, merchant)).toThrow();
  expect(() => itemLine(lodgedItem, { ...merchant, remitter: 'x'.repeat(17) })).toThrow();
  expect(() => trailerLine({ items: 1_000_000, debitCents: cents(1), creditCents: cents(0) })).toThrow();
  expect(() => trailerLine({ items: 1, debitCents: cents(MOST_CENTS + 1), creditCents: cents(0) })).toThrow();
});

const returned: fc.Arbitrary<Returned & Pick<Header, 'day' | 'userId'>> = fc.record({
  item: fc.record({
    bsb,
    accountNumber,
    indicator: fc.constant(' '),
    code: fc.constantFrom('13', '50'),
    cents: fc.integer({ min: 1, max: MOST_CENTS }),
    title: text(32).map(trimEnd),
    reference: lodged.map(lodgementReference),
    traceBsb: bsb,
    traceAccount: accountNumber,
    remitter: text(16).map(trimEnd),
  }),
  returnCode: fc.integer({ min: 1, max: 9 }),
  day: fc.integer({ min: 1, max: 31 }).map((date) => `${String(date).padStart(2, '0')}0126`),
  userId: digits(6),
});

test('a returned item is read as the bank wrote it', () => {
  fc.assert(
    fc.property(returned, (bank) => {
      expect(parseReturnedItem(returnedLine(bank, bank))).toEqual({
        bsb: bank.item.bsb,
        accountNumber: bank.item.accountNumber,
        returnCode: bank.returnCode,
        mode: bank.item.code === '13' ? 'debit' : 'credit',
        amountCents: bank.item.cents,
        lodgementReference: bank.item.reference,
      });
    }),
  );
});

/** By its columns, as the format has them. */
function isReturnedItem(line: string): boolean {
  return (
    line.length === 120 &&
    !/[\n\r\u2028\u2029]/.test(line) &&
    line[0] === '2' &&
    /^[0-9]{3}-[0-9]{3}$/.test(line.slice(1, 8)) &&
    /^ *[0-9]+$/.test(line.slice(8, 17)) &&
    /^[1-9]$/.test(line.slice(17, 18)) &&
    /^(13|50)$/.test(line.slice(18, 20)) &&
    /^[0-9]{10}$/.test(line.slice(20, 30))
  );
}

test('a returned item with any change is read only if it is still a valid one', () => {
  const change = fc.record({
    at: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 119 })),
    remove: fc.constantFrom(0, 1, 1, 1, 2),
    insert: fc.oneof(
      fc.constantFrom(...ASCII, '\n', '\r', '\u2028', 'é', ''),
      fc.constantFrom(' ', '0', '-'),
      fc.string({ maxLength: 3 }),
    ),
  });
  fc.assert(
    fc.property(returned, fc.array(change, { minLength: 1, maxLength: 3 }), (bank, changes) => {
      const line = [...returnedLine(bank, bank)];
      for (const { at, remove, insert } of changes) line.splice(at, remove, ...insert);
      const spoilt = line.join('');
      expect(parseReturnedItem(spoilt) !== undefined).toBe(isReturnedItem(spoilt));
    }),
    { numRuns: 2_000 },
  );
});

test('any other line is not taken for a returned item', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ maxLength: 200 }), fc.string({ minLength: 120, maxLength: 120 })),
      (garbage) => {
        expect(parseReturnedItem(garbage)).toBeUndefined();
        expect(parseReturnedItem(`2${garbage}`)).toBeUndefined();
        expect(parseTrailer(garbage)).toBeUndefined();
      },
    ),
  );
  fc.assert(
    fc.property(item, settings, day, (lodgedItem, merchant, processingDay) => {
      const ours = [
        headerLine(merchant, processingDay),
        itemLine(lodgedItem, merchant),
        trailerLine({ items: 1, debitCents: cents(1), creditCents: cents(0) }),
      ];
      expect(ours.map(parseReturnedItem)).toEqual([undefined, undefined, undefined]);
      expect(ours.slice(0, 2).map(parseTrailer)).toEqual([undefined, undefined]);
    }),
  );
});

test('another program writes the same lines for the same items', () => {
  // It calculates in dollars, as floating-point numbers: amounts for which that is exact enough.
  const moderate = fc.array(
    fc
      .tuple(item, fc.integer({ min: 1, max: 10_000_000 }))
      .map(([each, amountCents]) => ({ ...each, amountCents: cents(amountCents) })),
    { minLength: 1, maxLength: 8 },
  );
  fc.assert(
    fc.property(moderate, settings, day, (items, merchant, processingDay) => {
      const [year = '', month = '', date = ''] = processingDay.split('-');
      const theirs = new ABA({
        header: {
          bank: merchant.bank,
          user: merchant.userName,
          userNumber: Number(merchant.userId),
          description: merchant.description,
          date: date + month + year.slice(2),
        },
      }).generate(
        items.map(({ account, mode: direction, amountCents, lodgementReference: reference }) => ({
          bsb: account.bsb,
          account: account.reveal(),
          transactionCode: Number(CODES[direction]),
          amount: amountCents / 100,
          accountTitle: account.name,
          reference,
          traceBsb: merchant.traceBsb,
          traceAccount: merchant.traceAccount,
          remitter: merchant.remitter,
        })),
      );
      const total = (wanted: string) =>
        cents(items.reduce((sum, each) => sum + (each.mode === wanted ? each.amountCents : 0), 0));
      expect([
        headerLine(merchant, processingDay),
        ...items.map((each) => itemLine(each, merchant)),
        trailerLine({ items: items.length, debitCents: total('debit'), creditCents: total('credit') }),
      ]).toEqual(theirs.split('\r\n'));
    }),
  );
});
