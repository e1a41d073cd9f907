// What is fixed for an order before it is stored: its terminal, its STAN, its retrieval reference and its time.
import type { Order } from '../contract.js';
import { type Acceptor, type Acceptors, type Numbers, retrievalReference, type Stans } from './numbers.js';

export interface PreparationParts {
  readonly institution: string | undefined;
  readonly acceptors: Acceptors;
  readonly stans: Stans;
}

type OnTarget = Extract<Order, { readonly target: unknown }>;
type Direct = Exclude<Order, OnTarget>;
type Known = Pick<Numbers, 'terminal' | 'acceptor' | 'category' | 'stored'>;

export class Preparation {
  #turn = 0;

  constructor(private readonly parts: PreparationParts) {}

  /** A promise only where something has to be read or leased first. */
  prepare(order: Order): Numbers | Promise<Numbers> {
    if ('target' in order) return this.#onTarget(order);
    const acceptor = this.parts.acceptors.of(order.organisationId, order.merchantId);
    return acceptor instanceof Promise
      ? acceptor.then((read) => this.#direct(order, read))
      : this.#direct(order, acceptor);
  }

  /** Over the next of the merchant's terminals. */
  #direct(
    order: Direct,
    { acceptorId, terminals, categoryCode: category }: Acceptor,
  ): Numbers | Promise<Numbers> {
    this.#turn = (this.#turn + 1) % terminals.length;
    const terminal = terminals[this.#turn] as string;
    const stored = order.method.kind === 'card' ? order.method.stored : undefined;
    const known: Known = { terminal, acceptor: acceptorId, category, stored };
    const stan = this.parts.stans.take(terminal);
    return stan instanceof Promise
      ? stan.then((number) => this.#numbers(number, known))
      : this.#numbers(stan, known);
  }

  /** Over the terminal of its target, and under the same retrieval reference. */
  async #onTarget(order: OnTarget): Promise<Numbers> {
    const { prepared } = await order.target.read();
    if (prepared === undefined) throw new Error('the target was not sent over this link');
    const target = prepared as Numbers;
    return this.#numbers(await this.parts.stans.take(target.terminal), target, target.retrievalReference);
  }

  /** All of one shape: what is undefined is not stored. */
  #numbers(stan: number, { terminal, acceptor, category, stored }: Known, targetReference?: string): Numbers {
    const sentMs = Date.now();
    return {
      stan,
      retrievalReference: targetReference ?? retrievalReference(stan, sentMs),
      sentMs,
      terminal,
      acceptor,
      category,
      stored,
      institution: this.parts.institution,
    };
  }
}
