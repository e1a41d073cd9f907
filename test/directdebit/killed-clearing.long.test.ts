// Gateways that run the simulated bank, killed with `kill -9` while they file, lodge, return and clear, and two of them at
// once: every direct debit ends once, and the bank's books agree with the gateway's.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BATCH } from '../../src/directdebit/clearing.js';
import { PAGE } from '../../src/directdebit/files/files.js';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import { type Installation, type InstalledGateway, installation } from '../../testkit/cloned-installation.js';
import { type Gates, gatesOf } from '../../testkit/gates.js';
import { eventually } from '../../testkit/gateway-process.js';
import * as many from '../../testkit/many-items.js';

// Many processes, one after the other, on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const ITEMS = 800;

let place: Installation;
let gates: Gates;
let home: many.Home;
let serial = 0;

const startGateway = (): Promise<InstalledGateway> => place.start({ DATA_DIR: home.dataDir });

beforeEach(async () => {
  place = await installation();
  gates = await gatesOf(place.databaseUrl);
  home = { databaseUrl: place.databaseUrl, dataDir: place.dataDir };
});
afterEach(() => gates.close());

/** Every fourth is going to come back, with a code of its own. */
function returning(serial: number): Partial<many.MadeItem> {
  return serial % 4 === 0 ? { accountNumber: `90000${1 + ((serial / 4) % 9)}` } : {};
}

/** As a person would expect it from the account number. */
function expectedOf(item: many.MadeItem): { audit: number; status: string; code: string } {
  const [, code] = /^90000(.)$/.exec(item.accountNumber) ?? [];
  return { audit: item.audit, status: code === undefined ? 'approved' : 'declined', code: code ?? '00' };
}

async function moreItems({ api }: InstalledGateway): Promise<many.MadeItem[]> {
  const items = await many.waitingItems(home, api, { count: ITEMS, from: serial, change: returning });
  serial += ITEMS;
  return items;
}

async function advanceDays(days: number): Promise<void> {
  await place.sql(`UPDATE gateway SET advanced_ms = advanced_ms + ${days * 86_400_000}`);
}

async function expectAllEnded(items: readonly many.MadeItem[]): Promise<void> {
  await eventually(async () => {
    const pending = await place.sql(`SELECT FROM transaction WHERE status = 'pending' LIMIT 1`);
    return pending.length === 0 ? true : undefined;
  });
  const audits = items.map(({ audit }) => audit);
  const ended = await place.sql(
    `SELECT audit, status, response_code AS code FROM transaction WHERE audit IN (${audits}) ORDER BY audit`,
  );
  expect(ended).toEqual(items.map(expectedOf).sort((one, other) => one.audit - other.audit));
  await expectBooksToAgree(place);
  const reversals = (await place.ledger()).filter(({ operation }) => operation === 'reversal');
  expect(new Set(reversals.map(({ reference }) => reference)).size).toBe(reversals.length);
}

test('killed at every step → the rest is done after the next start, and everything once', async () => {
  const first = await startGateway();
  const items = await moreItems(first);
  await first.crash();
  await advanceDays(10);
  const done = async () => [
    (await place.sql('SELECT number FROM directdebit_file')).length,
    (await place.sql('SELECT FROM directdebit_file WHERE taken_at IS NOT NULL')).length,
    new Set((await place.ledger()).map(({ reference }) => reference)).size,
    (await place.sql(`SELECT FROM transaction WHERE status = 'declined'`)).length,
    (await place.sql(`SELECT FROM transaction WHERE status = 'approved'`)).length,
  ];
  const returned = items.filter((item) => expectedOf(item).status === 'declined').length;

  // Files made, files taken, references in the bank's books, items returned, items cleared.
  for (const [gate, passes, ...expected] of [
    ['making a file', 0, 0, 0, 0, 0, 0],
    ['changing transactions', 0, 0, 0, 0, 0, 0],
    ['changing items', 1, 1, 0, PAGE, 0, 0],
    ['marking a file', 0, 1, 0, ITEMS, 0, 0],
    ['changing transactions', 0, 1, 1, ITEMS, 0, 0],
    ['changing items', 1, 1, 1, ITEMS, returned, 0],
    ['changing items', 1, 1, 1, ITEMS, returned, BATCH],
  ] as const) {
    await gates.killAt(gate, startGateway, { passes });
    expect(await done()).toEqual(expected);
  }
  const last = await startGateway();
  await expectAllEnded(items);
  await last.stop();
});

test('two gateways at once → everything once', async () => {
  const both = await Promise.all([startGateway(), startGateway()]);
  const earlier = await moreItems(both[0]);
  await advanceDays(10);
  await expectAllEnded(earlier);
  const refundable = earlier.filter(
    (item) => expectedOf(item).status === 'approved' && item.type === 'purchase',
  );
  for (const { audit, amountCents } of refundable.slice(0, 5)) {
    expect((await both[1].api.refund(audit, amountCents)).status).toBe(201);
  }
  const later = await moreItems(both[1]);
  await advanceDays(10);
  await expectAllEnded([...earlier, ...later]);
  await Promise.all(both.map((gateway) => gateway.stop()));
});
