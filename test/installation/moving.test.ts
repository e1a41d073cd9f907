// An organisation that moves to another cell, and goes on there with everything that it had.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TwoCells, twoCells } from '../../testkit/two-cells.js';

let cells: TwoCells;
beforeAll(async () => {
  cells = await twoCells();
});
afterAll(() => cells.close());

test('move → pays on there, with everything that it had', async () => {
  const { one, two } = cells;
  const paid = (await one.api.purchase()).body.audit;
  const moved = await cells.command('one', 'organisation', 'move', '1', '--to', 'two', '--json');
  expect([moved.code, moved.stderr]).toEqual([0, '']);
  console.log(moved.stdout);
  expect((await two.api.refund(paid, 100)).status).toBe(201);
});
