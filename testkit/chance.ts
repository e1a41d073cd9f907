// Repeatable randomness: the same seed makes the same choices.

export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed ^ 0x5bf03635) >>> 0 || 1;
    // Similar seeds begin alike.
    for (let turn = 0; turn < 8; turn += 1) this.below(2);
  }

  /** A whole number, at least 0 and less than the limit. */
  below(limit: number): number {
    // Xorshift: short, and good enough to choose with.
    this.#state ^= this.#state << 13;
    this.#state >>>= 0;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    this.#state >>>= 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }

  /** Both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  percent(share: number): boolean {
    return this.below(10_000) < share * 100;
  }

  pick<Choice>(choices: readonly Choice[]): Choice {
    if (choices.length === 0) throw new Error('there is nothing to choose from');
    return choices[this.below(choices.length)] as Choice;
  }

  digits(count: number): string {
    return Array.from({ length: count }, () => this.below(10)).join('');
  }

  /** Bytes, one a character. */
  bytes(count: number): string {
    return Array.from({ length: count }, () => String.fromCharCode(this.below(256))).join('');
  }

  shuffled<Member>(list: readonly Member[]): Member[] {
    const mixed = [...list];
    for (let last = mixed.length - 1; last > 0; last -= 1) {
      const other = this.below(last + 1);
      [mixed[last], mixed[other]] = [mixed[other] as Member, mixed[last] as Member];
    }
    return mixed;
  }

  /** A text that is never repeated. */
  id(): string {
    return `h-${this.below(2 ** 32).toString(36)}-${this.below(2 ** 32).toString(36)}`;
  }

  /** An independent one for concurrent use. */
  fork(): Chance {
    return new Chance(this.below(2 ** 32));
  }
}

/** Of which no two runs have the same. */
export function newSeed(): number {
  return Date.now() % 1_000_000_000;
}
