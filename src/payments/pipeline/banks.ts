// Which bank takes in the direct debits of a merchant: asked of the database for each of them. An item stays with the bank that took it in,
// for good, so what a process remembers of the merchant, a second old, must not decide it.
import { Batcher, type BatcherOptions, type EntryOf } from '../../postgres/batches.js';
import type { Queryable } from '../../postgres/database.js';
import { ASKED, BANKS } from './banks.sql.js';

type Asked = EntryOf<typeof ASKED>;

export class Banks {
  readonly #reading: Batcher<Asked, string | null>;

  constructor(
    private readonly database: Queryable,
    options: BatcherOptions<Asked>,
  ) {
    this.#reading = new Batcher((asked) => this.#read(asked), options);
  }

  /** The name of the link to it; null where it has none. */
  of(merchant: Asked): Promise<string | null> {
    return this.#reading.submit(merchant);
  }

  async #read(asked: readonly Asked[]): Promise<readonly (string | null)[]> {
    const { rows } = await this.database.query<{ place: number; bank: string | null }>(
      BANKS,
      ASKED.encode(asked),
    );
    const byPlace = new Map(rows.map(({ place, bank }) => [place, bank]));
    return asked.map((_, index) => byPlace.get(index + 1) ?? null);
  }
}
