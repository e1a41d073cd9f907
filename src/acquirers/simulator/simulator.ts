// The simulated acquirer: answers by the card number alone, and keeps a ledger of its own, with which the gateway's records are compared.
import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CardDetails, expired } from '../../values/card.js';
import { sydneyYearMonth } from '../../values/time.js';
import type {
  AcquirerLink,
  AcquirerResponse,
  Answer,
  Decision,
  Finding,
  Order,
  StoredOrder,
} from '../contract.js';
import type { Behaviour, LedgerEntry, SimulatorLedger } from './ledger.js';

const LATE_BY_MS = 2_000;

/** A new promise for each request: a shared one would keep every request that ever waited for it. */
const never = () => new Promise<never>(() => {});

interface TestCard {
  /** For the payment with the card. */
  readonly payment: Behaviour;
  /** For every completion, refund and void of that payment. */
  readonly later?: Behaviour;
}

const ORDINARY: TestCard = { payment: {} };
const TEST_CARD = /^4([1-4])00000000000([0-9]{2})[0-9]$/;

/** 41 answers with a code, 42 with a fault; 43 and 44 do so only for later operations on the payment. */
function testCardOf(pan: string): TestCard {
  const [, kind, digits = ''] = TEST_CARD.exec(pan) ?? [];
  if (kind === undefined) return ORDINARY;
  const asked = kind === '1' || kind === '3' ? { code: digits } : { fault: digits };
  return { payment: kind === '1' || kind === '2' ? asked : {}, later: asked };
}

function codeOf({ code }: Behaviour, order: Order): string {
  if (code !== undefined) return code;
  const card = cardOf(order);
  if (card === undefined) return '00';
  const { year, month } = sydneyYearMonth(order.atMs);
  return expired(card.expiry, year, month) ? '54' : '00';
}

/** Completions, refunds and voids present no card. */
function cardOf(order: Order): CardDetails | undefined {
  switch (order.operation) {
    case 'purchase':
    case 'preauthorisation':
    case 'standalone_refund':
      return order.method.kind === 'card' ? order.method.card : undefined;
    default:
      return undefined;
  }
}

/** Whoever pays again with a card needs to know how the network calls the payment. */
function isOfKeptCard(order: Order): boolean {
  if (order.operation !== 'purchase' && order.operation !== 'preauthorisation') return false;
  return order.method.kind === 'card' && (order.credential !== undefined || order.method.stored === true);
}

function targetReferenceOf(order: Order): string | undefined {
  switch (order.operation) {
    case 'completion':
    case 'refund':
    case 'void':
      return order.target.reference;
    default:
      return undefined;
  }
}

function decisionOf(entry: LedgerEntry): Decision {
  const responseCode = entry.responseCode ?? '96';
  const { authorisationCode, networkTransactionId } = entry;
  return decision({
    responseCode,
    responseMessage: responseMessage(responseCode),
    ...(authorisationCode !== undefined && { authorisationCode }),
    ...(networkTransactionId !== undefined && { networkTransactionId }),
    ...(authorisationCode !== undefined &&
      entry.operation === 'preauthorisation' && { preauthorisationCode: `PA${authorisationCode}` }),
  });
}

interface SimulatorOptions {
  readonly ledger: SimulatorLedger;
  /** How long the gateway waits: a late answer comes after that. */
  readonly deadlineMs: number;
  /** The delay of the slow card's answer. */
  readonly slowMs: number;
}

export class Simulator implements AcquirerLink {
  readonly mode = 'test';
  readonly name = 'simulator';
  readonly simulated = true;
  readonly #ledger: SimulatorLedger;
  readonly #deadlineMs: number;
  readonly #slowMs: number;

  constructor({ ledger, deadlineMs, slowMs }: SimulatorOptions) {
    this.#ledger = ledger;
    this.#deadlineMs = deadlineMs;
    this.#slowMs = slowMs;
  }

  open(): Promise<void> {
    return this.#ledger.open();
  }

  async close(): Promise<void> {
    this.#ledger.close();
  }

