// How many card numbers a mask leaves open, as docs/keys.md says.
import { expect, test } from 'vitest';
import { CardNumber, luhnDigit, luhnValid } from '../../src/values/card.js';
import { read } from '../../testkit/project-files.js';

const ROWS = [...read('docs/keys.md').matchAll(/^\| (\d\d) \| ([\d,]+) \|$/gm)].map(
  ([, digits = '', numbers = '']) => ({
    digits: Number(digits),
    numbers: Number(numbers.replaceAll(',', '')),
  }),
);

test.each(ROWS)('a mask of $digits digits leaves $numbers numbers open', ({ digits, numbers }) => {
  const hidden = digits - 10;
  expect(numbers).toBe(10 ** (hidden - 1));
  // More than these take too long to count.
  if (hidden > 5) return;
  const withoutCheckDigit = `411111${'0'.repeat(digits - 7)}`;
  const { mask } = new CardNumber(withoutCheckDigit + luhnDigit(withoutCheckDigit));
  expect(mask).toMatch(new RegExp(`^411111\\*{${hidden}}\\d{4}$`));
  const candidates = Array.from({ length: 10 ** hidden }, (_, at) =>
    mask.replace(/\*+/, String(at).padStart(hidden, '0')),
  );
  expect(candidates.filter(luhnValid)).toHaveLength(numbers);
});

test('the shortest number that is accepted is among them', () => {
  expect(ROWS[0]?.digits).toBe(12);
  expect(() => new CardNumber('1'.repeat(11))).toThrow();
});
