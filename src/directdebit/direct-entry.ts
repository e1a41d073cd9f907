// How merchants lodge with their banks: the direct-entry settings, set by the operator.
import { AdministrationError } from '../merchants/administration.js';
import { journal } from '../merchants/journal.js';
import type { Queryable } from '../store/database.js';
import { ACCOUNT_NAME_PATTERN, ACCOUNT_NUMBER_PATTERN, BSB_PATTERN } from '../values/bank-account.js';
import { settlementCutOff, settlementDay } from '../values/settlement.js';
import type { DirectEntrySettings } from './aba-line.js';
import { DIRECT_ENTRY, HAND_WAITING_ITEMS_TO_BANK, SET_DIRECT_ENTRY } from './direct-entry.sql.js';

export interface DirectEntry extends DirectEntrySettings {
  readonly organisationId: number;
  readonly merchant: number;
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
  readonly simulated: boolean;
  readonly name: string;
};

export const DEFAULT_CLEARING_DAYS = 2;
export const DEFAULT_DISPUTE_DAYS = 365;

/** The merchant's settings; those of the simulated bank where it has none. */
export async function directEntryOf(database: Queryable, merchantId: number): Promise<DirectEntry> {
  const { rows } = await database.query<Row>(DIRECT_ENTRY, [merchantId]);
  const [row] = rows;
  if (row === undefined) throw new AdministrationError(`there is no merchant ${merchantId}`);
  const { name, ...entry } = row;
  return entry.bank === null ? { ...simulatedSettings(name), ...identityOf(entry) } : (entry as DirectEntry);
}

function identityOf({ organisationId, merchant }: Row | Omit<Row, 'name'>) {
  return { organisationId, merchant };
}

/** What the simulated bank calls a merchant that has not said how it wants to be called. */
function simulatedSettings(name: string): DirectEntryWish {
  // The rules for names are wider than the banks'.
  const plain = name.replaceAll(/[^A-Za-z0-9 &.,()/-]/g, ' ').trim() || 'MERCHANT';
  return {
    bank: 'SIM',
    userName: plain.slice(0, 26),
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

export async function setDirectEntry(
  database: Queryable,
  merchantId: number,
  wish: DirectEntryWish,
  nowMs: number,
  actor: string,
): Promise<DirectEntry> {
  check(wish);
  const traceBsb = wish.traceBsb.replace(/^([0-9]{3})([0-9]{3})$/, '$1-$2');
  return database.transaction(async (connection) => {
    const { organisationId } = await directEntryOf(connection, merchantId);
    await connection.query(SET_DIRECT_ENTRY, [
      organisationId,
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
    await connection.query(HAND_WAITING_ITEMS_TO_BANK, [
      organisationId,
      merchantId,
      wish.simulated,
      settlementCutOff(settlementDay(nowMs)),
    ]);
    const detail = wish.simulated ? `${wish.bank}, simulated` : wish.bank;
    await journal(connection, { actor, action: 'directdebit.set', organisationId, merchantId, detail });
    return directEntryOf(connection, merchantId);
  });
}

/** Every problem at once. */
function check(wish: DirectEntryWish): void {
  const text = (most: number) => (value: string) =>
    value.length >= 1 && value.length <= most && matches(ACCOUNT_NAME_PATTERN)(value);
  const rules: readonly [wrong: boolean, rule: string][] = [
    [!matches('^[A-Z]{3}$')(wish.bank), '--bank takes the three capital letters of the bank, such as CBA'],
    [!text(26)(wish.userName), '--user-name takes 1 to 26 characters that banks take'],
    [!matches('^[0-9]{6}$')(wish.userId), '--user-id takes the six digits of the APCA user ID'],
    [!text(12)(wish.description), '--description takes 1 to 12 characters that banks take'],
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
