// The way of a transaction: one short function, and the steps that it takes.
import type { Answer, Prepared } from '../../acquirers/contract.js';
import type { AcquirerLinks } from '../../acquirers/links.js';
import type { Clock } from '../../clock/clock.js';
import type { Merchant } from '../../organisations/users/callers.js';
import { applyPlugins, type Payment, type Pricing } from '../../plugins/contract.js';
import { PLUGINS } from '../../plugins/plugins.js';
import { DatabaseUnavailable, isUniqueViolation } from '../../postgres/database.js';
import { becsFaults, lodgeable } from '../../values/bank-account.js';
import type { CardType } from '../../values/card.js';
import { Fault, fault } from '../../values/faults.js';
import type { Audit, OrganisationId } from '../../values/ids.js';
import { bankAccountFromSecrets, bankSecrets, cardFromSecrets, cardSecrets } from '../../vault/account.js';
import { type DataKeys, seal } from '../../vault/keys/keys.js';
import type { OpenedToken, Tokens } from '../../vault/tokens.js';
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
  type DirectClaim,
  type Intent,
  paymentDetailsPlace,
  type Transaction,
} from '../transaction.js';
import type { Asking, Claimed, LinkChoice, Orders, OtherLinks } from './ask-acquirer.js';
import type { Claims } from './claim.js';
import type { Command, DirectCommand, PaymentMethod, TargetedCommand } from './command.js';
import type { Finisher } from './record.js';
import { LinkPlace, type Room } from './room.js';

const DAY_MS = 86_400_000;

interface CreationParts {
  readonly clock: Clock;
  readonly leases: AuditLeases;
  /** This process in the registry. */
  readonly process: { readonly term: number };
  readonly tokens: Tokens;
  readonly keys: DataKeys;
  readonly claims: Claims;
  readonly finisher: Finisher;
  readonly lookup: Lookup;
  readonly links: AcquirerLinks;
  readonly choice: LinkChoice;
  readonly asking: Asking;
  readonly orders: Orders;
  readonly room: Room;
  /** Called at each named point of the way: where a test kills the process. */
  readonly passing?: (point: Point) => void;
}

/** The points at which a crash leaves something different behind. */
export const POINTS = ['received', 'claimed', 'answered', 'recorded'] as const;
/** Only a payment passes it that goes over another link than the one that it was claimed for. */
export const REROUTED = 'rerouted';
export type Point = (typeof POINTS)[number] | typeof REROUTED;

export class Creation {
  readonly #parts: CreationParts;

  constructor(parts: CreationParts) {
    this.#parts = parts;
  }

  /** One direction, no way back; each step takes the previous step's value and may refuse. */
  async create(command: Command): Promise<Transaction> {
    const { passing, asking, finisher, room } = this.#parts;
    const { trace } = command.inFlight;
    passing?.('received');
    const place = new LinkPlace(room, command.caller.organisationId);
    try {
      let opened: Opened | undefined;
      let claimed: Claimed;
      let answer: Answer;
      try {
        opened = await this.#open(command);
        place.take(linkOf(opened));
        const priced = price(opened);
        trace?.enter('claim');
        claimed = await this.#claim(priced); // commit A: nothing is sent before it
        passing?.('claimed');
        trace?.enter('acquirer', claimed.intent.acquirer);
        // guard(commit order: nothing is sent before commit A): asking.ask(claimed ⇒ (claimed.order.asked?.() ?? asking.ask(claimed)
        answer = await asking.ask(claimed); // once, and no database connection is held
        // guard(routes: another link only where nothing was sent): answer.kind === 'not_sent' ⇒ (answer.kind === 'not_sent' || answer.kind === 'unknown')
        while (answer.kind === 'not_sent' && claimed.others !== undefined) {
          const rerouted = await asking.reroute(claimed, claimed.others, place); // stored before the other link is asked
          if (rerouted === undefined) break;
          claimed = rerouted;
          passing?.('rerouted');
          trace?.enter('acquirer', claimed.intent.acquirer);
          answer = await asking.ask(claimed);
        }
      } finally {
        // From here on the card is needed sealed only. Whoever still has the order, because its time is up, sends nothing for it.
        // guard(card number and CVV: erased once the acquirer was asked): eraseCard(opened ?? command); ⇒
        eraseCard(opened ?? command);
      }
      passing?.('answered');
      trace?.enter('record');
      const transaction = await finisher.finish(claimed.intent, answer); // commit B: nothing is answered before it
      trace?.leave();
      passing?.('recorded');
      return transaction;
    } finally {
      place.leave();
    }
  }

