// What a user may do, from where, until when and with which certificates: checked, and in words.
import { Networks } from '../../values/network.js';
import { refuse } from '../../values/refusal.js';
import { shownFingerprint } from './client-certificate.js';
import type { SealedUser } from './credentials.js';
import { inOrder, type Permission } from './permissions.js';

/** What is absent stays as it is. */
export interface UserLimits {
  readonly allow?: readonly Permission[] | undefined;
  readonly fromAddresses?: readonly string[] | undefined;
  /** Null: never. */
  readonly expiresMs?: number | null | undefined;
  /** Fingerprints of the certificates of which it must show one. */
  readonly clientCertificates?: readonly Buffer[] | undefined;
}

/** Two are enough to replace one; a few more do for several servers. */
const MOST_CERTIFICATES = 5;
const MOST_NETWORKS = 50;

export type CheckedLimits = Partial<
  Pick<SealedUser, 'permissions' | 'fromAddresses' | 'expiresMs' | 'clientCertificates'>
>;

export function checkedLimits({
  allow,
  fromAddresses,
  expiresMs,
  clientCertificates,
}: UserLimits): CheckedLimits {
  if (allow?.length === 0) refuse('permissions_empty');
  if (expiresMs !== undefined && expiresMs !== null && expiresMs <= Date.now()) refuse('expiry_in_the_past');
  return {
    ...(allow !== undefined && { permissions: inOrder(allow) }),
    ...(fromAddresses !== undefined && { fromAddresses: checkedNetworks(fromAddresses) }),
    ...(expiresMs !== undefined && { expiresMs }),
    ...(clientCertificates !== undefined && { clientCertificates: boundCertificates(clientCertificates) }),
  };
}

/** Each once. */
function checkedNetworks(networks: readonly string[]): string[] {
  const once = [...new Set(networks)];
  for (const network of once)
    if (Networks.read(network) === undefined) refuse('network_unreadable', { network });
  if (once.length > MOST_NETWORKS) refuse('too_many_networks', { most: MOST_NETWORKS });
  return once;
}

/** Each once. */
function boundCertificates(certificates: readonly Buffer[]): Buffer[] {
  const once = new Map(certificates.map((fingerprint) => [fingerprint.toString('hex'), fingerprint]));
  if (once.size > MOST_CERTIFICATES) refuse('too_many_client_certificates', { most: MOST_CERTIFICATES });
  return [...once.values()];
}

export function limitsInWords({
  permissions,
  fromAddresses,
  expiresMs,
  clientCertificates,
}: CheckedLimits): string {
  const bound = clientCertificates?.map(shownFingerprint);
  return [
    ...(permissions === undefined ? [] : [`may ${permissions.join(', ')}`]),
    ...(fromAddresses === undefined ? [] : [`from ${fromAddresses.join(', ') || 'everywhere'}`]),
    ...(expiresMs === undefined
      ? []
      : [expiresMs === null ? 'never expires' : `expires ${new Date(expiresMs).toISOString()}`]),
    ...(bound === undefined ? [] : [`certificates ${bound.join(', ') || 'none'}`]),
  ].join('; ');
}
