// Asks the acquirer once for a claimed transaction: chooses the link, builds the order, and tries another link only if the
// previous one has certainly sent nothing. Test and live are kept apart here and nowhere else.
import {
  type AcquirerLink,
  type Answer,
  askUnderDeadline,
  CardDestroyed,
  type Completion,
  type MoneyOperation,
  type Order,
  type Payment,
  type Prepared,
  prepareUnderDeadline,
  type Refund,
  type StandaloneRefund,
  type StoredOrder,
  type StoredTarget,
  serves,
  type UnderDeadline,
  type Void,
} from '../../acquirers/contract.js';
import type { AcquirerLinks, Breakers, Ending } from '../../acquirers/links.js';
import { openSignerOf } from '../../journal/entry-signer.js';
import type { Routes } from '../../organisations/routing/routes.js';
import type { Merchant } from '../../organisations/users/callers.js';
import { Batcher } from '../../postgres/batches.js';
import type { Database } from '../../postgres/database.js';
import type { CardDetails } from '../../values/card.js';
import type { Credential } from '../../values/credential.js';
import { fault } from '../../values/faults.js';
import type { Audit, MerchantId, OrganisationId } from '../../values/ids.js';
import { bankSecrets, cardFromSecrets, cardSecrets } from '../../vault/account.js';
import { type DataKeys, seal } from '../../vault/keys/keys.js';
import type { LateAnswers } from '../doubt/late-answers.js';
import { findUnsound, isAsAsked, isAsDecided, outcomePlace, targetAndOperations } from '../outcome-seals.js';
import {
  type AcquirerReference,
  type DecidedIntent,
  type Intent,
  type JournalledMove,
  type Move,
  type PaymentSeal,
  paymentDetailsPlace,
  type StoredOutcome,
} from '../transaction.js';
import type { TransactionFigures } from '../transaction-figures.js';
import { MOVES, REROUTE, SEALED_CARD, STORED_TARGET } from './ask-acquirer.sql.js';
import type { Capacity, LinkPlace } from './capacity.js';
import type { BatchOptions, TargetedIntent } from './claim.js';
import type { DirectCommand, PaymentMethod } from './command.js';

/** A claimed transaction, and the order for its acquirer. */
export interface Claimed {
  readonly intent: Intent;
  readonly merchant: Merchant;
  readonly order: Order;
  readonly prepared: Prepared;
  /** The process's term when it was claimed. */
  readonly term: number;
  /** Present where routes lead to more than one link. */
  readonly others?: OtherLinks;
  /** Somebody has changed its target in the database: nothing is sent. */
  readonly unsound?: true;
}

interface AskingParts {
  readonly links: AcquirerLinks;
  readonly choice: LinkChoice;
  readonly breakers: Breakers;
  readonly rerouting: Rerouting;
  readonly orders: Orders;
  readonly capacity: Capacity;
  readonly lateAnswers: LateAnswers;
  readonly process: { maySend(term: number): boolean };
  readonly figures: TransactionFigures;
  readonly deadlineMs: number;
}

const NOT_SENT: Answer = { kind: 'not_sent' };

export class Asking {
  readonly #underDeadline: UnderDeadline<Claimed>;

