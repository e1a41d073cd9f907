// Turns a generated transaction into its row, with the card or account sealed if it would still be there.
import type { DemoTransaction } from '../payments/demo-transaction.js';
import { outcomeSealOf } from '../payments/outcome-seals.js';
import { attestedWords, paymentDetailsPlace } from '../payments/transaction.js';
import type { Audit, MerchantId } from '../values/ids.js';
import { cents } from '../values/money.js';
import { bankSecrets, cardSecrets } from '../vault/account.js';
import { type DataKeys, seal } from '../vault/keys/keys.js';
import type { Draft } from './draft.js';
import type { MemberTokens } from './members.js';
import type { HistoryOwner } from './organisation.js';

export interface RowParts {
  readonly owner: HistoryOwner;
  readonly keys: DataKeys;
  readonly tokenOf: MemberTokens;
  readonly audits: ReadonlyMap<Draft, Audit>;
}

const CURRENCY = 'AUD';

export async function rowOf(draft: Draft, parts: RowParts): Promise<DemoTransaction> {
  const { owner, tokenOf, audits } = parts;
  const { shop, method, status, target, completedBy, voidedBy, told } = draft;
  const auditOf = (other: Draft | undefined) => (other === undefined ? undefined : audits.get(other));
  const decided = status !== 'unknown';
  const targetAudit = auditOf(target);
  const completion = auditOf(completedBy);
  const undoing = auditOf(voidedBy);
  const known = {
    organisationId: owner.organisationId,
    merchantId: owner.merchants.get(shop.kind) as MerchantId,
    audit: audits.get(draft) as Audit,
    transactionType: draft.type,
    amountCents: cents(draft.amountCents),
    currency: CURRENCY,
    acquirer: method.kind === 'card' ? 'simulator' : 'simulated-bank',
    correlationId: draft.correlationId,
    ...(targetAudit !== undefined && { targetAudit }),
  };
  const outcome = {
    status,
    gatewayStatusCode: draft.gatewayStatusCode,
    ...(decided && said(draft)),
  };
  return {
    ...known,
    createdMs: draft.createdMs,
    reference: draft.reference,
    ...(method.kind === 'card'
      ? { cardMask: method.card.number.mask, cardType: method.card.number.type }
      : { bankAccount: method.account.shown }),
    tokenId: method.member === undefined ? undefined : tokenOf(shop, method.member, method.kind),
    userId: owner.userId,
    ...outcome,
    outcomeSeal: decided ? await outcomeSealOf(parts.keys, known, outcome) : undefined,
    ...(draft.settlementDate !== undefined && { settlementDate: draft.settlementDate }),
    ...(draft.voidableUntilMs !== undefined && { voidableUntilMs: draft.voidableUntilMs }),
    ...(draft.completableUntilMs !== undefined && { completableUntilMs: draft.completableUntilMs }),
    decidedMs: decided ? told.at(-1)?.atMs : undefined,
    refundedCents: draft.refundedCents,
    completedCents: completedBy?.amountCents ?? 0,
    ...(completion !== undefined && { completedBy: completion }),
    ...(undoing !== undefined && { voidedBy: undoing }),
    resolveAttempts: draft.resolveAttempts,
    resolveAtMs: draft.resolveAtMs,
    version: told.length,
    ...(await sealedOf(draft, known, parts)),
    attestation:
      targetAudit === undefined
        ? undefined
        : await parts.keys.attest(attestedWords(asked(known, targetAudit))),
  };
}

type Known = Pick<
  DemoTransaction,
  'organisationId' | 'merchantId' | 'audit' | 'transactionType' | 'amountCents' | 'currency' | 'acquirer'
>;

/** A void has no amount. */
function asked(
  { amountCents, currency, ...known }: Known,
  targetAudit: Audit,
): Parameters<typeof attestedWords>[0] {
  const amount = known.transactionType === 'void' ? {} : { amountCents, currency };
  return { ...known, ...amount, targetAudit };
}

function said({ type, responseCode, responseMessage, authorisationCode }: Draft): Partial<DemoTransaction> {
  return {
    ...(responseCode !== undefined && { responseCode }),
    ...(responseMessage !== undefined && { responseMessage }),
    ...(authorisationCode !== undefined && { authorisationCode }),
    ...(authorisationCode !== undefined &&
      type === 'preauthorisation' && { preauthorisationCode: `PA${authorisationCode}` }),
  };
}

/** Only payments, unless declined, failed or voided. */
async function sealedOf(
  { target, status, method }: Draft,
  known: Known,
  { keys }: RowParts,
): Promise<{ sealed: Buffer | undefined; keyVersion: number | undefined }> {
  const gone = method.kind === 'card' && (status === 'declined' || status === 'error' || status === 'voided');
  if (target !== undefined || gone) return { sealed: undefined, keyVersion: undefined };
  const { organisationId, merchantId } = known;
  const key = await keys.newest(organisationId, merchantId);
  const place = paymentDetailsPlace({ organisationId, merchantId }, { ...known, paymentMethod: method.kind });
  const secrets = method.kind === 'card' ? cardSecrets(method.card) : bankSecrets(method.account);
  return { sealed: seal(key, place, secrets), keyVersion: key.version };
}
