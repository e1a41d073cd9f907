// The simulated acquirer: answers from the card number alone, and keeps books of its own to hold the gateway's against.
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expired } from '../values/card.js';
import { sydneyYearMonth } from '../values/sydney.js';
import {
  type Acquirer,
  type AcquirerRequest,
  type Answer,
  type Decision,
  decision,
  type Finding,
} from './contract.js';
import { responseMessage } from './response-codes.js';
import type { LedgerEntry, SimulatorLedger } from './simulator-ledger.js';

const LATE_BY_MS = 2_000;
const SLOW_MS = 2_000;

/** A promise of its own for each request: a shared one would keep every request that ever waited for it. */
const never = () => new Promise<never>(() => {});

type FaultNumber = '01' | '02' | '03' | '04' | '05' | '06';

/**
 * The two digits that a test card asks with: `CC` of 4100000000000CCx, `FF` of 4200000000000FFx. Completions, refunds by
 * audit and voids bring only the mask, which shows the digits too.
 */
function askedWith(prefix: '41' | '42', { card, cardMask }: AcquirerRequest): string | undefined {
  const pan = card?.number.reveal() ?? cardMask.replaceAll('*', '0');
  return pan.length === 16 && pan.startsWith(`${prefix}00000000000`) ? pan.slice(13, 15) : undefined;
}

function faultOf(request: AcquirerRequest): FaultNumber | undefined {
  const number = askedWith('42', request);
  return number !== undefined && /^0[1-6]$/.test(number) ? (number as FaultNumber) : undefined;
}

function codeOf(request: AcquirerRequest): string {
  const asked = askedWith('41', request);
  if (asked !== undefined) return asked;
  const { card, atMs } = request;
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
    switch (faultOf(request)) {
      case '01':
        return { kind: 'not_sent' };
      case '02':
        return never();
      case '03':
        await this.#process(request);
        return never();
      case '04': {
        const answer = await this.#process(request);
        await sleep(deadlineMs + LATE_BY_MS, undefined, { ref: false });
        return answer;
      }
      case '05':
        await this.#process(request);
        return { kind: 'unknown', reason: 'unreadable' };
      case '06':
        await sleep(SLOW_MS);
        return this.#process(request);
      default:
        return this.#process(request);
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

  async #process(request: AcquirerRequest): Promise<Answer> {
    const responseCode = codeOf(request);
    const entry: LedgerEntry = {
      atMs: Date.now(),
      reference: request.reference,
      operation: request.operation,
      ...(request.targetReference !== undefined && { targetReference: request.targetReference }),
      amountCents: request.amountCents,
      currency: request.currency,
      cardMask: request.cardMask,
      responseCode,
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