  constructor(private readonly parts: AskingParts) {
    this.#underDeadline = {
      deadlineMs: parts.deadlineMs,
      maySend: ({ term }) => parts.process.maySend(term),
      onLate: ({ intent }, answer) => void parts.lateAnswers.record(intent, answer),
    };
  }

  /** An order that cannot be prepared has left no trace. */
  async prepare(link: AcquirerLink, order: Order): Promise<Prepared> {
    try {
      return await prepareUnderDeadline(link, order, this.parts.deadlineMs);
    } catch {
      throw fault('not_processed');
    }
  }

  async ask(claimed: Claimed): Promise<Answer> {
    const { links, capacity, breakers, figures } = this.parts;
    const { intent, merchant, prepared } = claimed;
    const { organisationId, acquirer } = intent;
    // guard(target: nothing is sent for one that was changed): if (claimed.unsound) return NOT_SENT; ⇒
    if (claimed.unsound) return NOT_SENT;
    const link = linkToAsk(acquirer, merchant, links);
    // This process has no such link, the link is closed or not for this merchant, or nothing is stored to reverse the order by.
    // Throwing would abandon the intent.
    if (link === undefined) {
      breakers.end(acquirer, organisationId, endingOf(NOT_SENT, intent), undefined);
      return NOT_SENT;
    }
    if (link.prepare !== undefined && prepared === undefined) return NOT_SENT;
    const attempt = link.simulated
      ? undefined
      : breakers.begin(acquirer, organisationId, this.#hasAnotherWay(claimed));
    if (attempt === 'refused') return NOT_SENT;
    const fromMs = performance.now();
    const answer = await capacity.asking(organisationId, () =>
      askUnderDeadline(link, claimed, this.#underDeadline),
    );
    figures.noteDuration(acquirer, performance.now() - fromMs);
    if (!link.simulated) breakers.end(acquirer, organisationId, endingOf(answer, intent), attempt);
    return answer;
  }

  #hasAnotherWay({ intent, others }: Claimed): boolean {
    if (others === undefined) return false;
    return others.names.some((name) => this.parts.breakers.isWorthTrying(name, intent.organisationId));
  }

  /**
   * Stores the next link, which may be asked afterwards. Undefined if there is none, or another process may have taken the
   * payment over: the payment then stays not sent.
   */
  async reroute(claimed: Claimed, others: OtherLinks, place: LinkPlace): Promise<Claimed | undefined> {
    const { links, choice, rerouting, orders, process } = this.parts;
    const { intent, merchant, order, term } = claimed;
    const { organisationId, audit, acquirer: before } = intent;
    const chosen = choice.next(others, merchant, organisationId);
    const link = chosen && links.known(chosen.acquirer);
    if (chosen === undefined || link === undefined || !process.maySend(term)) return undefined;
    const { acquirer } = chosen;
    try {
      place.take(acquirer);
      const prepared = link.prepare && (await this.prepare(link, order));
      const sealed = await orders.sealFor(acquirer, prepared, intent, order);
      const move = { organisationId, audit, before, acquirer, prepared, ...sealed };
      // guard(routes: the other link is stored before it is asked, killed between): if (!(await rerouting.move(move))) return undefined ⇒ setTimeout(() => void rerouting.move(move), 500)
      // guard(routes: the other link is stored before it is asked): if (!(await rerouting.move(move))) return undefined ⇒ setTimeout(() => void rerouting.move(move), 500)
      if (!(await rerouting.move(move))) return undefined;
      return {
        intent: { ...intent, acquirer },
        merchant,
        order,
        prepared,
        term,
        ...(chosen.others && { others: chosen.others }),
      };
    } catch {
      // No capacity, or nothing could be prepared: nothing was sent.
      return undefined;
    }
  }
}

/** An operation on a target may be unsendable because the target's card or the database is missing. */
function endingOf({ kind }: Answer, { targetAudit }: Intent): Ending {
  if (kind === 'unknown') return 'failed';
  // guard(breakers: a decline is an answer): return ' ⇒ return kind === 'declined' ? 'failed' : '
  if (kind !== 'not_sent') return 'answered';
  return targetAudit === undefined ? 'failed' : 'neutral';
}

/** The link of that name, if it is open and this merchant may use it. */
function linkToAsk(
  name: string,
  merchant: Pick<Merchant, 'mode'>,
  links: AcquirerLinks,
): AcquirerLink | undefined {
  // guard(links: one that is not open is asked nothing): opened ⇒ known
  return usable(links.opened(name), merchant);
}

function usable(link: AcquirerLink | undefined, { mode }: Pick<Merchant, 'mode'>): AcquirerLink | undefined {
  // guard(link: live merchants by live links only): !== undefined && serves(link, mode) ? link : undefined ⇒
  return link !== undefined && serves(link, mode) ? link : undefined;
}

/** The link for a payment, and the links to try if it is certain that nothing was sent. */
interface ChosenLink {
  readonly acquirer: string;
  readonly others?: OtherLinks;
}

export interface OtherLinks {
  /** In order of preference. Never empty. */
  readonly names: readonly string[];
  /** No link is tried after this: the client is waiting. */
  readonly untilMs: number;
}

/**
 * The name of the link to the bank that takes a merchant's direct debits; null if the merchant has no bank, or one that is not as it was
 * sealed.
 */
export type BankOf = (merchant: {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
}) => Promise<string | null>;

