// How merchants lodge with their banks: the direct-entry settings, as the operator sets and sees them, and which bank takes in a debit.
import { OWN_BANK_LINK, SIMULATED_BANK_LINK } from '../acquirers/direct-debit.js';
import { holdClock } from '../clock/gateway-clock.js';
import { journal } from '../journal/journal.js';
import { checkSeal, fitNow, type ReadRow, sealBroken } from '../journal/seals.js';
import { LOCK_MERCHANT } from '../organisations/sealed-merchant.sql.js';
import { Batcher, type BatcherOptions, type EntryOf } from '../postgres/batches.js';
import { isCheckViolation, type Queryable } from '../postgres/database.js';
import { ACCOUNT_NAME_PATTERN, ACCOUNT_NUMBER_PATTERN, BSB_PATTERN } from '../values/bank-account.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { Refusal, refuse } from '../values/refusal.js';
import { ASKED, DIRECT_ENTRIES, DIRECT_ENTRY, SET_DIRECT_ENTRY } from './direct-entry.sql.js';
import {
  DESCRIPTION_WIDTH,
  type DirectEntrySettings,
  REMITTER_WIDTH,
  USER_NAME_WIDTH,
} from './files/aba-line.js';

export interface DirectEntry extends DirectEntrySettings {
  readonly organisationId: OrganisationId;
  readonly merchant: MerchantId;
  /** Whether the merchant is test or live. */
  readonly mode: Mode;
  /** Business days after the file's own day until an item counts as cleared. */
  readonly clearingDays: number;
  /** Days after the file's own day during which a return is still taken. */
  readonly disputeDays: number;
  /** True where the simulated bank takes the files. */
  readonly simulated: boolean;
}

type Row = { [Key in keyof DirectEntry]: DirectEntry[Key] | null } & {
  readonly organisationId: OrganisationId;
  readonly merchant: MerchantId;
  readonly mode: Mode;
  readonly simulated: boolean;
  readonly name: string;
  /** Of the journal, behind its version. */
  readonly newest: Buffer | null;
};

/** What stands for the bank in the simulated bank's files: no bank is called so. */
export const SIMULATED_BANK = 'SIM';
export const DEFAULT_CLEARING_DAYS = 2;
export const DEFAULT_DISPUTE_DAYS = 365;

/** The merchant's settings; those of the simulated bank where a test merchant has none. */
export async function directEntryOf(database: Queryable, merchantId: number): Promise<DirectEntry> {
  const found = await findDirectEntry(database, merchantId);
  const row = sealedDirectEntry(found);
  const fit = await fitNow(database, row);
  // guard(directions: nothing is lodged with a bank that is not as it was sealed): fit.kind === 'misfit' ⇒ fit.kind !== 'fits' && fit.version < 0
  if (fit.kind === 'misfit') throw sealBroken(row.subject, fit.misfit);
  const { name, newest: _, ...entry } = found;
  if (entry.bank !== null) return entry as DirectEntry;
  const { organisationId, merchant, mode, simulated } = entry;
  if (!simulated) refuse('bank_not_set', { merchant });
  return { ...simulatedSettings(name), organisationId, merchant, mode };
}

type Asked = EntryOf<typeof ASKED>;

/**
 * Which bank takes a merchant's direct debits, read from the database for each of them. A direct debit stays with its bank for
 * good, so a cached merchant, a second old, must not decide this.
 */
export class Banks {
  readonly #reading: Batcher<Asked, string | null>;

  constructor(
    private readonly database: Queryable,
    options: BatcherOptions<Asked>,
  ) {
    this.#reading = new Batcher((asked) => this.#read(asked), options);
  }

  /** The name of the bank's link; null if the merchant has no bank, or one that is not as it was sealed. */
  of(merchant: Asked): Promise<string | null> {
    return this.#reading.submit(merchant);
  }

  async #read(asked: readonly Asked[]): Promise<readonly (string | null)[]> {
    const { rows } = await this.database.query<Row & { readonly place: number }>(
      DIRECT_ENTRIES,
      ASKED.encode(asked),
    );
    const byPlace = new Map<number, string | null>();
    for (const row of rows) byPlace.set(row.place, await this.#linkOf(row));
    return asked.map((_, index) => byPlace.get(index + 1) ?? null);
  }

  async #linkOf(row: Row): Promise<string | null> {
    const fit = await fitNow(this.database, sealedDirectEntry(row));
    // guard(directions: no bank takes debits that is not as it was sealed): fit.kind === 'misfit' ⇒ fit.version < 0
    if (fit.kind === 'misfit') return null;
    if (row.bank !== null && !row.simulated) return OWN_BANK_LINK;
    // A live merchant has no bank until the operator names one.
    return row.mode === 'test' ? SIMULATED_BANK_LINK : null;
  }
}

export async function findDirectEntry(database: Queryable, merchant: number): Promise<Row> {
  const { rows } = await database.query<Row>(DIRECT_ENTRY, [merchant]);
  return rows[0] ?? refuse('merchant_not_found', { merchant });
}

