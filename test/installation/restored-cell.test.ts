// A cell that is restored from a backup of before a move: the organisation that it has again is paid for in another cell.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { paidElsewhere } from '../../src/gateway/fleet/paid-elsewhere.js';
import { guardRestored } from '../../src/installation/restored.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import type { Json } from '../../testkit/client.js';
import { type TwoCells, twoCells } from '../../testkit/two-cells.js';

const SOON = { timeout: 300_000, interval: 50 };

let cells: TwoCells;
let move: string;
const command = (cell: 'one' | 'two', ...words: string[]) => cells.command(cell, ...words);
const inFirst = async () =>
  (await cells.one.sql<{ residence: string }>('SELECT residence FROM organisation WHERE id = 1'))[0]
    ?.residence;

/** What a restore of the first cell does before a gateway is started on it. */
async function guarded(): Promise<Json> {
  const database = operatorsDatabase(cells.one, 2);
  try {
    const elsewhere = await paidElsewhere(database, { fleet: { path: join(cells.folder, 'fleet.json') } });
    const restored = { takenMs: Date.now(), times: 1, isAlone: true, elsewhere };
    return await guardRestored(database, 'operator:test', restored);
  } finally {
    await database.close();
  }
}

beforeAll(async () => {
  cells = await twoCells();
  const { one } = cells;
  await one.api.purchase();
  const moved = await command('one', 'organisation', 'move', '1', '--to', 'two', '--json');
  if (moved.code !== 0) throw new Error(moved.stderr);
  move = JSON.parse(moved.stdout).move;
  // As the backup has it, which knows of an earlier attempt.
  await one.sqlSealed(
    `UPDATE organisation SET residence = 'here', moved_to = NULL, moved_to_address = NULL WHERE id = 1`,
  );
  await one.sql(`DELETE FROM organisation_move; INSERT INTO organisation_move (id, organisation_id, cell, arrives, begun_by)
    VALUES (gen_random_uuid(), 1, 'two', false, 'operator:test')`);
  await one.sql(`SELECT fence_organisations(ARRAY['transaction'])`);
});
afterAll(() => cells?.close());

// catches(moved: a restored cell asks every other cell)
test('another cell cannot be asked → refused, and nothing is changed', async () => {
  const settings = join(cells.folder, 'two');
  const right = await readFile(settings, 'utf8');
  await writeFile(settings, right.replace(/@[^/]+\//, '@127.0.0.1:9/'));
  await expect(guarded()).rejects.toThrow('cell two: its database cannot be reached');
  await writeFile(settings, right);
  expect(await inFirst()).toBe('here');
  const lost = `SELECT FROM gateway WHERE lost_from IS NOT NULL`;
  expect(await cells.one.sql(lost)).toHaveLength(0);
});

// catches(moved: a restored cell pays for nobody whom another cell pays for)
test('the other cell pays for it → it has moved here, too, and others go on', async () => {
  const { one, two } = cells;
  expect(await guarded()).toMatchObject({ left: [{ organisation: 1, cell: 'two' }] });
  expect(await inFirst()).toBe('moved');
  await vi.waitFor(async () => {
    const { status, body } = await one.api.purchase();
    expect([status, body._links?.base?.href]).toEqual([421, 'https://two.pay.example/']);
  }, SOON);
  await expect(
    one.sqlAs(
      'tollgate_application',
      `INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, transaction_type, currency,
        correlation_id, reference, acquirer) VALUES (1, 999, now(), 1, 1, 'purchase', 'AUD', 'late', 'late', 'simulator')`,
    ),
  ).rejects.toThrow('not in this cell');
  await vi.waitFor(
    async () => expect((await one.as(one.stranger).purchase({ merchant: 4 })).status).toBe(201),
    SOON,
  );
  expect((await two.api.purchase()).status).toBe(201);
});

test('afterwards all is as after a move: both journals are whole, and it can be finished', async () => {
  const status = JSON.parse((await command('one', 'fleet', 'status', '--json')).stdout);
  expect(status).toMatchObject({ moves: [], cells: [{ problems: [] }, { problems: [] }] });
  const verified = await command('one', 'journal', 'verify', '--json');
  expect(JSON.parse(verified.stdout)).toMatchObject({ problems: [] });
  const finished = await command('one', 'organisation', 'move', '1', '--to', 'two', '--finish', '--json');
  expect([finished.code, finished.stderr]).toEqual([0, '']);
  expect(JSON.parse(finished.stdout)).toMatchObject({ move, outcome: 'finished' });
});
