// A pool of sessions, each used by one statement or one transaction at a time. All of them are on the primary among the servers of a URL.
import { setTimeout as sleep } from 'node:timers/promises';
import { type ServerAddress, serversOf } from './database-url.js';
import type { Engine } from './distributed.js';
import { isTransient, Session, type SessionOptions, UnfitServer, UnresponsiveServer } from './session.js';

interface PoolOptions extends SessionOptions {
  readonly maxSessions: number;
  /** A statement without an answer within this time is given up, and its session too. */
  readonly answerLimitMs: number | undefined;
  /** Idle sessions stay open: the server may be out of connections when the next one is needed. */
  readonly keepsSessions: boolean;
  /** An idle session was lost. */
  readonly onLost: (error: Error) => void;
}

export interface PoolFigures {
  readonly open: number;
  /** How many of the open sessions are idle. */
  readonly idle: number;
  readonly most: number;
  /** How many statements wait for a session. */
  readonly waiting: number;
}

interface Waiting {
  readonly resolve: (session: Session) => void;
  readonly reject: (error: unknown) => void;
  waitedMs: number;
}

/** How long a statement waits for a session to become free. */
const WAIT_LIMIT_MS = 3_000;
const IDLE_LIMIT_MS = 10_000;
const CHECK_EVERY_MS = 500;
const CLOSE_LIMIT_MS = 2_000;

