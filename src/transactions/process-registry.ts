// The process registry: each running process has a row in it and keeps it alive with a heartbeat. The others presume a process
// without one dead, and look after what it left in doubt.
import { hostname } from 'node:os';
import type { LinkReport } from '../acquirers/links.js';
import type { Database } from '../postgres/database.js';
import type { AuditLeases } from './audit-leases.js';
import {
  DEREGISTER_PROCESS,
  FINISHED,
  HEARTBEAT,
  MOVE_AHEAD,
  REGISTER_PROCESS,
} from './process-registry.sql.js';
import type { ProcessTimes } from './process-times.js';
import type { OwnEpochs, SharedEpochs } from './search-fence.js';

/** What a heartbeat brings back. */
export interface HeartbeatReply extends SharedEpochs {
  /** How far the clock is advanced. */
  readonly advancedMs: number;
}

interface HeartbeatRow extends HeartbeatReply {
  /** The history that the database follows. */
  readonly lineage: string;
  /** It is another than that under which audits were handed out until now. */
  readonly goneBack: boolean;
}

interface Registered {
  readonly id: number;
  readonly installation: string;
}

/** More than can have been handed out and lost in a failover. */
const AHEAD = 100_000;

export class ProcessRegistry {
  #id = 0;
  #installation = '';
  /** The lineage of the database in which it is certain that the leases are there. */
  #renewedIn: string | undefined;
  #heartbeatAtMs = 0;
  /** The same by the clock of the wall: the other one stands still while a machine sleeps. */
  #heartbeatOnMs = 0;
  #term = 0;

  private constructor(
    private readonly database: Database,
    private readonly times: ProcessTimes,
    private readonly links: () => readonly LinkReport[],
  ) {}

  /** Makes an entry for this process. Its heartbeats say how its links are. */
  static async register(
    database: Database,
    times: ProcessTimes,
    links: () => readonly LinkReport[] = () => [],
  ): Promise<ProcessRegistry> {
    const registry = new ProcessRegistry(database, times, links);
    await registry.#register();
    return registry;
  }

  /** That of this process. Another after it was forgotten and has registered anew. */
  get id(): number {
    return this.#id;
  }

  get installation(): string {
    return this.#installation;
  }

  /** Whether the last heartbeat is so recent that nobody presumes this process dead. */
  get alive(): boolean {
    return this.#heartbeatAgeMs < this.times.staleAfterMs;
  }

  /** Counts up whenever the others may have presumed this process dead: what it claimed before is theirs to look after. */
  get term(): number {
    return this.#term;
  }

  /** Whether what was claimed in this term may still be sent: nobody else can have taken it over. */
  maySend(term: number): boolean {
    return term === this.#term && this.alive;
  }

  /** When the last heartbeat that was committed began. */
  get heartbeatMs(): number {
    return this.#heartbeatAtMs;
  }

  /** Tells the others that this process lives, how its links are and how far its searches, drops finished leases, and renews lost ones. */
  async heartbeat(
    leases: AuditLeases,
    epochs: OwnEpochs = { answered: 0, current: 0 },
  ): Promise<HeartbeatReply> {
    const [beganMs, beganOnMs] = [performance.now(), Date.now()];
    // Taken out, not looked at: further blocks are finished while the heartbeat is under way.
    const finished = leases.takeFinished();
    const links = JSON.stringify(this.links());
    const values = [this.#id, epochs.answered, epochs.current, links, ...FINISHED.encode(finished)];
    const { rows } = await this.database.query<HeartbeatRow>(HEARTBEAT, values).catch((error: unknown) => {
      leases.putBackFinished(finished);
      throw error;
    });
    const [row] = rows;
    if (row === undefined) {
      // Forgotten by the others after an hour without a heartbeat, or lost in a failover: start anew under another id.
      await this.#register();
      leases.forgetFinished();
      return this.heartbeat(leases, epochs);
    }
    if (row.goneBack) await this.database.query(MOVE_AHEAD, [AHEAD]);
    if (row.goneBack || row.lineage !== this.#renewedIn) await leases.renew();
    this.#renewedIn = row.lineage;
    // The others saw the heartbeat before until this one was committed.
    if (!this.alive) this.#term += 1;
    this.#heartbeatAtMs = beganMs;
    this.#heartbeatOnMs = beganOnMs;
    return row;
  }

  /** Gives back the audits that were not used. A process that leaves something in doubt keeps its entry, for the others to find. */
  async deregister(leases: AuditLeases): Promise<void> {
    await leases.returnUnused();
    if (!leases.inDoubt) await this.database.query(DEREGISTER_PROCESS, [this.#id]);
  }

  get #heartbeatAgeMs(): number {
    return Math.max(performance.now() - this.#heartbeatAtMs, Date.now() - this.#heartbeatOnMs);
  }

  async #register(): Promise<void> {
    const [beganMs, beganOnMs] = [performance.now(), Date.now()];
    const values = [hostname(), process.pid, this.times.presumedDeadAfterMs];
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
