// Seeded randomness: a day of the demo's history is the same wherever it is generated.

export class Chance {
  #state: number;

  constructor(seed: string) {
    // FNV-1a, so that seeds differing in one letter give unrelated sequences.
    let hash = 0x811c9dc5;
    for (const character of seed) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
    this.#state = hash >>> 0;
  }

  /** At least 0, less than 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  happens(probability: number): boolean {
    return this.next() < probability;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  one<Item>(items: readonly Item[]): Item {
    return items[this.between(0, items.length - 1)] as Item;
  }

  /** Picks an item by weight. */
  weighted<Item>(items: readonly (readonly [Item, number])[]): Item {
    let left = this.next() * items.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [item, weight] of items) {
      left -= weight;
      if (left < 0) return item;
    }
    return (items.at(-1) as readonly [Item, number])[0];
  }

  /** A random count with this average. */
  count(average: number): number {
    const limit = Math.exp(-average);
    let product = this.next();
    let count = 0;
    while (product > limit) {
      product *= this.next();
      count += 1;
    }
    return count;
  }

  /** Many small and few large amounts, around the middle. */
  amount(middleCents: number, spread: number): number {
    const normal = Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
    return Math.max(100, Math.round(middleCents * Math.exp(normal * spread)));
  }

  digits(count: number): string {
    let digits = '';
    while (digits.length < count) digits += String(Math.floor(this.next() * 1_000_000)).padStart(6, '0');
    return digits.slice(0, count);
  }

  /** In the form of a UUID. */
  uuid(): string {
    const eight = () =>
      Math.floor(this.next() * 2 ** 32)
        .toString(16)
        .padStart(8, '0');
    const [first, second, third, fourth] = [eight(), eight(), eight(), eight()];
    const variant = this.one(['8', '9', 'a', 'b']);
    return `${first}-${second.slice(0, 4)}-4${second.slice(5)}-${variant}${third.slice(1, 4)}-${third.slice(4)}${fourth}`;
  }
}
