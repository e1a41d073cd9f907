// The journal held against its chain: only the end of it, and while others write.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { verifyEndOfJournal, verifyJournal } from '../../src/admin/journal.js';
import { ChainKey } from '../../src/journal/blocks.js';
import { JournalChain } from '../../src/journal/chain.js';
import { journal } from '../../src/journal/journal.js';
import { givePen, JournalPen } from '../../src/journal/pen.js';
import { Database, type Queryable, type Statement } from '../../src/postgres/database.js';
import { testDatabase } from '../../testkit/gateway.js';

let database: Database;
/** Whoever writes to the database: may do what triggers forbid. */
let intruder: pg.Client;
const key = randomBytes(32);

function newChain(): JournalChain {
  return new JournalChain(database, new ChainKey(key), {
    onForeign: () => {},
    onCut: () => {},
  });
}

beforeEach(async () => {
  const own = await testDatabase();
  database = new Database(own.url, { maxConnections: 3 });
  givePen(database, new JournalPen(key, 'here'));
  intruder = new pg.Client(own.url);
  await intruder.connect();
  await intruder.query('SET session_replication_role = replica');
  onTestFinished(async () => {
    await intruder.end();
    await database.close();
    await own.drop();
  });
});

const write = (detail: string) =>
  journal(database, { actor: 'operator:test', action: 'clock.advanced', detail });

/** So many entries, in blocks of three. Their numbers begin at 1. */
async function filled(count: number, chain = newChain()): Promise<JournalChain> {
  for (let id = 1; id <= count; id += 1) {
    await write(`number ${id}`);
    if (id % 3 === 0) await chain.run();
  }
  return chain;
}

describe('only the last entries', () => {
  const last = (entries: number) => verifyEndOfJournal(database, key, entries);

  test('→ as many whole blocks as have them, and what is in none yet', async () => {
    await filled(11);
    expect(await last(4)).toMatchObject({ blocks: 2, entries: 5 + 3, unchained: 2, problems: [] });
    expect(await last(3)).toMatchObject({ blocks: 1, entries: 5, problems: [] });
    expect(await last(100)).toMatchObject({ blocks: 3, entries: 11, problems: [] });
  });

  test('one that was changed, removed or inserted → found; one before them → not looked at', async () => {
    await filled(11);
    await intruder.query(`UPDATE journal SET actor = 'operator:another' WHERE id IN (2, 8)`);
    await intruder.query('DELETE FROM journal WHERE id IN (3, 9)');
    await intruder.query(`INSERT INTO journal (actor, action) VALUES ('operator:test', 'clock.reset')`);
    const found = (await last(3)).problems;
    expect(found).toEqual([
      { entry: 8, problem: 'changed' },
      { entry: 12, problem: 'inserted: nobody of ours wrote it' },
      { entry: 9, problem: 'removed' },
    ]);
    await intruder.query('UPDATE journal_block SET made_ms = 1 WHERE number = 3');
    expect((await last(3)).problems).toContainEqual({
      block: 3,
      problem: 'changed: it is not what was bound',
    });
  });

  test('one that was committed late, into a block of later ones → is not missed, and nothing looks inserted', async () => {
    const chain = newChain();
    await database.transaction(async (late) => {
      await journal(late, { actor: 'operator:test', action: 'clock.advanced', detail: 'late' });
      for (let count = 0; count < 6; count += 1) {
        await write(`early ${count}`);
        await chain.run();
      }
    });
    await write('afterwards');
    await chain.run();
    for (let entries = 1; entries <= 8; entries += 1)
      expect(await last(entries)).toMatchObject({ unchained: 0, problems: [] });
  });
});

test('held against its chain while others write, commit late and chain → nothing of theirs looks inserted or removed', async () => {
  await filled(9);
  // Between the pages of the journal and the blocks that are read for them, and between the bounds and the pages.
  const busy = new Database(database.url, { maxConnections: 3 });
  givePen(busy, new JournalPen(key, 'there'));
  onTestFinished(() => busy.close());
  const chain = new JournalChain(busy, new ChainKey(key), { onForeign: () => {}, onCut: () => {} });
  let seen = 0;
  const meanwhile = {
    origin: database.origin,
    transaction: database.transaction.bind(database),
    query: async (statement: Statement, values?: readonly unknown[]) => {
      const found = await database.query(statement, values as unknown[]);
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
    },
  } as Queryable;
  const found = await verifyJournal(meanwhile, key);
  expect(found).toMatchObject({ problems: [] });
  expect([seen > 5, found.entries > 9]).toEqual([true, true]);
  expect((await verifyJournal(database, key)).problems).toEqual([]);
});