interface LinkChoiceParts {
  readonly links: AcquirerLinks;
  readonly bankOf: BankOf;
  readonly routes: Routes;
  readonly capacity: Capacity;
  readonly breakers: Breakers;
  readonly deadlineMs: number;
}

/** Chooses among the links that a merchant may use. */
export class LinkChoice {
  constructor(private readonly parts: LinkChoiceParts) {}

  /** The merchant's own link, open or not. A payment method without a link is refused before anything is stored. */
  async own({ caller, merchant }: DirectCommand, { kind }: PaymentMethod): Promise<AcquirerLink> {
    const { links, bankOf } = this.parts;
    const { organisationId } = caller;
    const name =
      kind === 'card' ? merchant.acquirer : await bankOf({ organisationId, merchantId: merchant.id });
    const link = usable(name === null ? undefined : links.known(name), merchant);
    if (link === undefined) throw fault('no_acquirer', 'payment method');
    return link;
  }

  /**
   * The link for a card by the merchant's routes. Refuses if neither a route nor the merchant's own link can take the payment.
   */
  async byRoutes(
    { caller, merchant, currency }: DirectCommand,
    { number }: CardDetails,
  ): Promise<ChosenLink> {
    const { routes, deadlineMs } = this.parts;
    const { organisationId } = caller;
    const table = routes.known(merchant) ?? (await routes.read(organisationId, merchant));
    if (table === undefined) throw fault('no_acquirer', 'payment method');
    const payment = { cardType: number.type, bin: number.bin, currency };
    const names = table.linksFor(payment, merchant.acquirer);
    const chosen = this.#first(names, merchant, organisationId, performance.now() + deadlineMs);
    if (chosen === undefined) throw fault('no_acquirer', 'payment method');
    return chosen;
  }

  /** The next of the remaining links. */
  next(
    { names, untilMs }: OtherLinks,
    merchant: Merchant,
    organisationId: OrganisationId,
  ): ChosenLink | undefined {
    if (performance.now() >= untilMs) return undefined;
    return this.#first(names, merchant, organisationId, untilMs);
  }

  /** The first link that works and has capacity; else the first with capacity; else the first. */
  #first(
    names: readonly string[],
    merchant: Merchant,
    organisationId: OrganisationId,
    untilMs: number,
  ): ChosenLink | undefined {
    const { links, capacity, breakers } = this.parts;
    // guard(routes: no route leads from test to live): usable(links.known(name), merchant ⇒ links.known(name
    const able = names.filter((name) => usable(links.known(name), merchant) !== undefined);
    const withCapacity = able.filter((name) => capacity.hasCapacity(organisationId, name));
    const acquirer =
      withCapacity.find((name) => breakers.isWorthTrying(name, organisationId)) ?? withCapacity[0] ?? able[0];
    if (acquirer === undefined) return undefined;
    const rest = able.filter((name) => name !== acquirer);
    return rest.length === 0 ? { acquirer } : { acquirer, others: { names: rest, untilMs } };
  }
}

type Direct = Payment | StandaloneRefund;
type OnTarget = Completion | Refund | Void;

/** The parts of a transaction that an order needs. */
export type Ordered = Pick<
  Intent,
  'organisationId' | 'audit' | 'merchantId' | 'amountCents' | 'currency' | 'createdMs' | 'acquirer'
> & {
  /** The installations that sent it, and its target, if those were other cells. */
  readonly sentBy?: string | null;
  readonly targetSentBy?: string | null;
};

interface SealedCard extends PaymentSeal {
  readonly merchantId: MerchantId;
  readonly keyVersion: number;
  readonly sealed: Buffer;
}

interface TargetRow {
  readonly atMs: number;
  readonly prepared: Prepared;
  readonly attestation: Buffer | null;
  readonly keyVersion: number | null;
  readonly sealed: Buffer | null;
  readonly paymentMethod: PaymentSeal['paymentMethod'];
  readonly stored: StoredOutcome;
}

interface OrdersParts {
  readonly database: Database;
  readonly keys: DataKeys;
  readonly referenceOf: AcquirerReference;
}

/** Builds the order for an acquirer, from the intent or from the stored transaction. */
export class Orders {
  constructor(private readonly parts: OrdersParts) {}

