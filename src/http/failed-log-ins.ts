// Failed log-ins: logged, and throttled by user name and by address: more than a few a second are answered late. They are
// never turned away before their secret was looked at, so that nobody can lock out whoever has the right one.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { RateLimit } from './rate-limit.js';
import { shownUsername } from './shown-username.js';
import { Tally } from './tally.js';

/** How long the answer to one too many is kept back, at least. */
const HELD_MS = 1_000;
/** Those that are kept back are answered at moments of chance, so many of them a millisecond: not all in one go. */
const ANSWERED_EACH_MS = 1;
/** One line of the log for all that were kept back within this time. */
const TELL_EVERY_MS = 1_000;
/** User names and addresses that have a line of their own within a second. Whoever guesses changes both. */
const MOST_TOLD = 10;

interface FailedLogIn {
  /** Absent where there were no credentials. */
  readonly username: string | undefined;
  readonly address: string;
}

export class FailedLogIns {
  readonly #byUser: RateLimit;
  readonly #byAddress: RateLimit;
  readonly #failed: Tally<FailedLogIn>;
  /** Since the last line of the log. */
  #held = 0;
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
      ({ username, address }, count) => log.warn({ username, address, count }, 'failed log-in'),
      (count) => log.warn({ count }, 'further failed log-ins'),
    );
  }

  /** Resolves when a failed log-in may be answered. The same for names that are no user's. */
  async turn(username: string | undefined, address: string): Promise<void> {
    const shown = username === undefined ? undefined : shownUsername(username);
    this.#failed.add(`${address} ${shown}`, { username: shown, address });
    // A request without credentials is no attempt: some clients send each request without them first.
    if (username === undefined) return;
    const userMay = this.#byUser.allows(username);
    const addressMay = this.#byAddress.allows(address);
    if (userMay && addressMay) return;
    if (this.#held === 0) setTimeout(() => this.#tell(address), TELL_EVERY_MS).unref();
    this.#held += 1;
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
