// Failed log-ins: logged, and throttled by user name and by address: more than a few a second are answered late. They are
// never turned away before their secret was looked at, so that nobody can lock out whoever has the right one.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Tally } from '../observability/tally.js';
import { RateLimit } from './rate-limit.js';
import { shownUsername } from './shown-username.js';

/** How long the answer to one too many is kept back, at least. */
const HELD_MS = 1_000;
/** Those that are kept back are answered at moments of chance, so many of them a millisecond: not all in one go. */
const ANSWERED_EACH_MS = 1;
/** One line of the log for all that were kept back within this time. */
const TELL_EVERY_MS = 1_000;
/** User names and addresses that have a line of their own within a second. Whoever guesses changes both. */
const MOST_TOLD = 10;

export interface FailedLogIn {
  /** Absent where there were no credentials. */
  readonly username: string | undefined;
  readonly address: string;
  /** The fingerprint of the one that the client has shown. */
  readonly certificate: string | undefined;
}

export class FailedLogIns {
  readonly #byUser: RateLimit;
  readonly #byAddress: RateLimit;
  readonly #failed: Tally<FailedLogIn>;
  readonly #elsewhere: Tally<Pick<FailedLogIn, 'username' | 'address'>>;
  #count = 0;
  /** Since the last line of the log. */
  #held = 0;
  /** Since the start, as is how many of them were kept back. */
  total = 0;
  totalHeld = 0;
  #waiting = 0;

  /** 0 means no limit. */
  constructor(
    perSecond: number,
    private readonly log: Logger,
  ) {
    this.#byUser = new RateLimit(perSecond);
    this.#byAddress = new RateLimit(perSecond);
    this.#failed = new Tally<FailedLogIn>(
      MOST_TOLD,
      ({ username, address, certificate }, count) =>
        log.warn({ username, address, certificate, count }, 'failed log-in'),
      (count) => log.warn({ count }, 'further failed log-ins'),
    );
    this.#elsewhere = new Tally(
      MOST_TOLD,
      ({ username, address }, count) =>
        log.warn({ username, address, count }, 'a user called from an address that it may not call from'),
      (count) => log.warn({ count }, 'further calls from addresses that users may not call from'),
    );
  }

  /** How many there were since the process began, calls from forbidden addresses among them. */
  get count(): number {
    return this.#count;
  }

  /** The secret is right, and was used where its user may not call from: it may be stolen. */
  noteElsewhere(username: string, address: string): void {
    this.#count += 1;
    this.#elsewhere.add(`${address} ${username}`, { username, address });
  }

  /** Resolves when a failed log-in may be answered. The same for names that are no user's. */
  async turn({ username, address, certificate }: FailedLogIn): Promise<void> {
    this.total += 1;
    const shown = username === undefined ? undefined : shownUsername(username);
    this.#failed.add(`${address} ${shown} ${certificate}`, { username: shown, address, certificate });
    // A request without credentials is no attempt: some clients send each request without them first.
    if (username === undefined) return;
    this.#count += 1;
    const userMay = this.#byUser.allows(username);
    const addressMay = this.#byAddress.allows(address);
    // guard(failed log-ins: too many of one name or address are answered late): && addressMay ⇒ || addressMay || this.#held >= 0
    if (userMay && addressMay) return;
    if (this.#held === 0) setTimeout(() => this.#tell(address), TELL_EVERY_MS).unref();
    this.#held += 1;
    this.totalHeld += 1;
    this.#waiting += 1;
    const spreadMs = Math.max(HELD_MS, this.#waiting / ANSWERED_EACH_MS);
    await sleep(Math.round(HELD_MS + Math.random() * spreadMs), undefined, { ref: false });
    this.#waiting -= 1;
  }

  #tell(address: string): void {
    this.log.warn({ held: this.#held, address }, 'too many failed log-ins');
    this.#held = 0;
  }
}
