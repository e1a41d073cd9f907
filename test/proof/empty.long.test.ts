// The short form of `npm run proof empty`, and whether its judge can tell right from wrong.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { brokenPromises } from '../../proof/empty/judge.js';
import type { Request, Search } from '../../proof/empty/round.js';
import type { PlacedEntry } from '../../testkit/installation.js';
import { runProof } from './program.js';

test('searches around requests that arrive in pieces, at stalled processes → no request that was reported absent is processed', async () => {
  const args = ['--rounds', '24', '--long-stops', '0', '--seed', '20240422'];
  const { code, output } = await runProof('empty', args);
  expect(output).toMatch(/^empty: seed 20240422, 24 rounds .*; 0 promises broken$/m);
  // It has tried what it is there for.
  expect(output).toMatch(/ [1-9]\d* not processed, .* [1-9]\d* of them for what had been sent; /);
  expect(code).toBe(0);
});

test.skipIf(spawnSync('haproxy', ['-v']).status !== 0)(
  'the same through a proxy that stands still now and then → what it held up is not processed',
  async () => {
    const args = ['--rounds', '60', '--long-stops', '0', '--proxy', '--seed', '5'];
    const { code, output } = await runProof('empty', args);
    expect(output).toMatch(/^empty: seed 5, 60 rounds .*"stops of the proxy":.*; 0 promises broken$/m);
    expect(code).toBe(0);
  },
  600_000,
);

const request: Request = {
  id: 'one',
  reference: 'one-first',
  sentMs: 100,
  status: undefined,
  answeredMs: undefined,
};
const search: Search = { id: 'one', sentMs: 200, ledgerBytes: 50, found: 'nothing' };
const row = { reference: 'one-first', correlationId: 'one', audit: 1, acquirerReference: 'x-1-1' };
const entry: PlacedEntry = {
  atMs: 0,
  reference: 'x-1-1',
  operation: 'purchase',
  responseCode: '00',
  endsAt: 90,
};

interface Change {
  readonly request?: Partial<Request>;
  readonly search?: Partial<Search>;
  readonly rows?: (typeof row & { status: string })[];
  readonly entries?: PlacedEntry[];
}

function broken(change: Change): string[] {
  const found = brokenPromises({
    requests: [{ ...request, ...change.request }],
    searches: [{ ...search, ...change.search }],
    rows: change.rows ?? [{ ...row, status: 'approved' }],
    entries: change.entries ?? [entry],
  });
  return Object.entries(found)
    .filter(([, cases]) => cases.length > 0)
    .map(([promise]) => promise);
}

const PROCESSED = 'what was sent before an empty answer is not processed after it';

test.each<[string, Change, string[]]>([
  ['processed after an empty answer', {}, [PROCESSED]],
  ['decided as an error that moved no money', { rows: [{ ...row, status: 'error' }], entries: [] }, []],
  ['an error in our books, and money moved', { rows: [{ ...row, status: 'error' }] }, [PROCESSED]],
  ['sent after the search', { request: { sentMs: 201 } }, []],
  ['never sent wholly', { request: { sentMs: undefined } }, []],
  ['found', { search: { found: 'something' } }, []],
  [
    'in the ledger already',
    { request: { sentMs: 201 }, search: { ledgerBytes: 90 } },
    ['what is in the ledger is found'],
  ],
  [
    'answered already',
    { request: { sentMs: 201, status: 201, answeredMs: 150 } },
    ['what was answered is found'],
  ],
  [
    'not decided',
    { request: { sentMs: 201 }, rows: [{ ...row, status: 'unknown' }] },
    ['every doubt is resolved'],
  ],
])('the judge, %s → reports that violation, and nothing else', (_what, change, expected) => {
  expect(broken(change)).toEqual(expected);
});
