// Asks the acquirer for what was claimed, once: by which link, with which order, and over another link only where the one before has
// certainly sent nothing. Here, and nowhere else, test and live are kept apart.
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
import { Batcher, type BatcherOptions, type EntryOf } from '../../postgres/batches.js';
import type { Database, Queryable } from '../../postgres/database.js';
import type { CardDetails } from '../../values/card.js';
import { fault } from '../../values/faults.js';
import type { Audit, MerchantId, OrganisationId } from '../../values/ids.js';
import { cardFromSecrets } from '../../vault/account.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import type { LateAnswers } from '../doubt/late-answers.js';
import {
  type AcquirerReference,
  type Intent,
  type JournalledMove,
  type Move,
  type PaymentSeal,
  paymentDetailsPlace,
} from '../transaction.js';
import type { TransactionFigures } from '../transaction-figures.js';
import { ASKED, BANKS, MOVES, REROUTE, SEALED_CARD, STORED_TARGET } from './ask-acquirer.sql.js';
import type { BatchOptions } from './claim.js';
import type { DirectCommand, PaymentMethod } from './command.js';
import type { LinkPlace, Room } from './room.js';

/** What was claimed, and what its acquirer is to be asked. */
export interface Claimed {
  readonly intent: Intent;
  readonly merchant: Merchant;
  readonly order: Order;
  readonly prepared: Prepared;
  /** Of this process, when it was claimed. */
  readonly term: number;
  /** Where routes lead to more than one link. */
  readonly others?: OtherLinks;
}

interface AskingParts {
  readonly links: AcquirerLinks;
  readonly choice: LinkChoice;
  readonly breakers: Breakers;
  readonly rerouting: Rerouting;
  readonly room: Room;
  readonly lateAnswers: LateAnswers;
  /** This process in the registry. */
  readonly process: { maySend(term: number): boolean };
  readonly figures: TransactionFigures;
  /** How long an acquirer is waited for. */
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

  /** What cannot be prepared has left no trace. */
  async prepare(link: AcquirerLink, order: Order): Promise<Prepared> {
    try {
      return await prepareUnderDeadline(link, order, this.parts.deadlineMs);
    } catch {
      throw fault('not_processed');
    }
  }

