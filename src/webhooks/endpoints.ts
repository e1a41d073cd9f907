// The endpoints: which receivers get a merchant's events, and with which secret. Operators add, change and remove them.
import type { ReadRow } from '../journal/seals.js';
import type { Queryable } from '../postgres/database.js';
import type { MerchantId, OrganisationId, WebhookEndpointId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { refuse } from '../values/refusal.js';
import type { DataKeys } from '../vault/keys/keys.js';
import type { SealOwner } from '../vault/keys/sealed-rows.js';
import type { Network } from './addresses.js';
import { readDestination } from './destination.js';
import {
  ADD_ENDPOINT,
  COUNT_ENDPOINTS,
  DISABLE_ENDPOINT,
  ENABLE_ENDPOINT,
  ENDPOINT_BY_ID,
  LIST_ENDPOINTS,
  LOCK_ENDPOINT,
  MERCHANT_OF_WEBHOOK,
  MOVE_BACK,
  NEXT_ENDPOINT_ID,
  READ_ENDPOINTS,
  REMOVE_DELIVERIES_AFTER,
  REMOVE_ENDPOINT,
  RESEND,
  RETRY_DELIVERIES,
  SET_SECRETS,
} from './endpoints.sql.js';
import { openSecrets, type SealedSecrets, sealSecrets } from './secrets.js';
import { makeSigningSecret } from './signature.js';

export type DisabledBecause = 'operator' | 'gone' | 'failing';

export interface Endpoint extends SealedSecrets {
  readonly id: WebhookEndpointId;
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly url: string;
  /** Counts its secrets from 1. */
  readonly secretVersion: number;
  /** Null: every type. */
  readonly types: readonly string[] | null;
  readonly createdAt: Date;
  /** Whether the previous secret still signs, too. */
  readonly overlapping: boolean | null;
  readonly disabledAt: Date | null;
  readonly disabledBecause: DisabledBecause | null;
  /** Failed attempts since the last success, and since when. */
  readonly failures: number;
  readonly failingSince: Date | null;
  readonly deliveredAt: Date | null;
  readonly position: number;
  /** Its newest seal in the journal, behind its version. */
  readonly newest: Buffer | null;
}

type SealedEndpoint = Pick<
  Endpoint,
  'id' | 'organisationId' | 'merchantId' | 'url' | 'types' | 'secretVersion' | 'newest'
>;

/** For the journal, which seals whose events are sent where. */
export function rowOfEndpoint({
  id,
  organisationId,
  merchantId,
  url,
  types,
  secretVersion,
  newest,
}: SealedEndpoint): ReadRow {
  // guard(webhooks: a secret that was rotated does not come back): secretVersion === 1 ? [] : [secretVersion] ⇒ []
  const rotated = secretVersion === 1 ? [] : [secretVersion];
  const state = [organisationId, merchantId, url, types, ...rotated];
  return { subject: subjectOfEndpoint(id), state, newest };
}

export const subjectOfEndpoint = (id: number) => `webhook/${id}`;

export interface ListedEndpoint extends Endpoint {
  /** How many events wait for a retry, or behind one that does. */
  readonly waiting: number;
}

export interface EndpointWish {
  readonly url: string;
  readonly merchant: number;
  readonly types?: readonly string[] | undefined;
}

export interface EndpointWithSecret {
  readonly endpoint: Endpoint;
  readonly secret: string;
}

/** Each event is sent to every one of them. */
export const MOST_ENDPOINTS_OF_MERCHANT = 16;

/** Adds an endpoint that receives events from `position` of the feed on. */
export async function addEndpoint(
  connection: Queryable,
  keys: DataKeys,
  { url, merchant, types }: EndpointWish,
  { networks, position }: { readonly networks: readonly Network[]; readonly position: number },
): Promise<EndpointWithSecret> {
  const destination = readDestination(url, networks);
  if (typeof destination === 'string') refuse('webhook_url_not_allowed', { problem: destination });
  const owner = await ownerOf(connection, merchant);
  const { rows } = await connection.query<{ id: WebhookEndpointId }>(NEXT_ENDPOINT_ID);
  const { id } = rows[0] as { id: WebhookEndpointId };
  const secret = makeSigningSecret();
  const { keyVersion, sealed } = await sealSecrets(keys, { ...owner, id, url, secretVersion: 1 }, [secret]);
  const { organisationId, merchantId } = owner;
  const values = [organisationId, merchantId, id, url, types ?? null, keyVersion, sealed, position];
  await connection.query(ADD_ENDPOINT, values);
  return { endpoint: await findEndpoint(connection, id), secret };
}

/** The merchant, if it may have one more. */
async function ownerOf(connection: Queryable, merchant: number): Promise<SealOwner> {
  const { rows } = await connection.query<SealOwner>(MERCHANT_OF_WEBHOOK, [merchant]);
  const owner = rows[0] ?? refuse('merchant_not_found', { merchant });
  const values = [owner.organisationId, owner.merchantId];
  const { rows: counted } = await connection.query<{ endpoints: number }>(COUNT_ENDPOINTS, values);
  if ((counted[0]?.endpoints ?? 0) >= MOST_ENDPOINTS_OF_MERCHANT) {
    refuse('webhook_too_many', { merchant, most: MOST_ENDPOINTS_OF_MERCHANT });
  }
  return owner;
}

export async function findEndpoint(connection: Queryable, endpoint: number): Promise<Endpoint> {
  const { rows } = await connection.query<Endpoint>(ENDPOINT_BY_ID, [endpoint]);
  return rows[0] ?? refuse('webhook_not_found', { endpoint });
}

/** For a database transaction that changes it. */
export async function lockEndpoint(connection: Queryable, endpoint: number): Promise<Endpoint> {
  const { rows } = await connection.query<Endpoint>(LOCK_ENDPOINT, [endpoint]);
  return rows[0] ?? refuse('webhook_not_found', { endpoint });
}

/** All endpoints, or those of a merchant. */
export async function readEndpoints(
  database: Queryable,
  merchant: number | undefined,
): Promise<readonly Endpoint[]> {
  return (await database.query<Endpoint>(READ_ENDPOINTS, [merchant ?? null])).rows;
}

/** The same with what waits for each; or one. */
export async function listEndpoints(
  database: Queryable,
  {
    merchant,
    endpoint,
  }: { readonly merchant?: number | undefined; readonly endpoint?: number | undefined } = {},
): Promise<ListedEndpoint[]> {
  return (await database.query<ListedEndpoint>(LIST_ENDPOINTS, [merchant ?? null, endpoint ?? null])).rows;
}

/**
 * Creates a new secret, and returns it with the endpoint as it is then. The old one also signs for a while, so that receivers can change
 * over.
 */
export async function rotateSecret(
  connection: Queryable,
  keys: DataKeys,
  endpoint: Endpoint,
  overlapMs: number,
): Promise<EndpointWithSecret> {
  const [old] = await openSecrets(keys, endpoint, endpoint);
  const secret = makeSigningSecret();
  const { organisationId, id } = endpoint;
  const secretVersion = endpoint.secretVersion + 1;
  const { keyVersion, sealed } = await sealSecrets(keys, { ...endpoint, secretVersion }, [
    secret,
    old as string,
  ]);
  await connection.query(SET_SECRETS, [organisationId, id, keyVersion, sealed, overlapMs, secretVersion]);
  return { endpoint: await findEndpoint(connection, id), secret };
}

/** The secrets to sign with now, newest first. */
export async function signingSecrets(
  keys: DataKeys,
  endpoint: Pick<
    Endpoint,
    'organisationId' | 'merchantId' | 'id' | 'url' | 'secretVersion' | 'keyVersion' | 'sealed' | 'overlapping'
  >,
): Promise<string[]> {
  const secrets = await openSecrets(keys, endpoint, endpoint);
  return endpoint.overlapping ? secrets : secrets.slice(0, 1);
}

/** Nothing is lost: once enabled again, the endpoint continues where it stopped. False if it was disabled already. */
export async function disableEndpoint(
  connection: Queryable,
  { organisationId, id }: Pick<Endpoint, 'organisationId' | 'id'>,
  because: DisabledBecause,
): Promise<boolean> {
  return (await connection.query(DISABLE_ENDPOINT, [organisationId, id, because])).count > 0;
}

/** Continues, with waiting deliveries due at once. */
export async function enableEndpoint(
  connection: Queryable,
  { organisationId, id }: Pick<Endpoint, 'organisationId' | 'id'>,
): Promise<void> {
  await connection.query(ENABLE_ENDPOINT, [organisationId, id]);
  await connection.query(RETRY_DELIVERIES, [organisationId, id]);
}

/** With all its waiting deliveries. */
export async function removeEndpoint(
  connection: Queryable,
  { organisationId, id }: Pick<Endpoint, 'organisationId' | 'id'>,
): Promise<void> {
  await connection.query(REMOVE_ENDPOINT, [organisationId, id]);
}

/** Delivers one event again, and nothing else. */
export async function resendEvent(
  connection: Queryable,
  { organisationId, id, position }: Pick<Endpoint, 'organisationId' | 'id' | 'position'>,
  event: { readonly subject: string; readonly version: number; readonly position: number },
): Promise<void> {
  await connection.query(RESEND, [organisationId, id, event.subject, event.version, event.position]);
  // It keeps its position, and is served at once.
  await connection.query(MOVE_BACK, [organisationId, id, position]);
}

/** Everything after this position is delivered again. */
export async function moveBack(
  connection: Queryable,
  { organisationId, id }: Pick<Endpoint, 'organisationId' | 'id'>,
  position: number,
): Promise<void> {
  await connection.query(MOVE_BACK, [organisationId, id, position]);
  await connection.query(REMOVE_DELIVERIES_AFTER, [organisationId, id, position]);
}
