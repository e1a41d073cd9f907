// The search for a transaction of which only the correlation ID is certain.
import { throwMoved } from './asking.js';
import { OutcomeUnknown, Refused } from './errors.js';
import type { Begun, CreatingOperation } from './memory.js';
import { read, type Transaction, type TransactionType } from './outcome.js';
import type { Patience } from './patience.js';
import type { Settings } from './settings.js';
import type { Answered, Transport, Unanswered } from './transport.js';
import type { LookedUpTransaction, SearchResults } from './wire.js';

const TYPES: Readonly<Record<CreatingOperation, TransactionType>> = {
  purchase: 'purchase',
  preauthorisation: 'preauthorisation',
  completion: 'completion',
  refund: 'refund',
  standaloneRefund: 'standalone_refund',
  void: 'void',
};

const ORIGINAL_AMOUNT = 'GATEWAY.REQUEST.KVP.SURCHARGE.ORIGINAL_AMOUNT';

export class Search {
  /** Until then a request that nobody has answered may still be on its way to the gateway. */
  #arrivesUntilMs = -Infinity;
  #audit: number | undefined;

  constructor(
    private readonly settings: Settings,
    private readonly transport: Transport,
    private readonly begun: Begun,
    private readonly patience: Patience,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** "There is none" is believed only after that: the search speaks of what the gateway has received. */
  mayArriveUntil(ms: number): void {
    this.#arrivesUntilMs = Math.max(this.#arrivesUntilMs, ms);
  }

  /** Looks until the outcome is known. Undefined: there is no such transaction, and that is certain. */
  async outcome(audit: number | undefined): Promise<Transaction | undefined> {
    this.#audit = audit;
    for (;;) {
      this.throwAtTheEnd();
      const found = await this.#look();
      if (found === 'none' && this.#audit === undefined) {
        const waitMs = this.#arrivesUntilMs - performance.now();
        if (waitMs <= 0) return undefined;
        await this.patience.wait('not found yet', { atMostMs: waitMs });
        continue;
      }
      // What a look-up does not know, the search decides.
      if (found === 'none') this.#audit = undefined;
      if (typeof found === 'object') {
        this.#audit = found.audit;
        if (found.outcome !== 'unknown') return found;
        this.patience.last = 'unknown';
        this.patience.cause = undefined;
      }
      await this.patience.wait(this.patience.last);
    }
  }

  /** After a refusal: one that was sent before, and not answered, could still have come, or come yet. */
  async lateArrival(): Promise<Transaction | undefined> {
    return this.#arrivesUntilMs === -Infinity ? undefined : this.outcome(undefined);
  }

  throwAtTheEnd(): void {
    const { end: reason, last, cause } = this.patience;
    if (reason === undefined) return;
    throw new OutcomeUnknown(this.begun.correlationId, { reason, last, cause, audit: this.#audit });
  }

  async #look(): Promise<Transaction | 'none' | 'no answer'> {
    const { merchantId, correlationId } = this.begun;
    const result = await this.transport.exchange({
      operation: this.#audit === undefined ? 'search' : 'transaction',
      method: 'GET',
      path: this.#audit === undefined ? '/transactions' : `/transactions/${this.#audit}`,
      query:
        this.#audit === undefined
          ? { merchant_id: merchantId, correlation_id_lookup: correlationId }
          : undefined,
      correlationId,
      timeoutMs: Math.min(this.settings.lookupTimeoutMs, Math.max(this.patience.leftMs, 1)),
      signal: this.signal,
    });
    throwMoved(result, correlationId);
    const found = this.#audit === undefined ? searchedIn(result) : lookedUpIn(result);
    if (found === 'no answer') this.patience.note(result);
    if (typeof found === 'string') return found;
    if (!isSame(found, this.begun)) throw heldByAnother(found, correlationId);
    return read(found);
  }
}

function searchedIn(result: Answered | Unanswered): LookedUpTransaction | 'none' | 'no answer' {
  if (result.kind === 'unanswered' || result.status !== 200) return 'no answer';
  const { results } = (result.body ?? {}) as Partial<SearchResults>;
  if (!Array.isArray(results)) return 'no answer';
  if (results.length === 0) return 'none';
  return isTransaction(results[0]) ? results[0] : 'no answer';
}

function lookedUpIn(result: Answered | Unanswered): LookedUpTransaction | 'none' | 'no answer' {
  if (result.kind === 'unanswered') return 'no answer';
  if (result.problems.some(({ error_code }) => error_code === 'transaction_not_found')) return 'none';
  return result.status === 200 && isTransaction(result.body) ? result.body : 'no answer';
}

function isTransaction(value: unknown): value is LookedUpTransaction {
  const { audit, status, transaction } = (value ?? {}) as Partial<LookedUpTransaction>;
  return (
    typeof audit === 'number' &&
    typeof status?.transaction_status_code === 'string' &&
    typeof transaction?.reference === 'string'
  );
}

/** Whether it is what was asked for, and not another one under an ID that was used twice. */
function isSame({ transaction, merchant, kvps }: LookedUpTransaction, begun: Begun): boolean {
  const { reference, transaction_type, target_audit, amount_details } = transaction;
  const expected = TYPES[begun.operation];
  return (
    merchant?.id === begun.merchantId &&
    reference === begun.reference &&
    (transaction_type === expected || (transaction_type === 'reverse' && expected === 'void')) &&
    (begun.targetAudit === undefined || target_audit === undefined || target_audit === begun.targetAudit) &&
    // With a surcharge the total is more than what was asked for.
    (begun.totalAmount === undefined ||
      [amount_details?.total_amount, kvps?.[ORIGINAL_AMOUNT]].includes(begun.totalAmount)) &&
    (begun.currency === undefined || amount_details?.currency === begun.currency)
  );
}

/** Certain for ever: nothing else can have this ID any more. */
function heldByAnother({ audit }: LookedUpTransaction, correlationId: string): Refused {
  const problem = {
    error_code: 'correlation_id_already_used',
    error_message: 'Another transaction has this correlation ID: its operation, reference or amount differs.',
    location: ['header', 'X-Correlation-Id'],
  };
  return new Refused(409, [problem], correlationId, audit);
}
