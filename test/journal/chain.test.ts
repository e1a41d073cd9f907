// The chain of the journal: finds entries that were changed, removed or inserted, even if processes die.
import { beforeEach, describe, expect, test } from 'vitest';
import type { JournalProblem } from '../../src/journal/checkpoints.js';
import { journal } from '../../src/journal/journal.js';
import { verifyJournal } from '../../src/journal/journal-tasks.js';
import { Database } from '../../src/postgres/database.js';
import { ChainedJournal } from './chained-journal.js';

let own: ChainedJournal;
beforeEach(async () => {
  own = await ChainedJournal.open();
});

const verify = (known?: { number: number; hash: string }) =>
  verifyJournal(own.database, own.key, known && [known]);
const problems = async (known?: { number: number; hash: string }): Promise<readonly JournalProblem[]> =>
  (await verify(known)).problems;

test('entries in blocks, and some not chained yet → valid', async () => {
  await own.filled(8);
  expect(await verify()).toEqual({
    blocks: 2,
    entries: 8,
    unchained: 2,
    problems: [],
    problemCount: 0,
  });
});

describe('an intruder who writes to the database', () => {
  test.each([
    `detail = 'nothing of the kind'`,
    `at = at - interval '1 microsecond'`,
    `actor = 'operator:another'`,
    `action = 'clock.reset'`,
    `organisation_id = 1`,
    `merchant_id = 1`,
    `audit = 1`,
    `correlation_id = ''`,
    'address = NULL',
    'mark = NULL',
    // catches(journal: all that an entry says is bound)
    // catches(journal: an entry that was changed is found by its tag)
  ])('changes an entry: %s → found, with its number', async (change) => {
    await own.filled(7);
    await own.intruder.query(`UPDATE journal SET ${change} WHERE id = 5`);
    expect(await problems()).toEqual([{ entry: 5, problem: 'changed' }]);
  });

  test.each([
    `actor = 'operator:another'`,
    `action = 'clock.reset'`,
    `detail = 'nothing of the kind'`,
    'organisation_id = 1',
    'customer_id = 1',
    'token_id = 1',
    'audit = 1',
    `correlation_id = ''`,
    'address = NULL',
    // catches(journal: the mark of an entry is for what it says)
  ])('changes an entry that is not chained yet: %s → found by its MAC', async (change) => {
    await own.filled(7);
    await own.intruder.query(`UPDATE journal SET ${change} WHERE id = 7`);
    expect(await problems()).toEqual([{ entry: 7, problem: 'inserted or changed: its MAC is wrong' }]);
  });

  // catches(journal: an entry that was removed is found)
  test('removes entries → found, each by its number', async () => {
    await own.filled(9);
    await own.intruder.query('DELETE FROM journal WHERE id IN (1, 5, 9)');
    expect(await problems()).toEqual([1, 5, 9].map((entry) => ({ entry, problem: 'removed' })));
  });

  // catches(journal: a process says that entries are not ours)
  // catches(journal: a copy of an entry is found)
  // catches(journal: an entry with another’s mark is found)
  test('inserts entries: with another’s MAC, with zeros, without one → found, before and after they are chained', async () => {
    const chain = await own.filled(3);
    const insert = (mark: string) =>
      own.intruder.query(
        `INSERT INTO journal (actor, action, detail, address, mark)
         SELECT actor, action, detail, address, ${mark} FROM journal WHERE id = 2`,
      );
    await insert('mark');
    await insert(`decode(repeat('00', 28), 'hex')`);
    await insert('NULL');
    const expected = [
      { entry: 4, problem: 'inserted: a copy of another entry' },
      { entry: 5, problem: 'inserted or changed: its MAC is wrong' },
      { entry: 6, problem: 'inserted: Tollgate did not write it' },
    ];
    const sorted = async () =>
      [...(await problems())].sort((one, other) => (one.entry ?? 0) - (other.entry ?? 0));
    expect(await sorted()).toEqual(expected);
    await chain.run();
    expect(await sorted()).toEqual(expected);
    expect(own.foreign).toEqual([6]);
  });

  // catches(journal: many problems of one kind hide none of another)
  test('inserts hundreds of one kind, and a copy of an entry → the copy is named all the same', async () => {
    await own.filled(3);
    const copying = (mark: string, times: number) =>
      own.intruder.query(
        `INSERT INTO journal (actor, action, detail, address, mark)
         SELECT actor, action, detail, address, ${mark} FROM journal, generate_series(1, ${times}) WHERE id = 2`,
      );
    await copying('NULL', 150);
    await copying('mark', 1);
    const found = await verify();
    expect(found.problemCount).toBe(151);
    expect(found.problems).toHaveLength(101);
    expect(found.problems).toContainEqual({ entry: 154, problem: 'inserted: a copy of another entry' });
  });

  // catches(journal: an entry in no block is found)
  // catches(journal: an id that was never handed out does not carry the chain away)
  test('inserts one under a number that is free, or far ahead → found, and the chain goes on', async () => {
    const chain = await own.filled(3);
    await own.intruder.query(`SELECT nextval('journal_id_seq')`);
    await own.write('number 5');
    await chain.run();
    await own.intruder.query(
      `UPDATE journal_gap SET noticed_at = now() - interval '2 hours', noticed_before = '3'`,
    );
    await own.write('number 6');
    await chain.run();
    for (const id of [4, 9_000_000_000_000])
      await own.intruder.query(
        `INSERT INTO journal (id, actor, action) OVERRIDING SYSTEM VALUE VALUES ($1, 'user:owner', 'token.opened')`,
        [id],
      );
    await own.write('number 7');
    await chain.run();
    expect(await verify()).toMatchObject({
      entries: 8,
      unchained: 0,
      problems: [
        { entry: 4, problem: 'inserted: it is in no block' },
        { entry: 9_000_000_000_000, problem: 'inserted: it is in no block' },
      ],
    });
  });

  // catches(journal: a block that was changed is found)
  test('removes, changes or makes blocks → found', async () => {
    await own.filled(9);
    await own.intruder.query(`UPDATE journal_block SET made_ms = made_ms + 1 WHERE number = 2`);
    expect(await problems()).toEqual([{ block: 2, problem: 'changed: it does not match its hash' }]);
    await own.intruder.query(`DELETE FROM journal_block WHERE number = 2`);
    expect(await problems()).toEqual([
      { block: 2, problem: 'removed: blocks 2 to 2 are not there' },
      ...[4, 5, 6].map((entry) => ({ entry, problem: 'inserted: it is in no block' })),
    ]);
    await own.intruder.query(
      `INSERT INTO journal_block SELECT 2, made_ms, '{4,6}', 4, 6, tags, foreign_ids, hash FROM journal_block WHERE number = 1`,
    );
    expect(await problems()).toEqual([
      ...[2, 3].map((block) => ({ block, problem: 'changed: it does not match its hash' })),
      ...[4, 5, 6].map((entry) => ({ entry, problem: 'changed' })),
    ]);
  });

  // catches(journal: a process says that the chain was cut)
  // catches(journal: a chain that ends before a checkpoint is found)
  test('removes the end, blocks and entries → a process that knows it reports it, and a checkpoint finds it', async () => {
    const chain = await own.filled(6);
    const { rows } = await own.intruder.query('SELECT number, hash FROM journal_block WHERE number = 2');
    const known = { number: 2, hash: rows[0].hash.toString('hex') };
    expect(await problems(known)).toEqual([]);
    await own.intruder.query('DELETE FROM journal WHERE id > 3; DELETE FROM journal_block WHERE number = 2');
    await own.intruder.query('UPDATE journal_chain SET chained_up_to = 3');
    expect(await problems()).toEqual([]);
    expect(await problems(known)).toEqual([
      { block: 2, problem: 'removed: the checkpoint knows it, and the chain ends before it' },
    ]);
    await own.write('afterwards');
    await chain.run();
    expect(own.cuts).toEqual([{ number: 2, failover: false }]);
    expect(await problems(known)).toEqual([{ block: 2, problem: 'changed: the checkpoint knows another' }]);
  });
});

