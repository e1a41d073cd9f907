// Returns: an item that the bank sends back makes its transaction declined, also when it was taken for cleared already.
import { journal } from '../journal/journal.js';
import { sealedNext } from '../payments/outcome-seals.js';
import type { SealedOutcome, StoredOutcome } from '../payments/transaction.js';
import type { Database, Queryable, Statement } from '../postgres/database.js';
import { directDebitMode, maskAccountNumber, type ShownBankAccount } from '../values/bank-account.js';
import type { Audit, MerchantId, OrganisationId } from '../values/ids.js';
import type { Cents } from '../values/money.js';
import { settlementCalendar } from '../values/time.js';
import type { DataKeys } from '../vault/keys/keys.js';
import { DEFAULT_DISPUTE_DAYS } from './direct-entry.js';
import type { ReturnedItem } from './files/aba-line.js';
import type { Lodged } from './files/lodgement-reference.js';
import { FIND_RETURNED, LISTED, RETURN_ITEMS, RETURN_REFUNDS, SENT_BACK } from './returns.sql.js';

/** What the banks mean by their return codes. */
export const RETURN_MEANINGS: Readonly<Record<number, string>> = {
  1: 'Invalid BSB number',
  2: 'Payment stopped',
  3: 'Account closed',
  4: 'Customer deceased',
  5: 'No account or incorrect account number',
  6: 'Refer to customer',
  7: 'Deleted',
  8: 'Invalid user ID number',
  9: 'Technically invalid',
};

export interface Return {
  readonly organisationId: OrganisationId;
  readonly audit: Audit;
  readonly code: number;
  readonly transactionType: string;
  readonly stored: StoredOutcome;
}

/** A transaction that was declined by a return. */
export interface Declined {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly audit: Audit;
  /** It was approved before. */
  readonly late: boolean;
  readonly refundedCents: Cents;
}

/** Why a line of a returns file changes nothing. */
export type NoMatch =
  | 'unknown reference'
  | 'details differ'
  | 'too late'
  | 'returned already'
  | 'returned with another code';

interface FoundRow {
  readonly place: number;
  readonly state: string;
  readonly returnCode: number | null;
  readonly status: string;
  readonly transactionType: string;
  readonly amountCents: Cents;
  readonly bankAccount: ShownBankAccount;
  readonly inTime: boolean;
  readonly stored: StoredOutcome;
  /** That has lodged it. */
  readonly installation: string;
}

/**
 * Takes the returns, all or none of them. What has been returned before is left alone, and so is what somebody has changed in the
 * database: that is reported.
 */
export async function takeReturns(
  database: Queryable,
  keys: DataKeys,
  returns: readonly Return[],
  { actor, nowMs }: { readonly actor: string; readonly nowMs: number },
): Promise<Declined[]> {
  const calendar = settlementCalendar(nowMs);
  // An item that is listed twice comes back once: as its first line says.
  const first = new Map([...returns].reverse().map((one) => [keyOf(one), one]));
  const next = [...first.values()].map((one) => ({ ...one, next: declinedBy(one) }));
  const { sealed: unique } = await sealedNext(keys, next);
  // A refund gives its amount back to its target, which may be among the returned ones itself: first the targets.
  const refunds = unique.filter(({ transactionType }) => transactionType === 'refund');
  const others = unique.filter(({ transactionType }) => transactionType !== 'refund');
  return database.transaction(async (connection) => {
    const declined = [
      ...(await decline(connection, RETURN_ITEMS, calendar, others)),
      ...(await decline(connection, RETURN_REFUNDS, calendar, refunds)),
    ];
    for (const one of declined) {
      if (!one.late) continue;
      const { organisationId, merchantId, audit } = one;
      const detail = `approved before, returned with code ${first.get(keyOf(one))?.code}`;
      const action = 'directdebit.returned_late';
      await journal(connection, { actor, action, organisationId, merchantId, audit, detail });
    }
    return declined;
  });
}

function declinedBy({ stored, code }: Return): SealedOutcome {
  const { gatewayStatusCode } = stored;
  return { status: 'declined', gatewayStatusCode, responseCode: String(code) };
}

/** With the seal of what it becomes. */
type SealedReturn = Return & { readonly outcomeSeal: Buffer };

function keyOf({ organisationId, audit }: Pick<Return, 'organisationId' | 'audit'>): string {
  return `${organisationId}/${audit}`;
}

async function decline(
  connection: Queryable,
  statement: Statement,
  calendar: readonly string[],
  returns: readonly SealedReturn[],
): Promise<Declined[]> {
  if (returns.length === 0) return [];
  const listed = returns.map(({ organisationId, audit, code, outcomeSeal }) => {
    return { organisationId, audit, code, message: RETURN_MEANINGS[code] ?? 'Returned', outcomeSeal };
  });
  const declined: Declined[] = [];
  // One organisation after the other, in the order in which everybody does it: a file may have items of several.
  for (const organisationId of [...new Set(listed.map((one) => one.organisationId))].toSorted(
    (a, b) => a - b,
  )) {
    const ofOne = LISTED.encode(listed.filter((one) => one.organisationId === organisationId));
    declined.push(...(await connection.query<Declined>(statement, [...calendar, ...ofOne])).rows);
  }
  return declined;
}

export interface Matched {
  readonly lodged: Lodged | undefined;
  readonly item: ReturnedItem;
}

/** What each line of a returns file is about: a return to take, or why there is none. Everything has to agree. */
export async function matchReturns(
  database: Database,
  keys: DataKeys,
  lines: readonly Matched[],
  today: string,
): Promise<(Return | NoMatch)[]> {
  const { rows } = await database.query<FoundRow>(FIND_RETURNED, [
    today,
    DEFAULT_DISPUTE_DAYS,
    ...SENT_BACK.encode(lines.map(({ lodged }) => lodged)),
  ]);
  const found = new Map(rows.map((row) => [row.place, row]));
  const changed = (
    await sealedNext(
      keys,
      rows.map(({ stored }) => ({ stored, next: stored })),
    )
  ).changed;
  const isChanged = new Set(changed.map(({ stored }) => stored));
  return lines.map(({ lodged, item }, index) => {
    const row = found.get(index + 1);
    // An item of another installation, which may share the user ID with the bank, is none of ours.
    if (lodged === undefined || lodged.installation !== row?.installation) return 'unknown reference';
    // guard(return: only if everything agrees): !agrees(row, item) || ⇒
    if (!agrees(row, item) || isChanged.has(row.stored)) return 'details differ';
    // guard(return: once): if (row.state === 'returned') ⏎ return row.returnCode === item.returnCode ? 'returned already' : 'returned with another code'; ⇒
    if (row.state === 'returned')
      return row.returnCode === item.returnCode ? 'returned already' : 'returned with another code';
    // guard(return: not after the dispute days): if (!row.inTime) return 'too late'; ⇒
    // guard(return: only of what a bank has): if (!row.inTime) return 'too late'; ⇒
    if (!row.inTime) return 'too late';
    const { organisationId, audit } = lodged;
    const { transactionType, stored } = row;
    return { organisationId, audit, code: item.returnCode, transactionType, stored };
  });
}

function agrees({ amountCents, transactionType, bankAccount }: FoundRow, item: ReturnedItem): boolean {
  return (
    amountCents === item.amountCents &&
    directDebitMode(transactionType) === item.mode &&
    bankAccount.bsb === item.bsb &&
    bankAccount.accountNumber === maskAccountNumber(item.accountNumber)
  );
}