  async ask(order: Order): Promise<Answer> {
    const card = cardOf(order);
    if (card !== undefined) {
      const { payment, later } = testCardOf(card.number.reveal());
      // As after sending it, unless the card says that nothing is sent.
      if (payment.fault !== '01') card.cvv?.erase();
      return this.#behave(payment, order, later);
    }
    // The ledger has what the payment's card asked for.
    const targetReference = targetReferenceOf(order);
    const later = targetReference === undefined ? undefined : this.#ledger.later(targetReference);
    return this.#behave(later ?? ORDINARY.payment, order, later);
  }

  async #behave(behaviour: Behaviour, order: Order, later: Behaviour | undefined): Promise<Answer> {
    const process = () => this.#process(order, codeOf(behaviour, order), later);
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
        await sleep(this.#deadlineMs + LATE_BY_MS, undefined, { ref: false });
        return answer;
      }
      case '05':
        await process();
        return { kind: 'unknown', reason: 'unreadable' };
      case '06':
        await sleep(this.#slowMs);
        return process();
      default:
        return process();
    }
  }

  async inquire({ reference }: Pick<StoredOrder, 'reference'>): Promise<Finding> {
    const { entry, reversed } = await this.#ledger.find(reference);
    return entry === undefined || reversed ? { kind: 'not_seen' } : decisionOf(entry);
  }

  async reverse({ reference }: Pick<StoredOrder, 'reference'>): Promise<'reversed'> {
    await this.#ledger.append({ atMs: Date.now(), reference, operation: 'reversal' });
    return 'reversed';
  }

  async #process(order: Order, responseCode: string, later: Behaviour | undefined): Promise<Answer> {
    const targetReference = targetReferenceOf(order);
    const cardMask = cardOf(order)?.number.mask;
    const approved = approves(responseCode);
    const entry: LedgerEntry = {
      atMs: Date.now(),
      reference: order.reference,
      operation: order.operation,
      ...(targetReference !== undefined && { targetReference }),
      amountCents: order.amountCents,
      currency: order.currency,
      ...(cardMask !== undefined && { cardMask }),
      responseCode,
      // Only approved payments can be targets.
      ...(approved && later !== undefined && { later }),
      ...(approved && { authorisationCode: String(randomInt(1_000_000)).padStart(6, '0') }),
      ...(approved &&
        isOfKeptCard(order) && {
          networkTransactionId: `SIM${randomBytes(6).toString('hex').toUpperCase()}`,
        }),
    };
    const accepted = await this.#ledger.append(entry);
    // It was reversed before it arrived: the acquirer refuses it.
    return accepted
      ? decisionOf(entry)
      : decision({ responseCode: '12', responseMessage: responseMessage('12') });
  }
}

const APPROVALS = new Set(['00', '08', '10', '11', '16', '77']);
const FAULT = '96';

const MESSAGES: Readonly<Record<string, string>> = {
  '00': 'Approved',
  '01': 'Refer to card issuer',
  '03': 'Invalid merchant',
  '04': 'Pick up card',
  '05': 'Do not honour',
  '08': 'Approved with identification',
  '10': 'Approved for a partial amount',
  '11': 'Approved VIP',
  '12': 'Invalid transaction',
  '13': 'Invalid amount',
  '14': 'Invalid card number',
  '15': 'No such issuer',
  '16': 'Approved, update track 3',
  '19': 'Re-enter the transaction',
  '30': 'Format error',
  '31': 'Bank not supported',
  '33': 'Expired card, pick up',
  '34': 'Suspected fraud',
  '36': 'Restricted card',
  '39': 'No credit account',
  '41': 'Lost card',
  '43': 'Stolen card',
  '51': 'Insufficient funds',
  '54': 'Expired card',
  '57': 'Transaction not permitted to cardholder',
  '58': 'Transaction not permitted to merchant',
  '59': 'Suspected fraud',
  '61': 'Exceeds the withdrawal limit',
  '62': 'Restricted card',
  '65': 'More authentication is wanted',
  '75': 'Too many PIN tries',
  '77': 'Approved',
  '91': 'Issuer not available',
  '94': 'Duplicate transaction',
  '96': 'System error',
};

export function responseMessage(code: string): string {
  return MESSAGES[code] ?? 'Declined';
}

export function decision(response: AcquirerResponse): Decision {
  if (approves(response.responseCode)) return { kind: 'approved', ...response };
  return { kind: response.responseCode === FAULT ? 'faulty' : 'declined', ...response };
}

function approves(code: string): boolean {
  return APPROVALS.has(code);
}
