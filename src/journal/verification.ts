// Compares the journal with its chain, and finds entries that were changed, removed or inserted. Reads everything once, a page at a time.
import type { Queryable } from '../postgres/database.js';
import { type Block, type ChainKey, countOf, TAG_BYTES } from './blocks.js';
import {
  BLOCKS_BY_NUMBER,
  COPIED_ENTRIES,
  ENTRIES_AFTER,
  ENTRIES_BY_ID,
  GAPS,
  HANDED_OUT_IDS,
  RECENT_BLOCKS,
} from './chain.sql.js';
import { type JournalProblem, type KnownBlock, problemsWith } from './checkpoints.js';
import type { EntrySigner, SignedEntry } from './entry-signer.js';
import { type PlacedBlock, PlacedBlocks } from './placed-blocks.js';

export interface Verification {
  readonly blocks: number;
  readonly entries: number;
  /** Entries that are in no block yet: the most recent ones, or those since the last gateway stopped. */
  readonly unchained: number;
  /** The first problems of each kind only: many of one kind hide none of another. */
  readonly problems: readonly JournalProblem[];
  readonly problemCount: number;
}

interface EntryRow extends SignedEntry {
  readonly id: number;
  readonly mac: Buffer | null;
  readonly digest: Buffer;
}

/** The driver returns arrays of numbers as texts. */
interface BlockRow extends Omit<Block, 'spans' | 'foreign'> {
  readonly spans: readonly string[];
  readonly foreign: readonly string[];
  readonly hash: Buffer;
}

/** The bounds within which an entry may be in no block. */
interface Bounds {
  /** The last ID that the sequence gave out. */
  readonly lastId: number;
  readonly chainedUpTo: number;
  readonly gaps: readonly { readonly first: number; readonly last: number }[];
}

interface ChainEnd {
  readonly blockBefore: number;
  readonly hash?: Buffer | undefined;
}

/** Where verification starts. Everything before is trusted. */
interface Start extends ChainEnd {
  /** Only blocks whose first entry comes after this ID. */
  readonly blocksFromId: number;
  readonly afterId: number;
}

/** An inserted entry may have any number. */
const THE_BEGINNING: Start = { blockBefore: 0, blocksFromId: 0, afterId: Number.MIN_SAFE_INTEGER };

const FOREIGN = 'inserted: Tollgate did not write it';
const BLOCKS_PAGE = 50;
const ENTRIES_PAGE = 2_000;
const MOST_SHOWN_OF_A_KIND = 100;
const NUMBERS = /\d+/g;

export class JournalVerification {
  #blocks = 0;
  #entries = 0;
  #unchained = 0;
  #problemCount = 0;
  readonly #problems: JournalProblem[] = [];
  readonly #ofKind = new Map<string, number>();
  /** The highest ID in any block. */
  #lastChained = 0;
  /** Entries without a MAC that were in no block when they were checked. */
  readonly #foreign = new Set<number>();

  constructor(
    private readonly database: Queryable,
    private readonly key: ChainKey,
    private readonly signer: EntrySigner,
    /** From checkpoints kept elsewhere. */
    private readonly known: readonly KnownBlock[] = [],
  ) {}

  run(): Promise<Verification> {
    return this.#runFrom(THE_BEGINNING);
  }

  /** Verifies only the last blocks, with about this many entries, and the entries that are in no block yet. */
  async runOnLast(entries: number): Promise<Verification> {
    const { rows } = await this.database.query<Start>(RECENT_BLOCKS, [entries]);
    return this.#runFrom(rows[0] ?? THE_BEGINNING);
  }