  direct(
    operation: Direct['operation'],
    ordered: Ordered,
    method: PaymentMethod,
    credential?: Credential,
  ): Direct {
    const { organisationId, merchantId, amountCents, currency } = ordered;
    return {
      operation,
      reference: this.parts.referenceOf(organisationId, ordered.audit),
      organisationId,
      merchantId,
      amountCents,
      currency,
      atMs: ordered.createdMs,
      method,
      credential,
      networkTransactionId: credential?.networkTransactionId ?? method.networkTransactionId,
    };
  }

  onTarget(operation: OnTarget['operation'], ordered: Ordered, targetAudit: Audit): OnTarget {
    const { organisationId, merchantId, amountCents, currency, acquirer, sentBy, targetSentBy } = ordered;
    return {
      operation,
      reference: this.parts.referenceOf(organisationId, ordered.audit, sentBy),
      organisationId,
      merchantId,
      amountCents,
      currency,
      atMs: ordered.createdMs,
      target: {
        reference: this.parts.referenceOf(organisationId, targetAudit, targetSentBy),
        read: () => this.#target(organisationId, targetAudit),
      },
      openCard: () => this.#openCard(organisationId, targetAudit, acquirer),
    };
  }

  /** The order of a transaction that was claimed before, perhaps by a process that is gone. */
  stored(operation: MoneyOperation, ordered: Ordered & Pick<Intent, 'targetAudit'>): StoredOrder {
    const {
      organisationId,
      audit,
      merchantId,
      targetAudit,
      amountCents,
      currency,
      createdMs: atMs,
    } = ordered;
    switch (operation) {
      case 'completion':
      case 'refund':
      case 'void':
        if (targetAudit === undefined) throw new Error(`a ${operation} without a target`);
        return this.onTarget(operation, ordered, targetAudit);
      default:
        return {
          operation,
          reference: this.parts.referenceOf(organisationId, audit, ordered.sentBy),
          organisationId,
          merchantId,
          amountCents,
          currency,
          atMs,
          openCard: () => this.#openCard(organisationId, audit, ordered.acquirer),
        };
    }
  }

  async #target(organisationId: OrganisationId, audit: Audit): Promise<StoredTarget> {
    const { rows } = await this.parts.database.query<TargetRow>(STORED_TARGET, [organisationId, audit]);
    const [row] = rows;
    if (row === undefined) throw new Error('there is no such target');
    const { atMs, prepared, stored } = row;
    // guard(target: what the acquirer knows it by is as it was sent): !(await this.#isAsSent(row)) ⇒ false
    if (!(await this.#isAsSent(row))) throw this.parts.keys.broken(outcomePlace(stored));
    const { transactionType: operation, amountCents, currency } = stored;
    const { responseCode, authorisationCode, preauthorisationCode } = stored;
    const known = { operation, amountCents, currency, atMs };
    const codes = { prepared, responseCode, authorisationCode, preauthorisationCode };
    // An empty column becomes an absent member.
    const there = Object.entries(codes).filter(([, value]) => value !== null);
    return { ...known, ...Object.fromEntries(there) };
  }

  /** The outcome's seal holds the codes. What was prepared is bound to the card, or to what was attested of an operation. */
  async #isAsSent({ stored, prepared, attestation, keyVersion, sealed, paymentMethod }: TargetRow) {
    const { keys } = this.parts;
    if (!(await isAsDecided(keys, stored))) return false;
    if (stored.targetAudit !== null && stored.targetAudit !== undefined)
      return isAsAsked(keys, { ...stored, targetAudit: stored.targetAudit, prepared, attestation });
    // Where the card is destroyed, nothing can be sent.
    if (sealed === null || keyVersion === null) return true;
    return keys.opens(
      paymentDetailsPlace(stored, { ...stored, paymentMethod, prepared }),
      keyVersion,
      sealed,
    );
  }

  /** The card or account of a payment that has not been sent, sealed for another link than the one it was claimed for. */
  async sealFor(
    acquirer: string,
    prepared: Prepared,
    intent: Intent,
    order: Order,
  ): Promise<Pick<Move, 'sealed' | 'keyVersion'>> {
    if (!('method' in order)) throw new Error('an operation on an earlier transaction stays with its link');
    return sealedMethod(this.parts.keys, { ...intent, acquirer, prepared }, order.method);
  }

