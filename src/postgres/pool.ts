// Sessions that are used again and again, by one statement or one transaction at a time, all of them on the primary among the servers
// that an address names.
import { setTimeout as sleep } from 'node:timers/promises';
import { type ServerAddress, serversOf } from './database-url.js';
import type { Engine } from './distributed.js';
import { isPassing, Session, type SessionOptions, SilentServer, UnfitServer } from './session.js';

interface PoolOptions extends SessionOptions {
  readonly maxSessions: number;
  /** A statement that is not answered within this time is given up, and its session with it. */
  readonly answerLimitMs: number | undefined;
  /** Sessions that nobody uses stay open: the server may have none left when the next one is wanted. */
  readonly keepsSessions: boolean;
  /** A session that nobody uses was lost. */
  readonly onLost: (error: Error) => void;
}

export interface PoolFigures {
  readonly open: number;
  /** Of these. */
  readonly idle: number;
  readonly most: number;
  /** Statements that wait for a session. */
  readonly waiting: number;
}

interface Waiting {
  readonly resolve: (session: Session) => void;
  readonly reject: (error: unknown) => void;
  waitedMs: number;
}

/** How long somebody waits for one of the others to give a session back. */
const WAIT_LIMIT_MS = 3_000;
const IDLE_LIMIT_MS = 10_000;
const LOOK_EVERY_MS = 500;
const GOODBYE_LIMIT_MS = 2_000;

export class Pool implements SessionHolder {
  readonly #servers: Servers;
  readonly #idle: Session[] = [];
  readonly #all = new Set<Session>();
  /** Told to end; their connections are not closed yet. */
  readonly #leaving = new Set<Session>();
  readonly #waiting: Waiting[] = [];
  #opening = 0;
  #closed = false;
  #looking: NodeJS.Timeout | undefined;
  #onAllGone: () => void = () => {};

  constructor(
    url: string,
    private readonly options: PoolOptions,
  ) {
    this.#servers = Servers.join(url, this);
  }

  /** Undefined before this process had a session on the server. */
  get engine(): Engine | undefined {
    return this.#servers.engine;
  }

  get figures(): PoolFigures {
    return {
      open: this.#all.size,
      idle: this.#idle.length,
      most: this.options.maxSessions,
      waiting: this.#waiting.length,
    };
  }

  /** One that is at hand. */
  take(): Session | undefined {
    return this.#idle.pop();
  }

  /** One as soon as there is one. */
  async acquire(): Promise<Session> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#closed) throw closedMeanwhile();
    if (this.#all.size + this.#opening >= this.options.maxSessions) return this.#wait();
    return this.#open();
  }

