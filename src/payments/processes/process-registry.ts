// The process registry: each running process keeps a row alive with heartbeats, and leases audits in blocks. Other processes
// presume a process without heartbeats dead, and resolve what it left in doubt.
import { hostname } from 'node:os';
import type { LinkReport } from '../../acquirers/links.js';
import { clocksApart } from '../../clock/clock.js';
import type { Database } from '../../postgres/database.js';
import { fault } from '../../values/faults.js';
import type { Audit, OrganisationId } from '../../values/ids.js';
import { PROGRAM_VERSION } from '../../values/program.js';
import type { OwnEpochs, SharedEpochs } from '../finding/search-fence.js';
import { type LostTime, noteLostTime } from './lost-time.js';
import {
  DEREGISTER_PROCESS,
  FINISHED,
  HEARTBEAT,
  HELD,
  LAST_ACTIVITY,
  LEASE_AUDITS,
  MOVE_AHEAD,
  REGISTER_PROCESS,
  RENEW_LEASES,
  RETURN_AUDITS,
} from './process-registry.sql.js';
import type { ProcessTimes } from './process-times.js';

interface HeartbeatReply extends SharedEpochs {
  /** How far the gateway's clock is advanced. */
  readonly advancedMs: number;
  /** How far the database's clock is ahead of this machine's; negative if behind. */
  readonly clocksApartMs: number;
}

interface HeartbeatRow extends Omit<HeartbeatReply, 'clocksApartMs'> {
  readonly databaseMs: number;
  /** By the database's clock: this heartbeat, and the one before as the database has it. */
  readonly seenAt: string;
  readonly lastSeenAt: string;
  /** The previous heartbeat was confirmed, but the database does not have it. */
  readonly lostHeartbeat: boolean | null;
  readonly lostFromMs: number | null;
  readonly lostUntilMs: number | null;
  /** The history that the database follows. */
  readonly lineage: string;
  /** The lineage differs from the one under which audits were handed out so far. */
  readonly goneBack: boolean;
}

interface LastActivity {
  readonly wasFollowing: boolean;
  readonly lostFrom: string | null;
}

interface Registered {
  readonly id: number;
  readonly installation: string;
}

/** More audits than can have been handed out and lost in a failover. */
const AHEAD = 100_000;

export class ProcessRegistry {
  #id = 0;
  #installation = '';
  /** The lineage of the database in which the leases certainly exist. */
  #renewedIn: string | undefined;
  #heartbeatAtMs = 0;
  /** The same by the wall clock: the monotonic clock stops while a machine sleeps. */
  #heartbeatOnMs = 0;
  #term = 0;
  /** The last heartbeat that the database confirmed: its time by the database's clock, and its lineage. */
  #confirmed: { readonly seenAt: string; readonly lineage: string } | undefined;
  /** This process's row was gone, with every heartbeat. */
  #wasForgotten = false;
  #lost: LostTime | undefined;

  private constructor(
    private readonly database: Database,
    private readonly times: ProcessTimes,
    private readonly links: () => readonly LinkReport[],
  ) {}

  /** Registers this process. Its heartbeats report the state of its links. */
  static async register(
    database: Database,
    times: ProcessTimes,
    links: () => readonly LinkReport[] = () => [],
  ): Promise<ProcessRegistry> {
    const registry = new ProcessRegistry(database, times, links);
    await registry.#register();
    return registry;
  }

  /** This process's ID. It changes if the process was forgotten and registered again. */
  get id(): number {
    return this.#id;
  }

  get installation(): string {
    return this.#installation;
  }

  /** Whether the last heartbeat is so recent that no other process presumes this one dead. */
  get alive(): boolean {
    return this.#heartbeatAgeMs < this.times.staleAfterMs;
  }

  /** Increases whenever other processes may have presumed this one dead: they look after everything that it claimed before. */
  get term(): number {
    return this.#term;
  }

  /** Whether a transaction claimed in this term may still be sent: no other process can have taken it over. */
  maySend(term: number): boolean {
    // guard(processes: one that missed its heartbeats sends nothing of what it claimed before): term === this.#term && this ⇒ this
    return term === this.#term && this.alive;
  }

  /** Lost time that nobody has reconciled, as of the last heartbeat. */
  get lost(): LostTime | undefined {
    return this.#lost;
  }

  /** When the last committed heartbeat began. */
  get heartbeatMs(): number {
    return this.#heartbeatAtMs;
  }

