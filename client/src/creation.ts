// Operations that create a transaction, and what this client does when it does not hear what became of one:
//
//   certainly not processed (503 `not_processed`, 429, no connection)  → the same request again, under the same correlation ID
//   409                                                                → looks up the transaction that holds the ID
//   a 5XX, a timeout, a broken connection, an unreadable answer        → looks it up, or searches, until its outcome is known
//   the search finds nothing, and the request's own time-out is over   → the same request again, under the same correlation ID
//
// Should an earlier one still arrive it gets 409, and not a second charge. Another 4XX ends it: `Refused`, or
// `OrganisationMoved`. Time ends it: `OutcomeUnknown`, or `NothingSent`
// where there was no connection all the time. A certificate that is not trusted ends it at once.
import {
  type CallOptions,
  isNotProcessed,
  refusalIn,
  retryAfterOf,
  throwNothingSent,
  throwUntrusted,
} from './asking.js';
import { Refused } from './errors.js';
import type { Begun, CreatingOperation, Ending } from './memory.js';
import { tell } from './observed.js';
import { type DecidedOutcome, type GatewayStatus, gatewayStatusOf, outcomeOf } from './outcome.js';
import { Patience } from './patience.js';
import { Search } from './recovery.js';
import { newCorrelationId } from './runtime.js';
import type { Settings } from './settings.js';
import { type Answered, type Call, isNotSent, type Transport, type Unanswered } from './transport.js';
import type { CreatedTransaction, PaymentMethod, TransactionDetails } from './wire.js';

export interface CreateOptions extends CallOptions {
  /** A new UUID unless given. The same operation under the same ID cannot happen twice. */
  readonly correlationId?: string | undefined;
  /** After the client's own. */
  readonly beforeSend?: ((begun: Begun) => void | Promise<void>) | undefined;
}

/** What became of it. Look at `outcome`: a declined payment is a result, too. */
export interface Created extends CreatedTransaction {
  readonly outcome: DecidedOutcome;
  readonly gatewayStatus: GatewayStatus;
  readonly correlationId: string;
  /** The answer was lost, and this was found. */
  readonly recovered: boolean;
  /** Where it was looked up. */
  readonly transaction?: TransactionDetails;
}

export interface Creation {
  readonly operation: CreatingOperation;
  readonly path: string;
  readonly targetAudit?: number;
  readonly body: {
    readonly merchant: { readonly id: number };
    readonly transaction: {
      readonly reference: string;
      readonly amount_details?: { readonly total_amount: string; readonly currency: string };
      readonly payment_method?: PaymentMethod;
    };
  };
}

const CORRELATION_ID = /^[a-zA-Z0-9+\-_:.,]{1,128}$/;

export class Creations {
  /** Under way here, and not to be recovered by anybody else. */
  readonly underWay = new Set<string>();

  constructor(
    private readonly settings: Settings,
    private readonly transport: Transport,
  ) {}

  async create(creation: Creation, options: CreateOptions = {}): Promise<Created> {
    const { signal } = options;
    signal?.throwIfAborted();
    const begun = begunOf(creation, options.correlationId ?? (await newCorrelationId()));
    const { correlationId } = begun;
    if (!CORRELATION_ID.test(correlationId)) {
      throw new TypeError('a correlation ID has 1 to 128 letters, digits and + - _ : . ,');
    }
    if (holdsCard(begun, creation)) {
      throw new TypeError(
        'the card number stands where it does not belong: in the reference, the amount or the ID',
      );
    }
    if (this.underWay.has(correlationId)) {
      throw new TypeError('this correlation ID is being used by another call of this client');
    }
    this.underWay.add(correlationId);
    try {
      await this.settings.memory?.begin(begun);
      await this.settings.beforeSend?.(begun);
      await options.beforeSend?.(begun);
      if (signal?.aborted) {
        await this.end(begun, { kind: 'not_processed' });
        signal.throwIfAborted();
      }
      const created = await this.#seeThrough(creation, begun, options);
      await this.end(begun, { kind: 'decided', audit: created.audit, outcome: created.outcome });
      return created;
    } catch (error) {
      if (error instanceof Refused) await this.end(begun, endingOf(error));
      throw error;
    } finally {
      this.underWay.delete(correlationId);
    }
  }

