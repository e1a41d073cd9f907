// Reads the journal's blocks in the order of their first entries, a page at a time, beside a walk over all entries.
import type { Queryable } from '../postgres/database.js';
import { countOf, TAG_BYTES } from './blocks.js';
import { BLOCKS_BY_FIRST_ID } from './chain.sql.js';

export interface PlacedBlock {
  readonly number: number;
  readonly first: number;
  readonly last: number;
  readonly spans: readonly number[];
  readonly tags: Buffer;
}

const BLOCKS_PAGE = 50;

/** The blocks whose entries may come next. */
export class PlacedBlocks {
  #blocks: PlacedBlock[] = [];
  #after: readonly [number, number];
  #isAtEnd = false;

  constructor(
    private readonly database: Queryable,
    fromId: number,
  ) {
    this.#after = [fromId, 0];
  }

  /** Includes earlier blocks that still have entries to come. */
  async upTo(id: number): Promise<readonly PlacedBlock[]> {
    while (!this.#isAtEnd && this.#after[0] <= id) {
      const values = [...this.#after, BLOCKS_PAGE];
      const { rows } = await this.database.query<Omit<PlacedBlock, 'spans'> & { spans: readonly string[] }>(
        BLOCKS_BY_FIRST_ID,
        values,
      );
      const end = rows.at(-1);
      if (rows.length < BLOCKS_PAGE) this.#isAtEnd = true;
      if (end !== undefined) this.#after = [end.first, end.number];
      for (const { number, first, last, spans, tags } of rows) {
        const block = { number, first, last, spans: spans.map(Number), tags };
        // The hash reveals a changed block. Its spans could be endless, so it is skipped here.
        if (countOf(block.spans) * TAG_BYTES === tags.length) this.#blocks.push(block);
      }
    }
    return this.#blocks;
  }

  drop(id: number): void {
    this.#blocks = this.#blocks.filter(({ last }) => last > id);
  }
}
