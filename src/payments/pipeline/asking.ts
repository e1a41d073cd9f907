// Asks the acquirer for what was claimed, once; over another link only where the one before has certainly sent nothing.
import {
  type AcquirerLink,
  type Answer,
  askUnderDeadline,
  type Order,
  type Prepared,
  prepareUnderDeadline,
  type UnderDeadline,
} from '../../acquirers/contract.js';
import type { AcquirerLinks, Breakers, Ending } from '../../acquirers/links.js';
import type { Merchant } from '../../organisations/users/callers.js';
import { fault } from '../../values/faults.js';
import type { LateAnswers } from '../doubt/late-answers.js';
import type { Intent } from '../transaction.js';
import type { TransactionFigures } from '../transaction-figures.js';
import { type LinkChoice, linkToAsk, type OtherLinks } from './link.js';
import type { Rerouting } from './rerouting.js';
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

export interface AskingParts {
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
  return targetAudit === undefined ? 'failed' : 'untold';
}