describe('entries committed late', () => {
  // catches(journal: entries that are committed late are taken up later)
  test('→ are chained in a later block, and nothing looks like a gap', async () => {
    const chain = own.chain();
    await own.database.transaction(async (late) => {
      await journal(late, { actor: 'operator:test', action: 'clock.advanced', detail: 'late' });
      await own.write('early');
      await own.write('early, too');
      await chain.run();
      expect(await verify()).toMatchObject({ blocks: 1, entries: 2, problems: [] });
      const { rows } = await own.intruder.query(
        'SELECT first_id::int AS first, last_id::int AS last FROM journal_gap',
      );
      expect(rows).toEqual([{ first: 1, last: 1 }]);
    });
    await chain.run();
    expect(await verify()).toMatchObject({ blocks: 2, entries: 3, unchained: 0, problems: [] });
    expect((await own.intruder.query('SELECT FROM journal_gap')).rowCount).toBe(0);
  });

  test('numbers of rolled-back entries → not reported, and dropped once they can no longer appear', async () => {
    const chain = own.chain();
    const undone = own.database.transaction(async (connection) => {
      for (let count = 0; count < 3; count += 1)
        await journal(connection, { actor: 'operator:test', action: 'clock.advanced' });
      throw new Error('taken back');
    });
    await expect(undone).rejects.toThrow('taken back');
    await own.write('number 4');
    await chain.run();
    await own.intruder.query(
      `UPDATE journal_gap SET noticed_at = now() - interval '2 hours', noticed_before = '3'`,
    );
    await own.write('number 5');
    await chain.run();
    expect((await own.intruder.query('SELECT FROM journal_gap')).rowCount).toBe(0);
    expect(await verify()).toMatchObject({ blocks: 2, entries: 2, unchained: 0, problems: [] });
  });
});