/** For the journal, which seals everything that a merchant lodges by. */
export function sealedDirectEntry(row: Row): ReadRow {
  const { organisationId, merchant, bank, userName, userId, description, newest } = row;
  const { traceBsb, traceAccount, remitter, clearingDays, disputeDays, simulated } = row;
  // guard(directions: a bank is sealed with the account that money goes to): traceBsb, traceAccount, remitter ⇒ remitter
  const account = [traceBsb, traceAccount, remitter];
  const rest = [userName, userId, description, clearingDays, disputeDays, simulated];
  const state = bank === null ? null : [organisationId, bank, ...account, ...rest];
  return { subject: `bank/${merchant}`, state, newest };
}

/** What the simulated bank calls a merchant that has not said how it wants to be called. */
function simulatedSettings(name: string): Omit<DirectEntry, 'organisationId' | 'merchant' | 'mode'> {
  // The rules for names are wider than the banks'.
  const plain = name.replaceAll(/[^A-Za-z0-9 &.,()/-]/g, ' ').trim() || 'MERCHANT';
  return {
    bank: SIMULATED_BANK,
    userName: plain.slice(0, USER_NAME_WIDTH),
    userId: '000001',
    description: 'PAYMENTS',
    traceBsb: '999-001',
    traceAccount: '100000001',
    remitter: plain.slice(0, REMITTER_WIDTH),
    clearingDays: DEFAULT_CLEARING_DAYS,
    disputeDays: DEFAULT_DISPUTE_DAYS,
    simulated: true,
  };
}

export type DirectEntryView = Omit<DirectEntry, 'organisationId'>;

export type DirectEntryWish = DirectEntrySettings & {
  /** Two business days where absent. */
  readonly clearingDays?: number | undefined;
  /** A year where absent. */
  readonly disputeDays?: number | undefined;
  /** The simulated bank takes the files all the same. */
  readonly simulated?: boolean | undefined;
};

/** What each field takes. */
const FIELDS: Readonly<
  Record<keyof DirectEntrySettings, { rule: string; allows: (value: string) => boolean }>
> = {
  bank: { rule: 'takes the three capital letters of the bank, such as CBA', allows: matching('^[A-Z]{3}$') },
  userName: bankText(USER_NAME_WIDTH),
  userId: { rule: 'takes the six digits of the APCA user ID', allows: matching('^[0-9]{6}$') },
  description: bankText(DESCRIPTION_WIDTH),
  traceBsb: { rule: 'takes six digits, with or without the hyphen', allows: matching(BSB_PATTERN) },
  traceAccount: { rule: 'takes 2 to 9 digits', allows: matching(ACCOUNT_NUMBER_PATTERN) },
  remitter: bankText(REMITTER_WIDTH),
};

/** Items that wait already stay with the bank that took them in. */
export async function setDirectEntry(
  database: Queryable,
  operator: string,
  merchant: number,
  wish: DirectEntryWish,
): Promise<DirectEntryView> {
  check(wish);
  const {
    clearingDays = DEFAULT_CLEARING_DAYS,
    disputeDays = DEFAULT_DISPUTE_DAYS,
    simulated = false,
  } = wish;
  return database.transaction(async (connection) => {
    if (!simulated && (await holdClock(connection)) > 0) refuse('bank_needs_real_time');
    await connection.query(LOCK_MERCHANT, [merchant]);
    await checkSeal(connection, sealedDirectEntry(await findDirectEntry(connection, merchant)));
    const values = [
      merchant,
      wish.bank,
      wish.userName,
      wish.userId,
      wish.description,
      wish.traceBsb.replace(/^([0-9]{3})([0-9]{3})$/, '$1-$2'),
      wish.traceAccount.replaceAll(/[ -]/g, ''),
      wish.remitter,
      clearingDays,
      disputeDays,
      simulated,
    ];
    const { rows } = await connection
      .query<{ organisationId: OrganisationId; merchantId: MerchantId }>(SET_DIRECT_ENTRY, values)
      .catch((error: unknown) => {
        const live = isCheckViolation(error, 'live_bank_is_real');
        throw live ? new Refusal('live_merchant_needs_real_bank', { merchant }) : error;
      });
    const { organisationId, merchantId } = rows[0] ?? refuse('merchant_not_found', { merchant });
    const detail = simulated ? `${wish.bank}, simulated` : wish.bank;
    const entry = { actor: operator, action: 'directdebit.set', organisationId, merchantId, detail } as const;
    await journal(connection, entry, sealedDirectEntry(await findDirectEntry(connection, merchant)));
    return showDirectEntry(connection, merchant);
  });
}

/** The merchant's settings; those of the simulated bank where a test merchant has none. */
export async function showDirectEntry(database: Queryable, merchant: number): Promise<DirectEntryView> {
  const { organisationId: _, ...entry } = await directEntryOf(database, merchant);
  return entry;
}

/** Every problem at once. */
function check(wish: DirectEntryWish): void {
  const problems = Object.entries(FIELDS)
    .filter(([field, { allows }]) => !allows(wish[field as keyof DirectEntrySettings]))
    .map(([field, { rule }]) => ({ field, rule }));
  if (problems.length > 0) refuse('direct_entry_not_allowed', { problems });
}

function bankText(most: number): { rule: string; allows: (value: string) => boolean } {
  const allowed = matching(ACCOUNT_NAME_PATTERN);
  return {
    rule: `takes 1 to ${most} characters that banks take`,
    allows: (value) => value.length >= 1 && value.length <= most && allowed(value),
  };
}

function matching(pattern: string): (value: string) => boolean {
  const rule = new RegExp(pattern);
  return (value) => rule.test(value);
}