  release(session: Session): void {
    if (session.broken || this.#closed) {
      if (this.#all.has(session)) this.#discard(session);
      return;
    }
    const next = this.#waiting.shift();
    if (next === undefined) {
      session.idleFor = 0;
      this.#idle.push(session);
    } else {
      next.resolve(session);
    }
  }

  /** The server is gone, or is not the primary any more. */
  suspect(): void {
    this.#servers.suspect();
  }

  renew(): void {
    for (const session of [...this.#idle]) this.#discard(session);
    for (const session of this.#all) Object.assign(session, { broken: true, givenUp: true });
  }

  takenOver(timeline: number): void {
    for (const session of [...this.#all]) {
      if (session.timeline >= timeline) continue;
      session.givenUp = true;
      this.#discard(session, new Error('another server has taken over'));
    }
  }

  /** Returns when the server has let the last session go, or does not answer. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#looking);
    for (const { reject } of this.#waiting.splice(0)) reject(closedMeanwhile());
    for (const session of [...this.#idle]) this.#discard(session);
    const gone = new Promise<void>((resolve) => {
      this.#onAllGone = resolve;
    });
    if (this.#all.size + this.#leaving.size > 0)
      await Promise.race([gone, sleep(GOODBYE_LIMIT_MS, undefined, { ref: false })]);
    this.#servers.leave(this);
  }

  #wait(): Promise<Session> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject, waitedMs: 0 });
      this.#beginLooking();
    });
  }

  async #open(): Promise<Session> {
    this.#opening += 1;
    let session: Session;
    try {
      session = await this.#servers.open(this.options);
    } catch (error) {
      this.#opening -= 1;
      // The server has none left: one that this pool has, or is about to have, is free sooner.
      const others = this.#all.size + this.#opening > 0;
      if (isOutOfSessions(error) && others && !this.#closed) return this.#idle.pop() ?? this.#wait();
      // There is room again.
      this.#openForNext();
      throw error;
    }
    this.#opening -= 1;
    if (this.#closed) {
      session.end();
      throw closedMeanwhile();
    }
    this.#all.add(session);
    session.client.on('end', () => this.#ended(session));
    this.#beginLooking();
    this.#openForNext();
    return session;
  }

  #openForNext(): void {
    if (this.#closed || this.#all.size + this.#opening >= this.options.maxSessions) return;
    const next = this.#waiting.shift();
    if (next !== undefined) this.#open().then(next.resolve, next.reject);
  }

  #beginLooking(): void {
    this.#looking ??= setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /** The time is counted in looks: a process that stood still itself has not given the server a chance to answer. */
  #look(): void {
    const { answerLimitMs = Number.POSITIVE_INFINITY } = this.options;
    let silent = false;
    for (const session of this.#all) {
      if (!session.busy) continue;
      session.silentFor += LOOK_EVERY_MS;
      if (session.silentFor <= answerLimitMs) continue;
      silent = true;
      session.end(new SilentServer(`the database did not answer within ${answerLimitMs} ms`));
    }
    if (silent) this.suspect();
    for (const waiting of this.#waiting) waiting.waitedMs += LOOK_EVERY_MS;
    // Who came first has waited for longest.
    while ((this.#waiting[0]?.waitedMs ?? 0) > WAIT_LIMIT_MS)
      this.#waiting.shift()?.reject(new Error(`no session became free within ${WAIT_LIMIT_MS} ms`));
    if (this.options.keepsSessions) return;
    for (const session of [...this.#idle]) {
      session.idleFor += LOOK_EVERY_MS;
      if (session.idleFor > IDLE_LIMIT_MS) this.#discard(session);
    }
  }

  #discard(session: Session, reason?: Error): void {
    this.#forget(session);
    this.#leaving.add(session);
    session.end(reason);
    this.#openForNext();
  }

  /** The connection is closed, by whichever side. */
  #ended(session: Session): void {
    this.#leaving.delete(session);
    const wasIdle = this.#forget(session);
    session.broken = true;
    if (this.#closed) {
      if (this.#all.size + this.#leaving.size === 0) this.#onAllGone();
    } else if (wasIdle) {
      this.options.onLost(session.failure ?? new Error('the server closed the connection'));
      this.suspect();
    }
  }

  /** Whether it was idle. */
  #forget(session: Session): boolean {
    this.#all.delete(session);
    const at = this.#idle.indexOf(session);
    if (at !== -1) this.#idle.splice(at, 1);
    return at !== -1;
  }
}

/** The server has as many as it may have, or as many of this login or database. */
function isOutOfSessions(error: unknown): boolean {
  return (error as { code?: string }).code === '53300';
}

function closedMeanwhile(): Error {
  return new Error('the database was closed meanwhile');
}

/** Whoever holds sessions. */
interface SessionHolder {
  /** None of those that it has now is to be used again. */
  renew(): void;
  /** Another server has taken over: what is under way on sessions of an earlier timeline will not come to an end. */
  takenOver(timeline: number): void;
}

/** For so long an address that leads to the wrong server is tried again. */
const WRONG_SERVER_MS = 2_000;
const PAUSE_MS = 100;
/** Two servers may both say that they are the primary: the other one is given so long to show that it is the newer. */
const COMPARE_MS = 300;

/** By address. */
const known = new Map<string, Servers>();

/** Finds the primary among the servers that an address names, and keeps every session of this process on it. */
class Servers {
  readonly #addresses: readonly [ServerAddress, ...ServerAddress[]];
  readonly #holders = new Set<SessionHolder>();
  #primary: ServerAddress | undefined;
  #finding: Promise<ServerAddress> | undefined;
  #timeline = 0;
  /** Undefined before the first session. */
  engine: Engine | undefined;

  private constructor(private readonly url: string) {
    this.#addresses = serversOf(url);
    this.#primary = this.#addresses[0];
  }

  /** One for all pools of this process: what one of them finds out, the others need not suffer. */
  static join(url: string, holder: SessionHolder): Servers {
    const servers = known.get(url) ?? new Servers(url);
    known.set(url, servers);
    servers.#holders.add(holder);
    return servers;
  }

  leave(holder: SessionHolder): void {
    this.#holders.delete(holder);
    if (this.#holders.size === 0) known.delete(this.url);
  }

  /** A session on the primary. For some seconds after a failover an address may lead to the wrong server: it is tried again. */
  async open(options: SessionOptions): Promise<Session> {
    const limitMs = performance.now() + WRONG_SERVER_MS;
    for (;;) {
      const address = this.#primary ?? (await this.#find(options));
      try {
        return await this.#openAt(address, options);
      } catch (error) {
        const several = this.#addresses.length > 1;
        if (several) this.#primary = undefined;
        if (!several && !(error instanceof UnfitServer && error.passing)) throw error;
        if (performance.now() > limitMs) throw error;
        await sleep(PAUSE_MS);
      }
    }
  }

  /** A session was lost, or does not answer: nobody trusts the others any more. */
  suspect(): void {
    if (this.#addresses.length > 1) this.#primary = undefined;
    for (const holder of this.#holders) holder.renew();
  }

  async #openAt({ url }: ServerAddress, options: SessionOptions): Promise<Session> {
    const session = await Session.open(url, options);
    this.engine = session.engine;
    // guard(failover: a former primary is not used again): this.#timeline ⇒ 0
    // guard(failover: neither a standby nor a former primary is asked, and neither is believed): this.#timeline ⇒ 0
    if (session.timeline < this.#timeline) {
      session.end();
      throw new UnfitServer('the server is a former primary; another one has taken over', true);
    }
    if (session.timeline > this.#timeline) {
      this.#timeline = session.timeline;
      for (const holder of this.#holders) holder.takenOver(session.timeline);
    }
    return session;
  }

  #find(options: SessionOptions): Promise<ServerAddress> {
    this.#finding ??= this.#askAll(options).finally(() => {
      this.#finding = undefined;
    });
    return this.#finding;
  }

  /** The primary of the newest timeline. */
  async #askAll(options: SessionOptions): Promise<ServerAddress> {
    const refusals: string[] = [];
    let passing = false;
    let newest: { address: ServerAddress; timeline: number } | undefined;
    const asked = this.#addresses.map(async (address) => {
      try {
        const session = await this.#openAt(address, options);
        session.end();
        if (session.timeline > (newest?.timeline ?? 0)) newest = { address, timeline: session.timeline };
      } catch (error) {
        const { message, code } = error as { message?: string; code?: string };
        refusals.push(`${address.name}: ${message || code}`);
        passing ||= isPassing(error);
        // Only those that are a primary end the wait for the others.
        throw error;
      }
    });
    const all = Promise.allSettled(asked);
    await Promise.any(asked).then(
      () => Promise.race([all, sleep(COMPARE_MS)]),
      () => {},
    );
    if (newest === undefined) {
      throw new UnfitServer(`none of the servers is a primary (${refusals.join('; ')})`, passing);
    }
    this.#primary = newest.address;
    return newest.address;
  }
}