// catches(journal: one process at a time makes a block) slow
test('several processes at once, under continuous writes → one chain, and all of it valid', async () => {
  const chains = [own.chain(), own.chain(), own.chain()];
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let count = 0; count < 40; count += 1) await own.write(`of writer ${writer}: ${count}`);
  });
  let writing = true;
  const chaining = chains.map(async (chain) => {
    while (writing) await chain.run();
    await chain.run();
  });
  await Promise.all(writers);
  writing = false;
  await Promise.all(chaining);
  await own.chain().run();
  expect(await verify()).toMatchObject({ entries: 160, unchained: 0, problems: [] });
});

test('chaining that is killed between its block and its commit → as if it had not begun', async () => {
  await own.filled(3);
  await own.write('number 4');
  const session = new Database(own.database.url, { maxConnections: 1 });
  const ended = own.chain(session);
  await own.intruder.query(`
    CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;
    CREATE TRIGGER die AFTER INSERT ON journal_block FOR EACH ROW EXECUTE FUNCTION die()`);
  await expect(ended.run()).rejects.toThrow();
  await own.intruder.query('DROP TRIGGER die ON journal_block');
  expect(await verify()).toMatchObject({ blocks: 1, unchained: 1, problems: [] });
  await own.chain().run();
  expect(await verify()).toMatchObject({ blocks: 2, unchained: 0, problems: [] });
  await session.close();
});

// catches(journal: a block counts as known once its commit is confirmed)
test('a commit that fails → its block is not remembered, and no missing end is reported', async () => {
  const chain = await own.filled(4);
  await own.intruder.query(`
    CREATE FUNCTION refuse_block() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no block'; END $$;
    CREATE CONSTRAINT TRIGGER refused AFTER INSERT ON journal_block DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION refuse_block()`);
  await expect(chain.run()).rejects.toThrow('no block');
  await own.intruder.query('DROP TRIGGER refused ON journal_block');
  await own.write('meanwhile');
  await chain.run();
  expect(await verify()).toMatchObject({ blocks: 2, entries: 5, unchained: 0, problems: [] });
  expect(own.cuts).toEqual([]);
});
