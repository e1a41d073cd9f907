// The path of a transaction: one short function and the steps that it takes.
import type { Answer, Prepared } from '../../acquirers/contract.js';
import type { AcquirerLinks } from '../../acquirers/links.js';
import type { Clock } from '../../clock/clock.js';
import { type Limited, limitsOf } from '../../organisations/limits.js';
import { applyPlugins, type Payment, type Pricing } from '../../plugins/contract.js';
import { PLUGINS } from '../../plugins/plugins.js';
import { DatabaseUnavailable, isUniqueViolation } from '../../postgres/database.js';
import { becsFaults } from '../../values/bank-account.js';
import type { CardType } from '../../values/card.js';
import { Fault, fault } from '../../values/faults.js';
import type { Audit } from '../../values/ids.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import type { Untaken } from '../../wallets/wallets.js';
import type { Lookup } from '../finding/lookup.js';
import type { AuditLeases } from '../processes/process-registry.js';
import {
  COMPLETABLE,
  MOST_COMPLETABLE,
  MOST_REFUNDABLE,
  refundableCents,
  refundableFromMs,
  voidable,
} from '../target-rules.js';
import {
  attestedWords,
  type Cardholder,
  type DirectClaim,
  type Intent,
  type Transaction,
} from '../transaction.js';
import {
  type Asking,
  type Claimed,
  type LinkChoice,
  type Orders,
  type OtherLinks,
  sealedMethod,
} from './ask-acquirer.js';
import { type Capacity, LinkPlace } from './capacity.js';
import type { Claims } from './claim.js';
import type { Command, DirectCommand, PaymentMethod, TargetedCommand } from './command.js';
import type { LimitCounts } from './limit-counts.js';
import { type MethodParts, openPaymentMethod, ownerOf } from './open-method.js';
import type { Finisher } from './record.js';
import type { Retries } from './retries.js';

const DAY_MS = 86_400_000;

interface CreationParts extends MethodParts {
  readonly clock: Clock;
  readonly leases: AuditLeases;
  readonly process: { readonly term: number };
  readonly keys: DataKeys;
  readonly claims: Claims;
  readonly finisher: Finisher;
  readonly lookup: Lookup;
  readonly links: AcquirerLinks;
  readonly choice: LinkChoice;
  readonly asking: Asking;
  readonly orders: Orders;
  readonly capacity: Capacity;
  readonly limits: LimitCounts;
  readonly retries: Retries;
  /** Called at each named point of the path, where a test can kill the process. */
  readonly passing?: (point: Point) => void;
}

/** The points at which a crash leaves different traces. */
export const POINTS = ['received', 'claimed', 'answered', 'recorded'] as const;
/** Passed only by a payment that is rerouted to another link. */
export const REROUTED = 'rerouted';
export type Point = (typeof POINTS)[number] | typeof REROUTED;

export class Creation {
  readonly #parts: CreationParts;

  constructor(parts: CreationParts) {
    this.#parts = parts;
  }