  #open(command: Command): Promise<Opened> {
    return isTargeted(command) ? this.#openTargeted(command) : this.#openDirect(command);
  }

  async #openDirect(command: DirectCommand): Promise<OpenedDirect> {
    const { clock, tokens, choice } = this.#parts;
    const atMs = clock.now();
    const method = await openPaymentMethod(command, tokens);
    const cardType = method.kind === 'card' ? method.card.number.type : '';
    const paymentMethod = method.kind === 'card' ? 'creditcard' : 'bankaccount';
    if (method.kind === 'card' && command.merchant.routesVersion !== null) {
      const { acquirer, others } = await choice.byRoutes(command, method.card);
      return { atMs, cardType, paymentMethod, acquirer, ...(others && { others }), ...command, method };
    }
    const { name: acquirer } = await choice.own(command, method);
    return { atMs, cardType, paymentMethod, acquirer, ...command, method };
  }

  /** The claim reads what it needs of the target itself. A price, and a link that prepares, need to know it before. */
  async #openTargeted(command: TargetedCommand): Promise<OpenedTargeted> {
    const { clock, links, lookup } = this.#parts;
    const atMs = clock.now();
    if (command.operation !== 'completion' && !links.prepares) return { atMs, ...command };
    const { caller, merchant, targetAudit } = command;
    const target = await lookup.byAudit(caller, targetAudit, [merchant.id]);
    return target === undefined ? { atMs, ...command } : { atMs, target, ...command };
  }

  async #claim(priced: Opened): Promise<Claimed> {
    const { leases, finisher, process } = this.#parts;
    const { organisationId } = priced.caller;
    // Before anything is claimed: should the others presume this process dead from now on, nothing of it is sent.
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
      // A failover has given the audit to another as well. Nothing of this one is stored.
      if (isUniqueViolation(error, 'transaction_pkey')) throw fault('not_processed');
      if (!(error instanceof DatabaseUnavailable)) throw error;
      held = true;
      // guard(a claim of which nobody knows: should it turn up, it is closed as not sent): finisher.closeAsNotSent({ organisationId, audit, ...targetOf(priced) }); ⇒
      finisher.closeAsNotSent({ organisationId, audit, ...targetOf(priced) });
      throw fault('not_processed');
    } finally {
      if (!held) leases.release(organisationId, audit);
    }
  }

  async #claimDirect(audit: Audit, term: number, priced: OpenedDirect): Promise<Claimed> {
    const { keys, claims, links, asking, orders } = this.#parts;
    const { caller, merchant, correlationId, reference, currency, kvps, amountCents, method } = priced;
    const { organisationId } = caller;
    const key = await keys.newest(organisationId, merchant.id);
    const place = paymentDetailsPlace(
      { organisationId, merchantId: merchant.id },
      { audit, transactionType: priced.operation, amountCents, currency, paymentMethod: method.kind },
    );
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
      ...shownMethod(method),
      sealed: seal(key, place, secretsOf(method)),
      keyVersion: key.version,
      ...(method.tokenId !== undefined && { tokenId: method.tokenId }),
      ...(priced.pricing && { pricing: priced.pricing }),
      username: caller.username,
      address: priced.address,
      userId: caller.userId,
      inFlight: priced.inFlight,
      kvps,
      acquirer: priced.acquirer,
      ...(priced.operation === 'preauthorisation' && {
        completableUntilMs: priced.atMs + merchant.preauthorisationDays * DAY_MS,
      }),
    };
    const order = orders.direct(priced.operation, claim, method);
    const link = links.known(priced.acquirer);
    const prepared = link?.prepare && (await asking.prepare(link, order));
    // guard(commit order: nothing is sent before commit A): holder ⇒ asked = this.#parts.asking.ask({ intent: claim, merchant, order, prepared }); ⏎ order.asked = () => asked; ⏎ const holder
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
        return { intent, merchant, order, prepared, term };
      }
      const refusal = await this.#refusal(priced);
      if (refusal !== undefined) throw refusal;
      // The target refused, and would accept by now: another operation on it was just taken back. Once more. Or a
      // client was told that there is no such transaction: then never.
      if (attempt === 10) throw fault('not_processed');
    }
  }

  /**
   * As an order on the target that was found, by the link that it went by. A target in doubt may still go by another: where it is
   * decided before the claim, nothing is prepared, and nothing is sent.
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
    const ordered = { organisationId, audit, merchantId, amountCents, currency, createdMs: priced.atMs };
    return asking.prepare(link, orders.onTarget(operation, ordered, targetAudit));
  }

  /** A taken correlation ID first: its request may have been this very one. */
  async #refusal(command: OpenedTargeted): Promise<Fault | undefined> {
    const taken = await this.#correlationIdTaken(command);
    if (taken !== undefined) return taken;
    // A server that was left behind must not refuse by what it knew of the target.
    const { caller, merchant, targetAudit } = command;
    const target = await this.#parts.lookup.provenByAudit(caller, targetAudit, [merchant.id]);
    return refusalByTarget(command, target, command.atMs);
  }

  async #correlationIdTaken({ caller, merchant, correlationId }: Command): Promise<Fault | undefined> {
    return correlationIdTaken(await this.#parts.lookup.holderOf(caller, merchant, correlationId));
  }
}

