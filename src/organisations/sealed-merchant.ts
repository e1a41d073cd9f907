// A merchant as the journal seals it: with its link, what acquirers know it by, and what its plugins add to payments.
import { type JournalEntry, journal } from '../journal/journal.js';
import { checkSeal, type ReadRow } from '../journal/seals.js';
import type { PluginSettings } from '../plugins/contract.js';
import type { Queryable } from '../postgres/database.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { refuse } from '../values/refusal.js';
import { FIND_SEALED_MERCHANT, LOCK_MERCHANT } from './sealed-merchant.sql.js';

export interface SealedMerchant {
  readonly id: MerchantId;
  readonly merchantOrganisationId: OrganisationId;
  readonly name: string;
  readonly mode: Mode;
  readonly vault: boolean;
  readonly preauthorisationDays: number;
  readonly cardDays: number;
  readonly acquirer: string | null;
  readonly acceptorId: string | null;
  readonly terminals: readonly string[] | null;
  readonly categoryCode: string | null;
  readonly suspended: boolean;
  readonly plugins: PluginSettings;
  /** Its newest seal in the journal, behind its version. */
  readonly newestOfMerchant: Buffer | null;
}

export function rowOfMerchant(merchant: SealedMerchant): ReadRow {
  const { id, merchantOrganisationId, name, mode, vault, preauthorisationDays, cardDays } = merchant;
  const { acquirer, acceptorId, terminals, categoryCode, suspended, plugins, newestOfMerchant } = merchant;
  // guard(directions: a merchant is sealed with its link and its terminals): acquirer, acceptorId, terminals, categoryCode ⇒ categoryCode
  const paying = [acquirer, acceptorId, terminals, categoryCode];
  const state = [merchantOrganisationId, name, mode, vault, preauthorisationDays, cardDays, suspended];
  return {
    subject: `merchant/${id}`,
    state: [...state, ...paying, statesOf(plugins)],
    newest: newestOfMerchant,
  };
}

/** In an order of its own: the database keeps none. */
function statesOf(plugins: PluginSettings): unknown[] {
  return Object.entries(plugins)
    .map(([plugin, settings]) => [
      plugin,
      Array.isArray(settings)
        ? settings.map((each) => JSON.stringify(each)).sort()
        : JSON.stringify(settings),
    ])
    .sort(([one], [other]) => ((one as string) < (other as string) ? -1 : 1));
}

/** Locks a merchant that is to be changed. Refuses if it is not as it was sealed. */
export async function lockMerchant(connection: Queryable, merchant: number): Promise<SealedMerchant> {
  await connection.query(LOCK_MERCHANT, [merchant]);
  const found = await findSealedMerchant(connection, merchant);
  if (found === undefined) refuse('merchant_not_found', { merchant });
  await checkSeal(connection, rowOfMerchant(found));
  return found;
}

/** Journals a change, and seals the merchant as it is now. */
export async function journalMerchant(
  connection: Queryable,
  entry: Omit<JournalEntry, 'organisationId' | 'merchantId'>,
  merchant: number,
): Promise<void> {
  const changed = (await findSealedMerchant(connection, merchant)) as SealedMerchant;
  const owner = { organisationId: changed.merchantOrganisationId, merchantId: changed.id };
  await journal(connection, { ...entry, ...owner }, rowOfMerchant(changed));
}

export async function findSealedMerchant(
  connection: Queryable,
  merchant: number,
): Promise<SealedMerchant | undefined> {
  return (await connection.query<SealedMerchant>(FIND_SEALED_MERCHANT, [merchant])).rows[0];
}