  /** One direction; each step takes the previous step's value and may refuse. */
  async create(command: Command): Promise<Transaction> {
    const { passing, asking, finisher, capacity } = this.#parts;
    const { trace } = command.inFlight;
    passing?.('received');
    const place = new LinkPlace(capacity, command.caller.organisationId);
    try {
      let opened: Opened | undefined;
      let claimed: Claimed;
      let answer: Answer;
      let cardTag: Buffer | undefined;
      try {
        opened = await this.#open(command);
        await this.#checkRetry(opened);
        place.take(linkOf(opened));
        const priced = await this.#limited(price(opened));
        trace?.enter('claim');
        await this.#takePayload(priced);
        claimed = await this.#claim(priced); // commit A: nothing is sent before it
        passing?.('claimed');
        trace?.enter('acquirer', claimed.intent.acquirer);
        // guard(commit order: nothing is sent before commit A): asking.ask(claimed ⇒ (claimed.order.asked?.() ?? asking.ask(claimed)
        answer = await asking.ask(claimed); // once, and without a database connection
        // guard(routes: another link only where nothing was sent): answer.kind === 'not_sent' ⇒ (answer.kind === 'not_sent' || answer.kind === 'unknown')
        while (answer.kind === 'not_sent' && claimed.others !== undefined) {
          const rerouted = await asking.reroute(claimed, claimed.others, place); // stored before the other link is asked
          if (rerouted === undefined) break;
          claimed = rerouted;
          passing?.('rerouted');
          trace?.enter('acquirer', claimed.intent.acquirer);
          answer = await asking.ask(claimed);
        }
        if (answer.kind === 'declined') cardTag = await this.#tagOf(opened);
      } finally {
        // From here on only the sealed card is needed. An order that has timed out can no longer be sent.
        // guard(card number and CVV: erased once the acquirer was asked): eraseCard(opened ?? command); ⇒
        eraseCard(opened ?? command);
      }
      if (oneTimePanOf(opened) !== undefined) await this.#forgetOneTimeCard(opened);
      passing?.('answered');
      trace?.enter('record');
      const transaction = await finisher.finish(claimed.intent, answer, cardTag); // commit B: nothing is answered before it
      await this.#keepNetworkId(opened, transaction);
      trace?.leave();
      passing?.('recorded');
      return transaction;
    } finally {
      place.leave();
    }
  }