  /**
   * Whether an operation on an earlier transaction may be sent. Its claim saw what was asked of the target a moment before it had
   * the target for itself, so whatever looks wrong is looked at again. What is wrong is reported.
   */
  async isSound(intent: TargetedIntent): Promise<boolean> {
    const { database, keys } = this.parts;
    if ((await findUnsound(keys, intent)) === undefined) return true;
    const now = await targetAndOperations(database, intent);
    const unsound = now && (await findUnsound(keys, { ...intent, ...now }));
    if (unsound === undefined) return now !== undefined;
    keys.broken(outcomePlace(unsound));
    return false;
  }

  /** Whether an order on this transaction could open its card. */
  async hasCard(organisationId: OrganisationId, audit: Audit): Promise<boolean> {
    return (await this.parts.database.query(SEALED_CARD, [organisationId, audit])).rows.length > 0;
  }

  /** The card of a payment, for its own link. */
  readonly cardOf = ({ organisationId, audit, acquirer }: DecidedIntent) =>
    this.#openCard(organisationId, audit, acquirer);

  /** The card of this transaction or, from target to target, of the original payment. */
  async #openCard(organisationId: OrganisationId, audit: Audit, acquirer: string): Promise<CardDetails> {
    const { database, keys } = this.parts;
    const { rows } = await database.query<SealedCard>(SEALED_CARD, [organisationId, audit]);
    const [row] = rows;
    if (row === undefined) throw new CardDestroyed();
    const { merchantId, keyVersion, sealed } = row;
    const place = paymentDetailsPlace({ organisationId, merchantId }, row);
    // guard(card: opens for its own link only): if (row.acquirer !== acquirer) throw keys.broken(place); ⇒
    if (row.acquirer !== acquirer) throw keys.broken(place);
    return cardFromSecrets(await keys.open(place, keyVersion, sealed));
  }
}

/** Seals the payment method for the transaction and the link that it is claimed for. */
export async function sealedMethod(
  keys: DataKeys,
  intent: Pick<
    DecidedIntent,
    'organisationId' | 'merchantId' | 'audit' | 'transactionType' | 'amountCents' | 'currency' | 'acquirer'
  > & { readonly prepared?: Prepared },
  method: Direct['method'],
): Promise<{ readonly sealed: Buffer; readonly keyVersion: number }> {
  const { organisationId, merchantId, audit, transactionType, amountCents, currency, acquirer, prepared } =
    intent;
  const key = await keys.newest(organisationId, merchantId);
  const paymentMethod = method.kind;
  const place = paymentDetailsPlace(
    { organisationId, merchantId },
    { audit, transactionType, amountCents, currency, paymentMethod, acquirer, prepared },
  );
  const secrets = method.kind === 'card' ? cardSecrets(method.card) : bankSecrets(method.bankAccount);
  return { sealed: seal(key, place, secrets), keyVersion: key.version };
}

/**
 * Moves a payment that was certainly not sent to another link. The move is stored before the other link is asked: after any
 * crash, the resolver of any process asks the link that may have sent the payment.
 */
export class Rerouting {
  readonly #moves: Batcher<Move, boolean>;

  constructor(
    private readonly database: Database,
    batches: BatchOptions,
  ) {
    const options = { ...batches, database };
    this.#moves = new Batcher((moves) => this.#store(moves), options);
  }

  /**
   * False if this process no longer decides, or if it is unknown whether the move was stored: the other link is then not asked.
   */
  async move(move: Move): Promise<boolean> {
    // guard(routes: a link that could not be stored is not asked): false ⇒ true
    return this.#moves.submit(move).catch(() => false);
  }

  #journalled(move: Move): JournalledMove {
    const { organisationId, audit, before, acquirer } = move;
    const detail = `not sent over ${before}, moved to ${acquirer}`;
    const entry = { actor: 'gateway:routes', action: 'transaction.rerouted', organisationId, audit, detail };
    return { ...move, detail, mac: openSignerOf(this.database)?.macOf(entry) };
  }

  async #store(moves: readonly Move[]): Promise<readonly boolean[]> {
    const { rows } = await this.database.query<Pick<Move, 'organisationId' | 'audit'>>(
      REROUTE,
      MOVES.encode(moves.map((move) => this.#journalled(move))),
    );
    const moved = new Set(rows.map(({ organisationId, audit }) => `${organisationId}/${audit}`));
    return moves.map(({ organisationId, audit }) => moved.has(`${organisationId}/${audit}`));
  }
}
