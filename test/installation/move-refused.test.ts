// Moves that stop: what stands in their way, rows that somebody has changed, copies that differ; and what becomes of them.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Client, Json } from '../../testkit/client.js';
import { type TwoCells, twoCells } from '../../testkit/two-cells.js';
import { vaultOf } from '../../testkit/vault-client.js';

const SOON = { timeout: 300_000, interval: 50 };

let cells: TwoCells;
/** A payment that somebody has changed. */
let broken: number;
beforeAll(async () => {
  cells = await twoCells();
});
afterAll(() => cells?.close());

const move = (...words: string[]) =>
  cells.command('one', 'organisation', 'move', '1', '--to', 'two', ...words);
/** Pays one after the other, and returns what was paid. */
async function tradeUntilRefused(api: Client): Promise<number[]> {
  const paid: number[] = [];
  for (;;) {
    const { status, body } = await api.purchase({ amount: 200 });
    if (status !== 201) return paid;
    paid.push(body.audit);
  }
}

/** In words of its own, and with its exit code. */
async function fleetStatus(): Promise<{ code: number | null; moves: Json[]; problems: string[] }> {
  const { code, stdout } = await cells.command('one', 'fleet', 'status', '--json');
  const { cells: all, moves } = JSON.parse(stdout);
  return { code, moves, problems: all.flatMap((cell: Json) => cell.problems) };
}

const residenceIn = async (cell: 'one' | 'two') =>
  (await cells[cell].sql<{ residence: string }>('SELECT residence FROM organisation WHERE id = 1'))[0]
    ?.residence;

// catches(moved: a process that slept while an organisation moved says that nothing was processed)
test('a gateway that does not know yet that an organisation is elsewhere → 503, and nothing is processed', async () => {
  const { one } = cells;
  await one.sql(`CREATE TRIGGER organisation_is_elsewhere BEFORE INSERT ON transaction FOR EACH ROW
    WHEN (NEW.organisation_id = 1) EXECUTE FUNCTION organisation_is_elsewhere()`);
  const [refused, theirs] = await Promise.all([
    one.api.purchase(),
    one.as(one.stranger).purchase({ merchant: 4 }),
  ]);
  expect([refused.status, refused.code, theirs.status]).toEqual([503, 'not_processed', 201]);
  await one.sql('DROP TRIGGER organisation_is_elsewhere ON transaction');
  expect(one.logged()).not.toContain('internal error');
});

test('what stands in the way is named at once, and nothing is begun', async () => {
  const { one, two } = cells;
  await one.sql(
    `INSERT INTO acquirer (name, kind, mode, host, port, dialect) VALUES ('visa', 'iso8583', 'test', '127.0.0.1', 9, 'as87')`,
  );
  await one.sql(`INSERT INTO route (organisation_id, merchant_id, acquirer) VALUES (1, 1, 'visa')`);
  await two.sql(`INSERT INTO organisation (id, name) VALUES (2000000, 'Other')`);
  await two.sql(`INSERT INTO merchant (id, organisation_id, name) VALUES (3, 2000000, 'Other')`);
  const { code, stdout } = await move('--dry-run', '--json');
  expect(code).toBe(1);
  const { obstacles, size } = JSON.parse(stdout);
  expect(obstacles).toEqual([
    'the destination has no link visa',
    'merchant 3 is another organisation’s at the destination',
  ]);
  expect(size).toMatchObject({ merchants: 3, users: 2 });
  const refused = await move();
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('has no link visa; merchant 3'),
  ]);
  expect(await residenceIn('two')).toBeUndefined();
  await one.sql(`DELETE FROM route; DELETE FROM acquirer`);
  await two.sql(`DELETE FROM merchant WHERE id = 3; DELETE FROM organisation WHERE id = 2000000`);
  expect((await move('--dry-run')).stdout).toContain('Nothing stands in its way.');
});

// catches(moving: the settings of a cell lead to that cell)
test('to a cell that is not there, to this one, or without a fleet → refused', async () => {
  expect((await cells.command('one', 'organisation', 'move', '1', '--to', 'three')).stderr).toContain(
    'no cell three',
  );
  expect((await cells.command('one', 'organisation', 'move', '1', '--to', 'one')).stderr).toContain(
    'already',
  );
  expect((await move('--take-back')).stderr).toContain('no move');
  expect((await move('--finish')).stderr).toContain('no move');
  const settings = join(cells.folder, 'two');
  const right = await readFile(settings, 'utf8');
  await writeFile(settings, await readFile(join(cells.folder, 'one'), 'utf8'));
  expect((await move('--dry-run')).stderr).toContain('lead to cell one');
  await writeFile(settings, right);
});

