// The table in docs/errors.md lists the error codes of the interface.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PROBLEMS } from '../../src/api/problems.js';

const PAGE = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');

interface Row {
  readonly code: string;
  readonly status: number;
  readonly meaning: string;
  readonly whatToDo: string;
}

const ROWS: readonly Row[] = [...PAGE.matchAll(/^\| (\d{3}) \| `(\w+)` \| (.*) \| (.*) \|$/gm)].map(
  ([, status, code, meaning, whatToDo]) => ({
    status: Number(status),
    code: code as string,
    meaning: meaning as string,
    whatToDo: whatToDo as string,
  }),
);

test('docs/errors.md lists every error code with its HTTP status, and no other', () => {
  const documented = Object.fromEntries(ROWS.map(({ code, status }) => [code, status]));
  const known = Object.fromEntries(Object.entries(PROBLEMS).map(([code, { status }]) => [code, status]));
  expect(
    documented,
    'Bring the table in docs/errors.md and PROBLEMS in src/api/problems.ts into step.',
  ).toEqual(known);
});

test('docs/errors.md lists each code once, in the order of the statuses', () => {
  const codes = ROWS.map(({ code }) => code);
  expect(codes).toEqual([...new Set(codes)]);
  const statuses = ROWS.map(({ status }) => status);
  expect(statuses).toEqual([...statuses].sort((one, other) => one - other));
});

test('docs/errors.md says what each code means and what to do', () => {
  const unsaid = ROWS.filter(({ meaning, whatToDo }) => !/\.$/.test(meaning) || !/\.$/.test(whatToDo));
  expect(
    unsaid.map(({ code }) => code),
    'Write a sentence into each column.',
  ).toEqual([]);
});
