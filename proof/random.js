// Chance that can be repeated: the same seed makes the same choices.

const MODULUS = 2_147_483_647;
const MULTIPLIER = 48_271;

export class Random {
  #state;

  constructor(seed) {
    this.#state = (Math.abs(Math.trunc(seed)) % (MODULUS - 1)) + 1;
    // Seeds that are close to each other begin alike.
    for (let warming = 0; warming < 8; warming += 1) this.#next();
  }

  #next() {
    this.#state = (this.#state * MULTIPLIER) % MODULUS;
    return this.#state;
  }

  /** At least 0 and less than `limit`. */
  below(limit) {
    return this.#next() % limit;
  }

  /** Both included. */
  between(least, most) {
    return least + this.below(most - least + 1);
  }

  chance(percent) {
    return this.below(10_000) < percent * 100;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  shuffled(list) {
    const rest = [...list];
    return list.map(() => rest.splice(this.below(rest.length), 1)[0]);
  }

  /** One for somebody who chooses at the same time, so that neither disturbs the other. */
  fork() {
    return new Random(this.#next());
  }
}

/** The seed that was asked for, or a new one. */
export function seedOf(text) {
  return text === undefined ? Date.now() % 1_000_000_000 : Number(text);
}
