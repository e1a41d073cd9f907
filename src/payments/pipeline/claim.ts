// Commit A: the correlation ID is won, the audit assigned, the intent stored as `unknown`, the target's amount reserved.
import { openSignerOf } from '../../journal/entry-signer.js';
import { Batcher } from '../../postgres/batches.js';
import { type Database, isUniqueViolation, type Statement } from '../../postgres/database.js';
import type { ShownBankAccount } from '../../values/bank-account.js';
import type { Histogram } from '../../values/histogram.js';
import type { Audit } from '../../values/ids.js';
import type {
  DirectClaim,
  Intent,
  OpenedToken,
  OperatorsClaim,
  StoredOutcome,
  TargetedClaim,
} from '../transaction.js';
import {
  ASKED,
  ASKED_BY_OPERATORS,
  ASKED_OF_TARGETS,
  CLAIM_DIRECT,
  CLAIM_DIRECT_WITH_TOKENS,
  CLAIM_TARGETED,
  CLAIM_TARGETED_BY_OPERATORS,
  CLAIM_TARGETED_UNTAKEN,
  CLAIM_UNTAKEN,
  CLAIM_UNTAKEN_WITH_TOKENS,
  HOLDERS_OF_CORRELATION_IDS,
  OPENED,
  TAKEN,
} from './claim.sql.js';

type FromTarget = Pick<Intent, 'organisationId' | 'audit' | 'amountCents' | 'currency' | 'acquirer'> & {
  readonly cardMask: string | null;
  readonly cardType: string | null;
  readonly bankAccount: ShownBankAccount | null;
  readonly target: StoredOutcome;
  readonly operations: readonly StoredOutcome[];
  /** The installation that sent the target, if that was another cell. */
  readonly targetSentBy: string | null;
};

/** The intent of an operation on an earlier transaction, with what was asked of that one before. */
export type TargetedIntent = TargetedClaim &
  Intent &
  Pick<FromTarget, 'target' | 'operations' | 'targetSentBy'>;

export interface BatchOptions {
  readonly maxBatch: number;
  readonly lanes: number;
}

/** Repeated requests come in bursts: after the first one, claims allow for more during this time. */
const READY_FOR_REPEATS_MS = 10_000;

export class Claims {
  #readyForRepeatsUntilMs = 0;
  readonly #direct: Batcher<DirectClaim, boolean>;
  readonly #holders: Batcher<DirectClaim, Audit | undefined>;
  readonly #targeted: Batcher<TargetedClaim, TargetedIntent | undefined>;