  /** A merchant must not try a card again by itself that was declined for good, or too often. */
  async #checkRetry(opened: Opened): Promise<void> {
    if (isTargeted(opened) || opened.credential?.initiator !== 'merchant' || opened.method.kind !== 'card')
      return;
    const { caller, merchant, method, acquirer } = opened;
    const { organisationId, userId } = caller;
    const { number } = method.card;
    const most = this.#parts.links.known(acquirer)?.mostDeclines;
    try {
      // guard(retries: are checked before anything is stored): await this.#parts.retries.check({ organisationId, merchantId: merchant.id, number, userId }, most); ⇒
      await this.#parts.retries.check({ organisationId, merchantId: merchant.id, number, userId }, most);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      throw (await this.#correlationIdTaken(opened)) ?? error;
    }
  }

  /** Of a card that was declined. Nothing that fails here may hide what the acquirer has said. */
  async #tagOf(opened: Opened): Promise<Buffer | undefined> {
    if (isTargeted(opened) || opened.operation === 'standalone_refund' || opened.method.kind !== 'card')
      return undefined;
    const { caller, merchant, method } = opened;
    const card = {
      organisationId: caller.organisationId,
      merchantId: merchant.id,
      number: method.card.number,
    };
    return this.#parts.retries.tagOf(card).catch(() => undefined);
  }

  /** With the token that it was paid with. Should it fail, that of a later payment is kept. */
  async #keepNetworkId(opened: Opened, { status, networkTransactionId: id }: Transaction): Promise<void> {
    if (isTargeted(opened) || id === undefined || status !== 'approved') return;
    const { tokenId, sealVersion, networkTransactionId: known } = opened.method;
    if (tokenId === undefined || sealVersion === undefined || known !== undefined) return;
    const { organisationId } = opened.caller;
    const named = { tokenId, sealVersion, networkTransactionId: id };
    await this.#parts.tokens.keepNetworkId(organisationId, named).catch(() => {});
  }

  /** Before anything is stored: of two payments with one payload one alone goes on. */
  async #takePayload(priced: Opened): Promise<void> {
    const payload = payloadOf(priced);
    if (payload === undefined) return;
    const isTaken = await this.#parts.wallets.take(ownerOf(priced), payload, priced.correlationId);
    // guard(wallets: a payload that another payment has is refused): if (!isTaken) throw fault('wallet_token_used', 'wallet token'); ⇒
    if (!isTaken) throw fault('wallet_token_used', 'wallet token');
  }

  /** Certainly nothing was stored. Should it fail, the payload can be tried under the same correlation ID only. */
  async #givePayloadBack(priced: Opened): Promise<void> {
    const payload = payloadOf(priced);
    if (payload === undefined) return;
    await this.#parts.wallets.giveBack(ownerOf(priced), payload, priced.correlationId).catch(() => {});
  }

  /** Should it fail, the card goes when its minutes are over. */
  async #forgetOneTimeCard(opened: Opened): Promise<void> {
    const virtualPan = oneTimePanOf(opened) ?? '';
    // guard(one-time cards: the CVV is gone once it was used): await this.#parts.oneTimeCards.forget(opened.caller, virtualPan).catch(() => {}); ⇒ void virtualPan;
    await this.#parts.oneTimeCards.forget(opened.caller, virtualPan).catch(() => {});
  }

  #open(command: Command): Promise<Opened> {
    return isTargeted(command) ? this.#openTargeted(command) : this.#openDirect(command);
  }

  async #openDirect(command: DirectCommand): Promise<OpenedDirect> {
    const { clock, choice } = this.#parts;
    const atMs = clock.now();
    const method = await openPaymentMethod(command, this.#parts, atMs);
    const cardType = method.kind === 'card' ? method.card.number.type : '';
    const paymentMethod = method.kind === 'card' ? 'creditcard' : 'bankaccount';
    if (method.kind === 'card' && command.merchant.routes !== undefined) {
      const { acquirer, others } = await choice.byRoutes(command, method.card);
      return { atMs, cardType, paymentMethod, acquirer, ...(others && { others }), ...command, method };
    }
    const { name: acquirer } = await choice.own(command, method);
    return { atMs, cardType, paymentMethod, acquirer, ...command, method };
  }

  /** The claim itself reads the target. Pricing, and a link that prepares orders, need the target earlier. */
  async #openTargeted(command: TargetedCommand): Promise<OpenedTargeted> {
    const { clock, links, lookup } = this.#parts;
    const atMs = clock.now();
    if (command.operation !== 'completion' && !links.prepares) return { atMs, ...command };
    const { caller, merchant, targetAudit } = command;
    const target = await lookup.byAudit(caller, targetAudit, [merchant.id]);
    return target === undefined ? { atMs, ...command } : { atMs, target, ...command };
  }

  /** Counted against the limits of its merchant, if that has some: what has reached one that only watches is noted. */
  async #limited(opened: Opened): Promise<Opened> {
    if (isTargeted(opened) || opened.operation === 'standalone_refund') return opened;
    if (opened.reached === undefined && opened.merchant.plugins.limits === undefined) return opened;
    const reached = opened.reached ?? (await this.#count(opened));
    if (reached.length === 0) return opened;
    const { originalCents, decisions } = opened.pricing ?? {
      originalCents: opened.amountCents,
      decisions: {},
    };
    return { ...opened, pricing: { originalCents, decisions: { ...decisions, limits: reached } } };
  }

  async #count(opened: OpenedDirect): Promise<readonly Limited[]> {
    const { caller, merchant, correlationId, method, payerAddress: address } = opened;
    const { organisationId, userId } = caller;
    const card = method.kind === 'card' ? method.card.number : undefined;
    const attempt = { organisationId, merchantId: merchant.id, correlationId, userId, card, address };
    try {
      const { customerId } = method;
      return await this.#parts.limits.count({ ...attempt, customerId }, limitsOf(merchant));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      // It may belong to an earlier copy of this request, whose outcome the client has to find.
      throw (await this.#correlationIdTaken(opened)) ?? error;
    }
  }

  async #claim(priced: Opened): Promise<Claimed> {
    const { leases, finisher, process } = this.#parts;
    const { organisationId } = priced.caller;
    // Read before the claim: if other processes presume this one dead later, nothing of the claim is sent.
    const { term } = process;
    const audit = await leases.take(organisationId);
    let held = false;
    try {
      const claimed = await (isTargeted(priced)
        ? this.#claimTargeted(audit, term, priced)
        : this.#claimDirect(audit, term, priced));
      held = true;
      return claimed;
    } catch (error) {
      // A failover has given the same audit to another transaction. Nothing of this one is stored.
      if (isUniqueViolation(error, 'transaction_pkey')) throw fault('not_processed');
      if (!(error instanceof DatabaseUnavailable)) throw error;
      held = true;
      // guard(a claim of which nobody knows: should it turn up, it is closed as not sent): finisher.closeAsNotSent({ organisationId, audit }); ⇒
      finisher.closeAsNotSent({ organisationId, audit });
      throw fault('not_processed');
    } finally {
      if (!held) {
        leases.release(organisationId, audit);
        await this.#givePayloadBack(priced);
      }
    }
  }

  async #claimDirect(audit: Audit, term: number, priced: OpenedDirect): Promise<Claimed> {
    const { keys, claims, links, asking, orders } = this.#parts;
    const { caller, merchant, correlationId, reference, currency, kvps, amountCents, method } = priced;
    const { organisationId } = caller;
    const ordered = {
      organisationId,
      audit,
      merchantId: merchant.id,
      transactionType: priced.operation,
      amountCents,
      currency,
      acquirer: priced.acquirer,
      createdMs: priced.atMs,
    };
    const order = orders.direct(priced.operation, ordered, method, priced.credential);
    const link = links.known(priced.acquirer);
    const prepared = link?.prepare && (await asking.prepare(link, order));
    // Sealed for this link and what it has prepared: for another the card does not open.
    const { sealed, keyVersion } = await sealedMethod(keys, { prepared, ...ordered }, method);
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
      acquirer: priced.acquirer,
      ...shownMethod(method),
      sealed,
      keyVersion,
      ...(method.tokenId !== undefined && { tokenId: method.tokenId }),
      ...(priced.pricing && { pricing: priced.pricing }),
      cardholder: cardholderOf(priced),
      username: caller.username,
      address: priced.address,
      userId: caller.userId,
      inFlight: priced.inFlight,
      kvps,
      ...(priced.operation === 'preauthorisation' && {
        completableUntilMs: priced.atMs + merchant.preauthorisationDays * DAY_MS,
      }),
    };
    // guard(commit order: nothing is sent before commit A): holder ⇒ asked = this.#parts.asking.ask({ intent: claim, merchant, order, prepared, term }); ⏎ order.asked = () => asked; ⏎ const holder
    const holder = await claims.direct(prepared === undefined ? claim : { prepared, ...claim });
    if (holder === undefined) throw fault('not_processed');
    // guard(correlation ID: a payment that lost it is not sent to the acquirer): if (holder !== audit) throw correlationIdTaken(holder); ⇒
    if (holder !== audit) throw correlationIdTaken(holder);
    if (priced.others === undefined) return { intent: claim, merchant, order, prepared, term };
    return { intent: claim, merchant, order, prepared, term, others: priced.others };
  }

  async #claimTargeted(audit: Audit, term: number, priced: OpenedTargeted): Promise<Claimed> {
    const { claims, keys, orders } = this.#parts;
    const { caller, merchant, correlationId, reference, kvps, targetAudit, operation } = priced;
    const prepared = await this.#prepareTargeted(audit, priced);
    const asked = {
      organisationId: caller.organisationId,
      audit,
      merchantId: merchant.id,
      transactionType: operation,
      correlationId,
      createdMs: priced.atMs,
      refundableFromMs: refundableFromMs(priced.atMs, merchant),
      reference,
      targetAudit,
      ...(operation !== 'void' && { amountCents: priced.amountCents, currency: priced.currency }),
      kvps,
      ...(priced.pricing && { pricing: priced.pricing }),
      userId: caller.userId,
      inFlight: priced.inFlight,
      ...(prepared !== undefined && { prepared }),
      ...(priced.byOperator && { byOperator: priced.byOperator }),
    };
    const attestation = await keys.attest(attestedWords(asked));
    for (let attempt = 1; ; attempt += 1) {
      const intent = await claims.targeted({ attestation, ...asked });
      if (intent !== undefined) {
        const order = orders.onTarget(operation, intent, targetAudit);
        const claimed = { intent, merchant, order, prepared, term };
        return (await orders.isSound(intent)) ? claimed : { ...claimed, unsound: true };
      }
      const refusal = await this.#refusal(priced);
      if (refusal !== undefined) throw refusal;
      // The target refused but would accept now, because another operation on it was just undone: try again. Or a client was
      // told that there is no such transaction: then no attempt can succeed.
      if (attempt === 10) throw fault('not_processed');
    }
  }

  /**
   * Prepares an order on the target, for the link that the target used. A target in doubt may still be rerouted: if it is
   * decided before the claim, nothing is prepared and nothing sent.
   */
  async #prepareTargeted(audit: Audit, priced: OpenedTargeted): Promise<Prepared> {
    const { links, asking, orders } = this.#parts;
    const { target, targetAudit, operation } = priced;
    const link = target && links.known(target.acquirer);
    // guard(routes: nothing is prepared for a target that may still be moved): target.status === 'unknown' || ⇒
    if (target === undefined || target.status === 'unknown' || link?.prepare === undefined) return undefined;
    const { organisationId, merchantId } = target;
    // guard(refund: not without a card over a link that needs it): link.needsCard ⇒ false
    if (operation === 'refund' && link.needsCard && !(await orders.hasCard(organisationId, targetAudit))) {
      throw (await this.#correlationIdTaken(priced)) ?? fault('target_not_refundable', 'target');
    }
    const { amountCents, currency } = operation === 'void' ? target : priced;
    const { acquirer } = target;
    const ordered = {
      organisationId,
      audit,
      merchantId,
      amountCents,
      currency,
      acquirer,
      createdMs: priced.atMs,
    };
    return asking.prepare(link, orders.onTarget(operation, ordered, targetAudit));
  }

  /** A taken correlation ID comes first: it may belong to an earlier copy of this request. */
  async #refusal(command: OpenedTargeted): Promise<Fault | undefined> {
    const taken = await this.#correlationIdTaken(command);
    if (taken !== undefined) return taken;
    // A former primary must not refuse by an outdated target.
    const { caller, merchant, targetAudit } = command;
    const target = await this.#parts.lookup.provenByAudit(caller, targetAudit, [merchant.id]);
    return refusalByTarget(command, target, command.atMs);
  }

  async #correlationIdTaken({ caller, merchant, correlationId }: Command): Promise<Fault | undefined> {
    return correlationIdTaken(await this.#parts.lookup.holderOf(caller, merchant, correlationId));
  }
}