// catches(moving: an operation that was changed does not become one that was asked for)
// catches(moving: a user that was changed does not become genuine)
// catches(moving: a row that was changed does not become genuine)
test('a refund, a user or a merchant that somebody has changed → stops the move before anybody is refused', async () => {
  const { one } = cells;
  const paid = (await one.api.purchase({ amount: 100 })).body.audit;
  const refund = (await one.api.refund(paid, 50)).body.audit;
  const stopsAt = async (what: string, change: string, undo: string) => {
    await one.sql(change);
    const { code, stderr } = await move();
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`${what} of organisation 1 is not as it was sealed`),
    ]);
    await one.sql(undo);
    expect(await residenceIn('one')).toBe('here');
  };
  const of = `WHERE organisation_id = 1 AND audit = ${refund}`;
  await one.sql(`CREATE TABLE kept AS SELECT attestation FROM transaction ${of}`);
  await stopsAt(
    `transaction/${refund}`,
    `UPDATE transaction SET attestation = decode(repeat('00', 16), 'hex') ${of}`,
    `UPDATE transaction SET attestation = (SELECT attestation FROM kept) ${of}`,
  );
  await stopsAt(
    'user/colleague',
    `UPDATE gateway_user SET permissions = '{read}' WHERE username = 'colleague'`,
    `UPDATE gateway_user SET permissions = DEFAULT WHERE username = 'colleague'`,
  );
  await stopsAt(
    'merchant/2',
    `UPDATE merchant SET name = 'Mallory' WHERE id = 2`,
    `UPDATE merchant SET name = 'Ours' WHERE id = 2`,
  );
  expect((await move('--take-back')).stdout).toContain('stays in one');
});

// catches(moving: what is only ever added is added once)
// catches(moving: what has changed since the last pass comes again)
// catches(moving: an outcome that was changed does not become genuine)
// catches(moving: what is broken stops the move)
// catches(moving: the copy of a move that was taken back cannot be opened)
test('an outcome that somebody has changed → stops the move; named, it goes along and stays broken', async () => {
  const { one, two } = cells;
  const changed = (await one.api.purchase({ amount: 100 })).body.audit;
  broken = changed;
  const paid = (await one.api.purchase({ amount: 100 })).body.audit;
  await one.sql(`UPDATE transaction SET authorisation_code = '000000' WHERE audit = $1`, [changed]);
  const stopped = await move();
  expect([stopped.code, stopped.stderr]).toEqual([1, expect.stringContaining(`transaction/${changed} of`)]);
  // It pays on meanwhile.
  expect((await one.api.refund(paid, 50)).status).toBe(201);
  const status = await fleetStatus();
  const copying = { organisation: 1, from: 'one', to: 'two', step: 'copying', worked: false };
  expect(status).toMatchObject({ code: 0, moves: [copying], problems: [] });
  expect(status.moves[0]?.transactions_left).toBeGreaterThan(0);
  expect((await cells.command('one', 'fleet', 'status')).stdout).toMatch(
    /\norganisation 1 moves from one to two since .*: copying, \d+ transactions left to copy, no command works on it\n/,
  );
  expect((await move('--take-back')).stdout).toContain('stays in one');
  expect([await residenceIn('one'), await residenceIn('two')]).toEqual(['here', 'arriving']);
  const [{ left }] = (await two.sql(
    `SELECT count(*)::integer AS left FROM data_key WHERE wrapped <> ''`,
  )) as [{ left: number }];
  expect(left).toBe(0);
  expect((await one.api.purchase()).status).toBe(201);

  // Another move brings up to date what the first has left there.
  const trade = tradeUntilRefused(one.api);
  const moved = await move('--even-broken', `transaction/${changed}`, '--json');
  expect([moved.code, moved.stderr]).toEqual([0, '']);
  const meanwhile = await trade;
  expect(meanwhile.length).toBeGreaterThan(1);
  expect(JSON.parse(moved.stdout).broken).toEqual([`transaction/${changed}`]);
  await vi.waitFor(async () => expect((await two.api.refund(paid, 50)).status).toBe(201), SOON);
  for (const audit of meanwhile) expect((await two.api.refund(audit, 50)).status).toBe(201);
  expect((await two.api.refund(changed, 50)).body.status?.transaction_status_code).not.toBe('approved');
  const verified = JSON.parse((await cells.command('two', 'keys', 'verify', '--json')).stdout);
  expect(verified.problems).toMatchObject([{ where: `transaction ${changed}` }]);
  const back = await cells.command(
    'two',
    'organisation',
    'move',
    '1',
    '--to',
    'one',
    '--even-broken',
    `transaction/${changed}`,
  );
  expect(back.stderr).toBe('');
  await vi.waitFor(async () => expect((await one.api.purchase()).status).toBe(201), SOON);
});

