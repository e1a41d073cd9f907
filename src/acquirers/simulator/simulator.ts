// The simulated acquirer: answers from the card number alone, and keeps books of its own to hold the gateway's against.
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expired } from '../../values/card.js';
import { sydneyYearMonth } from '../../values/sydney.js';
import {
  type Acquirer,
  type AcquirerRequest,
  type Answer,
  type Decision,
  decision,
  type Finding,
} from '../contract.js';
import type { LedgerEntry, SimulatorLedger } from './ledger.js';
import { responseMessage } from './response-codes.js';

const LATE_BY_MS = 2_000;
const SLOW_MS = 2_000;

/** A promise of its own for each request: a shared one would keep every request that ever waited for it. */
const never = () => new Promise<never>(() => {});

/** What the simulator does with a request: nothing special where neither is there. */
type Behaviour = NonNullable<LedgerEntry['later']>;

interface TestCard {
  /** Of the payment with the card. */
  readonly payment: Behaviour;
  /** Of every completion, refund and void of that payment. */
  readonly later?: Behaviour;
}

const ORDINARY: TestCard = { payment: {} };
const TEST_CARD = /^4([1-4])00000000000([0-9]{2})[0-9]$/;
/** What is left of one where only the mask is known. Other cards look like that, too. */
const MASK_OF_TEST_CARD = /^4[1-4]0000\*{6}0[0-9]{3}$/;

/** 41 answers with a code, 42 with a fault; 43 and 44 do so only to what comes after the payment. */
function testCardOf(pan: string): TestCard {
  const [, kind, digits = ''] = TEST_CARD.exec(pan) ?? [];
  if (kind === undefined) return ORDINARY;
  const asked = kind === '1' || kind === '3' ? { code: digits } : { fault: digits };
  return { payment: kind === '1' || kind === '2' ? asked : {}, later: asked };
}

function codeOf({ code }: Behaviour, { card, atMs }: AcquirerRequest): string {
  if (code !== undefined) return code;
  if (card === undefined) return '00';
  const { year, month } = sydneyYearMonth(atMs);
  return expired(card.expiry, year, month) ? '54' : '00';
}

function decisionOf(entry: LedgerEntry): Decision {
  const responseCode = entry.responseCode ?? '96';
  const { authorisationCode } = entry;
  return decision({
    responseCode,
    responseMessage: responseMessage(responseCode),
    ...(authorisationCode !== undefined && { authorisationCode }),
    ...(authorisationCode !== undefined &&
      entry.operation === 'preauthorisation' && { preauthorisationCode: `PA${authorisationCode}` }),
  });
}

export class Simulator implements Acquirer {
  readonly mode = 'test';
  readonly name = 'simulator';

  constructor(private readonly ledger: SimulatorLedger) {}

  async ask(request: AcquirerRequest, deadlineMs: number): Promise<Answer> {
    const { card, cardMask } = request;
    if (card !== undefined) {
      const { payment, later } = testCardOf(card.number.reveal());
      return this.#behave(payment, request, deadlineMs, later);
    }
    const later = MASK_OF_TEST_CARD.test(cardMask) ? await this.#agreed(request) : undefined;
    return this.#behave(later ?? ORDINARY.payment, request, deadlineMs, later);
  }

  /** Completions, refunds and voids bring no card number: what the payment's asked for stands in the ledger. */
  async #agreed({ targetReference }: AcquirerRequest): Promise<Behaviour | undefined> {
    if (targetReference === undefined) return undefined;
    return (await this.ledger.find(targetReference)).entry?.later;
  }

  async #behave(
    behaviour: Behaviour,
    request: AcquirerRequest,
    deadlineMs: number,
    later: Behaviour | undefined,
  ): Promise<Answer> {
    const process = () => this.#process(request, codeOf(behaviour, request), later);
    switch (behaviour.fault) {
      case '01':
        return { kind: 'not_sent' };
      case '02':
        return never();
      case '03':
        await process();
        return never();
      case '04': {
        const answer = await process();
        await sleep(deadlineMs + LATE_BY_MS, undefined, { ref: false });
        return answer;
      }
      case '05':
        await process();
        return { kind: 'unknown', reason: 'unreadable' };
      case '06':
        await sleep(SLOW_MS);
        return process();
      default:
        return process();
    }
  }

  async inquire(reference: string): Promise<Finding> {
    const { entry, reversed } = await this.ledger.find(reference);
    return entry === undefined || reversed ? { kind: 'not_seen' } : decisionOf(entry);
  }

  async reverse(reference: string): Promise<'reversed'> {
    await this.ledger.append({ atMs: Date.now(), reference, operation: 'reversal' });
    return 'reversed';
  }

  async #process(
    request: AcquirerRequest,
    responseCode: string,
    later: Behaviour | undefined,
  ): Promise<Answer> {
    const entry: LedgerEntry = {
      atMs: Date.now(),
      reference: request.reference,
      operation: request.operation,
      ...(request.targetReference !== undefined && { targetReference: request.targetReference }),
      amountCents: request.amountCents,
      currency: request.currency,
      cardMask: request.cardMask,
      responseCode,
      ...(later !== undefined && { later }),
      ...(decision({ responseCode, responseMessage: '' }).kind === 'approved' && {
        authorisationCode: String(randomInt(1_000_000)).padStart(6, '0'),
      }),
    };
    const accepted = await this.ledger.append(entry);
    // It was reversed before it arrived: the acquirer refuses it.
    return accepted
      ? decisionOf(entry)
      : decision({ responseCode: '12', responseMessage: responseMessage('12') });
  }
}
