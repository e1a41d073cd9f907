// What the host can do with a request beside answering it, and the rules by which a test sets that.
import { Chance } from '../chance.js';
import type { Request } from './request.js';

/** By the two digits that a test card names it with. Up to 06 they are those of the simulated acquirer. */
export const FAULTS = {
  '01': 'closes',
  '02': 'lost request',
  '03': 'lost answer',
  '04': 'late answer',
  '05': 'unreadable answer',
  '06': 'slow',
  '07': 'answered twice',
  '08': 'out of order',
  '09': 'wrong MAC',
  '10': 'cut answer',
  '11': 'closes after approving',
  '12': 'impossible length',
  '13': 'byte by byte',
  '14': 'held answer',
  '15': 'stray answer',
  '16': 'dies before booking',
  '17': 'dies after booking',
  '18': 'dies inside the answer',
  '19': 'answered again later',
  '20': 'stalls',
  '21': 'stray approvals',
  '22': 'answers for others',
} as const;

export type Fault = (typeof FAULTS)[keyof typeof FAULTS];

/** After these the gateway has no answer that it could read. */
const UNANSWERED: readonly (Fault | undefined)[] = [
  'lost answer',
  'unreadable answer',
  'wrong MAC',
  'impossible length',
  'cut answer',
  'closes after approving',
  'dies after booking',
  'dies inside the answer',
];

/** Without keys nobody looks at a MAC. */
export function leavesUnanswered(
  fault: Fault | undefined,
  { macKeys }: { readonly macKeys?: unknown },
): boolean {
  if (fault === 'wrong MAC' && macKeys === undefined) return false;
  return UNANSWERED.includes(fault);
}

/** Nothing special where neither is there. */
export interface Behaviour {
  readonly code?: string;
  readonly fault?: Fault | undefined;
}

/** For what no card can say. A rule is used up after so many requests, or never. */
export interface Rule extends Behaviour {
  /** As it was sent: a rule for 0420 does not hold for 0421. */
  readonly mti?: string;
  /** However often it was sent: a rule for reversals holds for 0420 and 0421. */
  readonly kind?: Request['kind'];
  readonly terminal?: string;
  readonly amountCents?: number;
  /** The number of a connection, as the host's status has it. */
  readonly connection?: number;
  readonly times?: number;
  /** For every payment it is used up by itself: its first so many reversals, for example. */
  readonly timesEach?: number;
  /** Of a hundred requests that it fits, chosen by the seed of the settings. */
  readonly percent?: number;
}

export interface Asked {
  readonly mti: string;
  readonly kind: Request['kind'];
  readonly terminal: string;
  readonly amountCents: number;
  readonly connection: number;
  /** The payment that it is, or that it reverses, completes or refunds. */
  readonly payment: string;
}

interface KeptRule {
  readonly rule: Rule;
  left: number;
  readonly usedBy: Map<string, number>;
}

export class Rules {
  #rules: KeptRule[] = [];
  #chance = new Chance(1);

  add(rule: Rule): void {
    if (rule.fault !== undefined && !Object.values(FAULTS).includes(rule.fault)) {
      throw new Error(`there is no fault “${rule.fault}”: ${Object.values(FAULTS).join(', ')}`);
    }
    if (rule.code !== undefined && !/^[0-9A-Z]{2}$/.test(rule.code))
      throw new Error('a code has two characters');
    this.#rules.push({ rule, left: rule.times ?? Number.POSITIVE_INFINITY, usedBy: new Map() });
  }

  clear(): void {
    this.#rules = [];
  }

  /** From here on, the same requests meet the same faults. */
  seed(seed: number): void {
    this.#chance = new Chance(seed);
  }

  /** The oldest rule that fits, which is used by this. */
  take(asked: Asked): Behaviour | undefined {
    const found = this.#rules.find((kept) => fits(kept, asked) && this.#isChosen(kept.rule));
    if (found === undefined) return undefined;
    found.left -= 1;
    if (found.rule.timesEach !== undefined) {
      found.usedBy.set(asked.payment, (found.usedBy.get(asked.payment) ?? 0) + 1);
    }
    this.#rules = this.#rules.filter(({ left }) => left > 0);
    return found.rule;
  }

  #isChosen({ percent }: Rule): boolean {
    return percent === undefined || this.#chance.percent(percent);
  }
}

function fits({ rule, usedBy }: KeptRule, asked: Asked): boolean {
  return (
    (rule.mti ?? asked.mti) === asked.mti &&
    (rule.kind ?? asked.kind) === asked.kind &&
    (rule.terminal ?? asked.terminal) === asked.terminal &&
    (rule.amountCents ?? asked.amountCents) === asked.amountCents &&
    (rule.connection ?? asked.connection) === asked.connection &&
    (usedBy.get(asked.payment) ?? 0) < (rule.timesEach ?? Number.POSITIVE_INFINITY)
  );
}
