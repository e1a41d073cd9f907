// Holding an acquirer's file against a day: the lines of the file, everything that was found, counted, with the first of each kind listed,
// and a difference as it is kept.
import { containsCardNumber } from '../values/card.js';
import { csvFields } from '../values/csv.js';
import type { Audit, MerchantId, OrganisationId } from '../values/ids.js';
import { isAmount, isCurrency, moneyText } from '../values/money.js';
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

/** The transaction that an acquirer knows by this reference, and who sent it; undefined where it cannot be one of ours. */
export function transactionOf(
  reference: string,
  installations: ReadonlySet<string>,
): { organisationId: OrganisationId; audit: Audit; installation: string } | undefined {
  const [, sent, organisation, audit] = /^(.+)-([1-9][0-9]{0,9})-([1-9][0-9]{0,9})$/.exec(reference) ?? [];
  const numbers = [Number(organisation), Number(audit)] as const;
  if (sent === undefined || !installations.has(sent) || numbers.some((number) => number > 2_147_483_647))
    return undefined;
  return { organisationId: numbers[0] as OrganisationId, audit: numbers[1] as Audit, installation: sent };
}

/** What settles here and is not in the file. */
export interface MissingThere {
  readonly organisationId: OrganisationId;
  readonly merchant: MerchantId;
  readonly audit: Audit;
  readonly reference: string;
  readonly transactionType: string;
  readonly amountCents: number;
  readonly currency: string;
}

export interface Different {
  readonly line: number;
  readonly reference: string;
  readonly there: string;
  readonly here: string;
}

/** A transaction that a line of a file is about. */
export interface About {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly audit: Audit;
}

export interface Reconciliation {
  readonly acquirer: string;
  readonly date: string;
  /** While the day is open, more may come. */
  readonly closed: boolean;
  readonly lines: number;
  readonly matched: number;
  readonly missingHere: number;
  readonly missingThere: number;
  readonly different: number;
  readonly wrong: number;
  /** Which transactions the different lines are about, as they are listed. */
  readonly differentAbout: readonly About[];
  /** Of each the first ones, as many as fit. */
  readonly listed: {
    readonly missingHere: AcquirerLine[];
    readonly missingThere: MissingThere[];
    readonly different: Different[];
    readonly wrong: { readonly line: number; readonly reason: WrongLine }[];
  };
}

/** What one side says about a transaction: `purchase 18.29 AUD`. */
export type Said = Pick<AcquirerLine, 'transactionType' | 'amountCents' | 'currency'>;

export function inWords({ transactionType, amountCents, currency }: Said): string {
  return `${transactionType} ${moneyText(amountCents, currency)}`;
}

export function agrees(
  one: { readonly [Name in keyof Said]: Said[Name] | null },
  { transactionType, amountCents, currency }: Said,
): boolean {
  return (
    one.transactionType === transactionType && one.amountCents === amountCents && one.currency === currency
  );
}

/** Of each kind so many are listed; all are counted. */
const MOST_LISTED = 10_000;

/** All are counted, the first of them kept. */
export class Listed<Item> {
  readonly first: Item[] = [];
  count = 0;

  add(item: Item): void {
    this.count += 1;
    if (this.first.length < MOST_LISTED) this.first.push(item);
  }
}

export type DifferenceKind = 'missing_here' | 'missing_there' | 'different' | 'wrong';

export interface FoundDifference {
  readonly kind: DifferenceKind;
  readonly reference: string;
  /** What the file says, in words. */
  readonly there: string;
  /** What the gateway says, in words. */
  readonly here: string;
  readonly organisationId?: OrganisationId | undefined;
  readonly merchantId?: MerchantId | undefined;
  readonly audit?: Audit | undefined;
}

export interface Difference {
  readonly id: number;
  readonly date: string;
  readonly acquirer: string;
  readonly kind: DifferenceKind;
  readonly reference: string;
  readonly there: string;
  readonly here: string;
  readonly organisationId: OrganisationId | null;
  readonly merchantId: MerchantId | null;
  readonly audit: Audit | null;
  readonly found: Date;
  readonly foundBy: string;
  /** Since a later file for the day has not had it. */
  readonly gone: Date | null;
  readonly looked: Date | null;
  readonly lookedBy: string | null;
  readonly note: string | null;
}
