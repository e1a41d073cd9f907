// The numbers by which a host knows an order. Stored at commit A, so that any process can reverse or repeat the order later.
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import type { MoneyOperation, Prepared } from '../contract.js';
import type { Dialect, MessageTypes } from './dialects/dialect.js';
import { hourOfYear, utcTime } from './times.js';

export interface Numbers {
  readonly stan: number;
  /** The same in a payment and in all later messages about it. */
  readonly retrievalReference: string;
  readonly terminal: string;
  readonly acceptor: string;
  readonly category?: string | undefined;
  /** The card was stored before the payment, and not entered for it. */
  readonly stored?: true | undefined;
  readonly institution?: string | undefined;
  readonly sentMs: number;
}

/** How a host identifies a merchant. */
export interface Acceptor {
  readonly acceptorId: string;
  readonly terminals: readonly string[];
  readonly categoryCode: string | undefined;
}

/** A promise only if the acceptor has to be read first. */
export interface Acceptors {
  of(organisationId: OrganisationId, merchantId: MerchantId): Acceptor | Promise<Acceptor>;
}

/** STANs, each used once per terminal and day. A promise only if some have to be leased first. */
export interface Stans {
  take(terminal: string): number | Promise<number>;
}

export const STAN_DIGITS = 6;
const INSTITUTION_DIGITS = 11;
const NO_FORWARDER = '0'.repeat(INSTITUTION_DIGITS);

export function stanText(stan: number): string {
  return String(stan).padStart(STAN_DIGITS, '0');
}

/** As unique as the STAN. */
export function retrievalReference(stan: number, sentMs: number): string {
  return hourOfYear(sentMs) + stanText(stan);
}

/** The order's reference in the acquirer's settlement file; undefined if it was not sent over an ISO 8583 link. */
export function listedReference(prepared: Prepared): string | undefined {
  return (prepared as Partial<Numbers> | null)?.retrievalReference;
}

/** Field 90: identifies the original message. */
export function originalData(type: string, { stan, sentMs, institution = '' }: Numbers): string {
  return (
    type + stanText(stan) + utcTime(sentMs) + institution.padStart(INSTITUTION_DIGITS, '0') + NO_FORWARDER
  );
}

/** The message types for this operation and its answer. */
export function typesOf(operation: MoneyOperation, { types }: Dialect): MessageTypes {
  switch (operation) {
    case 'preauthorisation':
      return types.preauthorisation;
    case 'completion':
      return types.completion;
    case 'void':
      return types.reversal;
    default:
      return types.financial;
  }
}

/** The type of the first message; repetitions may have another. */
export function typeOf(operation: MoneyOperation, dialect: Dialect): string {
  return typesOf(operation, dialect).sent;
}
