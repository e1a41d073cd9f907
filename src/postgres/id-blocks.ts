// IDs leased from a database counter in blocks, so that most inserts know their ID without a query.
import type { OrganisationId } from '../values/ids.js';
import type { Database, Statement } from './database.js';

interface Block {
  next: number;
  last: number;
}

const SMALLEST_BLOCK = 4;
const LARGEST_BLOCK = 512;

/** IDs left over when the process ends are never used; there are plenty. */
export class IdBlocks<Id extends number> {
  readonly #blocks = new Map<OrganisationId, Block>();
  readonly #leasing = new Map<OrganisationId, Promise<void>>();
  readonly #sizes = new Map<OrganisationId, number>();

  /** The statement takes the organisation and a count, and returns `first` and `last`. */
  constructor(
    private readonly database: Database,
    private readonly lease: Statement,
  ) {}

  async take(organisationId: OrganisationId): Promise<Id> {
    for (;;) {
      const block = this.#blocks.get(organisationId);
      if (block !== undefined && block.next <= block.last) return block.next++ as Id;
      let leasing = this.#leasing.get(organisationId);
      if (leasing === undefined) {
        leasing = this.#lease(organisationId).finally(() => this.#leasing.delete(organisationId));
        this.#leasing.set(organisationId, leasing);
      }
      await leasing;
    }
  }

  async #lease(organisationId: OrganisationId): Promise<void> {
    const size = this.#sizes.get(organisationId) ?? SMALLEST_BLOCK;
    this.#sizes.set(organisationId, Math.min(size * 2, LARGEST_BLOCK));
    const { rows } = await this.database.query<{ first: number; last: number }>(this.lease, [
      organisationId,
      size,
    ]);
    const { first, last } = rows[0] as { first: number; last: number };
    this.#blocks.set(organisationId, { next: first, last });
  }
}
