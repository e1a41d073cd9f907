// The shop's orders: a file of JSON lines, in which the last line of an order counts. A line is on the disk before anything that depends on
// it happens, so that the shop may be killed at any moment. Yours are a table of your database.
import { type FileHandle, open, readFile } from 'node:fs/promises';

/** `returned`: the bank took back a direct debit, and the customer owes the money again. */
export type State = 'unpaid' | 'pending' | 'paid' | 'returned' | 'voided';

export interface Order {
  /** Made once, with the order. Correlation IDs begin with it. */
  readonly id: string;
  readonly amountCents: number;
  /** Which checkout of the order this is: after one that has expired, the customer gets another. */
  readonly checkoutNumber: number;
  /** Undefined until the gateway has said it. Nobody can pay before that. */
  readonly checkoutId?: string;
  readonly state: State;
}

interface Line {
  readonly order?: Order;
  /** Up to where the gateway's events have been dealt with. */
  readonly eventsUntil?: string;
}

export class Orders {
  readonly #orders = new Map<string, Order>();
  readonly #ofCheckouts = new Map<string, string>();
  readonly #file: FileHandle;
  #eventsUntil: string | undefined;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async open(path: string): Promise<Orders> {
    const text = await readFile(path, 'utf8').catch(() => '');
    const orders = new Orders(await open(path, 'a'));
    for (const line of text.split('\n').filter(isWhole)) orders.#take(JSON.parse(line) as Line);
    // A shop that was killed leaves half a line: what it says has not happened.
    if (text !== '' && !text.endsWith('\n')) await orders.#file.appendFile('\n');
    return orders;
  }

  get eventsUntil(): string | undefined {
    return this.#eventsUntil;
  }

  get(id: string): Order | undefined {
    return this.#orders.get(id);
  }

  byCheckout(checkoutId: string): Order | undefined {
    return this.get(this.#ofCheckouts.get(checkoutId) ?? '');
  }

  async write(line: Line): Promise<void> {
    await this.#file.appendFile(`${JSON.stringify(line)}\n`);
    await this.#file.datasync();
    this.#take(line);
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  #take({ order, eventsUntil }: Line): void {
    this.#eventsUntil = eventsUntil ?? this.#eventsUntil;
    if (order === undefined) return;
    this.#orders.set(order.id, order);
    if (order.checkoutId !== undefined) this.#ofCheckouts.set(order.checkoutId, order.id);
  }
}

function isWhole(line: string): boolean {
  try {
    return typeof JSON.parse(line) === 'object';
  } catch {
    return false;
  }
}
