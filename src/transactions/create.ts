// The way of a transaction: one short function, and the steps that it takes.
import { type Acquirer, type AcquirerRequest, type Answer, askUnderDeadline } from '../acquirers/contract.js';
import type { Payment } from '../plugins/contract.js';
import { applyPlugins } from '../plugins/plugins.js';
import { DatabaseUnavailable, isUniqueViolation } from '../postgres/database.js';
import { becsFaults } from '../values/bank-account.js';
import type { CardType } from '../values/card.js';
import { Fault, fault } from '../values/faults.js';
import { bankSecrets, cardSecrets } from '../vault/account.js';
import type { DataKeys } from '../vault/keys.js';
import { seal } from '../vault/sealing.js';
import type { Tokens } from '../vault/tokens.js';
import type { AcquirerReference } from './acquirer-reference.js';
import type { AuditLeases } from './audit-leases.js';
import type { Claims } from './claim.js';
import type { Clock } from './clock.js';
import type { Command, CompletionCommand, DirectCommand, TargetedCommand } from './command.js';
import type { Finisher } from './finish.js';
import { linkFor, usableLink } from './link.js';
import type { Lookup } from './lookup.js';
import { openPaymentMethod, type PaymentMethod } from './payment-method.js';
import { refusalByTarget } from './refusal.js';
import type { Room } from './room.js';
import type { DirectClaim, Intent, Transaction } from './transaction.js';

const DAY_MS = 86_400_000;

export interface CreateOptions {
  readonly deadlineMs: number;
  /** Called at each named point of the way: where a test kills the process. */
  readonly passing?: (point: Point) => void;
}

/** The points at which a crash leaves something different behind. */
export const POINTS = ['received', 'claimed', 'answered', 'recorded'] as const;
export type Point = (typeof POINTS)[number];

type PricedDirect = DirectCommand & PaymentMethod & Payment & { readonly acquirer: string };
type PricedTargeted = TargetedCommand & Pick<Payment, 'atMs' | 'pricing'>;

export class Creation {
  constructor(
    private readonly clock: Clock,
    private readonly leases: AuditLeases,
    private readonly referenceOf: AcquirerReference,
    private readonly tokens: Tokens,
    private readonly keys: DataKeys,
    private readonly claims: Claims,
    private readonly finisher: Finisher,
    private readonly lookup: Lookup,
    private readonly acquirers: ReadonlyMap<string, Acquirer>,
    private readonly room: Room,
    private readonly options: CreateOptions,
  ) {}

  /** The whole way, if there is room on the link over which the acquirer would be asked. */
  create(command: Command): Promise<Transaction> {
    const { caller, merchant } = command;
    return this.room.within(caller.organisationId, merchant.acquirer ?? 'none', () => this.#create(command));
  }

  /** One direction, no way back; each step takes the previous step's value and may refuse. */
  async #create(command: Command): Promise<Transaction> {
    const { passing } = this.options;
    passing?.('received');
    const priced = await this.#price(command);
    const intent = await this.#claim(priced); // commit A: nothing is sent before it
    passing?.('claimed');
    const answer = await this.#ask(intent, priced); // once, and no database connection is held
    passing?.('answered');
    const transaction = await this.finisher.finish(intent, answer); // commit B: nothing is answered before it
    passing?.('recorded');
    return transaction;
  }

