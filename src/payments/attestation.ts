// What is asked of an earlier transaction, in the words that are attested when it is asked. Whoever acts on it later, by what is stored,
// holds the row against it: which target, how much, in which currency.
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
