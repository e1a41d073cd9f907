// A dialect of ISO 8583: framing, encodings, fields, constants and the meaning of response codes. It is data: an acquirer that differs
// gets a table of its own, not code of its own.

/** `n6`: six digits. `an..25 LL`: up to 25 characters after a length of two digits. `b8`: eight bytes. */
export type FieldForm = `${'n' | 'an' | 'b'}${number}` | `${'n' | 'an' | 'b'}..${number} ${'LL' | 'LLL'}`;

/** A message type and the type of its answer. */
export interface MessageTypes {
  readonly sent: string;
  readonly answer: string;
}

/** Sent once, and then repeated under another type until it is answered. */
export interface RepeatedTypes extends MessageTypes {
  readonly repeat: string;
}

export interface Dialect {
  readonly name: string;
  /** The length before each message, which does not include itself. */
  readonly frame: 'two bytes' | 'four digits';
  /** The encoding of message types, `n` fields and lengths. */
  readonly digits: 'bcd' | 'ascii';
  /** The encoding of bitmaps and `b` fields. */
  readonly bytes: 'binary' | 'hexadecimal';
  readonly fields: Readonly<Record<number, FieldForm>>;
  readonly types: {
    readonly network: MessageTypes;
    readonly preauthorisation: MessageTypes;
    /** Purchases and refunds. */
    readonly financial: MessageTypes;
    readonly completion: RepeatedTypes;
    /** Reversals of orders in doubt, and voids. */
    readonly reversal: RepeatedTypes;
  };
  readonly constants: {
    readonly debit: string;
    readonly credit: string;
    readonly keyed: string;
    readonly storedCredential: string;
    readonly condition: string;
    readonly signOn: string;
    readonly signOff: string;
    readonly echo: string;
  };
  /** The field that carries a CVV, and the text before and after it. */
  readonly cvv: { readonly field: number; readonly before: string; readonly after: string };
  /** Private data: the field, and the tag of each entry. */
  readonly privateData: {
    readonly field: number;
    readonly networkTransactionId: string;
    /** Who starts the payment, and why. */
    readonly initiation: string;
    readonly eci: string;
    readonly authenticationValue: string;
    readonly dsTransactionId: string;
    readonly threeDSecureVersion: string;
    /** In answers: what the network says to do after a decline. */
    readonly advice: string;
  };
  /** Declines of one card in 30 days after which its merchant must not try it again; 20 where nothing is said. */
  readonly mostDeclines?: number;
  readonly responseCodes: {
    readonly approvals: readonly string[];
    /** Approvals of a part of the amount. They are reversed, because the gateway wants all or nothing. */
    readonly partialApprovals: readonly string[];
    /** The acquirer's own faults. */
    readonly faults: readonly string[];
    /** The STAN was used before: an error of the gateway. */
    readonly duplicates: readonly string[];
    /** In answer to a reversal: it is reversed, or never existed. */
    readonly reversed: readonly string[];
    /** A subset: the host has never seen the order. It may still read the order, and need not remember the reversal. */
    readonly unseen: readonly string[];
    /** In answer to a reversal, void or completion: repeat it later. */
    readonly again: readonly string[];
    readonly messages: Readonly<Record<string, string>>;
  };
}