// catches(moving: a copy that differs is not opened)
// catches(schema: a move that was taken back is not opened)
test('a copy that differs → not opened, and neither cell pays until the move is taken back', async () => {
  const { one, two } = cells;
  await vaultOf(one.api).newToken();
  await two.sql(`
    CREATE FUNCTION meddled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.name := 'Mallory'; RETURN NEW; END $$;
    CREATE TRIGGER meddled BEFORE INSERT OR UPDATE ON customer FOR EACH ROW EXECUTE FUNCTION meddled()`);
  const differs = await move('--even-broken', `transaction/${broken}`);
  expect([differs.code, differs.stderr]).toEqual([
    1,
    expect.stringContaining('the copy differs: customer ('),
  ]);
  expect([await residenceIn('one'), await residenceIn('two')]).toEqual(['closed', 'arriving']);
  const refused = await one.api.purchase();
  expect([refused.status, refused.code]).toEqual([503, 'not_processed']);
  expect(await fleetStatus()).toMatchObject({
    code: 1,
    moves: [{ step: 'closed', transactions_left: 0 }],
    problems: [
      'organisation 1 is closed, and no command moves it: run `organisation move 1 --to two` again, or with --take-back',
    ],
  });
  expect((await move('--take-back')).stdout).toContain('stays in one');
  await vi.waitFor(async () => expect((await one.api.purchase()).status).toBe(201), SOON);
  await expect(two.sql(`UPDATE organisation_move SET state = 'open'`)).rejects.toThrow('is not opened');
  await two.sql('DROP TRIGGER meddled ON customer');
  expect((await cells.command('one', 'journal', 'verify')).code).toBe(0);
});

test('figures check where the copy of a move that was taken back is left → leaves it alone', async () => {
  const { two } = cells;
  expect(await residenceIn('two')).toBe('arriving');
  // Only hours that are over are checked.
  await two.sql(`
    BEGIN; SET LOCAL session_replication_role = replica;
    UPDATE transaction SET created_at = created_at - interval '3 hours'; COMMIT`);
  const { code, stdout } = await cells.command('two', 'figures', 'check', '--json');
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { wrong: [] }]);
});

// catches(moving: an entry that Tollgate did not write does not become genuine)
test('an entry of the journal that Tollgate did not write → does not go along', async () => {
  const { one, two } = cells;
  const [{ id }] = (await one.sql(`
    INSERT INTO journal (organisation_id, actor, action, detail) VALUES (1, 'operator:mallory', 'token.deleted', 'none')
    RETURNING id::integer`)) as [{ id: number }];
  const stopped = await move('--even-broken', `transaction/${broken}`);
  expect([stopped.code, stopped.stderr]).toEqual([1, expect.stringContaining(`journal/${id} of`)]);
  const moved = await move(
    '--even-broken',
    `transaction/${broken}`,
    '--even-broken',
    `journal/${id}`,
    '--json',
  );
  expect([moved.code, moved.stderr]).toEqual([0, '']);
  expect(await two.sql(`SELECT FROM journal WHERE actor = 'operator:mallory'`)).toHaveLength(0);
  expect((await cells.command('two', 'journal', 'verify')).code).toBe(0);
});

// catches(fleet: an organisation that is paid for in two cells is named)
test('fleet status: an organisation that two cells pay for, or none → named, with exit code 1', async () => {
  const { one, two } = cells;
  const status = await fleetStatus();
  expect(status).toMatchObject({ code: 0, moves: [], problems: [] });
  // As a backup of the first cell from before the move has it.
  await one.sqlSealed(
    `UPDATE organisation SET residence = 'here', moved_to = NULL, moved_to_address = NULL WHERE id = 1`,
  );
  const twice = (other: string) =>
    `organisation 1 is paid for here and in ${other}: one of them was restored from a backup of before its move`;
  expect(await fleetStatus()).toMatchObject({ code: 1, problems: [twice('two'), twice('one')] });
  await one.sqlSealed(
    `UPDATE organisation SET residence = 'moved', moved_to = 'two', moved_to_address = 'https://two.pay.example' WHERE id = 1`,
  );
  const away = `UPDATE organisation SET residence = $1, moved_to = $2, moved_to_address = $3 WHERE id = 1`;
  await two.sqlSealed(away, ['moved', 'three', 'https://three.pay.example']);
  const nowhere = 'organisation 1 has moved, and no cell pays for it';
  expect(await fleetStatus()).toMatchObject({ code: 1, problems: [nowhere, nowhere] });
  await two.sqlSealed(away, ['here', null, null]);
});
