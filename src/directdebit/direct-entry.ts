// How merchants lodge with their banks: the direct-entry settings, set by the operator.

import { journal } from '../journal/journal.js';
import { isCheckViolation, type Queryable } from '../postgres/database.js';
import { holdClock } from '../transactions/clock-administration.js';
import { AdministrationError } from '../values/administration-error.js';
import { ACCOUNT_NAME_PATTERN, ACCOUNT_NUMBER_PATTERN, BSB_PATTERN } from '../values/bank-account.js';
import type { Mode } from '../values/mode.js';
import { DESCRIPTION_WIDTH, type DirectEntrySettings, USER_NAME_WIDTH } from './aba-line.js';
import { DIRECT_ENTRY, SET_DIRECT_ENTRY } from './direct-entry.sql.js';

export interface DirectEntry extends DirectEntrySettings {
  readonly organisationId: number;
  readonly merchant: number;
  /** Whether the merchant is test or live. */
  readonly mode: Mode;
  /** Business days after the file's own day until an item counts as cleared. */
  readonly clearingDays: number;
  /** Days after the file's own day during which a return is still taken. */
  readonly disputeDays: number;
  /** True where the simulated bank takes the files. */
  readonly simulated: boolean;
}

export type DirectEntryWish = DirectEntrySettings &
  Pick<DirectEntry, 'clearingDays' | 'disputeDays' | 'simulated'>;

type Row = { [Key in keyof DirectEntry]: DirectEntry[Key] | null } & {
  readonly organisationId: number;
  readonly merchant: number;
  readonly mode: Mode;
  readonly simulated: boolean;
  readonly name: string;
};

/** What stands for the bank in the simulated bank's files: no bank is called so. */
export const SIMULATED_BANK = 'SIM';
export const DEFAULT_CLEARING_DAYS = 2;
export const DEFAULT_DISPUTE_DAYS = 365;

/** The merchant's settings; those of the simulated bank where a test merchant has none. */
export async function directEntryOf(database: Queryable, merchantId: number): Promise<DirectEntry> {
  const { rows } = await database.query<Row>(DIRECT_ENTRY, [merchantId]);
  const [row] = rows;
  if (row === undefined) throw new AdministrationError(`there is no merchant ${merchantId}`);
  const { name, ...entry } = row;
  if (entry.bank !== null) return entry as DirectEntry;
  const { organisationId, merchant, mode, simulated } = entry;
  if (!simulated) {
    throw new AdministrationError(
      `merchant ${merchant} is live and has no bank yet; \`tollgate directdebit set\` says how it lodges`,
    );
  }
  return { ...simulatedSettings(name), organisationId, merchant, mode };
}

/** What the simulated bank calls a merchant that has not said how it wants to be called. */
function simulatedSettings(name: string): DirectEntryWish {
  // The rules for names are wider than the banks'.
  const plain = name.replaceAll(/[^A-Za-z0-9 &.,()/-]/g, ' ').trim() || 'MERCHANT';
  return {
    bank: SIMULATED_BANK,
    userName: plain.slice(0, USER_NAME_WIDTH),
    userId: '000001',
    description: 'PAYMENTS',
    traceBsb: '999-001',
    traceAccount: '100000001',
    remitter: plain.slice(0, 16),
    clearingDays: DEFAULT_CLEARING_DAYS,
    disputeDays: DEFAULT_DISPUTE_DAYS,
    simulated: true,
  };
}

/** Items that wait already stay with the bank that took them in. */
export async function setDirectEntry(
  database: Queryable,
  merchantId: number,
  wish: DirectEntryWish,
  actor: string,
): Promise<DirectEntry> {
  check(wish);
  const traceBsb = wish.traceBsb.replace(/^([0-9]{3})([0-9]{3})$/, '$1-$2');
  return database.transaction(async (connection) => {
    if (!wish.simulated && (await holdClock(connection)) > 0) {
      throw new AdministrationError(
        'a real bank’s files need real time, and the clock is ahead of it; `tollgate clock reset` brings it back',
      );
    }
    const set = connection.query<{ organisationId: number }>(SET_DIRECT_ENTRY, [
      merchantId,
      wish.bank,
      wish.userName,
      wish.userId,
      wish.description,
      traceBsb,
      wish.traceAccount.replaceAll(/[ -]/g, ''),
      wish.remitter,
      wish.clearingDays,
      wish.disputeDays,
      wish.simulated,
    ]);
    const { rows } = await set.catch((error: unknown) => {
      throw isCheckViolation(error, 'live_bank_is_real') ? liveNeedsBank(merchantId) : error;
    });
    if (rows[0] === undefined) throw new AdministrationError(`there is no merchant ${merchantId}`);
    const { organisationId } = rows[0];
    const detail = wish.simulated ? `${wish.bank}, simulated` : wish.bank;
    await journal(connection, { actor, action: 'directdebit.set', organisationId, merchantId, detail });
    return directEntryOf(connection, merchantId);
  });
}

function liveNeedsBank(merchantId: number): AdministrationError {
  return new AdministrationError(
    `merchant ${merchantId} is live, and cannot bank with the simulated bank; leave out --simulated`,
  );
}

/** Every problem at once. */
function check(wish: DirectEntryWish): void {
  const text = (most: number) => (value: string) =>
    value.length >= 1 && value.length <= most && matches(ACCOUNT_NAME_PATTERN)(value);
  const rules: readonly [wrong: boolean, rule: string][] = [
    [!matches('^[A-Z]{3}$')(wish.bank), '--bank takes the three capital letters of the bank, such as CBA'],
    [!text(USER_NAME_WIDTH)(wish.userName), '--user-name takes 1 to 26 characters that banks take'],
    [!matches('^[0-9]{6}$')(wish.userId), '--user-id takes the six digits of the APCA user ID'],
    [!text(DESCRIPTION_WIDTH)(wish.description), '--description takes 1 to 12 characters that banks take'],
    [!matches(BSB_PATTERN)(wish.traceBsb), '--trace-bsb takes six digits, with or without the hyphen'],
    [!matches(ACCOUNT_NUMBER_PATTERN)(wish.traceAccount), '--trace-account takes 2 to 9 digits'],
    [!text(16)(wish.remitter), '--remitter takes 1 to 16 characters that banks take'],
  ];
  const broken = rules.filter(([wrong]) => wrong).map(([, rule]) => rule);
  if (broken.length > 0) throw new AdministrationError(broken.join('; '));
}

function matches(pattern: string): (value: string) => boolean {
  const rule = new RegExp(pattern);
  return (value) => rule.test(value);
}
