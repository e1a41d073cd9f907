// The way of a transaction: one short function, and the steps that it takes.
import type { Answer, Prepared } from '../../acquirers/contract.js';
import type { AcquirerLinks } from '../../acquirers/links.js';
import type { Clock } from '../../clock/clock.js';
import { DatabaseUnavailable, isUniqueViolation } from '../../postgres/database.js';
import { type Fault, fault } from '../../values/faults.js';
import type { Audit } from '../../values/ids.js';
import { bankSecrets, cardSecrets } from '../../vault/account.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import { seal } from '../../vault/keys/sealing.js';
import type { Tokens } from '../../vault/tokens.js';
import { attestedWords } from '../attestation.js';
import { paymentDetailsPlace } from '../cards/payment-details.js';
import type { Lookup } from '../finding/lookup.js';
import type { AuditLeases } from '../processes/audit-leases.js';
import { refundableFromMs } from '../target-rules.js';
import type { DirectClaim, Intent, Transaction } from '../transaction.js';
import type { Asking, Claimed } from './asking.js';
import type { Claims } from './claim.js';
import { type Command, type DirectCommand, isTargeted, type TargetedCommand } from './command.js';
import type { Finisher } from './finish.js';
import type { LinkChoice } from './link.js';
import type { Orders } from './orders.js';
import { openPaymentMethod, type PaymentMethod } from './payment-method.js';
import { type Opened, type OpenedDirect, type OpenedTargeted, price } from './price.js';
import { refusalByTarget } from './refusal.js';
import { LinkPlace, type Room } from './room.js';

const DAY_MS = 86_400_000;

export interface CreationParts {
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
