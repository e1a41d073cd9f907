// The journal's chain: shortly after entries are committed, a block takes them up. One process at a time makes blocks, and no writer
// waits for it. A process that dies leaves a whole block or none.
import type { Database, Queryable } from '../postgres/database.js';
import { type ChainKey, spansOf } from './blocks.js';
import {
  ADD_BLOCK,
  ADD_GAP,
  CHAIN_IS_BEHIND,
  CHAIN_STATE,
  CHAINED_UP_TO,
  CLOSE_GAPS,
  GAPS,
  LOCK_CHAIN,
  NEXT_ENTRIES,
  SPLIT_GAP,
} from './chain.sql.js';

export interface ChainReports {
  /** Entries that Tollgate did not write. */
  readonly onForeign: (ids: readonly number[]) => void;
  /** The chain does not continue from the block that this process knew: blocks were removed, changed, or lost in a failover. */
  readonly onCut: (cut: { readonly number: number; readonly failover: boolean }) => void;
}

interface State {
  readonly chainedUpTo: number;
  readonly lineage: string;
  readonly nowMs: number;
  readonly number: number | null;
  readonly hash: Buffer | null;
  readonly remembered: Buffer | null;
}

interface NextEntries {
  readonly ids: readonly string[];
  readonly tags: Buffer;
  readonly unsigned: readonly string[];
}

interface Gap {
  readonly first: number;
  readonly last: number;
}

export interface ChainEnd {
  readonly number: number;
  readonly hash: Buffer;
}

interface KnownEnd extends ChainEnd {
  readonly lineage: string;
}

interface Added {
  readonly end: KnownEnd;
  readonly foreign: readonly number[];
}

const MOST_ENTRIES = 5_000;

export class JournalChain {
  #known: KnownEnd | undefined;

  constructor(
    private readonly database: Database,
    private readonly key: ChainKey,
    private readonly reports: ChainReports,
  ) {}

  /** Takes up all committed entries. If another process is doing so, that one continues. */
  async run(): Promise<void> {
    for (;;) {
      const { rows } = await this.database.query<{ behind: boolean }>(CHAIN_IS_BEHIND);
      if (rows[0]?.behind !== true) return;
      const added = await this.database.transaction((connection) => this.#addBlock(connection));
      if (added === undefined) return;
      // Only now, because an unconfirmed commit may or may not have happened.
      this.#known = added.end;
      // guard(journal: a process says that entries are not ours): if (added.foreign.length > 0) this.reports.onForeign(added.foreign); ⇒
      if (added.foreign.length > 0) this.reports.onForeign(added.foreign);
    }
  }

  /** Undefined if there was nothing to do, or if another process is doing it. */
  async #addBlock(connection: Queryable): Promise<Added | undefined> {
    const { rows: locks } = await connection.query<{ locked: boolean }>(LOCK_CHAIN);
    // guard(journal: one process at a time makes a block): !locks[0]?.locked ⇒ locks.length === 0
    if (!locks[0]?.locked) return undefined;
    const { rows: states } = await connection.query<State>(CHAIN_STATE, [this.#known?.number ?? 0]);
    const [state] = states;
    // Somebody has removed it: the journal would go on without a chain.
    if (state === undefined) throw new Error('journal_chain is empty; somebody has changed the database');
    this.#compare(state);
    const { rows } = await connection.query<NextEntries>(NEXT_ENTRIES, [state.chainedUpTo, MOST_ENTRIES]);
    const [next] = rows;
    if (next === undefined) return undefined;
    const ids = next.ids.map(Number);
    const block = {
      number: (state.number ?? 0) + 1,
      madeMs: state.nowMs,
      spans: spansOf(ids),
      tags: next.tags,
      foreign: next.unsigned.map(Number),
    };
    const hash = this.key.hashOf(block, state.hash ?? undefined);
    const { number, madeMs, spans, tags, foreign } = block;
    await connection.query(ADD_BLOCK, [number, madeMs, spans, ids[0], ids.at(-1), tags, foreign, hash]);
    await this.#noteGaps(connection, state.chainedUpTo, ids);
    // guard(journal: a block counts as known once its commit is confirmed): return { end: { number, hash, lineage: state.lineage } ⇒ this.#known = { number, hash, lineage: state.lineage }; ⏎ return { end: this.#known
    return { end: { number, hash, lineage: state.lineage }, foreign };
  }

  /** A missing ID may appear later: its transaction is not committed yet. */
  async #noteGaps(connection: Queryable, chainedUpTo: number, ids: readonly number[]): Promise<void> {
    const { rows: gaps } = await connection.query<Gap>(GAPS);
    for (const { first, last } of gaps) {
      const filled = ids.filter((id) => id >= first && id <= last);
      if (filled.length === 0) continue;
      const left = holesBetween(first - 1, [...filled, last + 1]);
      const ends = [left.map((hole) => hole.first), left.map((hole) => hole.last)];
      await connection.query(SPLIT_GAP, [first, ...ends]);
    }
    // guard(journal: entries that are committed late are taken up later): await ⇒ if (first > last) await
    for (const { first, last } of holesBetween(
      chainedUpTo,
      ids.filter((id) => id > chainedUpTo),
    ))
      await connection.query(ADD_GAP, [first, last]);
    await connection.query(CHAINED_UP_TO, [ids.at(-1)]);
    await connection.query(CLOSE_GAPS);
  }

  #compare({ remembered, lineage }: State): void {
    const known = this.#known;
    if (known === undefined || remembered?.equals(known.hash)) return;
    // guard(journal: a process says that the chain was cut): this.reports.onCut({ number: known.number, failover: lineage !== known.lineage } ⇒ lineage.at(0
    this.reports.onCut({ number: known.number, failover: lineage !== known.lineage });
    this.#known = undefined;
  }
}

/** The runs of missing IDs after the first number. */
function holesBetween(after: number, ids: readonly number[]): Gap[] {
  const holes: Gap[] = [];
  let expected = after + 1;
  for (const id of ids) {
    if (id > expected) holes.push({ first: expected, last: id - 1 });
    expected = id + 1;
  }
  return holes;
}