  async ask(claimed: Claimed): Promise<Answer> {
    const { links, room, breakers, figures } = this.parts;
    const { intent, merchant, prepared } = claimed;
    const { organisationId, acquirer } = intent;
    const link = linkToAsk(acquirer, merchant, links);
    // This process has no such link, or it is not open, or not for this merchant; or nothing is stored to reverse the order
    // by. To throw would leave behind an intent that nobody looks after.
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
    const answer = await room.asking(organisationId, () =>
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
   * Stored for the next of the other links, which may be asked then. Undefined where there is none, or another process may have
   * taken the payment over: then it stays what it is, not sent.
   */
  async reroute(claimed: Claimed, others: OtherLinks, place: LinkPlace): Promise<Claimed | undefined> {
    const { links, choice, rerouting, process } = this.parts;
    const { intent, merchant, order, term } = claimed;
    const { organisationId, audit, acquirer: before } = intent;
    const chosen = choice.next(others, merchant, organisationId);
    const link = chosen && links.known(chosen.acquirer);
    if (chosen === undefined || link === undefined || !process.maySend(term)) return undefined;
    const { acquirer } = chosen;
    try {
      place.take(acquirer);
      const prepared = link.prepare && (await this.prepare(link, order));
      // guard(routes: the other link is stored before it is asked, killed between): if (!(await rerouting.move({ organisationId, audit, before, acquirer, prepared }))) return undefined ⇒ setTimeout(() => void rerouting.move({ organisationId, audit, before, acquirer, prepared }), 500)
      // guard(routes: the other link is stored before it is asked): if (!(await rerouting.move({ organisationId, audit, before, acquirer, prepared }))) return undefined ⇒ setTimeout(() => void rerouting.move({ organisationId, audit, before, acquirer, prepared }), 500)
      if (!(await rerouting.move({ organisationId, audit, before, acquirer, prepared }))) return undefined;
      return {
        intent: { ...intent, acquirer },
        merchant,
        order,
        prepared,
        term,
        ...(chosen.others && { others: chosen.others }),
      };
    } catch {
      // No room, or nothing could be prepared: nothing was sent.
      return undefined;
    }
  }
}

/** An operation on a target may not be sent for want of the target's card or of the database. */
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

/** The link that a payment goes over, and those that may be tried should it certainly not be sent. */
interface ChosenLink {
  readonly acquirer: string;
  readonly others?: OtherLinks;
}

export interface OtherLinks {
  /** In the order in which they are tried. Never empty. */
  readonly names: readonly string[];
  /** After this none is tried: the client waits. */
  readonly untilMs: number;
}

interface LinkChoiceParts {
  readonly links: AcquirerLinks;
  readonly banks: Banks;
  readonly routes: Routes;
  readonly room: Room;
  readonly breakers: Breakers;
  readonly deadlineMs: number;
}

/** The choice among the links that a merchant may use. */
export class LinkChoice {
  constructor(private readonly parts: LinkChoiceParts) {}

  /** The merchant's own. A payment method without a link is refused before anything is stored. That it is closed just now is no reason. */
  async own({ caller, merchant }: DirectCommand, { kind }: PaymentMethod): Promise<AcquirerLink> {
    const { links, banks } = this.parts;
    const { organisationId } = caller;
    const name =
      kind === 'card' ? merchant.acquirer : await banks.of({ organisationId, merchantId: merchant.id });
    const link = usable(name === null ? undefined : links.known(name), merchant);
    if (link === undefined) throw fault('no_acquirer', 'payment method');
    return link;
  }

  /** Of a merchant that has routes, for a card. Refuses where none of them, nor the merchant's own link, can take it. */
  async byRoutes(
    { caller, merchant, currency }: DirectCommand,
    { number }: CardDetails,
  ): Promise<ChosenLink> {
    const { routes, deadlineMs } = this.parts;
    const { organisationId } = caller;
    const table = routes.known(merchant) ?? (await routes.read(organisationId, merchant));
    const payment = { cardType: number.type, bin: number.bin, currency };
    const names = table.linksFor(payment, merchant.acquirer);
    const chosen = this.#first(names, merchant, organisationId, performance.now() + deadlineMs);
    if (chosen === undefined) throw fault('no_acquirer', 'payment method');
    return chosen;
  }

  /** The next of those that are left. */
  next(
    { names, untilMs }: OtherLinks,
    merchant: Merchant,
    organisationId: OrganisationId,
  ): ChosenLink | undefined {
    if (performance.now() >= untilMs) return undefined;
    return this.#first(names, merchant, organisationId, untilMs);
  }

  /** The first that works and has room; where none does, the first that has room; else the first. */
  #first(
    names: readonly string[],
    merchant: Merchant,
    organisationId: OrganisationId,
    untilMs: number,
  ): ChosenLink | undefined {
    const { links, room, breakers } = this.parts;
    // guard(routes: no route leads from test to live): usable(links.known(name), merchant ⇒ links.known(name
    const able = names.filter((name) => usable(links.known(name), merchant) !== undefined);
    const roomy = able.filter((name) => room.hasRoom(organisationId, name));
    const acquirer =
      roomy.find((name) => breakers.isWorthTrying(name, organisationId)) ?? roomy[0] ?? able[0];
    if (acquirer === undefined) return undefined;
    const rest = able.filter((name) => name !== acquirer);
    return rest.length === 0 ? { acquirer } : { acquirer, others: { names: rest, untilMs } };
  }
}

type Direct = Payment | StandaloneRefund;
type OnTarget = Completion | Refund | Void;

/** What an order takes from a transaction. */
export type Ordered = Pick<
  Intent,
  'organisationId' | 'audit' | 'merchantId' | 'amountCents' | 'currency' | 'createdMs'
>;

interface SealedCard extends PaymentSeal {
  readonly merchantId: MerchantId;
  readonly keyVersion: number;
  readonly sealed: Buffer;
}

type TargetRow = { [Member in keyof StoredTarget]: StoredTarget[Member] | null };

interface OrdersParts {
  readonly database: Database;
  readonly keys: DataKeys;
  readonly referenceOf: AcquirerReference;
}

/** What an acquirer is asked for a transaction, made from the intent or from what is stored of it. */
export class Orders {
  constructor(private readonly parts: OrdersParts) {}

