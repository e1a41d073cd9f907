// Card numbers and CVVs made for one run, and the search for them in everything that came back.
import { luhnDigit } from '../../src/values/card.js';
import type { Chance } from '../../testkit/chance.js';

/** Ranges of schemes with 16 digits, apart from those that the simulated acquirer answers with faults. */
const RANGES = ['453201', '491617', '471604', '512345', '545454', '222300', '601100', '650501', '352800'];
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

/** As hexadecimal and as it looks inside any base64 text: only the characters made of it alone. */
function encodedForms(text: string): string[] {
  const bytes = Buffer.from(text);
  const inBase64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
  return [bytes.toString('hex'), ...inBase64];
}

export class Secrets {
  readonly #chance: Chance;
  /** Digits 7 to 12 of every card number of this run: what every mask hides. */
  readonly #mark: string;
  readonly #markForms: readonly string[];
  /** Digits 4 to 15 of each. */
  readonly #cores = new Set<string>();
  readonly #cvvs: readonly string[];
  readonly #cvvForms: readonly string[];
  readonly #cvvPattern: RegExp;
  readonly searched = { answers: 0, lines: 0 };

  constructor(chance: Chance) {
    this.#chance = chance;
    this.#mark = chance.digits(6);
    this.#markForms = encodedForms(this.#mark);
    // With a zero in front they cannot be mistaken for an audit or another identifier.
    this.#cvvs = Array.from({ length: 8 }, () => `0${chance.between(500, 799)}`);
    this.#cvvForms = this.#cvvs.flatMap(encodedForms);
    this.#cvvPattern = new RegExp(`(?<![0-9A-Za-z.*])(${this.#cvvs.join('|')})(?![0-9A-Za-z])`);
  }

  get mark(): string {
    return this.#mark;
  }

  get cvvs(): readonly string[] {
    return this.#cvvs;
  }

  /** Whether these twelve digits are those of one of the cards, from the fourth on. */
  isCore(digits: string): boolean {
    return this.#cores.has(digits);
  }

  get cardCount(): number {
    return this.#cores.size;
  }

  card(): string {
    const fifteen = this.#chance.pick(RANGES) + this.#mark + this.#chance.digits(3);
    this.#cores.add(fifteen.slice(3));
    return fifteen + luhnDigit(fifteen);
  }

  /** Those of an earlier run with the same seed. */
  learn(text: string): void {
    for (const [card] of text.matchAll(/[0-9]{16}/g)) this.#cores.add(card.slice(3, 15));
  }

  cvv(): string {
    return this.#chance.pick(this.#cvvs);
  }

  /** What was found, or undefined. */
  foundIn(text: string): string | undefined {
    const digits = text.replaceAll(/[ .:/_-]/g, '');
    if (digits.includes(this.#mark) && this.#hasCard(digits)) return 'a card number';
    if (this.#markForms.some((form) => text.includes(form)) && this.#hasEncodedCard(text)) {
      return 'a card number, encoded';
    }
    const rest = text.replaceAll(UUID, '');
    if (this.#cvvPattern.test(rest)) return 'a CVV';
    if (this.#cvvForms.some((form) => rest.includes(form))) return 'a CVV, encoded';
    return undefined;
  }

  #hasCard(digits: string): boolean {
    for (let at = digits.indexOf(this.#mark); at !== -1; at = digits.indexOf(this.#mark, at + 1)) {
      if (this.#cores.has(digits.slice(at - 3, at + 9))) return true;
    }
    return false;
  }

  #hasEncodedCard(text: string): boolean {
    const decoded = [
      ...(text.match(/[0-9a-fA-F]{24,}/g) ?? []).flatMap((run) =>
        [0, 1].map((from) => Buffer.from(run.slice(from), 'hex').toString('latin1')),
      ),
      ...(text.match(/[A-Za-z0-9+/_-]{16,}/g) ?? []).flatMap((run) =>
        [0, 1, 2, 3].map((from) => Buffer.from(run.slice(from), 'base64').toString('latin1')),
      ),
    ];
    return decoded.some((one) => this.#hasCard(one));
  }
}
