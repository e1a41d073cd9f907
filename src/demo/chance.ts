// Chance with a seed: the same day of the demo's history is the same wherever it is made.

export class Chance {
  #state: number;

  constructor(seed: string) {
    // FNV-1a, so that seeds that differ in one letter have nothing in common.
    let hash = 0x811c9dc5;
    for (const character of seed) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
    this.#state = hash >>> 0;
  }

  /** From 0 up to, and not with, 1. */
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

  /** One of those with weights. */
  weighted<Item>(items: readonly (readonly [Item, number])[]): Item {
    let left = this.next() * items.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [item, weight] of items) {
      left -= weight;
      if (left < 0) return item;
    }
    return (items.at(-1) as readonly [Item, number])[0];
  }

  /** How often something happens that happens so often on average. */
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

  /** Many small ones and few large ones, around the middle. */
  amount(middleCents: number, spread: number): number {
    const normal = Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
    return Math.max(100, Math.round(middleCents * Math.exp(normal * spread)));
  }

  digits(count: number): string {
    return Array.from({ length: count }, () => this.between(0, 9)).join('');
  }

  /** In the form of a UUID. */
  uuid(): string {
    const hex = (count: number) =>
      Array.from({ length: count }, () => this.between(0, 15).toString(16)).join('');
    return `${hex(8)}-${hex(4)}-4${hex(3)}-${this.one(['8', '9', 'a', 'b'])}${hex(3)}-${hex(12)}`;
  }
}
