// Hands what dead processes left in doubt to the resolver: the dead first, then their leases, then the rows of each lease.
import type { Database } from '../../postgres/database.js';
import type { OrganisationId } from '../../values/ids.js';
import {
  DEAD_PROCESSES,
  FORGET_DEAD_PROCESS,
  HAND_OVER_IN_DOUBT,
  LEASES_OF_PROCESS,
} from './dead-processes.sql.js';

interface DeadProcess {
  readonly id: number;
  readonly seenAt: string;
  /** It will not come back, and can be forgotten. */
  readonly forGood: boolean;
}

interface Lease {
  readonly organisationId: OrganisationId;
  readonly first: number;
  readonly last: number;
}

interface Look {
  readonly seenAt: string;
  readonly pauseMs: number;
  readonly againAtMs: number;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;

export class DeadProcesses {
  /** When the leases of each were looked at. Nearly all is found at the first look; a straggling statement comes later. */
  #looks = new Map<number, Look>();

  constructor(
    private readonly database: Database,
    private readonly self: { readonly id: number },
    /** How long an acquirer may take. */
    private readonly deadlineMs: number,
  ) {}

  /**
   * Returns how many transactions were handed over. Never those of this process: after the database was away it may not
   * have sent a heartbeat yet, and still knows best what it has sent and what not.
   */
  async handOver(): Promise<number> {
    const { rows: dead } = await this.database.query<DeadProcess>(DEAD_PROCESSES, [this.self.id]);
    const looks = new Map<number, Look>();
    let total = 0;
    for (const process of dead) {
      const look = this.#looks.get(process.id);
      // One that was seen since may have claimed something since.
      const known = look?.seenAt === process.seenAt ? look : undefined;
      if (known !== undefined && performance.now() < known.againAtMs && !process.forGood) {
        looks.set(process.id, known);
        continue;
      }
      // guard(dead processes: forgotten with their leases only after what they left was handed over): total ⇒ if (!process.forGood) total
      total += await this.#handOverLeasesOf(process);
      if (process.forGood) await this.database.query(FORGET_DEAD_PROCESS, [process.id]);
      const pauseMs = Math.min(known === undefined ? FIRST_PAUSE_MS : 2 * known.pauseMs, LONGEST_PAUSE_MS);
      looks.set(process.id, { seenAt: process.seenAt, pauseMs, againAtMs: performance.now() + pauseMs });
    }
    this.#looks = looks;
    return total;
  }

  async #handOverLeasesOf({ id }: DeadProcess): Promise<number> {
    const { rows: leases } = await this.database.query<Lease>(LEASES_OF_PROCESS, [id]);
    let total = 0;
    for (const { organisationId, first, last } of leases) {
      const values = [id, organisationId, first, last, this.deadlineMs];
      total += (await this.database.query(HAND_OVER_IN_DOUBT, values)).count;
    }
    return total;
  }
}
