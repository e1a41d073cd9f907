// Seals the transactions of an earlier release, once, while no gateway serves: their outcomes, their payment details
// for their links, and what was attested of operations. A signed entry of the journal says that it was done. From then on a seal that is
// missing is a broken one.
import type { Prepared } from '../acquirers/contract.js';
import { type SignedEntry, signerOf } from '../journal/entry-signer.js';
import { journal } from '../journal/journal.js';
import type { Database } from '../postgres/database.js';
import type { Audit, OrganisationId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { type DataKeys, type Place, SealBroken, seal } from '../vault/keys/keys.js';
import { isAsAsked, outcomePlace, outcomeSealOf } from './outcome-seals.js';
import {
  LOCK_SEALING,
  ORGANISATIONS_TO_SEAL,
  PAGE_TO_SEAL,
  RESEAL,
  RESEALED,
  SEALINGS,
  SERVING_UNSEALED,
} from './sealing.sql.js';
import {
  attestedWords,
  type PaymentSeal,
  paymentDetailsPlace,
  type Resealed,
  type StoredOutcome,
} from './transaction.js';

interface Row {
  readonly stored: StoredOutcome;
  readonly prepared: Prepared;
  readonly attestation: Buffer | null;
  readonly keyVersion: number | null;
  readonly sealed: Buffer | null;
  readonly paymentMethod: PaymentSeal['paymentMethod'];
}

const PAGE = 500;

/** Undefined if it was done before; otherwise how many transactions were sealed. Can be killed, and goes on where it stopped. */
export async function sealTransactions(
  database: Database,
  keys: DataKeys,
  actor: string,
): Promise<number | undefined> {
  if (await areTransactionsSealed(database)) return undefined;
  return database.transaction(async (lock) => {
    await lock.query(LOCK_SEALING);
    if (await areTransactionsSealed(database)) return undefined;
    await needStoppedGateways(database);
    const { rows } = await database.query<{ id: OrganisationId }>(ORGANISATIONS_TO_SEAL);
    let count = 0;
    for (const { id } of rows) count += await sealOrganisation(database, keys, id);
    await journal(database, { actor, action: 'transactions.sealed', detail: `${count} transactions` });
    return count;
  });
}

/** A gateway of an earlier release would store further transactions without seals, which are broken ones afterwards. */
async function needStoppedGateways(database: Database): Promise<void> {
  const [found] = (await database.query<{ processes: number; unsealed: boolean }>(SERVING_UNSEALED)).rows;
  const processes = found?.processes ?? 0;
  // guard(sealing: not while gateways of an earlier release serve): found?.unsealed === true && processes > 0 ⇒ processes < 0
  if (found?.unsealed === true && processes > 0) refuse('gateways_serve_before_sealing', { processes });
}

/** By the journal. */
// guard(sealing: done once, and an entry that nobody has signed does not say so): signer?.isSigned(entry, mark) ⇒ true
export async function areTransactionsSealed(database: Database): Promise<boolean> {
  type Entry = SignedEntry & { readonly mark: Buffer | null };
  const { rows } = await database.query<Entry>(SEALINGS);
  const signer = await signerOf(database);
  return rows.some(({ mark, ...entry }) => signer?.isSigned(entry, mark));
}

async function sealOrganisation(
  database: Database,
  keys: DataKeys,
  organisationId: OrganisationId,
): Promise<number> {
  for (let count = 0; ; ) {
    let missed = 0;
    for (let after = 0; ; ) {
      const { rows } = await database.query<Row>(PAGE_TO_SEAL, [organisationId, after, PAGE]);
      const last = rows.at(-1);
      if (last === undefined) break;
      const resealed: Resealed[] = [];
      for (const row of rows) {
        const renewed = await renew(keys, row);
        if (renewed !== undefined) resealed.push(renewed);
      }
      if (resealed.length > 0) {
        const values = [organisationId, ...RESEALED.encode(resealed)];
        const stored = (await database.query(RESEAL, values)).count;
        count += stored;
        missed += resealed.length - stored;
      }
      after = last.stored.audit;
    }
    if (missed === 0) return count;
  }
}

async function renew(keys: DataKeys, row: Row): Promise<Resealed | undefined> {
  const { stored, keyVersion } = row;
  const isUnsealed = stored.status !== 'unknown' && stored.outcomeSeal === null;
  const outcomeSeal = isUnsealed ? await outcomeSealOf(keys, stored, stored) : undefined;
  try {
    const [details, attested] = [await renewedDetails(keys, row), await renewedAttestation(keys, row)];
    if (outcomeSeal === undefined && details === undefined && attested === undefined) return undefined;
    return { stored, keyVersion, outcomeSeal, details, attested };
  } catch (error) {
    // Somebody has changed it before it was sealed. It stays without a seal, as evidence.
    if (error instanceof SealBroken) return undefined;
    throw error;
  }
}

/** The earlier seal was bound to all but the link, and what that has prepared. */
async function renewedDetails(keys: DataKeys, row: Row): Promise<Buffer | undefined> {
  const { stored, prepared, keyVersion, sealed, paymentMethod } = row;
  if (sealed === null || keyVersion === null) return undefined;
  const place = paymentDetailsPlace(stored, { ...stored, paymentMethod, prepared });
  if (await keys.opens(place, keyVersion, sealed)) return undefined;
  const { transactionType, amountCents, currency } = stored;
  const earlier: Place = { ...place, says: `${transactionType}/${amountCents}/${currency}/${paymentMethod}` };
  const secrets = await keys.open(earlier, keyVersion, sealed);
  return seal(await keys.version(stored.organisationId, stored.merchantId, keyVersion), place, secrets);
}

/** The earlier attestation was of all but what the link has prepared. */
async function renewedAttestation(keys: DataKeys, row: Row): Promise<Buffer | undefined> {
  const { stored, prepared, attestation } = row;
  const targetAudit = stored.targetAudit as Audit | null;
  if (targetAudit === null || attestation === null || prepared === null) return undefined;
  if (await isAsAsked(keys, { ...stored, targetAudit, prepared, attestation })) return undefined;
  if (!(await isAsAsked(keys, { ...stored, targetAudit, prepared: undefined, attestation })))
    throw keys.broken(outcomePlace(stored));
  const { transactionType, amountCents, currency } = stored;
  const amount = transactionType === 'void' ? {} : { amountCents, currency };
  const { organisationId, merchantId, audit } = stored;
  return keys.attest(
    attestedWords({ organisationId, merchantId, audit, transactionType, targetAudit, prepared, ...amount }),
  );
}