  /** An outcome is an outcome, whether the memory can store it or not. */
  async end({ operation, correlationId }: Begun, ending: Ending): Promise<void> {
    try {
      await this.settings.memory?.end(correlationId, ending);
    } catch {
      tell(this.settings, { kind: 'memory_failed', operation, correlationId });
    }
  }

  async #seeThrough({ path, body }: Creation, begun: Begun, options: CreateOptions): Promise<Created> {
    const { operation, correlationId } = begun;
    const { signal, outcomeTimeoutMs = this.settings.outcomeTimeoutMs } = options;
    const patience = new Patience(this.settings, { operation, correlationId }, signal, outcomeTimeoutMs);
    const search = new Search(this.settings, this.transport, begun, patience, signal);
    const call = { operation, method: 'POST', path, body, correlationId, signal } as const;
    let isSent = false;
    for (;;) {
      const sentMs = performance.now();
      const result = await this.#send(call, patience);
      isSent ||= !isNotSent(result);
      const created = createdIn(result);
      if (created !== undefined && created.outcome !== 'unknown')
        return finished(created, correlationId, false);
      patience.note(result);
      if (isNotProcessed(result)) {
        if (!isSent) throwUntrusted(result, correlationId);
        await patience.wait(patience.last, { atLeastMs: retryAfterOf(result) });
        if (!isSent) throwNothingSent(patience, correlationId);
        search.throwAtTheEnd();
        continue;
      }
      const refusal = refusalIn(result, correlationId);
      if (refusal !== undefined && refusal.status !== 409) {
        const found = await search.lateArrival();
        if (found === undefined) throw refusal;
        return finished(found, correlationId, true);
      }
      // Answered by the gateway itself, it is not on its way any more.
      if (result.kind === 'unanswered' || result.problems.length === 0) {
        search.mayArriveUntil(sentMs + this.settings.requestTimeoutMs);
      }
      const found = await search.outcome(created?.audit ?? auditOf(result));
      if (found !== undefined) return finished(found, correlationId, true);
      await patience.wait('not processed');
      search.throwAtTheEnd();
    }
  }

  #send(call: Omit<Call, 'timeoutMs'>, patience: Patience): Promise<Answered | Unanswered> {
    const timeoutMs = Math.min(this.settings.requestTimeoutMs, Math.max(patience.leftMs, 1));
    return this.transport.exchange({ ...call, timeoutMs });
  }
}

function begunOf({ operation, body, targetAudit }: Creation, correlationId: string): Begun {
  const { reference, amount_details: amount } = body.transaction;
  return {
    correlationId,
    operation,
    merchantId: body.merchant.id,
    reference,
    ...(amount !== undefined && { totalAmount: amount.total_amount, currency: amount.currency }),
    ...(targetAudit !== undefined && { targetAudit }),
    begunAt: new Date().toISOString(),
  };
}

/** What was begun is stored, and told: a card number in it would be, too. A virtual PAN, which begins with 9, is none. */
function holdsCard(begun: Begun, { body }: Creation): boolean {
  const method = body.transaction.payment_method;
  const { pan = '' } = (method !== undefined && 'creditcard' in method ? method.creditcard : undefined) ?? {};
  if (!/^[0-8]\d{11}/.test(pan)) return false;
  return Object.values(begun).some((text) =>
    String(text)
      .replaceAll(/[^\da-z]/gi, '')
      .includes(pan),
  );
}

export function endingOf({ problems }: Refused): Ending {
  return { kind: 'refused', errorCodes: problems.map(({ error_code }) => error_code) };
}

function createdIn(result: Answered | Unanswered) {
  if (result.kind === 'unanswered' || result.status !== 201) return undefined;
  const body = result.body as Partial<CreatedTransaction> | undefined;
  if (typeof body?.audit !== 'number' || typeof body.status?.transaction_status_code !== 'string')
    return undefined;
  const whole = body as CreatedTransaction;
  return { ...whole, outcome: outcomeOf(whole.status), gatewayStatus: gatewayStatusOf(whole.status) };
}

function auditOf(result: Answered | Unanswered): number | undefined {
  return result.kind === 'answered' ? result.audit : undefined;
}

type Read = Omit<Created, 'outcome' | 'correlationId' | 'recovered'> & { readonly outcome: string };

function finished(transaction: Read, correlationId: string, recovered: boolean): Created {
  return { ...transaction, correlationId, recovered } as Created;
}