/** Whether it acts on an earlier transaction; for a command, and for what the pipeline has made of one. */
function isTargeted<Any extends { readonly operation: Command['operation'] }>(
  command: Any,
): command is Extract<Any, Pick<TargetedCommand, 'operation'>> {
  return command.operation === 'completion' || command.operation === 'refund' || command.operation === 'void';
}

/** Where it waits for room. That of a target is known where it has to be read before the claim. */
function linkOf(opened: Opened): string {
  if (!isTargeted(opened)) return opened.acquirer;
  return opened.target?.acquirer ?? opened.merchant.acquirer ?? 'none';
}

function eraseCard(paid: Command | Opened): void {
  if (isTargeted(paid) || paid.method.kind !== 'card') return;
  const { number, cvv } = paid.method.card;
  number.erase();
  // The link has done that when it was sent.
  cvv?.erase();
}

function secretsOf(method: PaymentMethod): string | Buffer {
  return method.kind === 'card' ? cardSecrets(method.card) : bankSecrets(method.bankAccount);
}

/** The part of the payment method that lookups show. */
function shownMethod(method: PaymentMethod): Pick<Intent, 'cardMask' | 'cardType' | 'bankAccount'> {
  if (method.kind === 'bank_account') return { bankAccount: method.bankAccount.shown };
  const { mask, type } = method.card.number;
  return { cardMask: mask, cardType: type };
}

export function correlationIdTaken(holder: Audit | undefined): Fault | undefined {
  if (holder === undefined) return undefined;
  return fault('correlation_id_already_used', 'correlation ID', holder);
}

function targetOf(priced: Opened): { targetAudit?: Audit } {
  return isTargeted(priced) ? { targetAudit: priced.targetAudit } : {};
}

/** What a request names becomes what can be charged. */
async function openPaymentMethod(command: DirectCommand, tokens: Tokens): Promise<PaymentMethod> {
  const { method, caller, merchant, operation } = command;
  if (method.kind !== 'virtual_pan') return method;
  const opened = await openToken(method.virtualPan, caller.organisationId, merchant, tokens);
  const usable = opened && methodOf(opened);
  // Nothing can be held on a bank account.
  // guard(payment by virtual PAN: no preauthorisation of a bank account): (usable.kind === 'bank_account' && operation === 'preauthorisation') ⇒ false
  if (usable === undefined || (usable.kind === 'bank_account' && operation === 'preauthorisation')) {
    throw fault('token_not_usable', 'card number');
  }
  return usable;
}

async function openToken(
  virtualPan: string,
  organisationId: OrganisationId,
  merchant: Merchant,
  tokens: Tokens,
) {
  // guard(payment by virtual PAN: only where the merchant has the vault): merchant.vault ? tokens.openForPayment(organisationId, merchant.id, virtualPan) : undefined ⇒ tokens.openForPayment(organisationId, merchant.id, virtualPan)
  return merchant.vault ? tokens.openForPayment(organisationId, merchant.id, virtualPan) : undefined;
}

function methodOf({ accountType, secrets, tokenId }: OpenedToken): PaymentMethod | undefined {
  if (accountType === 'general_creditcard')
    return { kind: 'card', card: cardFromSecrets(secrets), stored: true, tokenId };
  const bankAccount = bankAccountFromSecrets(secrets);
  return lodgeable(bankAccount) ? { kind: 'bank_account', bankAccount, tokenId } : undefined;
}

/** A payment whose method is in the open and whose link is known. Its amount and KVPs are still those of the request. */
type OpenedDirect = Omit<DirectCommand, 'method'> &
  Payment & {
    readonly method: PaymentMethod;
    readonly acquirer: string;
    readonly others?: OtherLinks;
  };

/** An operation on an earlier transaction, which is there if it has to be known before the claim. */
type OpenedTargeted = TargetedCommand & {
  readonly atMs: number;
  readonly target?: Transaction;
  readonly pricing?: Pricing;
};

type Opened = OpenedDirect | OpenedTargeted;

/** The plugins change the amount and add KVPs, before anything is stored. */
function price(opened: Opened): Opened {
  if (!isTargeted(opened)) return priceDirect(opened);
  return opened.operation === 'completion' ? priceCompletion(opened) : opened;
}

/** What a bank would refuse is refused here; with the surcharge in it, since that is what the bank would see. */
function priceDirect(opened: OpenedDirect): OpenedDirect {
  const refund = opened.operation === 'standalone_refund';
  const priced = refund ? opened : applyPlugins(opened, opened.merchant.plugins, PLUGINS);
  const [first, ...rest] = priced.method.kind === 'bank_account' ? becsFaults(priced) : [];
  if (first !== undefined) throw new Fault([first, ...rest]);
  return priced;
}

/** Its price depends on what was agreed for the preauthorisation. Where there is none, the claim will say so. */
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

/** Why a claim was not granted, in the order in which a client needs to know. Undefined when the target would allow it now: it changed since. */
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
        // Refunded in full is still a matter of the amount.
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
