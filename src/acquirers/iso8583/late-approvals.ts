// Approvals that nobody waits for any more. The gateway may have reversed the order before the host read it: a host that answered the
// reversal with "never seen" need not remember it, and charges the order when it reads it. Such an order is reversed again.
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseUnavailable } from '../../postgres/database.js';
import type { Reversals } from './reversals.js';
import type { LateAnswer } from './wire/outstanding.js';

export interface LateApprovalsParts {
  readonly reversals: Pick<Reversals, 'approved'>;
  /** Called when some approvals were of orders whose reversal had begun; these are stored by then. */
  readonly onReversed: () => void;
  /** Called now and then with the number of other approvals: sent twice, or of orders that were not reversed. */
  readonly onUnexplained: (count: number) => void;
}

/** Limits how much of the database a host with unsolicited answers can use. */
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
      // Approvals are kept while the database is away.
      if (found === 'away') {
        await sleep(AWAY_PAUSE_MS, undefined, { ref: false });
        continue;
      }
      // One approval that can never be stored must not take the others with it.
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

/** The order is found by values that the gateway itself sent, so anything else is ignored. */
function isReadable({ terminal, retrievalReference = '', response }: LateAnswer): boolean {
  return PRINTABLE.test(terminal + retrievalReference + (response.authorisationCode ?? ''));
}

function whatFailed(error: unknown): 'away' | 'failed' {
  return error instanceof DatabaseUnavailable ? 'away' : 'failed';
}
