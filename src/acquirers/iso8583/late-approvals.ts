// Approvals that nobody waits for any more. The order may have been reversed before the host has read it: a host that answered the
// reversal with "never seen" need not remember it, and charges what it reads later. Such an order is reversed again.
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseUnavailable } from '../../postgres/database.js';
import type { Reversals } from './reversals.js';
import type { LateAnswer } from './wire/outstanding.js';

export interface LateApprovalsParts {
  readonly reversals: Pick<Reversals, 'approved'>;
  /** Told when some of them were of orders whose reversal had begun: it is stored by then. */
  readonly onReversed: () => void;
  /** Told now and then of so many others: sent twice, or about nothing that was reversed. */
  readonly onUnexplained: (count: number) => void;
}

/** A host that sends what nobody asked for gets no more than this much of the database. */
const MOST_AT_ONCE = 200;
const PAUSE_MS = 100;
const MOST_WAITING = 10_000;
const AWAY_PAUSE_MS = 1_000;
const TELL_EVERY_MS = 60_000;
const PRINTABLE = /^[ -~]*$/;

export class LateApprovals {
  readonly #waiting = new Map<string, LateAnswer>();
  #unexplained = 0;
  #tellAtMs = 0;
  #storing = false;

  constructor(private readonly parts: LateApprovalsParts) {}

  note(answer: LateAnswer): void {
    if (this.#waiting.size >= MOST_WAITING || !isReadable(answer)) this.#countUnexplained(1);
    else this.#waiting.set(`${answer.terminal}/${answer.stan}`, answer);
    if (!this.#storing) void this.#store();
  }

  async #store(): Promise<void> {
    this.#storing = true;
    let atOnce = MOST_AT_ONCE;
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting].slice(0, atOnce);
      const found = await this.parts.reversals.approved(batch.map(([, answer]) => answer)).catch(whatFailed);
      // Nothing of it is lost while the database is away.
      if (found === 'away') {
        await sleep(AWAY_PAUSE_MS, undefined, { ref: false });
        continue;
      }
      // One that can never be stored must not take the others with it.
      if (found === 'failed' && batch.length > 1) {
        atOnce = Math.ceil(batch.length / 2);
        continue;
      }
      atOnce = MOST_AT_ONCE;
      for (const [key, answer] of batch) if (this.#waiting.get(key) === answer) this.#waiting.delete(key);
      const reversed = found === 'failed' ? 0 : found;
      if (reversed > 0) this.parts.onReversed();
      this.#countUnexplained(Math.max(0, batch.length - reversed));
      await sleep(PAUSE_MS, undefined, { ref: false });
    }
    this.#storing = false;
  }

  #countUnexplained(count: number): void {
    this.#unexplained += count;
    if (this.#unexplained === 0 || performance.now() < this.#tellAtMs) return;
    this.#tellAtMs = performance.now() + TELL_EVERY_MS;
    this.parts.onUnexplained(this.#unexplained);
    this.#unexplained = 0;
  }
}

/** What is to be reversed again is found by what the gateway itself sent: nothing else can stand there. */
function isReadable({ terminal, retrievalReference = '', response }: LateAnswer): boolean {
  return PRINTABLE.test(terminal + retrievalReference + (response.authorisationCode ?? ''));
}

function whatFailed(error: unknown): 'away' | 'failed' {
  return error instanceof DatabaseUnavailable ? 'away' : 'failed';
}
