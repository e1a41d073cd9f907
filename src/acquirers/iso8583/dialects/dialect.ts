// What a dialect of ISO 8583 says: framing, encodings, fields, constants and what response codes mean. It is data: an acquirer that
// differs gets a table of its own, not code of its own.

/** `n6`: six digits. `an..25 LL`: up to 25 characters after a length of two digits. `b8`: eight bytes. */
export type FieldForm = `${'n' | 'an' | 'b'}${number}` | `${'n' | 'an' | 'b'}..${number} ${'LL' | 'LLL'}`;

/** A message and the type that answers it. */
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
  /** The length in front of each message, which does not count itself. */
  readonly frame: 'two bytes' | 'four digits';
  /** Of message types, of `n` and of lengths. */
  readonly digits: 'bcd' | 'ascii';
  /** Of bitmaps and of `b`. */
  readonly bytes: 'binary' | 'hexadecimal';
  readonly fields: Readonly<Record<number, FieldForm>>;
  readonly types: {
    readonly network: MessageTypes;
    readonly preauthorisation: MessageTypes;
    /** Purchases and refunds. */
    readonly financial: MessageTypes;
    readonly completion: RepeatedTypes;
    /** Reversals of what is in doubt, and voids. */
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
  /** The field that carries a CVV, and what stands before and behind it there. */
  readonly cvv: { readonly field: number; readonly before: string; readonly after: string };
  readonly responseCodes: {
    readonly approvals: readonly string[];
    /** Of less than was asked for: reversed, since the gateway asks for all or nothing. */
    readonly partialApprovals: readonly string[];
    /** A fault of the acquirer's own. */
    readonly faults: readonly string[];
    /** The STAN was used before: an error of ours. */
    readonly duplicates: readonly string[];
    /** To a reversal: it is reversed, or was never there. */
    readonly reversed: readonly string[];
    /** Among them: the host has never seen what was to be reversed. It may still read it, and need not remember the reversal. */
    readonly unseen: readonly string[];
    /** To a reversal, a void or a completion: to be repeated later. */
    readonly again: readonly string[];
    readonly messages: Readonly<Record<string, string>>;
  };
}
