// The journal held against its chain: only the end of it, and while others write.
import { beforeEach, describe, expect, test } from 'vitest';
import { BLOCKS_BY_NUMBER, ENTRIES_AFTER } from '../../src/journal/chain.sql.js';
import { journal } from '../../src/journal/journal.js';
import { verifyEndOfJournal, verifyJournal } from '../../src/journal/journal-tasks.js';
import type { Queryable, Statement } from '../../src/postgres/database.js';
import { ChainedJournal } from './chained-journal.js';

let own: ChainedJournal;
beforeEach(async () => {
  own = await ChainedJournal.open();
});

/** The database, asked in this way. */
function askedBy(query: (statement: Statement, values?: unknown[]) => Promise<unknown>): Queryable {
  const { database } = own;
  return {
    origin: database.origin,
    transaction: database.transaction.bind(database),
    query,
  } as Queryable;
}

describe('the last entries only', () => {
  const last = (entries: number) => verifyEndOfJournal(own.database, own.key, entries);

  test('→ as many whole blocks as contain them, and the entries not chained yet', async () => {
    await own.filled(11);
    expect(await last(4)).toMatchObject({ blocks: 2, entries: 5 + 3, unchained: 2, problems: [] });
    expect(await last(3)).toMatchObject({ blocks: 1, entries: 5, problems: [] });
    expect(await last(100)).toMatchObject({ blocks: 3, entries: 11, problems: [] });
  });

  test('one that was changed, removed or inserted → found; one before them → not checked', async () => {
    await own.filled(11);
    await own.intruder.query(`UPDATE journal SET actor = 'operator:another' WHERE id IN (2, 8)`);
    await own.intruder.query('DELETE FROM journal WHERE id IN (3, 9)');
    await own.intruder.query(`INSERT INTO journal (actor, action) VALUES ('operator:test', 'clock.reset')`);
    const found = (await last(3)).problems;
    expect(found).toEqual([
      { entry: 8, problem: 'changed' },
      { entry: 12, problem: 'inserted: Tollgate did not write it' },
      { entry: 9, problem: 'removed' },
    ]);
    await own.intruder.query('UPDATE journal_block SET made_ms = 1 WHERE number = 3');
    expect((await last(3)).problems).toContainEqual({
      block: 3,
      problem: 'changed: it does not match its hash',
    });
  });

  test('one that was committed late, into a block of later ones → counted, and nothing looks inserted', async () => {
    const chain = own.chain();
    await own.database.transaction(async (late) => {
      await journal(late, { actor: 'operator:test', action: 'clock.advanced', detail: 'late' });
      for (let count = 0; count < 6; count += 1) {
        await own.write(`early ${count}`);
        await chain.run();
      }
    });
    await own.write('afterwards');
    await chain.run();
    for (let entries = 1; entries <= 8; entries += 1)
      expect(await last(entries)).toMatchObject({ unchained: 0, problems: [] });
  });
});

test('verified while others write, commit late and chain → none of their entries looks inserted or removed', async () => {
  await own.filled(9);
  // Between the pages of the journal and the blocks that are read for them, and between the bounds and the pages.
  const busy = own.anotherWriter('there');
  const chain = own.chain(busy);
  let seen = 0;
  const meanwhile = askedBy(async (statement, values) => {
    const found = await own.database.query(statement, values);
    seen += 1;
    // One that is committed after one with a higher number, and both of them in a block before the next statement.
    await busy.transaction(async (late) => {
      await journal(late, { actor: 'operator:test', action: 'clock.advanced', detail: 'late' });
      await journal(busy, { actor: 'operator:test', action: 'clock.advanced', detail: 'early' });
      if (seen % 2 === 0) await chain.run();
    });
    await chain.run();
    await journal(busy, { actor: 'operator:test', action: 'clock.advanced', detail: 'not taken up yet' });
    return found;
  });
  const found = await verifyJournal(meanwhile, own.key);
  expect(found).toMatchObject({ problems: [] });
  expect([seen > 5, found.entries > 9]).toEqual([true, true]);
  expect((await verifyJournal(own.database, own.key)).problems).toEqual([]);
});

test.each([
  ['between the blocks and the entries', ENTRIES_AFTER, 1],
  ['after the entries', BLOCKS_BY_NUMBER, 2],
  // catches(journal: blocks that are made while it is looked at are looked at, too)
])('a forged entry, chained %s → found, once', async (_, { name }, time) => {
  const chain = await own.filled(6);
  await own.intruder.query(`INSERT INTO journal (actor, action) VALUES ('operator:test', 'clock.reset')`);
  let times = 0;
  const meanwhile = askedBy(async (statement, values) => {
    if (statement.name === name) times += 1;
    if (times === time) await chain.run();
    return own.database.query(statement, values);
  });
  expect((await verifyJournal(meanwhile, own.key)).problems).toEqual([
    { entry: 7, problem: 'inserted: Tollgate did not write it' },
  ]);
  expect([times >= time, own.foreign]).toEqual([true, [7]]);
});
