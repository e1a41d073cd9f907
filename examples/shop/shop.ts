// The shop: sends customers to the page on which they pay, and learns what has come of each order. It never sees a card.
import type { Checkout, Event, Tollgate } from 'tollgate-client';
import type { Order, Orders, State } from './orders.js';

export interface ShopOptions {
  readonly tollgate: Tollgate;
  readonly orders: Orders;
  readonly merchantId: number;
  /** The customer's way back. */
  readonly pageOf: (orderId: string) => string;
}

const STATES: Readonly<Record<string, State>> = {
  approved: 'paid',
  pending: 'pending',
  declined: 'returned',
  voided: 'voided',
};

export class Shop {
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(private readonly options: ShopOptions) {}

  /** Stored before the gateway hears of it. */
  async order(amountCents: number): Promise<Order> {
    const order: Order = { id: crypto.randomUUID(), amountCents, checkoutNumber: 1, state: 'unpaid' };
    await this.options.orders.write({ order });
    return order;
  }

  /** Where the customer pays. However often this is asked, and whoever is killed meanwhile, an order has one checkout that can be paid. */
  pay(orderId: string): Promise<string> {
    return this.#inTurn(orderId, async (order) => {
      let wanted = order;
      let checkout = await this.#checkoutOf(wanted);
      if (checkout.status === 'expired' || checkout.status === 'cancelled') {
        // Nobody has paid that one, and nobody can pay it any more.
        wanted = { ...withoutCheckout(order), checkoutNumber: order.checkoutNumber + 1 };
        await this.options.orders.write({ order: wanted });
        checkout = await this.#checkoutOf(wanted);
      }
      if (checkout.id !== wanted.checkoutId)
        await this.options.orders.write({ order: { ...wanted, checkoutId: checkout.id } });
      return checkout.url;
    });
  }

  /** Asks the gateway what has come of an order. Neither the customer's return nor an event says it. */
  look(orderId: string): Promise<Order> {
    return this.#inTurn(orderId, async (order) => {
      if (order.checkoutId === undefined) return order;
      const { tollgate, orders } = this.options;
      const { result } = await tollgate.checkouts.get(order.checkoutId);
      if (result?.audit === undefined) return order;
      const { outcome } = await tollgate.transaction(result.audit);
      const found = { ...order, state: STATES[outcome] ?? order.state };
      if (found.state !== order.state) await orders.write({ order: found });
      return found;
    });
  }

  /** Customers who pay and never come back, and debits that the bank returns days later: goes on until `signal` ends it. */
  async follow(signal: AbortSignal): Promise<void> {
    const { tollgate, orders, merchantId } = this.options;
    const after = orders.eventsUntil;
    const query = { merchant_id: merchantId, ...(after !== undefined && { after }) };
    for await (const { results, next } of tollgate.events(query, { signal }).pages()) {
      for (const event of results) {
        const order = orders.byCheckout(checkoutIn(event));
        if (order !== undefined) await this.look(order.id);
      }
      // After a kill, the events since then come again: to look twice does no harm.
      if (next !== undefined && results.length > 0) await orders.write({ eventsUntil: next });
    }
  }

  /** With the same correlation ID it is the same checkout, also after a kill. */
  #checkoutOf({ id, amountCents, checkoutNumber }: Order): Promise<Checkout> {
    const { tollgate, merchantId, pageOf } = this.options;
    return tollgate.checkouts.create(
      {
        merchant: { id: merchantId },
        checkout: {
          reference: `order-${id.slice(0, 8)}`,
          amount_details: { total_amount: String(amountCents), currency: 'AUD' },
          payment_methods: ['creditcard', 'bankaccount'],
          return_url: pageOf(id),
          cancel_url: pageOf(id),
        },
      },
      { correlationId: `${id}.checkout-${checkoutNumber}` },
    );
  }

  /** One at a time for each order, or an old answer could overwrite a new one. With a database you lock the order's row. */
  #inTurn<Result>(orderId: string, work: (order: Order) => Promise<Result>): Promise<Result> {
    const turn = async () => {
      const order = this.options.orders.get(orderId);
      if (order === undefined) throw new Error(`there is no order ${orderId}`);
      return work(order);
    };
    const result = (this.#turns.get(orderId) ?? Promise.resolve()).then(turn);
    this.#turns.set(
      orderId,
      result.catch(() => {}),
    );
    return result;
  }
}

function withoutCheckout({ checkoutId: _, ...order }: Order): Order {
  return order;
}

/** Events of a checkout name it, and so do those of its payment. */
function checkoutIn({ data }: Event): string {
  return data.checkout_id ?? data.kvps?.['GATEWAY.REQUEST.KVP.CHECKOUT'] ?? '';
}
