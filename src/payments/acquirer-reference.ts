// What a transaction is called towards its acquirer. Unique across installations, and derived: never stored, so never lost.
import type { Audit, OrganisationId } from '../values/ids.js';

export type AcquirerReference = (organisationId: OrganisationId, audit: Audit) => string;

/** The audit of the transaction that is called so. */
export function auditOf(reference: string): Audit {
  return Number(reference.slice(reference.lastIndexOf('-') + 1)) as Audit;
}

/** The installation is that of the database in which the process is registered. */
export function acquirerReferences(registry: { readonly installation: string }): AcquirerReference {
  return (organisationId, audit) => `${registry.installation}-${organisationId}-${audit}`;
}
