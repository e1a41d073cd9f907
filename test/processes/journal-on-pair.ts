// The journal on a primary and its standby: entries during a switch, and entries that an asynchronous standby never got.
import { randomBytes } from 'node:crypto';
import { expect, onTestFinished } from 'vitest';
import { ChainKey } from '../../src/journal/blocks.js';
import { JournalChain } from '../../src/journal/chain.js';
import type { KnownBlock } from '../../src/journal/checkpoints.js';
import { EntrySigner, setSigner } from '../../src/journal/entry-signer.js';
import { journal } from '../../src/journal/journal.js';
import { verifyJournal } from '../../src/journal/journal-tasks.js';
import { Database } from '../../src/postgres/database.js';
import { eventually } from '../../testkit/gateway-process.js';
import type { Pair } from '../../testkit/pair.js';

interface Scene {
  readonly database: Database;
  readonly chain: JournalChain;
  readonly key: Buffer;
  /** The chain's reports. */
  readonly cuts: object[];
  write(detail: string): Promise<void>;
  /** The end of the chain, as kept elsewhere. */
  checkpoint(): Promise<KnownBlock>;
}

/** On both servers, whichever is the primary. */
async function sceneOn(pair: Pair): Promise<Scene> {
  const url = pair.primary.url.replace(/@([^/]+)/, `@$1,127.0.0.1:${pair.standby.port}`);
  const database = new Database(url, { maxConnections: 4, answerLimitMs: 2_000 });
  onTestFinished(() => database.close());
  // A chain of its own, beside what the cast has written.
  await pair.primary.sql(`SET session_replication_role = replica; TRUNCATE journal, journal_block, journal_gap;
    UPDATE journal_chain SET chained_up_to = (SELECT coalesce(pg_sequence_last_value('journal_id_seq'), 0))`);
  const key = randomBytes(32);
  setSigner(database, new EntrySigner(key, 'here'));
  const cuts: object[] = [];
  const chain = new JournalChain(database, new ChainKey(key), {
    onForeign: () => {},
    onCut: (cut) => cuts.push(cut),
  });
  return {
    database,
    chain,
    key,
    cuts,
    write: (detail) => journal(database, { actor: 'operator:test', action: 'clock.advanced', detail }),
    checkpoint: async () => {
      const text = `SELECT number, encode(hash, 'hex') AS hash, database_lineage() AS lineage
        FROM journal_block ORDER BY number DESC LIMIT 1`;
      return (await database.query<Required<KnownBlock>>({ name: '', text })).rows[0] as KnownBlock;
    },
  };
}

/** No acknowledged entry is missing, and the chain continues unbroken. */
export async function synchronousFailover(pair: Pair, promote: () => Promise<void>): Promise<void> {
  const { database, chain, key, cuts, write, checkpoint } = await sceneOn(pair);
  await write('before');
  await chain.run();
  const known = await checkpoint();
  const acknowledged = new Set<string>();
  let [writing, promoted] = [true, false];
  const since = new Map<number, number>();
  const writers = Array.from({ length: 3 }, async (_, writer) => {
    for (let count = 0; writing; count += 1) {
      const detail = `${writer}: ${count}`;
      await write(detail).then(
        () => {
          acknowledged.add(detail);
          if (promoted) since.set(writer, (since.get(writer) ?? 0) + 1);
        },
        () => {},
      );
    }
  });
  const chaining = (async () => {
    while (writing) await chain.run().catch(() => {});
  })();
  await eventually(async () => (acknowledged.size > 20 ? true : undefined));
  await pair.primary.end('SIGKILL');
  await promote();
  promoted = true;
  await eventually(async () =>
    [0, 1, 2].every((writer) => (since.get(writer) ?? 0) > 5) ? true : undefined,
  );
  writing = false;
  await Promise.all([...writers, chaining]);
  await chain.run();
  const { rows } = await database.query<{ detail: string }>({ name: '', text: 'SELECT detail FROM journal' });
  const stored = new Set(rows.map(({ detail }) => detail));
  expect([...acknowledged].filter((detail) => !stored.has(detail))).toEqual([]);
  expect(await verifyJournal(database, key, [known])).toMatchObject({ unchained: 0, problems: [] });
  expect(cuts).toEqual([]);
}

/** Entries that the standby never got are reported lost; the rest is intact. */
export async function asynchronousFailover(pair: Pair, promote: () => Promise<void>): Promise<void> {
  const { database, chain, key, cuts, write, checkpoint } = await sceneOn(pair);
  await write('on both');
  await chain.run();
  const kept = await checkpoint();
  // The standby is cut off, and no commit waits for it.
  await pair.primary.sql(`ALTER SYSTEM SET synchronous_standby_names = ''`);
  await pair.primary.sql('SELECT pg_reload_conf()');
  await pair.standby.sql(`ALTER SYSTEM SET primary_conninfo = ''`);
  await pair.standby.sql('SELECT pg_reload_conf()');
  const followers = 'SELECT FROM pg_stat_replication';
  await eventually(async () => ((await pair.primary.sql(followers)).length === 0 ? true : undefined));
  for (let count = 0; count < 3; count += 1) {
    await write(`on one: ${count}`);
    await chain.run();
  }
  const known = await checkpoint();
  await pair.primary.end('SIGKILL');
  await promote();

  const verify = (block: KnownBlock) =>
    eventually(() => verifyJournal(database, key, [block]).catch(() => undefined));
  expect(await verify(kept)).toMatchObject({ entries: 1, problems: [] });
  const LOST = 'the database was promoted or restored since then, and has lost what came last';
  expect((await verify(known)).problems).toEqual([
    { block: known.number, problem: `lost: the checkpoint knows it, and the chain ends before it; ${LOST}` },
  ]);
  for (let count = 0; count < 4; count += 1) {
    await write(`on the other: ${count}`);
    await chain.run();
  }
  expect(cuts).toEqual([{ number: known.number, failover: true }]);
  expect(await verify(kept)).toMatchObject({ entries: 5, unchained: 0, problems: [] });
  expect((await verify(known)).problems).toEqual([
    { block: known.number, problem: `lost: the checkpoint knows another; ${LOST}` },
  ]);
}
