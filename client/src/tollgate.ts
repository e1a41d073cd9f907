// The client: what a merchant's backend can do at a gateway.
import { Asking, type CallOptions } from './asking.js';
import { Checkouts } from './checkouts.js';
import { type Created, type CreateOptions, Creations, endingOf } from './creation.js';
import { OutcomeUnknown, Refused } from './errors.js';
import type { Begun } from './memory.js';
import { read, type Transaction } from './outcome.js';
import { cursorIn, Pages } from './pages.js';
import { Patience } from './patience.js';
import { Search } from './recovery.js';
import { Schedules } from './schedules.js';
import { type Settings, settingsOf, type TollgateOptions } from './settings.js';
import { Transport } from './transport.js';
import { Customers, Tokens } from './vault.js';
import { verifyWebhook, type Webhook } from './webhooks.js';
import type {
  AmountRequest,
  Event,
  EventList,
  EventQuery,
  HistoryQuery,
  LookedUpTransaction,
  PaymentRequest,
  PreauthorisationRequest,
  SearchQuery,
  SearchResults,
  Settlement,
  SettlementQuery,
  TransactionList,
  VoidRequest,
} from './wire.js';

/** What became of an operation that an earlier process had begun. */
export type Recovered =
  | { readonly kind: 'decided'; readonly begun: Begun; readonly transaction: Transaction }
  /** It was not processed. Should it be tried again: **with the same correlation ID**, so that it cannot happen twice. */
  | { readonly kind: 'not_processed'; readonly begun: Begun };

const WAIT_SECONDS = 20;

export class Tollgate {
  readonly checkouts: Checkouts;
  readonly schedules: Schedules;
  readonly customers: Customers;
  readonly tokens: Tokens;
  readonly #settings: Settings;
  readonly #transport: Transport;
  readonly #asking: Asking;
  readonly #creations: Creations;
  readonly #madeMs = performance.now();

