// Lines of tenants: what waits is taken in turns over tenants, so that whoever has much waiting waits for itself.
import type { Tenant } from '../../payments/pipeline/room.js';

interface Line<Item> {
  readonly waiting: Item[];
  /** Turns that it has had in advance. */
  debt: number;
}

export class TenantLines<Item extends object> {
  /** By tenant, in the order in which they have their turns. None is empty. */
  readonly #lines = new Map<Tenant, Line<Item>>();
  #size = 0;

  /** `furtherTurns` says how many turns more than one an item counts as, when it is taken. */
  constructor(private readonly furtherTurns: (item: Item) => number = () => 0) {}

  get size(): number {
    return this.#size;
  }

  add(tenant: Tenant, item: Item): void {
    const line = this.#lines.get(tenant);
    if (line === undefined) this.#lines.set(tenant, { waiting: [item], debt: 0 });
    else line.waiting.push(item);
    this.#size += 1;
  }

  /** Takes the first of the tenant whose turn it is. */
  next(): Item | undefined {
    for (const [tenant, line] of this.#lines) {
      // Behind the others for its next turn.
      this.#lines.delete(tenant);
      if (line.debt > 0 && this.#lines.size > 0) {
        line.debt -= 1;
        this.#lines.set(tenant, line);
        continue;
      }
      const item = line.waiting.shift() as Item;
      if (line.waiting.length > 0) this.#lines.set(tenant, line);
      this.#size -= 1;
      line.debt = this.furtherTurns(item);
      return item;
    }
    return undefined;
  }
}