  direct(operation: Direct['operation'], ordered: Ordered, method: Direct['method']): Direct {
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
    };
  }

  onTarget(operation: OnTarget['operation'], ordered: Ordered, targetAudit: Audit): OnTarget {
    const { organisationId, merchantId, amountCents, currency } = ordered;
    return {
      operation,
      reference: this.parts.referenceOf(organisationId, ordered.audit),
      organisationId,
      merchantId,
      amountCents,
      currency,
      atMs: ordered.createdMs,
      target: {
        reference: this.parts.referenceOf(organisationId, targetAudit),
        read: () => this.#target(organisationId, targetAudit),
      },
      openCard: () => this.#openCard(organisationId, targetAudit),
    };
  }

  /** Of a transaction that was claimed before, perhaps by a process that is gone. */
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
          reference: this.parts.referenceOf(organisationId, audit),
          organisationId,
          merchantId,
          amountCents,
          currency,
          atMs,
          openCard: () => this.#openCard(organisationId, audit),
        };
    }
  }

  async #target(organisationId: OrganisationId, audit: Audit): Promise<StoredTarget> {
    const { rows } = await this.parts.database.query<TargetRow>(STORED_TARGET, [organisationId, audit]);
    const [row] = rows;
    if (row === undefined) throw new Error('there is no such target');
    // An empty column is an absent member.
    return Object.fromEntries(
      Object.entries(row).filter(([, value]) => value !== null),
    ) as unknown as StoredTarget;
  }

  /** Whether an order on this transaction could open its card. */
  async hasCard(organisationId: OrganisationId, audit: Audit): Promise<boolean> {
    return (await this.parts.database.query(SEALED_CARD, [organisationId, audit])).rows.length > 0;
  }

  /** Of this transaction or, going back from target to target, of the payment that everything began with. */
  async #openCard(organisationId: OrganisationId, audit: Audit): Promise<CardDetails> {
    const { database, keys } = this.parts;
    const { rows } = await database.query<SealedCard>(SEALED_CARD, [organisationId, audit]);
    const [row] = rows;
    if (row === undefined) throw new CardDestroyed();
    const { merchantId, keyVersion, sealed } = row;
    const place = paymentDetailsPlace({ organisationId, merchantId }, row);
    return cardFromSecrets(await keys.open(place, keyVersion, sealed));
  }
}

type Asked = EntryOf<typeof ASKED>;

/**
 * Which bank takes in the direct debits of a merchant: asked of the database for each of them. An item stays with the bank that took it
 * in, for good, so what a process remembers of the merchant, a second old, must not decide it.
 */
export class Banks {
  readonly #reading: Batcher<Asked, string | null>;

  constructor(
    private readonly database: Queryable,
    options: BatcherOptions<Asked>,
  ) {
    this.#reading = new Batcher((asked) => this.#read(asked), options);
  }

  /** The name of the link to it; null where it has none. */
  of(merchant: Asked): Promise<string | null> {
    return this.#reading.submit(merchant);
  }

  async #read(asked: readonly Asked[]): Promise<readonly (string | null)[]> {
    const { rows } = await this.database.query<{ place: number; bank: string | null }>(
      BANKS,
      ASKED.encode(asked),
    );
    const byPlace = new Map(rows.map(({ place, bank }) => [place, bank]));
    return asked.map((_, index) => byPlace.get(index + 1) ?? null);
  }
}

/**
 * A payment that was certainly not sent goes over another link. That is stored before the other link is asked: whoever resolves it, in
 * whatever process and after whatever crash, asks the link that it may have been sent over.
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

  /** False where it is not this process's to decide any more, or nobody knows whether it was stored: the other link is not asked then. */
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