/** Whether the operation acts on an earlier transaction; works for a command and for each later form of it. */
function isTargeted<Any extends { readonly operation: Command['operation'] }>(
  command: Any,
): command is Extract<Any, Pick<TargetedCommand, 'operation'>> {
  return command.operation === 'completion' || command.operation === 'refund' || command.operation === 'void';
}

function oneTimePanOf(opened: Opened): string | undefined {
  return isTargeted(opened) ? undefined : opened.method.oneTimePan;
}

function payloadOf(opened: Opened): Untaken | undefined {
  return isTargeted(opened) ? undefined : opened.method.payload;
}

/** The link whose capacity the transaction needs. A target's link is known only if the target was read before the claim. */
function linkOf(opened: Opened): string {
  if (!isTargeted(opened)) return opened.acquirer;
  return opened.target?.acquirer ?? opened.merchant.acquirer ?? 'none';
}

function eraseCard(paid: Command | Opened): void {
  if (isTargeted(paid) || paid.method.kind !== 'card') return;
  const { number, cvv, threeDSecure } = paid.method.card;
  number.erase();
  threeDSecure?.authenticationValue?.erase();
  // The link erased the CVV when it sent the order.
  cvv?.erase();
}

function cardholderOf({ credential, method }: OpenedDirect): Cardholder | undefined {
  const check = method.kind === 'card' ? method.card.threeDSecure : undefined;
  if (credential === undefined && check === undefined) return undefined;
  if (check === undefined) return { credential };
  const { version, eci, status } = check;
  const shown = {
    ...(version !== undefined && { version }),
    ...(eci !== undefined && { eci }),
    ...(status !== undefined && { status }),
  };
  return credential === undefined ? { threeDSecure: shown } : { credential, threeDSecure: shown };
}

