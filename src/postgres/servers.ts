// Finds the primary among the servers that an address names, and keeps every session of this process on it.
import { setTimeout as sleep } from 'node:timers/promises';
import { type ServerAddress, serversOf } from './database-url.js';
import type { Engine } from './distributed.js';
import { isPassing } from './passing.js';
import { Session, type SessionOptions, UnfitServer } from './session.js';

/** Whoever holds sessions. */
export interface SessionHolder {
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

const known = new Map<string, Servers>();

export class Servers {
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
