// The shop: takes orders, and follows each one to a known outcome, even across restarts.
import { OutcomeUnknown, type PaymentMethod, Refused, type Tollgate } from 'tollgate-client';
import type { Books, Order } from './books.js';

export interface Basket {
  readonly order: number;
  readonly amountCents: number;
  /** From the checkout. A shop with a vault keeps a virtual PAN with the order instead. */
  readonly paymentMethod: PaymentMethod;
}

export interface ShopOptions {
  readonly tollgate: Tollgate;
  readonly books: Books;
  readonly merchantId: number;
  readonly referenceOf: (order: number) => string;
}

export class Shop {
  constructor(private readonly options: ShopOptions) {}

  /** What an earlier process has begun and not ended. Gives back each order that is to be placed again, as soon as that is known. */
  async *recover(): AsyncGenerator<number> {
    const { tollgate, books } = this.options;
    // The client records its findings in the books.
    for await (const found of tollgate.recoverAll()) {
      const { correlationId } = found instanceof Error ? found : found.begun;
      const order = books.byCorrelationId(correlationId)?.order;
      if (order !== undefined && !this.isDone(order)) yield order;
    }
  }

  /** Whether the order has an outcome that will not change by itself, or one that a webhook will bring. */
  isDone(number: number): boolean {
    const state = this.options.books.orders.get(number)?.state;
    return state !== undefined && state !== 'begun' && state !== 'unknown';
  }

  async place({ order: number, amountCents, paymentMethod }: Basket): Promise<void> {
    const { tollgate, books, merchantId, referenceOf } = this.options;
    const order: Order = books.orders.get(number) ?? {
      order: number,
      correlationId: crypto.randomUUID(),
      amountCents,
      state: 'begun',
    };
    books.take(order);
    const body = {
      merchant: { id: merchantId },
      transaction: {
        reference: referenceOf(number),
        amount_details: { total_amount: String(amountCents), currency: 'AUD' },
        payment_method: paymentMethod,
      },
    };
    while (!this.isDone(number)) {
      try {
        // The books have the correlation ID before anything is sent, and the outcome before this returns.
        await tollgate.purchase(body, { correlationId: order.correlationId });
      } catch (error) {
        if (error instanceof Refused) return;
        // This is not a failure: the client asks again later, under the same correlation ID.
        // An untrusted certificate, for example, has to be fixed first. The order stays open.
        if (!(error instanceof OutcomeUnknown) || error.reason === 'not_trusted') throw error;
        await books.write({ ...(books.orders.get(number) as Order), state: 'unknown' });
      }
    }
  }
}
