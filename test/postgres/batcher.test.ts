// The batcher: how batches are filled, and what becomes of the entries of one that fails.
import { describe, expect, test } from 'vitest';
import { Batcher } from '../../src/postgres/batches.js';
import { DatabaseUnavailable } from '../../src/postgres/database.js';
import { UnresponsiveServer } from '../../src/postgres/session.js';

interface Entry {
  readonly organisationId: number;
  readonly name: string;
}

/** Batches that wait until they are let go, one after the other. */
function heldBatches(maxBatch: number, exclusiveKey?: (entry: Entry) => string) {
  const batches: string[][] = [];
  const waiting: (() => void)[] = [];
  const batcher = new Batcher<Entry, string>(
    async (entries) => {
      batches.push(entries.map(({ name }) => name));
      await new Promise<void>((resolve) => waiting.push(resolve));
      return entries.map(({ name }) => name);
    },
    { maxBatch, lanes: 1, ...(exclusiveKey && { exclusiveKey }) },
  );
  const letGo = async () => {
    await expect.poll(() => waiting.length).toBe(1);
    waiting.shift()?.();
  };
  return { batcher, batches, letGo };
}

function entries(organisationId: number, letter: string, count: number): Entry[] {
  return Array.from({ length: count }, (_, at) => ({ organisationId, name: `${letter}${at + 1}` }));
}

describe('batches are filled in turn over organisations', () => {
  test('one organisation with many entries, another that comes later with few → the few are in the next batch', async () => {
    const { batcher, batches, letGo } = heldBatches(4);
    const all = [...entries(1, 'a', 12), ...entries(2, 'b', 2)].map((entry) => batcher.submit(entry));
    for (let batch = 1; batch <= 4; batch += 1) await letGo();
    const names = [...entries(1, 'a', 12), ...entries(2, 'b', 2)].map(({ name }) => name);
    expect(await Promise.all(all)).toEqual(names);
    expect(batches).toEqual([
      ['a1', 'a2', 'b1', 'b2'],
      ['a3', 'a4', 'a5', 'a6'],
      ['a7', 'a8', 'a9', 'a10'],
      ['a11', 'a12'],
    ]);
  });

  test('more organisations than a batch has room for → those left out are first in the next', async () => {
    const { batcher, batches, letGo } = heldBatches(2);
    const all = [1, 2, 3].flatMap((organisationId) =>
      entries(organisationId, 'abc'[organisationId - 1] ?? '', 2),
    );
    const done = all.map((entry) => batcher.submit(entry));
    for (let batch = 1; batch <= 3; batch += 1) await letGo();
    await Promise.all(done);
    expect(batches).toEqual([
      ['a1', 'b1'],
      ['c1', 'a2'],
      ['b2', 'c2'],
    ]);
  });

  test('entries with one key → never in one batch, and in order', async () => {
    const { batcher, batches, letGo } = heldBatches(4, ({ name }) => name.slice(0, 1));
    const all = [...entries(1, 'a', 2), ...entries(1, 'b', 1), ...entries(2, 'c', 2)];
    const done = all.map((entry) => batcher.submit(entry));
    for (let batch = 1; batch <= 2; batch += 1) await letGo();
    await Promise.all(done);
    expect(batches).toEqual([
      ['a1', 'b1', 'c1'],
      ['a2', 'c2'],
    ]);
  });
});

describe('a batch that fails', () => {
  /** Fails whenever one of these is in the batch. */
  function failing(bad: readonly string[], error: (batch: number) => Error | undefined) {
    const sizes: number[] = [];
    const batcher = new Batcher<Entry, string>(
      async (batch) => {
        sizes.push(batch.length);
        const failure = batch.some(({ name }) => bad.includes(name)) ? error(sizes.length) : undefined;
        if (failure !== undefined) throw failure;
        return batch.map(({ name }) => name);
      },
      { maxBatch: 64, lanes: 1 },
    );
    return { batcher, sizes };
  }

  test('because of one entry → is halved until only that one fails', async () => {
    const { batcher, sizes } = failing(['a40'], () => new Error('spoilt'));
    const results = await Promise.allSettled(entries(1, 'a', 64).map((entry) => batcher.submit(entry)));
    const refused = results.flatMap(({ status }, at) => (status === 'rejected' ? [at + 1] : []));
    expect(refused).toEqual([40]);
    // Two of each size but the first.
    expect(sizes).toHaveLength(1 + 2 * 6);
  });

  test('because of a deadlock → is sent again unchanged', async () => {
    const deadlock = Object.assign(new Error('deadlock'), { code: '40P01' });
    const { batcher, sizes } = failing(['a1'], (batch) => (batch < 3 ? deadlock : undefined));
    await Promise.all(entries(1, 'a', 8).map((entry) => batcher.submit(entry)));
    expect(sizes).toEqual([8, 8, 8]);
  });

  test('because the database is away → fails for all entries, without another attempt', async () => {
    const { batcher, sizes } = failing(['a1'], () => new DatabaseUnavailable(new Error('away')));
    const results = await Promise.allSettled(entries(1, 'a', 8).map((entry) => batcher.submit(entry)));
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(8);
    expect(sizes).toEqual([8]);
  });

  test('because of a lock timeout → fails for all entries, and halves do not wait for the lock again', async () => {
    const locked = Object.assign(new Error('lock timeout'), { code: '55P03' });
    const { batcher, sizes } = failing(['a1'], () => locked);
    const results = await Promise.allSettled(entries(1, 'a', 8).map((entry) => batcher.submit(entry)));
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(8);
    expect(sizes).toEqual([8]);
  });

  test('because the database did not answer → entries queued behind it fail too, unsent; after a lost connection they are sent', async () => {
    const ends: [Error, number[]][] = [
      [new UnresponsiveServer('no answer'), [64]],
      [new Error('connection reset'), [64, 6]],
    ];
    for (const [cause, sent] of ends) {
      const { batcher, sizes } = failing(['a1'], () => new DatabaseUnavailable(cause));
      const results = await Promise.allSettled(entries(1, 'a', 70).map((entry) => batcher.submit(entry)));
      expect(sizes).toEqual(sent);
      expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(sent.length === 1 ? 70 : 64);
    }
  });
});
