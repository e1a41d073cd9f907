// What a transaction is called towards its acquirer. Unique across installations, and derived: never stored, so never lost.

export type AcquirerReference = (organisationId: number, audit: number) => string;

/** The installation is that of the database in which the process is registered. */
export function acquirerReferences(registry: { readonly installation: string }): AcquirerReference {
  return (organisationId, audit) => `${registry.installation}-${organisationId}-${audit}`;
}
