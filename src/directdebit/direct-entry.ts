// How merchants lodge with their banks: the direct-entry settings, which the operator sets (`direct-entry-tasks.ts`).
import type { Queryable } from '../postgres/database.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { refuse } from '../values/refusal.js';
import { DIRECT_ENTRY } from './direct-entry.sql.js';
import { type DirectEntrySettings, REMITTER_WIDTH, USER_NAME_WIDTH } from './files/aba-line.js';

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
};

/** What stands for the bank in the simulated bank's files: no bank is called so. */
export const SIMULATED_BANK = 'SIM';
export const DEFAULT_CLEARING_DAYS = 2;
export const DEFAULT_DISPUTE_DAYS = 365;

/** The merchant's settings; those of the simulated bank where a test merchant has none. */
export async function directEntryOf(database: Queryable, merchantId: number): Promise<DirectEntry> {
  const { rows } = await database.query<Row>(DIRECT_ENTRY, [merchantId]);
  const { name, ...entry } = rows[0] ?? refuse('merchant_not_found', { merchant: merchantId });
  if (entry.bank !== null) return entry as DirectEntry;
  const { organisationId, merchant, mode, simulated } = entry;
  if (!simulated) refuse('bank_not_set', { merchant });
  return { ...simulatedSettings(name), organisationId, merchant, mode };
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
