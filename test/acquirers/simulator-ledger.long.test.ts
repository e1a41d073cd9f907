// The simulator's ledger: a file that several processes append to, and that a crash may cut short.
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LedgerEntry, SimulatorLedger } from '../../src/acquirers/simulator/ledger.js';
import { wholeLedger } from '../../testkit/gateway.js';

let directory: string;
let path: string;
let opened: SimulatorLedger[];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tollgate-ledger-'));
  path = join(directory, 'books', 'ledger.ndjson');
  opened = [];
});
afterEach(async () => {
  for (const ledger of opened) ledger.close();
  await rm(directory, { recursive: true, force: true });
});

async function open(): Promise<SimulatorLedger> {
  const ledger = await SimulatorLedger.open(path);
  opened.push(ledger);
  return ledger;
}

function purchase(reference: string): LedgerEntry {
  return { atMs: 1, reference, operation: 'purchase', amountCents: 100, currency: 'AUD', responseCode: '00' };
}

function reversal(reference: string): LedgerEntry {
  return { atMs: 2, reference, operation: 'reversal' };
}

const UNSEEN = { entry: undefined, reversed: false };

test('entry → in the file once it is confirmed, and found by a ledger that is opened later', async () => {
  const ledger = await open();
  expect(await ledger.append(purchase('A'))).toBe(true);
  expect(await readFile(path, 'utf8')).toBe(`${JSON.stringify(purchase('A'))}\n`);
  expect(await (await open()).find('A')).toEqual({ entry: purchase('A'), reversed: false });
});

test('reversal before, after, or at the same moment as the operation → the operation has no effect', async () => {
  const ledger = await open();
  await ledger.append(reversal('before'));
  expect(await ledger.append(purchase('before'))).toBe(false);
  expect(await ledger.append(purchase('after'))).toBe(true);
  await ledger.append(reversal('after'));
  const together = [ledger.append(purchase('together')), ledger.append(reversal('together'))];
  await Promise.all(together);
  for (const reference of ['before', 'after', 'together']) {
    expect((await ledger.find(reference)).reversed).toBe(true);
    expect((await (await open()).find(reference)).reversed).toBe(true);
  }
});

test('two ledgers on one file → each sees the entries of the other, and honours its reversals', async () => {
  const [one, other] = [await open(), await open()];
  await one.append(purchase('A'));
  expect(await other.find('A')).toEqual({ entry: purchase('A'), reversed: false });
  await other.append(reversal('A'));
  expect((await one.find('A')).reversed).toBe(true);
  await other.append(reversal('B'));
  expect(await one.append(purchase('B'))).toBe(false);
});

test('two ledgers on one file, many entries at once → every entry is whole, there once, and known to both', async () => {
  const [one, other] = [await open(), await open()];
  const references = Array.from({ length: 2_000 }, (_, number) => `R-${number}`);
  await Promise.all(
    references.map(async (reference, number) => {
      // Spread over many turns of the event loop, so that the two take turns.
      for (let turn = number % 50; turn > 0; turn -= 1) await new Promise(setImmediate);
      await (number % 2 ? one : other).append(purchase(reference));
    }),
  );
  const written = (await wholeLedger(path)).map(({ reference }) => reference);
  expect(written.sort()).toEqual([...references].sort());
  for (const reference of references) {
    expect((await one.find(reference)).entry).toEqual(purchase(reference));
    expect((await other.find(reference)).entry).toEqual(purchase(reference));
  }
});

test('two ledgers, an operation against its reversal → both agree on the outcome', async () => {
  const [one, other] = [await open(), await open()];
  const references = Array.from({ length: 500 }, (_, number) => `R-${number}`);
  await Promise.all(
    references.flatMap((reference, number) => {
      const [first, second] = number % 2 ? [one, other] : [other, one];
      return [first.append(purchase(reference)), second.append(reversal(reference))];
    }),
  );
  for (const reference of references) {
    expect(await one.find(reference)).toEqual({ entry: purchase(reference), reversed: true });
    expect(await other.find(reference)).toEqual({ entry: purchase(reference), reversed: true });
  }
});

test('more references than it remembers → the forgotten ones are found in the file; reversals and what test cards ask for are never forgotten', async () => {
  await (await open()).append(purchase('first'));
  const lines = Array.from(
    { length: 100_100 },
    (_, number) => `${JSON.stringify(purchase(`N-${number}`))}\n`,
  );
  const early = [
    { ...purchase('tested'), later: { code: '51' } },
    purchase('reversed'),
    reversal('reversed'),
    reversal('reversed and never arrived'),
  ];
  await appendFile(path, [...early.map((entry) => `${JSON.stringify(entry)}\n`), ...lines].join(''));

  for (const ledger of [opened[0] as SimulatorLedger, await open()]) {
    expect(await ledger.find('first')).toEqual({ entry: purchase('first'), reversed: false });
    expect(await ledger.find('N-0')).toEqual({ entry: purchase('N-0'), reversed: false });
    expect(await ledger.find('N-100099')).toEqual({ entry: purchase('N-100099'), reversed: false });
    expect(await ledger.find('reversed')).toEqual({ entry: purchase('reversed'), reversed: true });
    expect([ledger.later('tested'), ledger.later('first')]).toEqual([{ code: '51' }, undefined]);
    expect(await ledger.find('nobody')).toEqual(UNSEEN);
  }
  const [ledger] = opened as [SimulatorLedger];
  expect(await ledger.append(purchase('reversed and never arrived'))).toBe(false);
  await ledger.append(reversal('first'));
  expect(await ledger.find('first')).toEqual({ entry: purchase('first'), reversed: true });
});

test('last line cut short by a crash → ignored, the other entries count, and the next is written whole', async () => {
  await (await open()).append(purchase('A'));
  const torn = JSON.stringify(purchase('B')).slice(0, -20);
  await writeFile(path, `${JSON.stringify(purchase('A'))}\n${torn}`);

  const ledger = await open();
  expect((await ledger.find('A')).entry).toEqual(purchase('A'));
  expect(await ledger.find('B')).toEqual(UNSEEN);
  expect(await ledger.append(purchase('C'))).toBe(true);
  await ledger.append(reversal('B'));
  for (const reader of [ledger, await open()]) {
    expect((await reader.find('C')).entry).toEqual(purchase('C'));
    expect((await reader.find('B')).reversed).toBe(true);
  }
  expect(await wholeLedger(path)).toEqual([purchase('A'), purchase('C'), reversal('B')]);
});

test('closed → refuses late entries and does not write them', async () => {
  const ledger = await SimulatorLedger.open(path);
  await ledger.append(purchase('A'));
  ledger.close();
  // A file that is opened now may get the number that the ledger's file had.
  const other = join(directory, 'other.ndjson');
  opened.push(await SimulatorLedger.open(other));
  await expect(ledger.append(purchase('B'))).rejects.toThrow('closed');
  await expect(ledger.find('A')).rejects.toThrow('closed');
  expect(await readFile(other, 'utf8')).toBe('');
  expect(await wholeLedger(path)).toEqual([purchase('A')]);
});

test('no ledger yet → reading it gives nothing', async () => {
  expect(await wholeLedger(join(directory, 'nowhere.ndjson'))).toEqual([]);
});
