// Commit A: the correlation ID is won, the audit given, the intent stored as `unknown`, the target's amount reserved.

import type { Pricing } from '../plugins/contract.js';
import { Batcher } from '../postgres/batcher.js';
import { numbers, optionalTexts, texts } from '../postgres/columns.js';
import type { Database } from '../postgres/database.js';
import type { ShownBankAccount } from '../values/bank-account.js';
import type { Cents } from '../values/money.js';
import {
  CLAIM_DIRECT,
  CLAIM_DIRECT_WITH_TOKENS,
  CLAIM_TARGETED,
  HOLDERS_OF_CORRELATION_IDS,
} from './claim.sql.js';
import type { InFlightRequest } from './search-fence.js';
import type { Intent, Kvps } from './transaction.js';

export interface DirectClaim extends Intent {
  /** The payment details, of a card or of a bank account. */
  readonly sealed: Buffer;
  readonly keyVersion: number;
  /** The token that was opened for it, and by whom: for the journal. */
  readonly tokenId?: number;
  readonly username: string;
  readonly inFlight: InFlightRequest;
}

/** A claim on a target. What it leaves out (a void has no amount), and the payment method, come from the target. */
export interface TargetedClaim {
  readonly organisationId: number;
  readonly audit: number;
  readonly merchantId: number;
  readonly transactionType: 'completion' | 'refund' | 'void';
  readonly correlationId: string;
  readonly createdMs: number;
  readonly reference: string;
  readonly targetAudit: number;
  readonly amountCents?: Cents;
  readonly currency?: string;
  readonly kvps: Kvps;
  readonly pricing?: Pricing;
  readonly inFlight: InFlightRequest;
}

/** No process is called so. */
const NOBODY = 0;

type FromTarget = Pick<Intent, 'organisationId' | 'audit' | 'amountCents' | 'currency' | 'acquirer'> & {
  readonly cardMask: string | null;
  readonly cardType: string | null;
  readonly bankAccount: ShownBankAccount | null;
};

export interface BatchOptions {
  readonly maxBatch: number;
  readonly lanes: number;
}

export class Claims {
  readonly #direct: Batcher<DirectClaim, boolean>;
  readonly #holders: Batcher<DirectClaim, number | undefined>;
  readonly #targeted: Batcher<TargetedClaim, Intent | undefined>;

