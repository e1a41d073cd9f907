// What is asked of an earlier transaction, in the words that are attested when it is asked. Whoever acts on it later, by what is stored,
// holds the row against it: which target, how much, in which currency.
import type { Database } from '../postgres/database.js';
import type { DataKeys } from '../vault/keys.js';
import type { SealOwner } from '../vault/sealed-rows.js';
import { ATTEST, ATTESTATIONS, UNATTESTED_REFUNDS } from './attestation.sql.js';
import type { TargetedClaim } from './transaction.js';

export type Attested = Pick<
  TargetedClaim,
  'organisationId' | 'merchantId' | 'audit' | 'targetAudit' | 'amountCents' | 'currency'
> & { readonly transactionType: string };

export function attestedWords(asked: Attested): string {
  const { organisationId, merchantId, audit, transactionType, targetAudit, amountCents, currency } = asked;
  const what = `${transactionType}/${targetAudit}/${amountCents ?? ''}/${currency ?? ''}`;
  return `transaction/${organisationId}/${merchantId}/${audit}/${what}`;
}

/** Refunds of direct debits that an earlier release has stored are attested as they are: nothing says more about them. */
export async function attestEarlierRefunds(
  database: Database,
  { organisationId, merchantId }: SealOwner,
  keys: DataKeys,
): Promise<void> {
  for (let after = 0; ; ) {
    const values = [organisationId, merchantId, after];
    const { rows } = await database.query<Attested>(UNATTESTED_REFUNDS, values);
    const last = rows.at(-1);
    if (last === undefined) return;
    const attested = await Promise.all(
      rows.map(async (row) => ({ audit: row.audit, attestation: await keys.attest(attestedWords(row)) })),
    );
    await database.query(ATTEST, [organisationId, ...ATTESTATIONS.encode(attested)]);
    after = last.audit;
  }
}
