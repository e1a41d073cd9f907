// An acquirer that follows a script, for behaviour that the simulator lacks.
import type {
  AcquirerLink,
  Answer,
  Decision,
  Finding,
  Order,
  StoredOrder,
} from '../src/acquirers/contract.js';
import type { LedgerEntry } from '../src/acquirers/simulator/ledger.js';
import { decision } from '../src/acquirers/simulator/simulator.js';
import type { Mode } from '../src/values/mode.js';

type Asking = (order: Order) => Answer | Promise<Answer>;
type Inquiry = (reference: string) => Finding | Promise<Finding>;
type Reversal = (reference: string) => 'reversed' | 'no_answer' | Promise<'reversed' | 'no_answer'>;

export function answered(responseCode: string): Decision {
  const authorisationCode = '123456';
  return decision({ responseCode, responseMessage: 'As the script says', authorisationCode });
}

/** A question that stays open until the test answers it. */
export interface Held<Reply> {
  /** The reference of the question, once it was asked. */
  readonly asked: Promise<string>;
  answer(reply: Reply): void;
}

export class ScriptedAcquirer implements AcquirerLink {
  readonly name = 'scripted';

  constructor(
    readonly mode: Mode = 'test',
    readonly simulated?: true,
  ) {}

  /** Everything that was asked, in order. */
  readonly requests: Order[] = [];
  readonly inquiries: string[] = [];
  readonly reversals: string[] = [];
  /** The transactions that it has admitted to, as a ledger. */
  readonly entries: LedgerEntry[] = [];

  readonly #askings: Asking[] = [];
  readonly #inquiryScript: Inquiry[] = [];
  readonly #reversalScript: Reversal[] = [];

  /** Its next answers, in order. Afterwards it approves. */
  nextAnswers(...askings: Asking[]): void {
    this.#askings.push(...askings);
  }

  /** Its next findings. Afterwards: whatever it has admitted to. */
  nextFindings(...inquiries: Inquiry[]): void {
    this.#inquiryScript.push(...inquiries);
  }

  /** Whether it confirms the next reversals. Afterwards it does. */
  nextReversals(...reversals: Reversal[]): void {
    this.#reversalScript.push(...reversals);
  }

  holdNextAnswer(): Held<Answer> {
    const { held, question } = hold<Answer>();
    this.nextAnswers((request) => question(request.reference));
    return held;
  }

  holdNextFinding(): Held<Finding> {
    const { held, question } = hold<Finding>();
    this.nextFindings(question);
    return held;
  }

  holdNextReversal(): Held<'reversed' | 'no_answer'> {
    const { held, question } = hold<'reversed' | 'no_answer'>();
    this.nextReversals(question);
    return held;
  }

  /** How often the request with this reference was asked. */
  timesAsked(reference: string): number {
    return this.requests.filter((request) => request.reference === reference).length;
  }

  async open(): Promise<void> {}

  async close(): Promise<void> {}

  // Not `async`, so that a script that throws does so at once, as a careless adapter would.
  ask(order: Order): Promise<Answer> {
    this.requests.push(order);
    const asking = this.#askings.shift() ?? (() => answered('00'));
    return this.#admitting(order.reference, asking(order));
  }

  inquire({ reference }: StoredOrder): Promise<Finding> {
    this.inquiries.push(reference);
    const inquiry = this.#inquiryScript.shift() ?? (() => this.#admitted(reference));
    return this.#admitting(reference, inquiry(reference));
  }

  reverse({ reference }: StoredOrder): Promise<'reversed' | 'no_answer'> {
    this.reversals.push(reference);
    const reversal = this.#reversalScript.shift() ?? (() => 'reversed');
    return this.#reversing(reference, reversal(reference));
  }

  async #admitting<Reply extends Answer | Finding>(
    reference: string,
    reply: Reply | Promise<Reply>,
  ): Promise<Reply> {
    const said = await reply;
    const request = this.requests.find((asked) => asked.reference === reference);
    // A script may break the contract.
    const { responseCode } = (said ?? {}) as Partial<Decision>;
    if (typeof responseCode === 'string' && request !== undefined && !this.#has(reference)) {
      const { operation, amountCents, currency } = request;
      this.entries.push({
        atMs: Date.now(),
        reference,
        operation,
        amountCents,
        currency,
        responseCode,
        ...('target' in request && { targetReference: request.target.reference }),
      });
    }
    return said;
  }

  async #reversing(reference: string, reply: ReturnType<Reversal>): Promise<'reversed' | 'no_answer'> {
    const said = await reply;
    if (said === 'reversed') this.entries.push({ atMs: Date.now(), reference, operation: 'reversal' });
    return said;
  }

  #has(reference: string): boolean {
    return this.entries.some((entry) => entry.reference === reference && entry.operation !== 'reversal');
  }

  #admitted(reference: string): Finding {
    const entry = this.entries.find((admitted) => admitted.reference === reference);
    return entry?.responseCode === undefined ? { kind: 'not_seen' } : answered(entry.responseCode);
  }
}

function hold<Reply>(): { held: Held<Reply>; question: (reference: string) => Promise<Reply> } {
  let wasAsked: (reference: string) => void = () => {};
  let answer: (reply: Reply) => void = () => {};
  const asked = new Promise<string>((resolve) => {
    wasAsked = resolve;
  });
  const reply = new Promise<Reply>((resolve) => {
    answer = resolve;
  });
  return {
    held: { asked, answer: (said) => answer(said) },
    question: (reference) => {
      wasAsked(reference);
      return reply;
    },
  };
}