  constructor(options: TollgateOptions) {
    this.#settings = settingsOf(options);
    this.#transport = new Transport(this.#settings, options.username, options.password);
    this.#asking = new Asking(this.#settings, this.#transport);
    this.#creations = new Creations(this.#settings, this.#transport);
    this.checkouts = new Checkouts(this.#asking);
    this.schedules = new Schedules(this.#asking);
    this.customers = new Customers(this.#asking);
    this.tokens = new Tokens(this.#asking);
  }

  /** Takes money from a card or a bank account. */
  purchase(body: PaymentRequest, options?: CreateOptions): Promise<Created> {
    return this.#creations.create({ operation: 'purchase', path: '/transactions/purchase', body }, options);
  }

  /** Holds an amount on a card. */
  preauthorisation(body: PreauthorisationRequest, options?: CreateOptions): Promise<Created> {
    return this.#creations.create(
      { operation: 'preauthorisation', path: '/transactions/preauthorisation', body },
      options,
    );
  }

  /** Takes what a preauthorisation holds, or less. */
  completion(audit: number, body: AmountRequest, options?: CreateOptions): Promise<Created> {
    const path = `/transactions/${audit}/completion`;
    return this.#creations.create({ operation: 'completion', path, targetAudit: audit, body }, options);
  }

  /** Gives back a purchase or a completion, or a part of it. */
  refund(audit: number, body: AmountRequest, options?: CreateOptions): Promise<Created> {
    const path = `/transactions/${audit}/refund`;
    return this.#creations.create({ operation: 'refund', path, targetAudit: audit, body }, options);
  }

  /** Pays money to a card or an account, without an earlier transaction. Prefer `refund`. */
  standaloneRefund(body: PaymentRequest, options?: CreateOptions): Promise<Created> {
    return this.#creations.create(
      { operation: 'standaloneRefund', path: '/transactions/refund', body },
      options,
    );
  }

  /** Undoes a transaction that has not settled. */
  void(audit: number, body: VoidRequest, options?: CreateOptions): Promise<Created> {
    const path = `/transactions/${audit}/void`;
    return this.#creations.create({ operation: 'void', path, targetAudit: audit, body }, options);
  }

  /** Throws `Refused` with `transaction_not_found` where there is none. */
  async transaction(audit: number, options?: CallOptions): Promise<Transaction> {
    const question = { operation: 'transaction', path: `/transactions/${audit}` };
    return read(await this.#asking.ask<LookedUpTransaction>(question, options));
  }

  /**
   * Undefined: the gateway has not processed it, and none of the requests that it has received so far will be. One that is still on
   * its way could: wait for its time-out first. (`purchase` and the others do all of this by themselves.)
   */
  async search(query: SearchQuery, options?: CallOptions): Promise<Transaction | undefined> {
    const question = { operation: 'search', path: '/transactions', query };
    const [found] = (await this.#asking.ask<SearchResults>(question, options)).results;
    return found && read(found);
  }

  /** The newest first. */
  history(query: HistoryQuery = {}, options?: CallOptions): Pages<Transaction> {
    return new Pages(async (after) => {
      const onwards = { ...query, ...(after !== undefined && { after }) };
      const question = { operation: 'history', path: '/transactions/history', query: onwards };
      const { results, _links } = await this.#asking.ask<TransactionList>(question, options);
      return { results: results.map(read), next: cursorIn(_links.next) };
    });
  }

  /**
   * The oldest first, and then each as it happens, without end: `signal` ends it. With `wait: 0` it ends when there are no more for
   * now. Go by `pages()`, and store `next` with what you made of its events: then none is missed, and none comes twice.
   */
  events(query: EventQuery = {}, options: CallOptions = {}): Pages<Event> {
    const { wait = WAIT_SECONDS } = query;
    return new Pages(async (after) => {
      const question = {
        operation: 'events',
        path: '/events',
        query: { ...query, wait, ...(after !== undefined && { after }) },
        timeoutMs: this.#settings.lookupTimeoutMs + wait * 1_000,
        isEndless: wait > 0,
      };
      try {
        const { results, _links } = await this.#asking.ask<EventList>(question, options);
        const isOver = wait === 0 && results.length === 0;
        return { results, next: isOver ? undefined : cursorIn(_links.next) };
      } catch (error) {
        if (options.signal?.aborted) return undefined;
        throw error;
      }
    });
  }

  /** What a day comes to: `2026-11-16`. */
  settlement(date: string, query: SettlementQuery = {}, options?: CallOptions): Promise<Settlement> {
    const path = `/settlements/${encodeURIComponent(date)}`;
    return this.#asking.ask({ operation: 'settlement', path, query }, options);
  }

  /** The event in a webhook, if it is to be believed; otherwise throws `WebhookRejected`. */
  verifyWebhook(webhook: Webhook): Promise<Event> {
    return verifyWebhook(webhook);
  }

  /**
   * What became of an operation of a process that has ended since; of one that may still be running it is not to be asked. Nothing is
   * sent again: without the card it could not be. Throws `OutcomeUnknown` when its time is up, and `Refused` where another transaction
   * has the correlation ID.
   */
  async recover(begun: Begun, options: CallOptions = {}): Promise<Recovered> {
    const { signal, outcomeTimeoutMs = this.#settings.outcomeTimeoutMs } = options;
    const { operation, correlationId, begunAt } = begun;
    signal?.throwIfAborted();
    const patience = new Patience(this.#settings, { operation, correlationId }, signal, outcomeTimeoutMs);
    const search = new Search(this.#settings, this.#transport, begun, patience, signal);
    // Whatever that process has sent, it sent before this client was made.
    search.mayArriveUntil(this.#madeMs + this.#settings.requestTimeoutMs);
    const transaction = await search.outcome(undefined).catch(async (error) => {
      if (error instanceof Refused) await this.#creations.end(begun, endingOf(error));
      throw error;
    });
    if (transaction !== undefined) {
      const { audit, outcome } = transaction;
      await this.#creations.end(begun, { kind: 'decided', audit, outcome });
      return { kind: 'decided', begun, transaction };
    }
    const isTooOld = !(Date.now() - Date.parse(begunAt) < this.#settings.searchableMs);
    if (isTooOld) throw new OutcomeUnknown(correlationId, { reason: 'too_old', last: 'not found' });
    await this.#creations.end(begun, { kind: 'not_processed' });
    return { kind: 'not_processed', begun };
  }

  /** Everything that the memory has open, but for what this client has under way itself. */
  async *recoverAll(
    options: CallOptions = {},
  ): AsyncGenerator<Recovered | OutcomeUnknown | Refused, void, undefined> {
    for await (const begun of (await this.#settings.memory?.open()) ?? []) {
      if (this.#creations.underWay.has(begun.correlationId)) continue;
      try {
        yield await this.recover(begun, options);
      } catch (error) {
        if (!(error instanceof OutcomeUnknown || error instanceof Refused)) throw error;
        yield error;
      }
    }
  }
}