/** The checks of all pools, on one timer: each wakes the process. */
class Checks {
  readonly #all = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  add(check: () => void): void {
    this.#all.add(check);
    this.#timer ??= setInterval(() => {
      for (const each of this.#all) each();
    }, CHECK_EVERY_MS).unref();
  }

  remove(check: () => void): void {
    this.#all.delete(check);
    if (this.#all.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

const CHECKS = new Checks();

export class Pool implements SessionHolder {
  readonly #servers: Servers;
  readonly #idle: Session[] = [];
  readonly #all = new Set<Session>();
  /** Sessions that are ending, and whose connections are not closed yet. */
  readonly #ending = new Set<Session>();
  readonly #waiting: Waiting[] = [];
  #opening = 0;
  #closed = false;
  readonly #checking = () => this.#check();
  #onAllGone: () => void = () => {};

  constructor(
    url: string,
    private readonly options: PoolOptions,
  ) {
    this.#servers = Servers.join(url, this);
  }

  /** Undefined until this process has had a session on the server. */
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

  /** An idle session, if there is one. */
  take(): Session | undefined {
    return this.#idle.pop();
  }

  /** A session, as soon as there is one. */
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

  /** The server is gone, or is no longer the primary. */
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

  /** Returns when the server has closed the last session, or does not answer. */
  async close(): Promise<void> {
    this.#closed = true;
    CHECKS.remove(this.#checking);
    for (const { reject } of this.#waiting.splice(0)) reject(closedMeanwhile());
    for (const session of [...this.#idle]) this.#discard(session);
    const gone = new Promise<void>((resolve) => {
      this.#onAllGone = resolve;
    });
    if (this.#all.size + this.#ending.size > 0)
      await Promise.race([gone, sleep(CLOSE_LIMIT_MS, undefined, { ref: false })]);
    this.#servers.leave(this);
  }

  #wait(): Promise<Session> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject, waitedMs: 0 });
      this.#startChecking();
    });
  }

  async #open(): Promise<Session> {
    this.#opening += 1;
    let session: Session;
    try {
      session = await this.#servers.open(this.options);
    } catch (error) {
      this.#opening -= 1;
      // The server is out of connections: a session of this pool, open or opening, will be free sooner.
      const others = this.#all.size + this.#opening > 0;
      if (isOutOfSessions(error) && others && !this.#closed) return this.#idle.pop() ?? this.#wait();
      // This pool may open a session again.
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
    this.#startChecking();
    this.#openForNext();
    return session;
  }

  #openForNext(): void {
    if (this.#closed || this.#all.size + this.#opening >= this.options.maxSessions) return;
    const next = this.#waiting.shift();
    if (next !== undefined) this.#open().then(next.resolve, next.reject);
  }

  #startChecking(): void {
    if (!this.#closed) CHECKS.add(this.#checking);
  }

  /** Counts time in checks: while this process itself stood still, the server could not answer. */
  #check(): void {
    const { answerLimitMs = Number.POSITIVE_INFINITY } = this.options;
    let silent = false;
    for (const session of this.#all) {
      if (!session.busy) continue;
      session.silentFor += CHECK_EVERY_MS;
      if (session.silentFor <= answerLimitMs) continue;
      silent = true;
      session.end(new UnresponsiveServer(`the database did not answer within ${answerLimitMs} ms`));
    }
    if (silent) this.suspect();
    for (const waiting of this.#waiting) waiting.waitedMs += CHECK_EVERY_MS;
    // The first in the queue has waited longest.
    while ((this.#waiting[0]?.waitedMs ?? 0) > WAIT_LIMIT_MS)
      this.#waiting.shift()?.reject(new Error(`no session became free within ${WAIT_LIMIT_MS} ms`));
    if (this.options.keepsSessions) return;
    for (const session of [...this.#idle]) {
      session.idleFor += CHECK_EVERY_MS;
      if (session.idleFor > IDLE_LIMIT_MS) this.#discard(session);
    }
  }

  #discard(session: Session, reason?: Error): void {
    this.#forget(session);
    this.#ending.add(session);
    session.end(reason);
    this.#openForNext();
  }

  /** Either side has closed the connection. */
  #ended(session: Session): void {
    this.#ending.delete(session);
    const wasIdle = this.#forget(session);
    session.broken = true;
    if (this.#closed) {
      if (this.#all.size + this.#ending.size === 0) this.#onAllGone();
    } else if (wasIdle) {
      this.options.onLost(session.failure ?? new Error('the server closed the connection'));
      this.suspect();
    }
  }

  /** Returns whether the session was idle. */
  #forget(session: Session): boolean {
    this.#all.delete(session);
    const at = this.#idle.indexOf(session);
    if (at !== -1) this.#idle.splice(at, 1);
    return at !== -1;
  }
}

/** The server has reached its limit of connections, for all, for this login or for this database. */
function isOutOfSessions(error: unknown): boolean {
  return (error as { code?: string }).code === '53300';
}

function closedMeanwhile(): Error {
  return new Error('the database was closed in the meantime');
}

/** Holds sessions. */
interface SessionHolder {
  /** No current session may be used again. */
  renew(): void;
  /** Another server has taken over: statements on sessions of an earlier timeline will not finish. */
  takenOver(timeline: number): void;
}

/** How long a URL that leads to the wrong server is tried again. */
const WRONG_SERVER_MS = 2_000;
const PAUSE_MS = 100;
/** Two servers may both claim to be the primary. The other one has this long to show that it is newer. */
const COMPARE_MS = 300;

/** By URL. */
const known = new Map<string, Servers>();

/** Finds the primary among the servers of a URL, and keeps every session of this process on it. */
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

  /** Shared by all pools of this process: all of them use what one finds out. */
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

  /** A session on the primary. For some seconds after a failover a URL may lead to the wrong server, so it tries again. */
  async open(options: SessionOptions): Promise<Session> {
    const limitMs = performance.now() + WRONG_SERVER_MS;
    for (;;) {
      const address = this.#primary ?? (await this.#find(options));
      try {
        return await this.#openAt(address, options);
      } catch (error) {
        const several = this.#addresses.length > 1;
        if (several) this.#primary = undefined;
        if (!several && !(error instanceof UnfitServer && error.transient)) throw error;
        if (performance.now() > limitMs) throw error;
        await sleep(PAUSE_MS);
      }
    }
  }

  /** A session was lost or does not answer: the other sessions are not trusted any more. */
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
    let transient = false;
    let newest: { address: ServerAddress; timeline: number } | undefined;
    const asked = this.#addresses.map(async (address) => {
      try {
        const session = await this.#openAt(address, options);
        session.end();
        if (session.timeline > (newest?.timeline ?? 0)) newest = { address, timeline: session.timeline };
      } catch (error) {
        const { message, code } = error as { message?: string; code?: string };
        refusals.push(`${address.name}: ${message || code}`);
        transient ||= isTransient(error);
        // Only a primary ends the wait for the other servers.
        throw error;
      }
    });
    const all = Promise.allSettled(asked);
    await Promise.any(asked).then(
      () => Promise.race([all, sleep(COMPARE_MS)]),
      () => {},
    );
    if (newest === undefined) {
      throw new UnfitServer(`none of the servers is a primary (${refusals.join('; ')})`, transient);
    }
    this.#primary = newest.address;
    return newest.address;
  }
}
