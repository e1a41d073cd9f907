// Leases of audits: taken from the database in blocks per organisation, so that a claim need not ask for its number first.
// A lease stays until no audit of its block is in doubt, and tells the others what to look after if this process dies.

import type { Database } from '../../postgres/database.js';
import { fault } from '../../values/faults.js';
import type { Audit, OrganisationId } from '../../values/ids.js';
import { HELD, LEASE_AUDITS, RENEW_LEASES, RETURN_AUDITS } from './audit-leases.sql.js';

interface Block {
  readonly organisationId: OrganisationId;
  readonly first: number;
  readonly last: number;
  next: number;
  /** How many of its audits are in doubt: handed out, and neither decided nor the resolver's. */
  inDoubt: number;
}

interface Supply {
  readonly blocks: Block[];
  size: number;
  leasedAtMs: number;
  leasing: Promise<void> | undefined;
}

const SMALLEST_BLOCK = 16;
const LARGEST_BLOCK = 2_048;
/** A block that lasted less than this was too small. */
const BLOCK_SHOULD_LAST_MS = 1_000;

export class AuditLeases {
  readonly #supplies = new Map<OrganisationId, Supply>();
  /** Their leases go with the next heartbeat. */
  readonly #finished: Block[] = [];

  constructor(
    private readonly database: Database,
    /** This process in the registry. */
    private readonly process: { readonly id: number; readonly alive: boolean },
  ) {}

  async take(organisationId: OrganisationId): Promise<Audit> {
    // guard(leases: a process without a heartbeat claims nothing): if (!this.process.alive) throw fault('not_processed'); ⇒
    if (!this.process.alive) throw fault('not_processed');
    let supply = this.#supplies.get(organisationId);
    if (supply === undefined) {
      supply = { blocks: [], size: SMALLEST_BLOCK, leasedAtMs: 0, leasing: undefined };
      this.#supplies.set(organisationId, supply);
    }
    for (;;) {
      for (const block of supply.blocks) {
        if (block.next > block.last) continue;
        block.inDoubt += 1;
        return block.next++ as Audit;
      }
      supply.leasing ??= this.#lease(organisationId, supply);
      await supply.leasing;
    }
  }

  /** The audit was refused, is decided, or is the resolver's now: nothing is left to look after. */
  release(organisationId: OrganisationId, audit: Audit): void {
    const supply = this.#supplies.get(organisationId);
    const block = supply?.blocks.find(({ first, last }) => first <= audit && audit <= last);
    if (supply === undefined || block === undefined) return;
    block.inDoubt -= 1;
    // guard(leases: kept while one audit of the block is in doubt): inDoubt === 0 && block. ⇒
    if (block.inDoubt === 0 && block.next > block.last) {
      supply.blocks.splice(supply.blocks.indexOf(block), 1);
      this.#finished.push(block);
    }
  }

  /** What the next heartbeat drops. */
  takeFinished(): readonly Block[] {
    return this.#finished.splice(0);
  }

  /** That heartbeat failed. */
  putBackFinished(blocks: readonly Block[]): void {
    this.#finished.push(...blocks);
  }

  /** The database has dropped them with the entry of this process. */
  forgetFinished(): void {
    this.#finished.length = 0;
  }

  /** Whether any audit is still in doubt. */
  get inDoubt(): boolean {
    return this.#blocks().some((block) => block.inDoubt > 0);
  }

  /** Gives back what was not used. What is in doubt stays leased, for the others to find. */
  async returnUnused(): Promise<void> {
    for (const block of this.#blocks()) {
      if (block.next <= block.last) {
        await this.database.query(RETURN_AUDITS, [block.organisationId, block.next, block.last + 1]);
      }
    }
  }

  /** It is not certain that the leases are there: no more is handed out of them, and what is in doubt is leased anew. */
  async renew(): Promise<void> {
    for (const { blocks } of this.#supplies.values()) {
      for (const block of blocks.splice(0)) {
        // guard(leases: a process that was forgotten uses none of its old ones): block.next = block.last + 1; ⇒
        block.next = block.last + 1;
        (block.inDoubt === 0 ? this.#finished : blocks).push(block);
      }
    }
    const held = this.#blocks();
    if (held.length === 0) return;
    await this.database.query(RENEW_LEASES, [this.process.id, ...HELD.encode(held)]);
  }

  async #lease(organisationId: OrganisationId, supply: Supply): Promise<void> {
    const now = performance.now();
    if (now - supply.leasedAtMs < BLOCK_SHOULD_LAST_MS)
      supply.size = Math.min(supply.size * 2, LARGEST_BLOCK);
    supply.leasedAtMs = now;
    try {
      const { rows } = await this.database.query<{ first: number; last: number }>(LEASE_AUDITS, [
        this.process.id,
        organisationId,
        supply.size,
      ]);
      const [block] = rows;
      // The database has gone back, or does not know this process any more: the next heartbeat sees to it.
      if (block === undefined) throw fault('not_processed');
      supply.blocks.push({ organisationId, next: block.first, inDoubt: 0, ...block });
    } finally {
      supply.leasing = undefined;
    }
  }

  #blocks(): Block[] {
    return [...this.#supplies.values()].flatMap(({ blocks }) => blocks);
  }
}
