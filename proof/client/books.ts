// The trading shop's own books: a file of JSON lines, in which the last line of an order counts. A line is on the disk before anything that
// depends on it happens, so that the shop may be killed at any moment. The books are also the client's memory.
import { type FileHandle, open, readFile } from 'node:fs/promises';
import type { Begun, Ending, Memory } from 'tollgate-client';

export type State = 'begun' | 'paid' | 'declined' | 'refused' | 'unknown';

export interface Order {
  readonly order: number;
  /** One for the order, whatever happens. */
  readonly correlationId: string;
  readonly amountCents: number;
  readonly state: State;
  readonly audit?: number;
  /** What the client wants to know again after a restart. It holds no card. */
  readonly begun?: Begun;
}

const STATES: Readonly<Record<string, State>> = {
  approved: 'paid',
  declined: 'declined',
  error: 'declined',
};

export class Books implements Memory {
  readonly orders = new Map<number, Order>();
  readonly #numbers = new Map<string, number>();
  readonly #file: FileHandle;
  #waiting: string[] = [];
  #writing: Promise<void> = Promise.resolve();

  private constructor(
    file: FileHandle,
    /** What the gateway is told as the reference of an order. */
    private readonly referenceOf: (order: number) => string,
  ) {
    this.#file = file;
  }

  static async open(path: string, referenceOf: (order: number) => string): Promise<Books> {
    const text = await readFile(path, 'utf8').catch(() => '');
    const books = new Books(await open(path, 'a'), referenceOf);
    for (const line of text.split('\n')) {
      const order = orderIn(line);
      if (order !== undefined) books.take(order);
    }
    // A half line is left by a killed shop: what it describes has not happened.
    if (text !== '' && !text.endsWith('\n')) await books.#append('\n');
    return books;
  }

  byReference(reference: string): Order | undefined {
    const number = Number(/(\d+)$/.exec(reference)?.[1] ?? -1);
    return this.referenceOf(number) === reference ? this.orders.get(number) : undefined;
  }

  byCorrelationId(correlationId: string): Order | undefined {
    return this.orders.get(this.#numbers.get(correlationId) ?? -1);
  }

  /** Not yet on the disk. */
  take(order: Order): void {
    this.orders.set(order.order, order);
    this.#numbers.set(order.correlationId, order.order);
  }

  async write(order: Order): Promise<void> {
    this.take(order);
    await this.#append(`${JSON.stringify(order)}\n`);
  }

  async begin(begun: Begun): Promise<void> {
    const order = this.byReference(begun.reference);
    if (order === undefined) throw new Error(`the books have no order for ${begun.reference}`);
    await this.write({ ...order, state: 'begun', begun: order.begun ?? begun });
  }

  async end(correlationId: string, ending: Ending): Promise<void> {
    const order = this.byCorrelationId(correlationId);
    if (order === undefined || ending.kind === 'not_processed') return;
    const state = ending.kind === 'refused' ? 'refused' : (STATES[ending.outcome] ?? 'unknown');
    await this.write({ ...order, state, ...(ending.kind === 'decided' && { audit: ending.audit }) });
  }

  open(): Begun[] {
    return [...this.orders.values()]
      .filter(({ state }) => state === 'begun' || state === 'unknown')
      .flatMap(({ begun }) => begun ?? []);
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }

  /** Lines that come while others are being written are written together. */
  #append(line: string): Promise<void> {
    this.#waiting.push(line);
    const written = this.#writing.then(async () => {
      const lines = this.#waiting.splice(0);
      if (lines.length === 0) return;
      await this.#file.appendFile(lines.join(''));
      await this.#file.datasync();
    });
    this.#writing = written.catch(() => {});
    return written;
  }
}

function orderIn(line: string): Order | undefined {
  try {
    const order = JSON.parse(line) as Order;
    return typeof order.order === 'number' ? order : undefined;
  } catch {
    return undefined;
  }
}