  async #price(command: Command): Promise<PricedDirect | PricedTargeted> {
    const atMs = this.clock.now();
    if ('method' in command) return this.#priceDirect(command, atMs);
    return command.operation === 'completion' ? this.#priceCompletion(command, atMs) : { atMs, ...command };
  }

  async #priceDirect(command: DirectCommand, atMs: number): Promise<PricedDirect> {
    const method = await openPaymentMethod(command, this.tokens);
    const byCard = 'card' in method;
    const cardType = byCard ? method.card.number.type : '';
    const paymentMethod = byCard ? 'creditcard' : 'bankaccount';
    const { name: acquirer } = linkFor(command.merchant, paymentMethod, this.acquirers);
    const priced: PricedDirect = { atMs, cardType, paymentMethod, acquirer, ...command, ...method };
    if (command.operation === 'standalone_refund') return lodgeable(priced);
    return lodgeable(applyPlugins(priced, command.merchant.plugins));
  }

  /** Its price depends on what was agreed for the preauthorisation. */
  async #priceCompletion(command: CompletionCommand, atMs: number): Promise<PricedTargeted> {
    const { caller, merchant, targetAudit } = command;
    const priced = { atMs, ...command };
    const target = await this.lookup.byAudit(caller, targetAudit, [merchant.id]);
    if (target === undefined) return priced;
    const cardType = (target.cardType ?? '') as CardType;
    return applyPlugins({ target, cardType, paymentMethod: 'creditcard', ...priced }, merchant.plugins);
  }

  async #claim(priced: PricedDirect | PricedTargeted): Promise<Intent> {
    const { organisationId } = priced.caller;
    const audit = await this.leases.take(organisationId);
    let held = false;
    try {
      const intent = await ('method' in priced
        ? this.#claimDirect(audit, priced)
        : this.#claimTargeted(audit, priced));
      held = true;
      return intent;
    } catch (error) {
      // A failover has given the audit to another as well. Nothing of this one is stored.
      if (isUniqueViolation(error, 'transaction_pkey')) throw fault('not_processed');
      if (!(error instanceof DatabaseUnavailable)) throw error;
      held = true;
      this.finisher.closeAsNotSent({ organisationId, audit, ...targetOf(priced) });
      throw fault('not_processed');
    } finally {
      if (!held) this.leases.release(organisationId, audit);
    }
  }

  async #claimDirect(audit: number, priced: PricedDirect): Promise<Intent> {
    const { caller, merchant, correlationId, reference, currency, kvps, amountCents, tokenId } = priced;
    const { organisationId } = caller;
    const key = await this.keys.newest(organisationId, merchant.id);
    const place = {
      table: 'transaction',
      organisationId,
      merchantId: merchant.id,
      row: audit,
      field: 'card',
    } as const;
    const claim: DirectClaim = {
      organisationId,
      audit,
      merchantId: merchant.id,
      transactionType: priced.operation,
      correlationId,
      createdMs: priced.atMs,
      reference,
      amountCents,
      currency,
      ...shownMethod(priced),
      sealed: seal(key, place, 'card' in priced ? cardSecrets(priced.card) : bankSecrets(priced.bankAccount)),
      keyVersion: key.version,
      ...(tokenId !== undefined && { tokenId }),
      ...(priced.pricing && { pricing: priced.pricing }),
      username: caller.username,
      inFlight: priced.inFlight,
      kvps,
      acquirer: priced.acquirer,
      ...(priced.operation === 'preauthorisation' && {
        completableUntilMs: priced.atMs + merchant.preauthorisationDays * DAY_MS,
      }),
    };
    const holder = await this.claims.direct(claim);
    if (holder === undefined) throw fault('not_processed');
    if (holder !== audit) throw correlationIdTaken(holder);
    return claim;
  }

  async #claimTargeted(audit: number, priced: PricedTargeted): Promise<Intent> {
    const { caller, merchant, correlationId, reference, kvps, targetAudit } = priced;
    for (let attempt = 1; ; attempt += 1) {
      const intent = await this.claims.targeted({
        organisationId: caller.organisationId,
        audit,
        merchantId: merchant.id,
        transactionType: priced.operation,
        correlationId,
        createdMs: priced.atMs,
        reference,
        targetAudit,
        ...(priced.operation !== 'void' && { amountCents: priced.amountCents, currency: priced.currency }),
        kvps,
        ...(priced.pricing && { pricing: priced.pricing }),
        inFlight: priced.inFlight,
      });
      if (intent !== undefined) return intent;
      const refusal = await this.#refusal(priced);
      if (refusal !== undefined) throw refusal;
      // The target refused, and would accept by now: another operation on it was just taken back. Once more. Or a
      // client was told that there is no such transaction: then never.
      if (attempt === 10) throw fault('not_processed');
    }
  }

  /** A taken correlation ID first: its request may have been this very one. */
  async #refusal(command: PricedTargeted): Promise<Fault | undefined> {
    const taken = await this.#correlationIdTaken(command);
    if (taken !== undefined) return taken;
    // A server that was left behind must not refuse by what it knew of the target.
    const target = await this.lookup.provenByAudit(command.caller, command.targetAudit, [
      command.merchant.id,
    ]);
    return refusalByTarget(command, target, command.atMs);
  }

  async #correlationIdTaken({ caller, merchant, correlationId }: Command): Promise<Fault | undefined> {
    return correlationIdTaken(await this.lookup.holderOf(caller, merchant, correlationId));
  }

  async #ask(intent: Intent, priced: PricedDirect | PricedTargeted): Promise<Answer> {
    const acquirer = usableLink(intent.acquirer, priced.merchant, this.acquirers);
    // This process has no such link, or none for this merchant. To throw would leave behind an intent that nobody looks after.
    if (acquirer === undefined) return { kind: 'not_sent' };
    const { organisationId, targetAudit } = intent;
    const request: AcquirerRequest = {
      operation: intent.transactionType,
      reference: this.referenceOf(organisationId, intent.audit),
      ...(targetAudit !== undefined && {
        targetReference: this.referenceOf(organisationId, targetAudit),
      }),
      amountCents: intent.amountCents,
      currency: intent.currency,
      ...('card' in priced && { card: priced.card }),
      cardMask: intent.cardMask ?? '',
      atMs: intent.createdMs,
    };
    return this.room.asking(organisationId, () =>
      askUnderDeadline(acquirer, request, this.options.deadlineMs),
    );
  }
}

/** What a bank would refuse is refused here; with the surcharge in it, since that is what the bank would see. */
function lodgeable(priced: PricedDirect): PricedDirect {
  const [first, ...rest] = 'bankAccount' in priced ? becsFaults(priced) : [];
  if (first !== undefined) throw new Fault([first, ...rest]);
  return priced;
}

/** The part of the payment method that lookups show. */
function shownMethod(priced: PricedDirect): Pick<Intent, 'cardMask' | 'cardType' | 'bankAccount'> {
  if ('bankAccount' in priced) return { bankAccount: priced.bankAccount.shown };
  return { cardMask: priced.card.number.mask, cardType: priced.cardType };
}

export function correlationIdTaken(holder: number | undefined): Fault | undefined {
  if (holder === undefined) return undefined;
  return fault('correlation_id_already_used', 'correlation ID', holder);
}

function targetOf(priced: PricedDirect | PricedTargeted): { targetAudit?: number } {
  return 'targetAudit' in priced ? { targetAudit: priced.targetAudit } : {};
}
