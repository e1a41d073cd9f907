// What holding an acquirer's file against a day has found: everything counted, and the first of each kind listed.
import type { Audit, MerchantId, OrganisationId } from '../values/ids.js';
import { moneyText } from '../values/money.js';
import type { AcquirerLine, WrongLine } from './acquirer-line.js';

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

/** Whether there is anything left to find out about. */
export function isOpen({ missingHere, missingThere, different, wrong }: Reconciliation): boolean {
  return missingHere + missingThere + different + wrong > 0;
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
