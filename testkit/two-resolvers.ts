// Two processes with resolvers that retry only when the test says so, and a scripted acquirer.
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { type TestGateway, testGateway } from './gateway.js';
import { ScriptedAcquirer } from './scripted-acquirer.js';

/** Pauses so long that nothing is retried unless the test says so. */
export const SELDOM = {
  ACQUIRER_DEADLINE_MS: '30000',
  RESOLVER_INTERVAL_MS: '20',
  RESOLVER_FIRST_PAUSE_MS: '1000000',
  RESOLVER_LONGEST_PAUSE_MS: '3000000',
};

export const UNREADABLE = { kind: 'unknown', reason: 'unreadable' } as const;
export const NO_ANSWER = { kind: 'no_answer' } as const;
export const PATIENTLY = { timeout: 300_000 };

interface Progress {
  attempts: number;
  /** The time until the next attempt; null once decided. */
  pauseMs: number | null;
}

export function times(list: readonly string[], reference: string): number {
  return list.filter((entry) => entry === reference).length;
}

export class TwoResolvers {
  /** Simulated: however often its script fails, it is asked again. */
  readonly acquirer = new ScriptedAcquirer('test', true);
  one!: TestGateway;
  other!: TestGateway;

  /** For the tests of the file that calls it. */
  static ofThisFile(): TwoResolvers {
    const resolvers = new TwoResolvers();
    beforeAll(() => resolvers.#start());
    afterAll(() => resolvers.#close());
    return resolvers;
  }

  async purchasedInDoubt(gateway: TestGateway): Promise<number> {
    this.acquirer.nextAnswers(() => UNREADABLE);
    const answer = await gateway.api.purchase({ amount: 100 });
    expect(answer.status).toBe(502);
    return Number(answer.headers.get('location')?.split('/').at(-1));
  }

  async progressOf(audit: number): Promise<Progress> {
    const [row] = await this.one.sql<Progress>(
      `SELECT resolve_attempts AS attempts, extract(epoch FROM resolve_at - now())::float8 * 1000 AS "pauseMs"
       FROM transaction WHERE organisation_id = 1 AND audit = $1`,
      [audit],
    );
    return row as Progress;
  }

  /** Waits until the given attempt was made and ended without a result. */
  async postponed(audit: number, attempt: number): Promise<number> {
    return vi.waitUntil(async () => {
      const { attempts, pauseMs } = await this.progressOf(audit);
      // Longer than the lease of an attempt.
      return attempts === attempt && pauseMs !== null && pauseMs > 200_000 && pauseMs;
    }, PATIENTLY);
  }

  async lookAgain(): Promise<void> {
    await this.one.sql(`UPDATE transaction SET resolve_at = now() WHERE status = 'unknown'`);
  }

  async #start(): Promise<void> {
    const options = { settings: SELDOM, acquirers: [this.acquirer] };
    this.one = await testGateway(options);
    await this.one.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
    this.other = await testGateway({ ...options, shareWith: this.one });
  }

  async #close(): Promise<void> {
    await this.other.close();
    await this.one.close();
  }
}
