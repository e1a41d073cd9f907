// The fields of a journal entry, and every action.
import type { Audit, CustomerId, MerchantId, OrganisationId, TokenId } from '../values/ids.js';

export type JournalAction =
  | 'organisation.added'
  | 'organisation.host_set'
  | 'merchant.added'
  | 'merchant.changed'
  | 'merchant.suspended'
  | 'merchant.resumed'
  | 'user.added'
  | 'user.granted'
  | 'user.ungranted'
  | 'user.limited'
  | 'user.rotated'
  | 'user.certificates_bound'
  | 'user.revoked'
  | 'user.log_ins_failed'
  | 'surcharge.set'
  | 'surcharge.off'
  | 'directdebit.set'
  | 'directdebit.exported'
  | 'directdebit.returns_imported'
  | 'directdebit.returned_late'
  | 'transaction.void'
  | 'transaction.refund'
  | 'transaction.completion'
  | 'transaction.ask_now'
  | 'transaction.resolved'
  | 'transaction.reversal_begun'
  | 'transaction.approved_after_reversal'
  | 'transaction.reversed_again'
  | 'transaction.rerouted'
  | 'transaction.exported'
  | 'transactions.sealed'
  | 'settlement.exported'
  | 'settlement.reconciled'
  | 'settlement.difference_looked_at'
  | 'settlement.differences_looked_at'
  | 'clock.advanced'
  | 'clock.reset'
  | 'demo.filled'
  | 'figures.rebuilt'
  | 'customer.created'
  | 'customer.updated'
  | 'customer.deleted'
  | 'token.created'
  | 'token.updated'
  | 'token.deleted'
  | 'token.opened'
  | 'vault.export_begun'
  | 'vault.exported'
  | 'vault.imported'
  | 'webhook.added'
  | 'webhook.rotated'
  | 'webhook.disabled'
  | 'webhook.enabled'
  | 'webhook.removed'
  | 'webhook.tested'
  | 'webhook.replayed'
  | 'webhook.resent'
  | 'acquirer.added'
  | 'acquirer.changed'
  | 'acquirer.removed'
  | 'acquirer.tested'
  | 'route.set'
  | 'route.off'
  | 'keys.made'
  | 'keys.rotation_begun'
  | 'keys.rotated'
  | 'keys.rewrapped'
  | 'keys.destroyed'
  | 'operator.added'
  | 'operator.link_made'
  | 'operator.recovered'
  | 'operator.changed'
  | 'operator.removed'
  | 'operator.enabled'
  | 'operator.reviewed'
  | 'operator.refused'
  | 'operator.link_used'
  | 'operator.enrolled'
  | 'operator.signed_in'
  | 'operator.sign_in_failed'
  | 'operator.proved'
  | 'operator.token_made'
  | 'operator.signed_out'
  | 'approval.requested'
  | 'approval.approved'
  | 'approval.refused'
  | 'approval.used'
  | 'approval.returned'
  | 'approval.rules_set'
  | 'cell.named'
  | 'journal.exported'
  | 'journal.checkpoint_made'
  | 'seal.broken'
  | 'seal.renewed'
  | 'seals.made'
  | 'cards.review_begun'
  | 'archive.written'
  | 'archive.removed'
  | 'gateway.backed_up'
  | 'gateway.restored'
  | 'gateway.restore_reconciled';

export interface JournalEntry {
  /** `user:NAME`, `operator:NAME`, `bank:simulated`, `gateway:resolver`, `gateway:routes`, `gateway:log-ins`, `gateway:webhooks` or `gateway:seals`. */
  readonly actor: string;
  readonly action: JournalAction;
  readonly organisationId?: OrganisationId | undefined;
  readonly merchantId?: MerchantId | undefined;
  readonly customerId?: CustomerId | undefined;
  readonly tokenId?: TokenId | undefined;
  readonly audit?: Audit | undefined;
  readonly correlationId?: string | undefined;
  readonly detail?: string | undefined;
  /** The client's address. */
  readonly address?: string | undefined;
}

export interface SignedJournalEntry extends JournalEntry {
  readonly mac: Buffer | undefined;
}
