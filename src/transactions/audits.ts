// Audits: leased from the database in blocks per organisation, so that a claim need not ask for its number first.
// The lease stays until every audit of the block is decided, and tells the others what to look after if this process dies.

import { numbers } from '../postgres/columns.js';
import type { Database } from '../postgres/database.js';
import { fault } from '../values/faults.js';
import {
  FORGET_PROCESS,
  LEASE_AUDITS,
  MOVE_AHEAD,
  REGISTER_PROCESS,
  RENEW_LEASES,
  REPORT_ALIVE,
  RETURN_AUDITS,
} from './audits.sql.js';
import type { OwnEpochs, SharedEpochs } from './search-fence.js';

interface Block {
  readonly organisationId: number;
  readonly first: number;
  readonly last: number;
  next: number;
  open: number;
}

interface Supply {
  readonly blocks: Block[];
  size: number;
  leasedAtMs: number;
  leasing: Promise<void> | undefined;
}

/** What a process hears when it reports. */
export interface News extends SharedEpochs {
  /** How far the clock is advanced. */
  readonly advancedMs: number;
}

interface Reported extends News {
  /** The history that the database follows. */
  readonly lineage: string;
  /** It is another than that under which audits were handed out until now. */
  readonly goneBack: boolean;
}

interface Registered {
  readonly id: number;
  readonly installation: string;
}

const SMALLEST_BLOCK = 16;
const LARGEST_BLOCK = 2_048;
/** A block that lasted less than this was too small. */
const BLOCK_SHOULD_LAST_MS = 1_000;
/** More than can have been handed out and lost in a failover. */
const AHEAD = 100_000;
/** Without a report for this long the others may have given this process up: it claims nothing more. */
const REPORT_MUST_BE_WITHIN_MS = 15_000;

export class Audits {
  #processId = 0;
  #installation = '';
  /** The lineage of the database in which it is certain that the leases are there. */
  #renewedIn: string | undefined;
  #reportedAtMs = 0;
  readonly #supplies = new Map<number, Supply>();
  readonly #finished: Block[] = [];

  private constructor(private readonly database: Database) {}

  static async open(database: Database): Promise<Audits> {
    const audits = new Audits(database);
    await audits.#register();
    return audits;
  }

  /** That of this process. */
  get id(): number {
    return this.#processId;
  }

  /** What a transaction is called towards its acquirer. Unique across installations, and derived, so never lost. */
  acquirerReference(organisationId: number, audit: number): string {
    return `${this.#installation}-${organisationId}-${audit}`;
  }

  /** Whether the database has heard of this process lately. */
  get alive(): boolean {
    return performance.now() - this.#reportedAtMs < REPORT_MUST_BE_WITHIN_MS;
  }

  /** When it last was heard of. */
  get reportedMs(): number {
    return this.#reportedAtMs;
  }

  async take(organisationId: number): Promise<number> {
    if (!this.alive) throw fault('not_processed');
    let supply = this.#supplies.get(organisationId);
    if (supply === undefined) {
      supply = { blocks: [], size: SMALLEST_BLOCK, leasedAtMs: 0, leasing: undefined };
      this.#supplies.set(organisationId, supply);
    }
    for (;;) {
      for (const block of supply.blocks) {
        if (block.next > block.last) continue;
        block.open += 1;
        return block.next++;
      }
      supply.leasing ??= this.#lease(organisationId, supply);
      await supply.leasing;
    }
  }

  /** The audit was refused, is decided, or is the resolver's now: nothing is left to look after. */
  settle(organisationId: number, audit: number): void {
    const supply = this.#supplies.get(organisationId);
    const block = supply?.blocks.find(({ first, last }) => first <= audit && audit <= last);
    if (supply === undefined || block === undefined) return;
    block.open -= 1;
    if (block.open === 0 && block.next > block.last) {
      supply.blocks.splice(supply.blocks.indexOf(block), 1);
      this.#finished.push(block);
    }
  }

  /** Tells the database and the other processes how this one stands, drops finished leases, and brings the news. */
  async report(epochs: OwnEpochs = { answered: 0, current: 0 }): Promise<News> {
    const reportedAtMs = performance.now();
    // Taken out, not looked at: further blocks are finished while the report is on its way.
    const released = this.#finished.splice(0);
    const values = [
      this.#processId,
      numbers(released.map((block) => block.organisationId)),
      numbers(released.map((block) => block.first)),
      epochs.answered,
      epochs.current,
    ];
    const { rows } = await this.database.query<Reported>(REPORT_ALIVE, values).catch((error: unknown) => {
      this.#finished.push(...released);
      throw error;
    });
    const [row] = rows;
    if (row === undefined) {
      // Given up by the others after an hour of silence, or lost in a failover: start anew under another name.
      await this.#register();
      return this.report(epochs);
    }
    if (row.goneBack) await this.database.query(MOVE_AHEAD, [AHEAD]);
    if (row.goneBack || row.lineage !== this.#renewedIn) await this.#renew();
    this.#renewedIn = row.lineage;
    this.#reportedAtMs = reportedAtMs;
    return row;
  }

  /** Gives back what was not used. What is still open stays leased, for the others to find. */
  async close(): Promise<void> {
    const blocks = [...this.#supplies.values()].flatMap((supply) => supply.blocks);
    for (const block of blocks) {
      if (block.next <= block.last) {
        await this.database.query(RETURN_AUDITS, [block.organisationId, block.next, block.last + 1]);
      }
    }
    if (blocks.every((block) => block.open === 0))
      await this.database.query(FORGET_PROCESS, [this.#processId]);
  }

  async #register(): Promise<void> {
    const reportedAtMs = performance.now();
    const { rows } = await this.database.query<Registered>(REGISTER_PROCESS);
    const { id, installation } = rows[0] as Registered;
    this.#processId = id;
    this.#installation = installation;
    this.#renewedIn = undefined;
    this.#reportedAtMs = reportedAtMs;
    this.#finished.length = 0;
  }

  /** It is not certain that the leases are there: no more is handed out of them, and what is open is leased anew. */
  async #renew(): Promise<void> {
    for (const { blocks } of this.#supplies.values()) {
      for (const block of blocks.splice(0)) {
        block.next = block.last + 1;
        (block.open === 0 ? this.#finished : blocks).push(block);
      }
    }
    const held = [...this.#supplies.values()].flatMap(({ blocks }) => blocks);
    if (held.length === 0) return;
    await this.database.query(RENEW_LEASES, [
      this.#processId,
      numbers(held.map((block) => block.organisationId)),
      numbers(held.map((block) => block.first)),
      numbers(held.map((block) => block.last)),
    ]);
  }

  async #lease(organisationId: number, supply: Supply): Promise<void> {
    const now = performance.now();
    if (now - supply.leasedAtMs < BLOCK_SHOULD_LAST_MS)
      supply.size = Math.min(supply.size * 2, LARGEST_BLOCK);
    supply.leasedAtMs = now;
    try {
      const { rows } = await this.database.query<{ first: number; last: number }>(LEASE_AUDITS, [
        this.#processId,
        organisationId,
        supply.size,
      ]);
      const [block] = rows;
      // The database has gone back, or does not know this process any more: the next report sees to it.
      if (block === undefined) throw fault('not_processed');
      supply.blocks.push({ organisationId, next: block.first, open: 0, ...block });
    } finally {
      supply.leasing = undefined;
    }
  }
}