  constructor(
    private readonly database: Database,
    private readonly process: { readonly id: number },
    batches: BatchOptions,
  ) {
    const options = { ...batches, database };
    this.#direct = new Batcher((claims) => this.#claimDirect(claims), options);
    this.#holders = new Batcher((claims) => this.#holdersOf(claims), options);
    this.#targeted = new Batcher((claims) => this.#claimTargeted(claims), {
      ...options,
      exclusiveKey: ({ organisationId, targetAudit }) => `${organisationId}/${targetAudit}`,
    });
  }

  /** By kind of claim. */
  get batchSizes(): Readonly<Record<string, Histogram>> {
    return { claims: this.#direct.sizes, 'targeted claims': this.#targeted.sizes };
  }

  /**
   * The audit that holds the correlation ID: the claim's own if it has won, an earlier one otherwise. Undefined if a client was
   * told that there is no such transaction: that must stay true.
   */
  async direct(claim: DirectClaim): Promise<Audit | undefined> {
    if (await this.#direct.submit(claim)) return claim.audit;
    // Batched apart from the claims: repeated requests come in bursts.
    return this.#holders.submit(claim);
  }

  /** The intent; undefined if the target does not allow it, or the correlation ID is taken or was reported absent. */
  targeted(claim: TargetedClaim): Promise<TargetedIntent | undefined> {
    return this.#targeted.submit(claim);
  }

  async #claimDirect(unsorted: readonly DirectClaim[]): Promise<readonly boolean[]> {
    // Every process inserts in the same order, so that two batches that share correlation IDs cannot deadlock.
    const claims = [...unsorted].sort(byCorrelationId);
    const openers = claims.filter((claim) => claim.tokenId !== undefined);
    const values = [this.process.id, earliestEpoch(claims), ...ASKED.encode(claims)];
    const { rows } = await (openers.length === 0
      ? this.#claim<Key>(CLAIM_DIRECT, CLAIM_UNTAKEN, values)
      : this.#claim<Key>(CLAIM_DIRECT_WITH_TOKENS, CLAIM_UNTAKEN_WITH_TOKENS, [
          ...values,
          ...OPENED.encode(this.#signed(openers)),
        ]));
    if (rows.length === claims.length) return unsorted.map(() => true);
    const won = new Set(rows.map(key));
    return unsorted.map((claim) => won.has(key(claim)));
  }

  /** Uses the statement that fails on a taken correlation ID, unless repeats are to be expected. */
  async #claim<Row>(
    quick: Statement,
    untaken: Statement,
    values: readonly unknown[],
  ): Promise<{ readonly rows: readonly Row[] }> {
    if (performance.now() < this.#readyForRepeatsUntilMs) return this.database.query<Row>(untaken, values);
    try {
      return await this.database.query<Row>(quick, values);
    } catch (error) {
      // Nothing of the batch was stored.
      // guard(correlation ID: a batch that fails because one is taken is claimed again without it): !isUniqueViolation(error, 'correlation_id_once' ⇒ isUniqueViolation(error
      if (!isUniqueViolation(error, 'correlation_id_once')) throw error;
      this.#readyForRepeatsUntilMs = performance.now() + READY_FOR_REPEATS_MS;
      return this.database.query<Row>(untaken, values);
    }
  }

  #signed(openers: readonly DirectClaim[]): OpenedToken[] {
    const signer = openSignerOf(this.database);
    return openers.map((claim) => {
      const { organisationId, audit, username, tokenId, correlationId, address } = claim;
      const entry = { organisationId, audit, tokenId, correlationId, address: address || undefined };
      return { claim, mac: signer?.macOf({ actor: `user:${username}`, action: 'token.opened', ...entry }) };
    });
  }

  async #holdersOf(claims: readonly DirectClaim[]): Promise<readonly (Audit | undefined)[]> {
    const { rows } = await this.database.query<Key & { holder: Audit }>(
      HOLDERS_OF_CORRELATION_IDS,
      TAKEN.encode(claims),
    );
    const holders = new Map(rows.map((row) => [key(row), row.holder]));
    return claims.map((claim) => holders.get(key(claim)));
  }

  async #claimTargeted(unsorted: readonly TargetedClaim[]): Promise<readonly (TargetedIntent | undefined)[]> {
    // Two batches that share targets lock them in the same order.
    const claims = [...unsorted].sort(
      (one, other) => one.targetAudit - other.targetAudit || one.organisationId - other.organisationId,
    );
    const values = [this.process.id, earliestEpoch(claims), ...ASKED_OF_TARGETS.encode(claims)];
    const byOperators = claims.filter((claim) => claim.byOperator !== undefined);
    const { rows } = await (byOperators.length === 0
      ? this.#claim<FromTarget>(CLAIM_TARGETED, CLAIM_TARGETED_UNTAKEN, values)
      : this.database.query<FromTarget>(CLAIM_TARGETED_BY_OPERATORS, [
          ...values,
          ...ASKED_BY_OPERATORS.encode(byOperators.flatMap((claim) => this.#signedByOperator(claim))),
        ]));
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

  #signedByOperator(claim: TargetedClaim): OperatorsClaim[] {
    const { byOperator, organisationId, audit, correlationId, transactionType } = claim;
    if (byOperator === undefined) return [];
    const { untilMs: _, ...told } = byOperator;
    const entry = {
      ...told,
      action: `transaction.${transactionType}`,
      organisationId,
      audit,
      correlationId,
    };
    return [{ claim, mac: openSignerOf(this.database)?.macOf(entry), ...byOperator }];
  }
}

/** If no fence is newer than this, no claim needs checking. */
function earliestEpoch(claims: readonly (DirectClaim | TargetedClaim)[]): number {
  return Math.min(...claims.map(({ inFlight }) => inFlight.epoch));
}

type Key = Pick<Intent, 'organisationId' | 'audit'>;

function key({ organisationId, audit }: Key): string {
  return `${organisationId}/${audit}`;
}

function byCorrelationId(one: DirectClaim, other: DirectClaim): number {
  if (one.correlationId === other.correlationId) return one.merchantId - other.merchantId;
  return one.correlationId < other.correlationId ? -1 : 1;
}
