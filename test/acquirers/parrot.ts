// The link to Parrot: JSON over HTTPS, orders known by a number of ours.
import type {
  AcquirerLink,
  AcquirerResponse,
  Answer,
  Decision,
  Finding,
  Order,
  Reversal,
  StoredOrder,
} from '../../src/acquirers/contract.js';

interface Numbers {
  readonly order: string;
}

const APPROVALS = new Set(['00', '08']);
const FAULT = '96';
const UNKNOWN_ORDER = '25';

export class Parrot implements AcquirerLink {
  readonly name = 'parrot';
  readonly mode = 'live';

  constructor(private readonly address: string) {}

  async open(): Promise<void> {
    await this.#call('hello', {});
  }

  async close(): Promise<void> {}

  prepare({ reference }: Order): Numbers {
    return { order: reference };
  }

  async ask(order: Order, { order: number }: Numbers): Promise<Answer> {
    const { operation, amountCents, currency } = order;
    const said = await this.#call(operation, { number, amountCents, currency, ...(await detailsOf(order)) });
    return said === undefined ? { kind: 'unknown', reason: 'unreadable' } : decision(said);
  }

  async inquire(_: StoredOrder, { order: number }: Numbers): Promise<Finding> {
    const said = await this.#call('inquiry', { number });
    if (said === undefined) return { kind: 'no_answer' };
    return said.responseCode === UNKNOWN_ORDER ? { kind: 'not_seen' } : decision(said);
  }

  async reverse({ amountCents }: StoredOrder, { order: number }: Numbers): Promise<Reversal> {
    const said = await this.#call('reversal', { number, amountCents });
    return said?.responseCode === '00' ? 'reversed' : 'no_answer';
  }

  /** Undefined where nothing readable came back. */
  async #call(path: string, body: object): Promise<AcquirerResponse | undefined> {
    const response = await fetch(`${this.address}/${path}`, { method: 'POST', body: JSON.stringify(body) });
    return response.ok ? ((await response.json()) as AcquirerResponse) : undefined;
  }
}

async function detailsOf(order: Order): Promise<object> {
  switch (order.operation) {
    case 'purchase':
    case 'preauthorisation':
    case 'standalone_refund':
      if (order.method.kind !== 'card') throw new Error('Parrot takes cards only');
      return { pan: order.method.card.number.reveal(), cvv: order.method.card.cvv?.reveal() };
    default:
      return { target: ((await order.target.read()).prepared as Numbers).order };
  }
}

function decision(said: AcquirerResponse): Decision {
  if (APPROVALS.has(said.responseCode)) return { kind: 'approved', ...said };
  return { kind: said.responseCode === FAULT ? 'faulty' : 'declined', ...said };
}
