// Compares the table of bank holidays with the library that knows the rules, and writes it with `-u`.
import Holidays from 'date-holidays';
import { expect, test } from 'vitest';

const FIRST_YEAR = 2000;
const LAST_YEAR = 2099;

const HEAD = `\
// Weekdays on which the banks of New South Wales are closed, by year. A table, because the library with the rules of all countries would
// take a sixth of the gateway's start time. A test compares the table with that library, and writes it: \`npx vitest run
// test/values/bank-holidays.test.ts -u\`.

/** Months and days. */
export const BANK_HOLIDAYS: Readonly<Record<number, string>> = {`;

test('the table of bank holidays matches the rules of New South Wales', async () => {
  const calendar = new Holidays('AU', 'NSW');
  const lines = Array.from({ length: LAST_YEAR - FIRST_YEAR + 1 }, (_, index) => {
    const year = FIRST_YEAR + index;
    const days = calendar
      .getHolidays(year)
      // `bank` is the August bank holiday: shops are open, banks are not.
      .filter(({ type }) => type === 'public' || type === 'bank')
      .map(({ date }) => date.slice(0, 'YYYY-MM-DD'.length))
      .filter((date) => ![0, 6].includes(new Date(`${date}T00:00:00Z`).getUTCDay()))
      .map((date) => date.slice('YYYY-'.length));
    return `  ${year}: '${[...new Set(days)].sort().join(' ')}',`;
  });
  await expect([HEAD, ...lines, '};', ''].join('\n')).toMatchFileSnapshot(
    '../../src/values/bank-holidays.ts',
  );
});
