// A merchant's backend that follows the specification's recovery procedure to the letter, and remembers what it was told. It was written
// from the specification alone and shares nothing with the client in `client/`, which recovers otherwise (under the same correlation ID):
// a mistake that both made would agree with itself.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Json, paymentBody, targetedBody } from '../../testkit/bodies.js';
import { type CallAnswer, type CallRequest, call, Unanswered } from '../../testkit/caller.js';
import type { Chance } from '../../testkit/chance.js';
import type { CalledGateway } from '../../testkit/several-gateways.js';

// Where processes are killed as fast as they start, a doubt waits until one of them lives for long enough.
const PATIENCE_MS = 300_000;
const PAUSE_MS = 20;

export type OrderKind =
  | 'purchase'
  | 'preauthorisation'
  | 'standalone_refund'
  | 'completion'
  | 'refund'
  | 'void';

/** Something that is to happen at most once. */
export interface Order {
  /** Its own, and nobody else's. */
  readonly reference: string;
  readonly kind: OrderKind;
  readonly amountCents?: number | undefined;
  readonly pan?: string | undefined;
  readonly targetAudit?: number | undefined;
  readonly attempts: Attempt[];
}

export interface Attempt {
  readonly correlationId: string;
  /** How the shop learnt what became of it. */
  end?: 'answered' | 'found' | 'not found' | 'refused' | 'given up';
  audit?: number | undefined;
  status?: string;
  /** From the failure to a decided status. */
  resolutionMs?: number;
  /** An answer that should not be. */
  complaint?: string;
}

/** Throws `Unanswered` where no answer comes. */
export type Calling = (method: string, path: string, request: CallRequest) => Promise<CallAnswer>;

/** What the shop calls. */
type Called =
  | { readonly gateways: readonly CalledGateway[]; readonly authorization: string }
  | { readonly calling: Calling };

export type ShopOptions = Called & {
  readonly random: Chance;
  readonly merchantId: number;
  /** Beside 5XX: the request was not processed, and has to be made again. */
  readonly retried?: readonly number[];
  /** How many of the requests are given up after some milliseconds. */
  readonly impatientPercent?: number;
  /** Between two look-ups of what is in doubt (20 ms). */
  readonly pauseMs?: number;
  /** Told of every attempt that was answered with 201, before the shop goes on. */
  readonly onAnswered?: (attempt: Attempt) => Promise<void>;
};

export class Shop {
  readonly orders: Order[] = [];
  requests = 0;
  readonly failures: Record<string, number> = {};
  readonly #impatientPercent: number;
  readonly #onAnswered: (attempt: Attempt) => Promise<void>;
  readonly #call: Calling;

  constructor(private readonly options: ShopOptions) {
    this.#call = 'calling' in options ? options.calling : callingAny(options, options.random);
    this.#impatientPercent = options.impatientPercent ?? 0;
    this.#onAnswered = options.onAnswered ?? (async () => {});
  }

  /** Sees the order through, under as many correlation IDs as it takes, and returns the last attempt. */
  async place(asked: Omit<Order, 'attempts'>, { triesAfterError = 1 } = {}): Promise<Attempt> {
    const order: Order = { ...asked, attempts: [] };
    this.orders.push(order);
    let errors = 0;
    for (;;) {
      const attempt: Attempt = { correlationId: `${order.reference}.${order.attempts.length + 1}` };
      order.attempts.push(attempt);
      await this.#attempt(order, attempt);
      if (attempt.end === 'not found') continue;
      // An error means that nothing was charged, so that the order is still to be paid.
      if (attempt.status !== 'error' || errors === triesAfterError) return attempt;
      errors += 1;
    }
  }

  async #attempt(order: Order, attempt: Attempt): Promise<void> {
    const impatient = this.options.random.percent(this.#impatientPercent);
    const timeoutMs = impatient
      ? this.options.random.between(1, 30)
      : this.options.random.pick([2_000, 6_000]);
    let answer: CallAnswer;
    try {
      this.requests += 1;
      answer = await this.#send(order, attempt.correlationId, timeoutMs);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      this.#count(error.message);
      return this.#recover(attempt, undefined);
    }
    if (answer.status === 201) {
      Object.assign(attempt, { end: 'answered', ...told(answer.body) });
      return this.#onAnswered(attempt);
    }
    if (answer.status >= 500 || this.options.retried?.includes(answer.status)) {
      this.#count(`${answer.status} ${answer.code}`);
      return this.#recover(attempt, answer.audit);
    }
    Object.assign(attempt, { end: 'refused', complaint: `refused with ${answer.status} ${answer.code}` });
  }

