// What requests act on: transactions, customers, tokens, checkouts and schedules that are there, as placeholders in bytes name them.
import { type Json, paymentBody } from '../../testkit/bodies.js';
import type { Kept } from './connection.js';
import type { HostileGateway } from './gateway.js';
import { LATER, type Proper } from './proper.js';

const KINDS = [
  'purchase',
  'preauthorisation',
  'customer',
  'token',
  'checkout',
  'schedule',
  'paused',
] as const;
/** One on which nothing has settled. */
const DAY = '2024-04-22';
const CHECKOUT = {
  merchant: { id: 1 },
  checkout: { reference: 'stock', amount_details: { total_amount: '1995', currency: 'AUD' } },
};
type StockKind = (typeof KINDS)[number];
type Ids = Partial<Record<StockKind, number | string>>;

export class Stock {
  readonly #gateway: Pick<HostileGateway, 'authorization'>;
  readonly #proper: Proper;
  #standing: Ids = {};
  /** A correlation ID that was used. */
  #taken = '';

  constructor(gateway: Pick<HostileGateway, 'authorization'>, proper: Proper) {
    this.#gateway = gateway;
    this.#proper = proper;
  }

  /** Things that stay: no request that is refused may use them up. */
  async fill(connection: Kept): Promise<void> {
    this.#taken = this.#proper.chance.id();
    this.#standing = await this.#make(connection, KINDS);
    await this.#post(connection, '/transactions/purchase', this.payment(), this.#taken);
    await this.#post(connection, '/checkouts', CHECKOUT, this.#taken);
  }

  /** Of the customer that stays. */
  get customerId(): number {
    return Number(this.#standing.customer);
  }

  /** Of its token. */
  get virtualPan(): string {
    return this.#proper.virtualPan;
  }

  /** The bytes with every placeholder filled in. A request that will be accepted gets things of its own. */
  async filled(connection: Kept, bytes: string, fresh: boolean): Promise<string> {
    const named = KINDS.filter((kind) => bytes.includes(`<<${kind}>>`));
    const ids = fresh && named.length > 0 ? await this.#make(connection, named) : this.#standing;
    return bytes.replaceAll(/<<(\w+)>>/g, (_whole, name: string) => {
      if (name === 'authorization') return this.#gateway.authorization;
      if (name === 'day') return DAY;
      return name === 'taken' ? this.#taken : String(ids[name as StockKind]);
    });
  }

  payment(): Json {
    const { secrets } = this.#proper;
    return paymentBody({ reference: 'stock', amount: 1995, pan: secrets.card(), cvv: secrets.cvv() });
  }

  async #make(connection: Kept, kinds: readonly StockKind[]): Promise<Ids> {
    const made: Ids = {};
    for (const kind of kinds) {
      if (kind === 'purchase' || kind === 'preauthorisation') {
        made[kind] = (await this.#post(connection, `/transactions/${kind}`, this.payment())).audit;
      } else if (kind === 'checkout') {
        made.checkout = (await this.#post(connection, '/checkouts', CHECKOUT)).id;
      } else if (kind === 'schedule' || kind === 'paused') {
        made[kind] = await this.#makeSchedule(connection, kind);
      } else if (kind === 'customer') {
        const customer = { reference: this.#proper.chance.id(), name: 'Ada Lovelace' };
        made.customer = (await this.#post(connection, '/customers', customer)).id;
      } else {
        const card = { 'CARD.PAN': this.#proper.secrets.card(), 'CARD.EXPIRY': '1239', 'CARD.NAME': 'Ada' };
        const token = {
          preferred_name: this.#proper.chance.id(),
          active: true,
          account: { general_creditcard: card },
        };
        const { id, virtual_pan } = await this.#post(connection, `/customers/${made.customer}/tokens`, token);
        made.token = id;
        if (this.#proper.virtualPan === '') this.#proper.virtualPan = virtual_pan;
      }
    }
    return made;
  }

  async #makeSchedule(connection: Kept, kind: 'schedule' | 'paused'): Promise<string> {
    const schedule = {
      reference: 'stock',
      virtual_pan: this.#proper.virtualPan,
      amount_details: { total_amount: '1995', currency: 'AUD' },
      first_date: LATER.first_date,
      every: { months: 1 },
      count: 12,
    };
    const { id } = await this.#post(connection, '/schedules', { merchant: { id: 1 }, schedule });
    if (kind === 'schedule') return id;
    const answer = await connection.send(this.post(`/schedules/${id}/pause`, {}, this.#proper.chance.id()));
    if (answer === undefined || answer.status >= 300)
      throw new Error(`pause answered ${answer?.status} ${answer?.body}`);
    return id;
  }

  async #post(connection: Kept, path: string, body: Json, id = this.#proper.chance.id()): Promise<Json> {
    const answer = await connection.send(this.post(path, body, id));
    if (answer?.status !== 201) throw new Error(`${path} answered ${answer?.status} ${answer?.body}`);
    return JSON.parse(answer.body);
  }

  post(path: string, body: Json, id: string, further = ''): string {
    const text = JSON.stringify(body);
    return `POST /v1${path} HTTP/1.1\r\nHost: gateway\r\nAuthorization: ${this.#gateway.authorization}\r\nX-Correlation-Id: ${id}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n${further}\r\n${text}`;
  }

  /** Whether a transaction with this correlation ID is there. */
  async isProcessed(connection: Kept, id: string): Promise<boolean> {
    const path = `/v1/transactions?merchant_id=1&correlation_id_lookup=${id}`;
    const answer = await connection.send(
      `GET ${path} HTTP/1.1\r\nHost: gateway\r\nAuthorization: ${this.#gateway.authorization}\r\n\r\n`,
    );
    if (answer === undefined) throw new Error(`no answer to a search for ${id}`);
    return JSON.parse(answer.body).results.length > 0;
  }
}
