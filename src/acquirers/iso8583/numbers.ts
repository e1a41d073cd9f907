// The numbers under which a host knows an order: stored at commit A, so that any process can reverse or repeat the order later.
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import type { MoneyOperation, Prepared } from '../contract.js';
import type { Dialect, MessageTypes } from './dialects/dialect.js';
import { hourOfYear, utcTime } from './times.js';

export interface Numbers {
  readonly stan: number;
  /** The same in a payment and in everything that goes back to it. */
  readonly retrievalReference: string;
  readonly terminal: string;
  readonly acceptor: string;
  readonly category?: string | undefined;
  /** The card was stored before the payment: it was not keyed in for it. */
  readonly stored?: true | undefined;
  readonly institution?: string | undefined;
  readonly sentMs: number;
}

/** What a host knows a merchant by. */
export interface Acceptor {
  readonly acceptorId: string;
  readonly terminals: readonly string[];
  readonly categoryCode: string | undefined;
}

/** A promise only where it has to be read first. */
export interface Acceptors {
  of(organisationId: OrganisationId, merchantId: MerchantId): Acceptor | Promise<Acceptor>;
}

/** STANs, each only once for a terminal and a day. A promise only where some have to be leased first. */
export interface Stans {
  take(terminal: string): number | Promise<number>;
}

export const STAN_DIGITS = 6;
const INSTITUTION_DIGITS = 11;
const NO_FORWARDER = '0'.repeat(INSTITUTION_DIGITS);

export function stanText(stan: number): string {
  return String(stan).padStart(STAN_DIGITS, '0');
}

/** Unique where the STAN is. */
export function retrievalReference(stan: number, sentMs: number): string {
  return hourOfYear(sentMs) + stanText(stan);
}

/** What the acquirer's settlement file calls an order; undefined where it was not sent over such a link. */
export function listedReference(prepared: Prepared): string | undefined {
  return (prepared as Partial<Numbers> | null)?.retrievalReference;
}

/** Field 90: what a message goes back to. */
export function originalData(type: string, { stan, sentMs, institution = '' }: Numbers): string {
  return (
    type + stanText(stan) + utcTime(sentMs) + institution.padStart(INSTITUTION_DIGITS, '0') + NO_FORWARDER
  );
}

/** The types of the message for an order of this operation, and of its answer. */
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

/** The type under which it is sent first. */
export function typeOf(operation: MoneyOperation, dialect: Dialect): string {
  return typesOf(operation, dialect).sent;
}
