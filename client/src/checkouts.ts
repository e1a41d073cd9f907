// Checkouts: pages on which payers pay. A correlation ID makes one, so that a checkout that was begun before is found, and not made twice.
import type { Asking, CallOptions, MakingOptions } from './asking.js';
import type { Checkout, CheckoutRequest, CheckoutResults } from './wire.js';

export class Checkouts {
  readonly #asking: Asking;

  constructor(asking: Asking) {
    this.#asking = asking;
  }

  /** Send the payer to its `url`. Where the correlation ID has made one already, that one. */
  async create(body: CheckoutRequest, options: MakingOptions = {}): Promise<Checkout> {
    const making = { operation: 'checkouts.create', path: '/checkouts', body };
    return this.#asking.makeOnce(making, options, (correlationId) =>
      this.search({ merchant_id: body.merchant.id, correlation_id_lookup: correlationId }, options),
    );
  }

  /** What has come of it: ask when the payer returns, and when an event tells of it. */
  get(id: string, options: CallOptions = {}): Promise<Checkout> {
    return this.#asking.ask({ operation: 'checkouts.get', path: addressOf(id) }, options);
  }

  async search(
    query: { readonly merchant_id: number; readonly correlation_id_lookup: string },
    options: CallOptions = {},
  ): Promise<Checkout | undefined> {
    const question = { operation: 'checkouts.search', path: '/checkouts', query };
    return (await this.#asking.ask<CheckoutResults>(question, options)).results[0];
  }

  /** From then on nobody can pay it. Throws `Refused` with `checkout_not_open` if it was paid, or is being paid. */
  cancel(id: string, options: CallOptions = {}): Promise<Checkout> {
    return this.#asking.change(
      {
        operation: 'checkouts.cancel',
        method: 'POST',
        path: `${addressOf(id)}/cancel`,
        settled: async (refusal) => {
          if (!refusal.has('checkout_not_open')) return undefined;
          const found = await this.get(id, options);
          return found.status === 'cancelled' ? { result: found } : undefined;
        },
      },
      options,
    );
  }
}

function addressOf(id: string): string {
  return `/checkouts/${encodeURIComponent(id)}`;
}
