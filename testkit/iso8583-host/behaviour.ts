// What the host can do with a request beside answering it, and the rules by which a test has it done.

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
} as const;

export type Fault = (typeof FAULTS)[keyof typeof FAULTS];

/** Nothing special where neither is there. */
export interface Behaviour {
  readonly code?: string;
  readonly fault?: Fault | undefined;
}

/** For what no card can say. A rule is used up after so many requests, or never. */
export interface Rule extends Behaviour {
  /** As it was sent: a rule for 0420 does not hold for 0421. */
  readonly mti?: string;
  readonly terminal?: string;
  readonly amountCents?: number;
  readonly times?: number;
}

export interface Asked {
  readonly mti: string;
  readonly terminal: string;
  readonly amountCents: number;
}

export class Rules {
  #rules: { readonly rule: Rule; left: number }[] = [];

  add(rule: Rule): void {
    if (rule.fault !== undefined && !Object.values(FAULTS).includes(rule.fault)) {
      throw new Error(`there is no fault “${rule.fault}”: ${Object.values(FAULTS).join(', ')}`);
    }
    if (rule.code !== undefined && !/^[0-9A-Z]{2}$/.test(rule.code))
      throw new Error('a code has two characters');
    this.#rules.push({ rule, left: rule.times ?? Number.POSITIVE_INFINITY });
  }

  clear(): void {
    this.#rules = [];
  }

  /** The oldest rule that fits, which is used by this. */
  take(asked: Asked): Behaviour | undefined {
    const found = this.#rules.find(
      ({ rule, left }) =>
        left > 0 &&
        (rule.mti ?? asked.mti) === asked.mti &&
        (rule.terminal ?? asked.terminal) === asked.terminal &&
        (rule.amountCents ?? asked.amountCents) === asked.amountCents,
    );
    if (found === undefined) return undefined;
    found.left -= 1;
    this.#rules = this.#rules.filter(({ left }) => left > 0);
    return found.rule;
  }
}