/** The part of the payment method that look-ups show. */
function shownMethod(method: PaymentMethod): Pick<Intent, 'cardMask' | 'cardType' | 'bankAccount'> {
  if (method.kind === 'bank_account') return { bankAccount: method.bankAccount.shown };
  const { mask, type } = method.card.number;
  return { cardMask: mask, cardType: type };
}

export function correlationIdTaken(holder: Audit | undefined): Fault | undefined {
  if (holder === undefined) return undefined;
  return fault('correlation_id_already_used', 'correlation ID', holder);
}

/** A payment with its method opened and its link known. Amount and KVPs are still the request's. */
type OpenedDirect = Omit<DirectCommand, 'method'> &
  Payment & {
    readonly method: PaymentMethod;
    readonly acquirer: string;
    readonly others?: OtherLinks;
  };

/** An operation on an earlier transaction; the target is present if it had to be read before the claim. */
type OpenedTargeted = TargetedCommand & {
  readonly atMs: number;
  readonly target?: Transaction;
  readonly pricing?: Pricing;
};

type Opened = OpenedDirect | OpenedTargeted;

/** Plugins change the amount and add KVPs before anything is stored. */
function price(opened: Opened): Opened {
  if (!isTargeted(opened)) return priceDirect(opened);
  return opened.operation === 'completion' ? priceCompletion(opened) : opened;
}