  /** Sends a heartbeat: reports this process's links and search epochs, drops finished leases, and renews lost ones. */
  async heartbeat(
    leases: AuditLeases,
    epochs: OwnEpochs = { answered: 0, current: 0 },
  ): Promise<HeartbeatReply> {
    const [beganMs, beganOnMs] = [performance.now(), Date.now()];
    // Taken out, because more blocks finish while the heartbeat is under way.
    const finished = leases.takeFinished();
    const links = JSON.stringify(this.links());
    const askedMs = Date.now();
    const own = [this.#id, epochs.answered, epochs.current, links, this.#confirmed?.seenAt ?? null];
    const values = [...own, ...FINISHED.encode(finished)];
    const { rows } = await this.database.query<HeartbeatRow>(HEARTBEAT, values).catch((error: unknown) => {
      leases.putBackFinished(finished);
      throw error;
    });
    const [row] = rows;
    const clocksApartMs = row === undefined ? 0 : clocksApart(row.databaseMs, askedMs);
    if (row === undefined) {
      // Forgotten after an hour without a heartbeat, or lost in a failover: register again under another ID.
      await this.#register();
      this.#wasForgotten = this.#confirmed !== undefined;
      leases.forgetFinished();
      return this.heartbeat(leases, epochs);
    }
    this.#lost = await this.#lostTime(row);
    // guard(leases: counters that may have gone back are moved past what was handed out): AHEAD] ⇒ 0]
    if (row.goneBack) await this.database.query(MOVE_AHEAD, [AHEAD]);
    this.#confirmed = row;
    this.#wasForgotten = false;
    // guard(leases: what is in doubt is leased anew when the database has lost its lease): if (row.goneBack || row.lineage !== this.#renewedIn) await leases.renew(); ⇒
    if (row.goneBack || row.lineage !== this.#renewedIn) await leases.renew();
    this.#renewedIn = row.lineage;
    // Until this heartbeat was committed, other processes saw only the previous one.
    if (!this.alive) this.#term += 1;
    this.#heartbeatAtMs = beganMs;
    this.#heartbeatOnMs = beganOnMs;
    return { ...row, clocksApartMs };
  }

  /** Gives back unused audits. A process that leaves something in doubt keeps its row, so that the others find it. */
  async deregister(leases: AuditLeases): Promise<void> {
    await leases.returnUnused();
    // guard(leases: kept by a process that stops and leaves something in doubt): if (!leases.inDoubt) ⇒
    if (!leases.inDoubt) await this.database.query(DEREGISTER_PROCESS, [this.#id]);
  }

  get #heartbeatAgeMs(): number {
    return Math.max(performance.now() - this.#heartbeatAtMs, Date.now() - this.#heartbeatOnMs);
  }

  /** Notes the loss first: once the counters belong to this lineage, nothing else shows that something may be lost. */
  async #lostTime(row: HeartbeatRow): Promise<LostTime | undefined> {
    const lostFrom = await this.#lostFrom(row);
    if (lostFrom !== undefined)
      return this.database.transaction((connection) => noteLostTime(connection, lostFrom, AHEAD));
    const { lostFromMs: fromMs, lostUntilMs: untilMs } = row;
    return fromMs === null || untilMs === null ? undefined : { fromMs, untilMs };
  }

  /**
   * A failover to a complete standby loses nothing. A process that ran through it knows by its own heartbeat. A process that
   * has just started checks whether the server followed the former primary. If neither is certain, something may be lost.
   */
  async #lostFrom(row: HeartbeatRow): Promise<string | null | undefined> {
    if (this.#confirmed === undefined ? !row.goneBack : row.lineage === this.#confirmed.lineage)
      return undefined;
    if (this.#confirmed !== undefined && !this.#wasForgotten)
      // guard(lost time: a process that misses its own heartbeat notes it): row.lostHeartbeat ? row.lastSeenAt : ⇒
      return row.lostHeartbeat ? row.lastSeenAt : undefined;
    const { rows } = await this.database.query<LastActivity>(LAST_ACTIVITY, [this.#id]);
    const { wasFollowing, lostFrom } = rows[0] as LastActivity;
    // guard(lost time: a process that starts on a server that went back notes it): && !this.#wasForgotten ⇒ || lostFrom !== undefined
    return wasFollowing && !this.#wasForgotten ? undefined : lostFrom;
  }

  async #register(): Promise<void> {
    const [beganMs, beganOnMs] = [performance.now(), Date.now()];
    const values = [hostname(), process.pid, this.times.presumedDeadAfterMs, PROGRAM_VERSION];
    const { rows } = await this.database.query<Registered>(REGISTER_PROCESS, values);
    const { id, installation } = rows[0] as Registered;
    this.#id = id;
    this.#installation = installation;
    this.#renewedIn = undefined;
    this.#term += 1;
    this.#heartbeatAtMs = beganMs;
    this.#heartbeatOnMs = beganOnMs;
  }
}

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
/** A block used up faster than this was too small: each costs a commit. */
const BLOCK_SHOULD_LAST_MS = 10_000;

/**
 * Leases audits in blocks per organisation, so that a claim need not fetch its number first. A lease stays until no audit of
 * its block is in doubt. If this process dies, its leases show the others what to resolve.
 */
export class AuditLeases {
  readonly #supplies = new Map<OrganisationId, Supply>();
  /** The next heartbeat drops their leases. */
  readonly #finished: Block[] = [];

  constructor(
    private readonly database: Database,
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

  /** The audit was refused, is decided, or now belongs to the resolver: nothing is left to look after. */
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

  /** The blocks that the next heartbeat drops. */
  takeFinished(): readonly Block[] {
    return this.#finished.splice(0);
  }

  /** That heartbeat failed. */
  putBackFinished(blocks: readonly Block[]): void {
    this.#finished.push(...blocks);
  }

  /** The database dropped them with this process's row. */
  forgetFinished(): void {
    this.#finished.length = 0;
  }

  get inDoubt(): boolean {
    return this.#blocks().some((block) => block.inDoubt > 0);
  }

  /** Gives back unused audits. Audits in doubt stay leased, so that the others find them. */
  async returnUnused(): Promise<void> {
    for (const block of this.#blocks()) {
      if (block.next <= block.last) {
        await this.database.query(RETURN_AUDITS, [block.organisationId, block.next, block.last + 1]);
      }
    }
  }

  /** The leases may be gone: no more audits are handed out of them, and those in doubt are leased again. */
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
      // The database has gone back, or no longer knows this process: the next heartbeat deals with it.
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
