// What a host's answer means, by the response codes of its dialect.
import type { AcquirerResponse, Decision, Order } from '../contract.js';
import type { Dialect } from './dialects/dialect.js';
import type { Numbers } from './numbers.js';
import { settlementDate } from './times.js';
import type { Response } from './wire/outstanding.js';
import { readPrivateData } from './wire/private-data.js';

/** The meaning of an answer to a payment, refund or completion. */
export type Verdict =
  | { readonly kind: 'decided'; readonly decision: Decision }
  /** An approval of less than the amount. */
  | { readonly kind: 'partial'; readonly decision: Decision }
  /** It answers something other than what was asked: its effect is in doubt. */
  | { readonly kind: 'unreadable' };

type Asked = Pick<Order, 'operation' | 'amountCents'>;

export class Verdicts {
  readonly #approvals: ReadonlySet<string>;
  readonly #partial: ReadonlySet<string>;
  readonly #faults: ReadonlySet<string>;
  readonly #reversed: ReadonlySet<string>;
  readonly #unseen: ReadonlySet<string>;
  readonly #again: ReadonlySet<string>;
  readonly #duplicates: ReadonlySet<string>;

  constructor(private readonly dialect: Dialect) {
    const { responseCodes: codes } = dialect;
    this.#approvals = new Set(codes.approvals);
    this.#partial = new Set(codes.partialApprovals);
    this.#faults = new Set(codes.faults);
    this.#reversed = new Set(codes.reversed);
    this.#unseen = new Set(codes.unseen);
    this.#again = new Set(codes.again);
    this.#duplicates = new Set(codes.duplicates);
  }

  of(response: Response, asked: Asked, numbers: Numbers): Verdict {
    const { code } = response;
    const words = this.#words(response, asked, numbers);
    // guard(ISO 8583: a partial approval is reversed): if (this.#partial.has(code)) return { kind: 'partial', decision: { kind: 'declined', ...words } }; ⇒
    if (this.#partial.has(code)) return { kind: 'partial', decision: { kind: 'declined', ...words } };
    if (this.#approvals.has(code)) {
      // An approval must be for exactly the amount asked for.
      // guard(ISO 8583: approved is what was asked for): !== undefined && Number(response.amount) !== asked.amountCents ⇒ === asked.operation
      if (response.amount !== undefined && Number(response.amount) !== asked.amountCents)
        return { kind: 'unreadable' };
      return { kind: 'decided', decision: { kind: 'approved', ...words } };
    }
    const kind = this.#faults.has(code) ? 'faulty' : 'declined';
    return { kind: 'decided', decision: { kind, ...words } };
  }

  /** The meaning of an answer to a void. */
  ofVoid(response: Response, asked: Asked, numbers: Numbers): Decision {
    const kind = this.#reversed.has(response.code) ? 'approved' : 'declined';
    return { kind, ...this.#words(response, asked, numbers) };
  }

  /** The decision for an order that was reversed because of this answer. */
  declinedWith(code: string): Decision {
    return { kind: 'declined', responseCode: code, responseMessage: this.message(code) };
  }

  isReversed({ code }: Response): boolean {
    return this.#reversed.has(code);
  }

  /** In answer to a reversal: the host has never seen the payment. */
  isUnseen({ code }: Response): boolean {
    return this.#unseen.has(code);
  }

  /** Money has moved, all of it or a part. */
  isApproval({ code }: Response): boolean {
    return this.#approvals.has(code) || this.#partial.has(code);
  }

  /** In answer to a repeated message: not acknowledged yet. */
  isToRepeat({ code }: Response): boolean {
    return this.#again.has(code);
  }

  isDuplicate({ code }: Response): boolean {
    return this.#duplicates.has(code);
  }

  message(code: string): string {
    return this.dialect.responseCodes.messages[code] ?? 'Declined';
  }

  /** What the card's network says. */
  #network({ privateData }: Response): Pick<AcquirerResponse, 'networkTransactionId' | 'adviceCode'> {
    if (privateData === undefined) return {};
    const { networkTransactionId: idTag, advice: adviceTag } = this.dialect.privateData;
    const said = readPrivateData(privateData);
    const [id, advice] = [said.get(idTag), said.get(adviceTag)];
    return {
      ...(id !== undefined && id !== '' && { networkTransactionId: id }),
      ...(advice !== undefined && { adviceCode: advice }),
    };
  }

  #words(response: Response, { operation }: Asked, numbers: Numbers): AcquirerResponse {
    const { code, authorisationCode } = response;
    const date = settlementDate(response.settlementDay, Date.now());
    const held = operation === 'preauthorisation' && this.#approvals.has(code);
    return {
      responseCode: code,
      responseMessage: this.message(code),
      ...(authorisationCode !== undefined && authorisationCode !== '' && { authorisationCode }),
      // The merchant may quote it to the acquirer: it stays the same until the end.
      ...(held && { preauthorisationCode: numbers.retrievalReference }),
      ...(date !== undefined && { settlementDate: date }),
      ...this.#network(response),
    };
  }
}
