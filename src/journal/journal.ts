// The journal: who did what, when, and under which correlation ID. Only ever appended to, and without secrets.
import type { Queryable } from '../postgres/database.js';
import type { Audit, CustomerId, MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import { APPEND_TO_JOURNAL } from './journal.sql.js';

export type JournalAction =
  | 'organisation.added'
  | 'merchant.added'
  | 'merchant.changed'
  | 'user.added'
  | 'user.granted'
  | 'user.rotated'
  | 'user.revoked'
  | 'surcharge.set'
  | 'surcharge.off'
  | 'directdebit.set'
  | 'directdebit.exported'
  | 'directdebit.returns_imported'
  | 'directdebit.returned_late'
  | 'transaction.resolved'
  | 'transaction.reversal_begun'
  | 'transaction.rerouted'
  | 'clock.advanced'
  | 'clock.reset'
  | 'customer.created'
  | 'customer.updated'
  | 'customer.deleted'
  | 'token.created'
  | 'token.updated'
  | 'token.deleted'
  | 'token.opened'
  | 'webhook.added'
  | 'webhook.rotated'
  | 'webhook.disabled'
  | 'webhook.enabled'
  | 'webhook.removed'
  | 'webhook.tested'
  | 'webhook.replayed'
  | 'acquirer.added'
  | 'acquirer.changed'
  | 'acquirer.removed'
  | 'acquirer.tested'
  | 'route.set'
  | 'route.off'
  | 'keys.rotation_begun'
  | 'keys.rotated'
  | 'keys.rewrapped'
  | 'keys.destroyed'
  | 'cards.review_begun';

export interface JournalEntry {
  /** `user:NAME`, `operator:NAME`, `bank:simulated`, `gateway:resolver`, `gateway:routes` or `gateway:webhooks`. */
  readonly actor: string;
  readonly action: JournalAction;
  readonly organisationId?: OrganisationId | undefined;
  readonly merchantId?: MerchantId | undefined;
  readonly customerId?: CustomerId | undefined;
  readonly tokenId?: TokenId | undefined;
  readonly audit?: Audit | undefined;
  readonly correlationId?: string | undefined;
  readonly detail?: string | undefined;
}

/** In the same transaction as what it tells of. */
export async function journal(connection: Queryable, entry: JournalEntry): Promise<void> {
  await connection.query(APPEND_TO_JOURNAL, [
    entry.organisationId ?? null,
    entry.merchantId ?? null,
    entry.actor,
    entry.action,
    entry.customerId ?? null,
    entry.tokenId ?? null,
    entry.audit ?? null,
    entry.correlationId ?? null,
    entry.detail ?? null,
  ]);
}