/** Refuses amounts that a bank would refuse, surcharge included, since the bank sees the total. */
function priceDirect(opened: OpenedDirect): OpenedDirect {
  const refund = opened.operation === 'standalone_refund';
  const priced = refund ? opened : applyPlugins(opened, opened.merchant.plugins, PLUGINS);
  const [first, ...rest] = priced.method.kind === 'bank_account' ? becsFaults(priced) : [];
  if (first !== undefined) throw new Fault([first, ...rest]);
  const { agreed } = priced.method.payload ?? {};
  // guard(wallets: no more and no less is charged than the payer has agreed to): agreed !== undefined && ⇒ agreed === null &&
  if (
    agreed !== undefined &&
    (agreed.amountCents !== priced.amountCents || agreed.currency !== priced.currency)
  )
    throw fault('wallet_amount_differs', 'wallet token');
  return priced;
}

/** The price depends on the pricing agreed for the preauthorisation. If there is none, the claim refuses. */
function priceCompletion(opened: Extract<OpenedTargeted, { operation: 'completion' }>): OpenedTargeted {
  const { target, merchant } = opened;
  if (target === undefined) return opened;
  const cardType = (target.cardType ?? '') as CardType;
  return applyPlugins(
    { cardType, paymentMethod: 'creditcard' as const, ...opened, target },
    merchant.plugins,
    PLUGINS,
  );
}

/**
 * Why the claim was refused, in the order that helps a client most. Undefined if the target has changed and would allow it now.
 */
function refusalByTarget(
  command: TargetedCommand,
  target: Transaction | undefined,
  nowMs: number,
): Fault | undefined {
  if (target === undefined) return fault('transaction_not_found', 'target');
  const { merchant } = command;
  switch (command.operation) {
    case 'completion': {
      if (!COMPLETABLE.allows(target, nowMs, merchant)) return fault('target_not_completable', 'target');
      if (command.currency !== target.currency) return fault('target_not_completable', 'currency');
      return command.amountCents > MOST_COMPLETABLE.cents(target)
        ? fault('completion_exceeds_preauthorisation', 'amount')
        : undefined;
    }
    case 'refund': {
      const left = refundableCents(target, nowMs, merchant);
      if (left === undefined) {
        // A fully refunded target is still reported as a matter of the amount.
        const usedUp = target.status === 'approved' && MOST_REFUNDABLE.cents(target) === 0;
        return usedUp ? fault('refund_exceeds_original', 'amount') : fault('target_not_refundable', 'target');
      }
      if (command.currency !== target.currency) return fault('target_not_refundable', 'currency');
      return command.amountCents > left ? fault('refund_exceeds_original', 'amount') : undefined;
    }
    case 'void':
      return voidable(target, nowMs, merchant) ? undefined : fault('target_not_voidable', 'target');
  }
}