  #send(order: Order, correlationId: string, timeoutMs: number): Promise<CallAnswer> {
    const { kind, reference, pan, targetAudit, amountCents: amount } = order;
    const merchant = this.options.merchantId;
    const [path, body] =
      targetAudit === undefined
        ? [
            kind === 'standalone_refund' ? 'refund' : kind,
            paymentBody({
              merchant,
              reference,
              ...(amount !== undefined && { amount }),
              ...(pan && { pan }),
            }),
          ]
        : [`${targetAudit}/${kind}`, targetedBody({ merchant, reference, amount })];
    return this.#call('POST', `/transactions/${path}`, { correlationId, body, timeoutMs });
  }

  /** After a timeout, a lost connection or a 5XX: by audit if it is known, otherwise by correlation ID. */
  async #recover(attempt: Attempt, named: number | undefined): Promise<void> {
    let audit = named;
    const failedMs = performance.now();
    while (performance.now() - failedMs < PATIENCE_MS) {
      const found = audit === undefined ? await this.search(attempt) : await this.lookUp(audit);
      if (found === undefined) {
        attempt.end = 'not found';
        return;
      }
      if (found !== 'no answer') {
        audit = found.audit;
        const { transaction_status_code: status } = found.status;
        if (status !== 'unknown') {
          Object.assign(attempt, {
            end: 'found',
            ...told(found),
            resolutionMs: performance.now() - failedMs,
          });
          return;
        }
      }
      await sleep(this.options.pauseMs ?? PAUSE_MS);
    }
    Object.assign(attempt, {
      end: 'given up',
      audit,
      complaint: `not resolved within ${PATIENCE_MS / 1000} s`,
    });
  }

  /** The transaction, undefined when there is none, or that nobody answered this time. */
  async search({ correlationId }: Attempt): Promise<Json | 'no answer' | undefined> {
    const query = new URLSearchParams({
      merchant_id: String(this.options.merchantId),
      correlation_id_lookup: correlationId,
    });
    const answer = await this.#ask(`/transactions?${query}`);
    return answer?.status === 200 ? answer.body.results[0] : 'no answer';
  }

  async lookUp(audit: number): Promise<Json | 'no answer' | undefined> {
    const answer = await this.#ask(`/transactions/${audit}`);
    if (answer?.status === 404) return undefined;
    return answer?.status === 200 ? answer.body : 'no answer';
  }

  /** What a look-up says of each in the end, however often it has to be asked for. */
  async lookUpAll(audits: readonly number[], atOnce: number): Promise<Map<number, Json | undefined>> {
    const found = new Map<number, Json | undefined>();
    const left = [...audits];
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (let audit = left.pop(); audit !== undefined; audit = left.pop()) {
          let answer = await this.lookUp(audit);
          while (answer === 'no answer') answer = await this.lookUp(audit);
          found.set(audit, answer);
        }
      }),
    );
    return found;
  }

  /** Searches for what the shop was told just now, as it may at any moment and at either gateway. */
  async checkAgain(attempt: Attempt): Promise<void> {
    const found = await this.search(attempt);
    if (found === 'no answer' || attempt.status === undefined) return;
    const status = found?.status.transaction_status_code ?? 'not found';
    if (status !== attempt.status) attempt.complaint = `told ${attempt.status}, then found ${status}`;
  }

  async #ask(path: string): Promise<CallAnswer | undefined> {
    try {
      const answer = await this.#call('GET', path, { timeoutMs: 5_000 });
      if (answer.status === 500) this.#count('500 to a look-up');
      return answer;
    } catch (error) {
      if (error instanceof Unanswered) return undefined;
      throw error;
    }
  }

  #count(failure: string): void {
    this.failures[failure] = (this.failures[failure] ?? 0) + 1;
  }
}

function callingAny(
  { gateways, authorization }: Exclude<Called, { calling: Calling }>,
  random: Chance,
): Calling {
  return (method, path, request) => {
    const listening = gateways.filter(({ baseUrl }) => baseUrl !== undefined);
    const { baseUrl } = random.pick(listening.length > 0 ? listening : gateways);
    return call({ baseUrl, authorization }, method, path, request);
  };
}

function told({ audit, status }: Json): { audit: number; status: string } {
  return { audit, status: status.transaction_status_code };
}