  constructor(
    private readonly database: Database,
    private readonly process: { readonly id: number },
    options: BatchOptions,
  ) {
    this.#direct = new Batcher((claims) => this.#claimDirect(claims), options);
    this.#holders = new Batcher((claims) => this.#holdersOf(claims), options);
    this.#targeted = new Batcher((claims) => this.#claimTargeted(claims), {
      ...options,
      exclusiveKey: ({ organisationId, targetAudit }) => `${organisationId}/${targetAudit}`,
    });
  }

  /**
   * The audit that holds the correlation ID: the claim's own when it has won it, an earlier one otherwise. Nobody when a
   * client was told that there is no such transaction, and must not be proved wrong.
   */
  async direct(claim: DirectClaim): Promise<number | undefined> {
    if (await this.#direct.submit(claim)) return claim.audit;
    // Together, and apart from the claims: clients that repeat what they sent come in crowds.
    return this.#holders.submit(claim);
  }

  /** The intent, or undefined when the target does not allow it or the correlation ID is taken or said to be absent. */
  targeted(claim: TargetedClaim): Promise<Intent | undefined> {
    return this.#targeted.submit(claim);
  }

  async #claimDirect(unsorted: readonly DirectClaim[]): Promise<readonly boolean[]> {
    // Every process inserts in the same order, so that two batches that share correlation IDs cannot deadlock.
    const claims = [...unsorted].sort(byCorrelationId);
    const opensTokens = claims.some((claim) => claim.tokenId !== undefined);
    const { rows } = await this.database.query<Key>(opensTokens ? CLAIM_DIRECT_WITH_TOKENS : CLAIM_DIRECT, [
      numbers(claims.map((claim) => claim.organisationId)),
      numbers(claims.map((claim) => claim.audit)),
      numbers(claims.map((claim) => claim.merchantId)),
      numbers(claims.map((claim) => claim.amountCents)),
      numbers(claims.map((claim) => claim.createdMs)),
      numbers(claims.map((claim) => claim.completableUntilMs)),
      texts(claims.map((claim) => claim.transactionType)),
      texts(claims.map((claim) => claim.correlationId)),
      texts(claims.map((claim) => claim.reference)),
      texts(claims.map((claim) => claim.currency)),
      texts(claims.map((claim) => claim.acquirer)),
      optionalTexts(claims.map((claim) => claim.cardMask)),
      optionalTexts(claims.map((claim) => claim.cardType)),
      optionalTexts(claims.map((claim) => kvpsColumn(claim.kvps))),
      numbers(claims.map((claim) => claim.keyVersion)),
      numbers(claims.map((claim) => claim.tokenId)),
      texts(claims.map((claim) => claim.sealed.toString('base64'))),
      optionalTexts(claims.map(({ bankAccount }) => bankAccount && JSON.stringify(bankAccount))),
      ...this.#epochsOf(claims),
      optionalTexts(claims.map(pricingColumn)),
      ...(opensTokens ? [texts(claims.map((claim) => claim.username))] : []),
    ]);
    if (rows.length === claims.length) return unsorted.map(() => true);
    const won = new Set(rows.map(key));
    return unsorted.map((claim) => won.has(key(claim)));
  }

  async #holdersOf(claims: readonly DirectClaim[]): Promise<readonly (number | undefined)[]> {
    const { rows } = await this.database.query<Key & { holder: number }>(HOLDERS_OF_CORRELATION_IDS, [
      numbers(claims.map((claim) => claim.organisationId)),
      numbers(claims.map((claim) => claim.audit)),
      numbers(claims.map((claim) => claim.merchantId)),
      texts(claims.map((claim) => claim.correlationId)),
    ]);
    const holders = new Map(rows.map((row) => [key(row), row.holder]));
    return claims.map((claim) => holders.get(key(claim)));
  }

  async #claimTargeted(unsorted: readonly TargetedClaim[]): Promise<readonly (Intent | undefined)[]> {
    // Likewise with targets: two batches that share them lock them in the same order.
    const claims = [...unsorted].sort(
      (one, other) => one.targetAudit - other.targetAudit || one.organisationId - other.organisationId,
    );
    const { rows } = await this.database.query<FromTarget>(CLAIM_TARGETED, [
      numbers(claims.map((claim) => claim.organisationId)),
      numbers(claims.map((claim) => claim.audit)),
      numbers(claims.map((claim) => claim.merchantId)),
      numbers(claims.map((claim) => claim.targetAudit)),
      numbers(claims.map((claim) => claim.amountCents)),
      numbers(claims.map((claim) => claim.createdMs)),
      texts(claims.map((claim) => claim.transactionType)),
      texts(claims.map((claim) => claim.correlationId)),
      texts(claims.map((claim) => claim.reference)),
      optionalTexts(claims.map((claim) => claim.currency)),
      optionalTexts(claims.map((claim) => kvpsColumn(claim.kvps))),
      ...this.#epochsOf(claims),
      optionalTexts(claims.map(pricingColumn)),
    ]);
    const reserved = new Map(rows.map((row) => [key(row), row]));
    return unsorted.map((claim) => {
      const row = reserved.get(key(claim));
      if (row === undefined) return undefined;
      const { cardMask, cardType, bankAccount, ...rest } = row;
      return {
        ...claim,
        ...rest,
        ...(cardMask !== null && { cardMask, cardType: cardType ?? '' }),
        ...(bankAccount !== null && { bankAccount }),
      };
    });
  }

  /**
   * Which fences each claim may pass: those up to its epoch, and those of this process if its searches could see the
   * request. And the earliest epoch: where no fence is newer than that, no claim has to be looked at.
   */
  #epochsOf(claims: readonly { readonly inFlight: InFlightRequest }[]): [string, string, number] {
    const epochs = claims.map(({ inFlight }) => inFlight.epoch);
    const seenBy = claims.map(({ inFlight }) => (inFlight.unseen ? NOBODY : this.process.id));
    return [numbers(epochs), numbers(seenBy), Math.min(...epochs)];
  }
}

type Key = Pick<Intent, 'organisationId' | 'audit'>;

function key({ organisationId, audit }: Key): string {
  return `${organisationId}/${audit}`;
}

function byCorrelationId(one: DirectClaim, other: DirectClaim): number {
  if (one.correlationId === other.correlationId) return one.merchantId - other.merchantId;
  return one.correlationId < other.correlationId ? -1 : 1;
}

function kvpsColumn(kvps: Kvps): string | undefined {
  for (const _ in kvps) return JSON.stringify(kvps);
  return undefined;
}

function pricingColumn({ pricing }: { readonly pricing?: Pricing }): string | undefined {
  return pricing && JSON.stringify(pricing);
}