  async #runFrom(start: Start): Promise<Verification> {
    const end = await this.#checkBlocks(start);
    const least = this.#lastChained;
    const chainedUpTo = await this.#checkEntries(start);
    // Blocks made in the meantime, whose tags were used unchecked.
    // guard(journal: blocks that are made while it is looked at are looked at, too): await ⇒ if (end.blockBefore < 0) await
    await this.#checkBlocks(end);
    // The last blocks alone may be of entries that were committed late.
    // guard(journal: the end of the chain is not moved): < least || ⇒ < 0 ||
    if (start === THE_BEGINNING && (chainedUpTo < least || chainedUpTo > this.#lastChained))
      this.#found({
        block: end.blockBefore,
        problem: 'changed: journal_chain does not say where the last block ends',
      });
    for (const problem of await problemsWith(this.database, this.known)) this.#found(problem);
    const { rows: copies } = await this.database.query<{ id: number }>(COPIED_ENTRIES, [start.afterId]);
    // guard(journal: a copy of an entry is found): for (const { id } of copies) this.#found({ entry: id, problem: 'inserted: a copy of another entry' } ⇒ copies.at(0
    for (const { id } of copies) this.#found({ entry: id, problem: 'inserted: a copy of another entry' });
    return {
      blocks: this.#blocks,
      entries: this.#entries,
      unchained: this.#unchained,
      problems: this.#problems,
      problemCount: this.#problemCount,
    };
  }

  #found(problem: JournalProblem): void {
    this.#problemCount += 1;
    const kind = problem.problem.replace(NUMBERS, '');
    const known = this.#ofKind.get(kind) ?? 0;
    this.#ofKind.set(kind, known + 1);
    // guard(journal: many problems of one kind hide none of another): known < MOST_SHOWN_OF_A_KIND ⇒ this.#problems.length < MOST_SHOWN_OF_A_KIND
    if (known < MOST_SHOWN_OF_A_KIND) this.#problems.push(problem);
  }

  /** In the order of the chain: each block must bind the previous one. Returns the end of the chain. */
  async #checkBlocks({ blockBefore, hash: hashBefore }: ChainEnd): Promise<ChainEnd> {
    let last = blockBefore;
    let before = hashBefore;
    for (;;) {
      const { rows } = await this.database.query<BlockRow>(BLOCKS_BY_NUMBER, [last, BLOCKS_PAGE]);
      for (const row of rows) {
        const { number, hash } = row;
        const block = blockOf(row);
        if (number !== last + 1)
          this.#found({
            block: last + 1,
            problem: `removed: blocks ${last + 1} to ${number - 1} are not there`,
          });
        // guard(journal: a block that was changed is found): !this.key.hashOf(block, before).equals(hash) ⇒ this.key.hashOf(block, before).length !== hash.length
        else if (!this.key.hashOf(block, before).equals(hash))
          this.#found({ block: number, problem: 'changed: it does not match its hash' });
        if (countOf(block.spans) * TAG_BYTES !== block.tags.length)
          this.#found({ block: number, problem: 'changed: it has more or fewer tags than entries' });
        this.#lastChained = Math.max(this.#lastChained, ...block.spans.slice(-1));
        for (const id of block.foreign)
          if (!this.#foreign.has(id)) this.#found({ entry: id, problem: FOREIGN });
        this.#blocks += 1;
        last = number;
        before = hash;
      }
      if (rows.length < BLOCKS_PAGE) return { blockBefore: last, hash: before };
    }
  }

  /**
   * In the order of IDs. Blocks are read in the order of their first entries, and kept while their entries can come. Returns up to where
   * the chain is said to go.
   */
  async #checkEntries({ blocksFromId, afterId }: Start): Promise<number> {
    // In this order: a gap noticed in between lies after `chainedUpTo`.
    const handedOut = await this.#handedOut();
    const { rows: gaps } = await this.database.query<Bounds['gaps'][number]>(GAPS);
    let within = { ...handedOut, gaps };
    const blocks = new PlacedBlocks(this.database, blocksFromId);
    for (let after = afterId; ; ) {
      const { rows } = await this.database.query<EntryRow>(ENTRIES_AFTER, [after, ENTRIES_PAGE]);
      const lastRow = rows.at(-1);
      // Entries are written in the meantime.
      if (lastRow !== undefined && lastRow.id > within.lastId)
        within = { ...within, lastId: (await this.#handedOut()).lastId };
      const isLast = rows.length < ENTRIES_PAGE;
      const end = isLast ? Number.POSITIVE_INFINITY : (lastRow as EntryRow).id;
      const tags = this.#tagsBetween(await blocks.upTo(end), after, end);
      for (const row of rows) {
        this.#checkEntry(row, tags.get(row.id), within);
        tags.delete(row.id);
      }
      await this.#checkMissing(tags, within);
      if (isLast) return within.chainedUpTo;
      blocks.drop(end);
      after = end;
    }
  }

  async #handedOut(): Promise<Omit<Bounds, 'gaps'>> {
    const { rows } = await this.database.query<Omit<Bounds, 'gaps'>>(HANDED_OUT_IDS);
    return rows[0] as Omit<Bounds, 'gaps'>;
  }

  /** An entry that is in a block and not on the page was removed, or was committed and taken up after the page was read. */
  async #checkMissing(tags: ReadonlyMap<number, Buffer>, within: Bounds): Promise<void> {
    // guard(journal: an entry that was removed is found): = [...tags.keys()] ⇒ : number[] = [...tags.keys()].slice(0, 0)
    const missing = [...tags.keys()];
    for (let at = 0; at < missing.length; at += ENTRIES_PAGE) {
      const ids = missing.slice(at, at + ENTRIES_PAGE);
      const { rows } = await this.database.query<EntryRow>(ENTRIES_BY_ID, [ids]);
      const there = new Map(rows.map((row) => [row.id, row]));
      for (const id of ids) {
        const row = there.get(id);
        if (row === undefined) this.#found({ entry: id, problem: 'removed' });
        else this.#checkEntry(row, tags.get(id), within);
      }
    }
  }

  /** The chain's tag for each entry in the range. */
  #tagsBetween(blocks: readonly PlacedBlock[], after: number, upTo: number): Map<number, Buffer> {
    const found = new Map<number, Buffer>();
    for (const { spans, tags } of blocks) {
      let place = 0;
      for (let at = 0; at < spans.length; at += 2) {
        const [first, last] = [spans[at] as number, spans[at + 1] as number];
        for (let id = Math.max(first, after + 1); id <= Math.min(last, upTo); id += 1) {
          if (found.has(id)) this.#found({ entry: id, problem: 'in more than one block' });
          const from = (place + id - first) * TAG_BYTES;
          found.set(id, tags.subarray(from, from + TAG_BYTES));
        }
        place += last - first + 1;
      }
    }
    return found;
  }

  #checkEntry(row: EntryRow, tag: Buffer | undefined, bounds: Bounds): void {
    this.#entries += 1;
    const problem = this.#problemOf(row, tag, bounds);
    if (problem === FOREIGN) this.#foreign.add(row.id);
    if (problem !== undefined) this.#found({ entry: row.id, problem });
    else if (tag === undefined) this.#unchained += 1;
  }

  #problemOf(
    row: EntryRow,
    tag: Buffer | undefined,
    { lastId, chainedUpTo, gaps }: Bounds,
  ): string | undefined {
    const { id, mac, digest } = row;
    // guard(journal: an entry that was changed is found by its tag): !tag.equals(digest ⇒ tag.equals(digest.subarray(1)
    if (tag !== undefined && !tag.equals(digest)) return 'changed';
    // An entry in the chain without a MAC was reported with its block.
    // guard(journal: an entry with another’s mark is found): !this.signer.isSigned(row, mac) ⇒ mac.length === 0
    if (mac !== null && !this.signer.isSigned(row, mac)) return 'inserted or changed: its MAC is wrong';
    if (tag !== undefined) return undefined;
    const isLate = id > chainedUpTo || gaps.some(({ first, last }) => id >= first && id <= last);
    // guard(journal: an entry in no block is found): || ⇒ &&
    if (id > lastId || !isLate) return 'inserted: it is in no block';
    return mac === null ? FOREIGN : undefined;
  }
}

function blockOf({ number, madeMs, spans, tags, foreign }: BlockRow): Block {
  return {
    number,
    madeMs,
    spans: spans.map(Number),
    tags,
    foreign: foreign.map(Number),
  };
}
