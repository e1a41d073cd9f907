// A deliberately awkward link, to keep the contract honest: its acquirer knows orders only by numbers that the link gives
// them, cannot be asked what became of one, wants the card again for everything, and checks what it is told. The link
// refuses to open at first, and throws before it has promised anything.
import type {
  AcquirerLink,
  Answer,
  Finding,
  MoneyOperation,
  Order,
  Reversal,
  StoredOrder,
} from '../../src/acquirers/contract.js';
import type { CardDetails } from '../../src/values/card.js';

/** Under which the acquirer knows an order. */
export interface Numbers {
  readonly trace: number;
  readonly terminal: string;
  /** The same in a payment and in everything that goes back to it. */
  readonly retrievalReference: string;
  readonly sentMs: number;
}

export interface Message extends Numbers {
  readonly kind: 'request' | 'advice' | 'reversal';
  readonly operation: MoneyOperation;
  readonly pan: string;
  readonly amountCents: number;
  readonly currency: string;
  /** The trace of what it acts on. */
  readonly original?: number;
  readonly authorisationCode?: string;
}

type Verdict = { readonly code: string; readonly authorisationCode: string };

/** What the acquirer has at its end of the line. */
export class AwkwardHost {
  /** Everything that has arrived, in order. */
  readonly messages: Message[] = [];
  /** What it could not make sense of. None, if the link is told what it needs. */
  readonly complaints: string[] = [];
  readonly #verdicts = new Map<number, Verdict>();
  readonly #reversed = new Set<number>();
  #silences: Promise<void>[] = [];

  /** The next message arrives and is worked off, but its answer comes only when the returned function is called. */
  holdNextAnswer(): () => void {
    let release = () => {};
    this.#silences.push(
      new Promise((resolve) => {
        release = resolve;
      }),
    );
    return release;
  }

  loseNextAnswers(count: number): void {
    for (let time = 0; time < count; time += 1) this.holdNextAnswer();
  }

  async receive(message: Message): Promise<Verdict> {
    this.messages.push(message);
    const silence = this.#silences.shift();
    const verdict = message.kind === 'reversal' ? this.#reverse(message) : this.#decide(message);
    await silence;
    return verdict;
  }

  #decide(message: Message): Verdict {
    const known = this.#verdicts.get(message.trace);
    if (known !== undefined) {
      if (message.kind === 'request') this.complaints.push(`trace ${message.trace} twice`);
      return known;
    }
    const { original, authorisationCode } = message;
    const acted = original === undefined ? undefined : this.#verdicts.get(original);
    if (acted !== undefined && acted.authorisationCode !== authorisationCode) {
      this.complaints.push(`${message.operation} with a wrong authorisation code`);
    }
    const [, asked = '00'] = /^4100000000000([0-9]{2})[0-9]$/.exec(message.pan) ?? [];
    const verdict = {
      code: this.#reversed.has(message.trace) ? '12' : asked,
      authorisationCode: String(message.trace).padStart(6, '0'),
    };
    this.#verdicts.set(message.trace, verdict);
    return verdict;
  }

  #reverse({ trace, pan, amountCents, currency }: Message): Verdict {
    const original = this.messages.find((message) => message.trace === trace && message.kind !== 'reversal');
    if (original !== undefined) {
      const same =
        original.pan === pan && original.amountCents === amountCents && original.currency === currency;
      if (!same) this.complaints.push(`reversal of ${trace} with other details than it came with`);
    }
    this.#reversed.add(trace);
    return { code: '00', authorisationCode: '' };
  }
}

const TERMINAL = 'AWKWARD1';
let lastTrace = 0;

export class AwkwardLink implements AcquirerLink {
  readonly name = 'awkward';
  readonly mode = 'test';
  /** How often it refuses to open before it does. */
  refusals = 2;
  #open = false;

  constructor(private readonly host: AwkwardHost) {}

  // None of these is `async` where it throws: a careless link is not, either.
  open(): Promise<void> {
    if (this.refusals > 0) {
      this.refusals -= 1;
      if (this.refusals % 2 === 0) throw new Error('the line is engaged');
      return Promise.reject(new Error('the line is engaged'));
    }
    this.#open = true;
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#open = false;
  }

  prepare(order: Order): Numbers | Promise<Numbers> {
    lastTrace += 1;
    const numbers = {
      trace: lastTrace,
      terminal: TERMINAL,
      retrievalReference: `R${lastTrace}`,
      sentMs: order.atMs,
    };
    return 'target' in order ? this.#prepareOnTarget(order, numbers) : numbers;
  }

  async #prepareOnTarget(order: Extract<Order, { target: unknown }>, numbers: Numbers): Promise<Numbers> {
    const original = (await order.target.read()).prepared as Numbers | undefined;
    return original === undefined
      ? numbers
      : { ...numbers, terminal: original.terminal, retrievalReference: original.retrievalReference };
  }

  ask(order: Order, numbers: Numbers): Promise<Answer> {
    if (!this.#open) throw new Error('the line is dead');
    return this.#send(order, numbers);
  }

  /** There are no inquiries. Completions and voids are repeated until they are acknowledged. */
  async inquire(order: StoredOrder, numbers: Numbers): Promise<Finding> {
    if (order.operation !== 'completion' && order.operation !== 'void') return { kind: 'not_seen' };
    return this.#send(order, numbers);
  }

  async reverse(order: StoredOrder, numbers: Numbers): Promise<Reversal> {
    const { number } = await order.openCard();
    const { operation, amountCents, currency } = order;
    const pan = number.reveal();
    const { code } = await this.host.receive({
      kind: 'reversal',
      operation,
      pan,
      amountCents,
      currency,
      ...numbers,
    });
    return code === '00' ? 'reversed' : 'no_answer';
  }

  async #send(order: Order | StoredOrder, numbers: Numbers): Promise<Extract<Answer, Finding>> {
    const { operation, amountCents, currency } = order;
    const card = await cardOf(order);
    const target = 'target' in order ? await order.target.read() : undefined;
    const original = target?.prepared as Numbers | undefined;
    const { code, authorisationCode } = await this.host.receive({
      kind: operation === 'completion' || operation === 'void' ? 'advice' : 'request',
      operation,
      pan: card.number.reveal(),
      amountCents,
      currency,
      ...numbers,
      ...(original !== undefined && { original: original.trace }),
      ...(target?.authorisationCode !== undefined && { authorisationCode: target.authorisationCode }),
    });
    const response = {
      responseCode: code,
      responseMessage: code === '00' ? 'Approved' : 'Not approved',
      authorisationCode,
      ...(operation === 'preauthorisation' && { preauthorisationCode: `P${authorisationCode}` }),
    };
    if (code === '00') return { kind: 'approved', ...response };
    return { kind: code === '96' ? 'faulty' : 'declined', ...response };
  }
}

async function cardOf(order: Order | StoredOrder): Promise<CardDetails> {
  if ('openCard' in order) return order.openCard();
  if (order.method.kind !== 'card') throw new Error('a card is wanted');
  return order.method.card;
}
