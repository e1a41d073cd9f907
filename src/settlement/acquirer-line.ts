// A line of an acquirer's settlement file: which transaction it is about and what it says, or what is wrong with it.
import { containsCardNumber } from '../values/card.js';
import { csvFields } from '../values/csv.js';
import type { Audit, OrganisationId } from '../values/ids.js';
import { isAmount, isCurrency } from '../values/money.js';
import type { TextLine } from '../values/text-lines.js';
import { SETTLING_TYPES } from './report.js';

export const COLUMNS = ['reference', 'transaction_type', 'amount_cents', 'currency'] as const;

export interface AcquirerLine {
  readonly line: number;
  /** The acquirer reference. */
  readonly reference: string;
  readonly transactionType: string;
  readonly amountCents: number;
  readonly currency: string;
}

/** Why a line says nothing. What stands in it is not repeated: it may be anything. */
export type WrongLine =
  | 'too long'
  | 'quotes that do not fit'
  | 'not four fields'
  | 'no reference'
  | 'a card number instead of a reference'
  | 'no known transaction type'
  | 'no amount in cents'
  | 'no currency'
  | 'listed before';

const REFERENCE = /^[A-Za-z0-9._:/#-]{1,64}$/;

export function isHeader({ text = '' }: TextLine): boolean {
  return csvFields(text)?.join() === COLUMNS.join();
}

export function acquirerLine({ number: line, text }: TextLine): AcquirerLine | WrongLine {
  if (text === undefined) return 'too long';
  const fields = csvFields(text);
  if (fields === undefined) return 'quotes that do not fit';
  const [reference = '', transactionType = '', amount = '', currency = ''] = fields;
  if (fields.length !== COLUMNS.length) return 'not four fields';
  if (!REFERENCE.test(reference)) return 'no reference';
  if (containsCardNumber(reference)) return 'a card number instead of a reference';
  if (!SETTLING_TYPES.some((type) => type === transactionType)) return 'no known transaction type';
  if (amount !== '0' && !isAmount(amount)) return 'no amount in cents';
  if (!isCurrency(currency)) return 'no currency';
  return { line, reference, transactionType, amountCents: Number(amount), currency };
}

/** The transaction that an acquirer knows by this reference; undefined where it cannot be one of ours. */
export function transactionOf(
  reference: string,
  installation: string,
): { organisationId: OrganisationId; audit: Audit } | undefined {
  const [, sent, organisation, audit] = /^(.+)-([1-9][0-9]{0,9})-([1-9][0-9]{0,9})$/.exec(reference) ?? [];
  const numbers = [Number(organisation), Number(audit)] as const;
  if (sent !== installation || numbers.some((number) => number > 2_147_483_647)) return undefined;
  return { organisationId: numbers[0] as OrganisationId, audit: numbers[1] as Audit };
}
