// What an acquirer can be asked and what it can answer. Every link to an acquirer, simulated or real, keeps this contract.

import type { CardDetails } from '../values/card.js';
import type { Mode } from '../values/mode.js';
import type { Cents } from '../values/money.js';

/** What is asked for. A completion captures, a refund by audit and a void act on what an earlier reference did. */
export type MoneyOperation =
  | 'purchase'
  | 'preauthorisation'
  | 'completion'
  | 'refund'
  | 'standalone_refund'
  | 'void';

export interface AcquirerRequest {
  readonly operation: MoneyOperation;
  /** Sent with the request and never with another one: what an inquiry or a reversal is made by. */
  readonly reference: string;
  readonly targetReference?: string;
  readonly amountCents: Cents;
  readonly currency: string;
  /** Absent on completions, refunds by audit and voids. */
  readonly card?: CardDetails;
  /** The masked number; on operations that act on an earlier one too. */
  readonly cardMask: string;
  /** The gateway's time. */
  readonly atMs: number;
}

/** The acquirer's own words for what it did. */
export interface AcquirerResponse {
  readonly responseCode: string;
  readonly responseMessage: string;
  readonly authorisationCode?: string;
  readonly preauthorisationCode?: string;
  /** Where the acquirer does not say, the gateway's calendar decides. */
  readonly settlementDate?: string;
}

/** A readable answer. */
export type Decision =
  | ({ readonly kind: 'approved' } & AcquirerResponse)
  | ({ readonly kind: 'declined' } & AcquirerResponse)
  /** The acquirer reported a fault of its own; nothing was charged. */
  | ({ readonly kind: 'faulty' } & AcquirerResponse);

/** Taken in, to be decided in some days: a direct debit. */
export interface Pending {
  readonly kind: 'pending';
}

export type Answer =
  | Decision
  | Pending
  /** The connection failed before the first byte: the acquirer cannot have heard of it. */
  | { readonly kind: 'not_sent' }
  /** Everything else without a readable answer. The money may have moved. */
  | { readonly kind: 'unknown'; readonly reason: 'timeout' | 'unreadable' };

export type Finding =
  | Decision
  | Pending
  /** The acquirer has not seen the reference (yet). */
  | { readonly kind: 'not_seen' }
  | { readonly kind: 'no_answer' };

export interface Acquirer {
  readonly name: string;
  /** `of_merchant`: a link that each merchant has for itself, such as its bank, is what the merchant is. */
  readonly mode: Mode | 'of_merchant';
  /** Asks once. The promise may outlive the deadline; it must not be retried inside. */
  ask(request: AcquirerRequest, deadlineMs: number): Promise<Answer>;
  /** What became of the request that was sent with this reference? */
  inquire(reference: string, operation: MoneyOperation): Promise<Finding>;
  /**
   * Undo whatever was done under this reference, and refuse the request should it still arrive.
   * May be sent again until it is confirmed.
   */
  reverse(reference: string): Promise<'reversed' | 'no_answer'>;
}

/** Nothing simulated ever approves a live payment, and no test moves real money. */
export function serves(acquirer: Acquirer, mode: Mode): boolean {
  return acquirer.mode === mode || acquirer.mode === 'of_merchant';
}

const APPROVALS = new Set(['00', '08', '10', '11', '16', '77']);

/** The response codes that mean approval, and the one that means a fault, are the same for every acquirer. */
export function decision(response: AcquirerResponse): Decision {
  if (APPROVALS.has(response.responseCode)) return { kind: 'approved', ...response };
  return { kind: response.responseCode === '96' ? 'faulty' : 'declined', ...response };
}

/** Asks once, and waits no longer than the deadline. */
export function askUnderDeadline(
  acquirer: Acquirer,
  request: AcquirerRequest,
  deadlineMs: number,
): Promise<Answer> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, deadlineMs, { kind: 'unknown', reason: 'timeout' } satisfies Answer);
    begin(() => acquirer.ask(request, deadlineMs)).then(
      (answer) => {
        clearTimeout(timer);
        resolve(answer);
      },
      () => {
        clearTimeout(timer);
        // A link that fails in a way it does not know may have sent the request: not a decline.
        resolve({ kind: 'unknown', reason: 'unreadable' });
      },
    );
  });
}

/** A link that throws before it has promised anything is no different from one that breaks its promise. */
async function begin<Result>(asking: () => Promise<Result>): Promise<Result> {
  return asking();
}

/** For inquiries and reversals: what does not come in time did not come. */
export async function withinDeadline<Result>(
  asking: () => Promise<Result>,
  deadlineMs: number,
  otherwise: Result,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Result>((resolve) => {
    timer = setTimeout(resolve, deadlineMs, otherwise);
  });
  try {
    return await Promise.race([begin(asking).catch(() => otherwise), late]);
  } finally {
    clearTimeout(timer);
  }
}
