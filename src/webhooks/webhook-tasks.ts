// Webhooks as the operator sets them up and looks at them: endpoints, their secrets, what was sent, and sending it again.
import { EVENT_TYPES, parseEventId } from '../events/events.js';
import { EventFeed } from '../events/feed.js';
import { type JournalAction, journal } from '../journal/journal.js';
import { checkMerchant } from '../organisations/merchants.js';
import type { Database, Queryable } from '../postgres/database.js';
import type { MerchantId, WebhookEndpointId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { refuse } from '../values/refusal.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import { DataKeys } from '../vault/keys/keys.js';
import type { Network } from './addresses.js';
import { type AttemptView, logAttempt, readAttempts } from './attempts.js';
import { outcomeOf } from './delivery/outcome.js';
import { Sender } from './delivery/sender.js';
import {
  addEndpoint,
  disableEndpoint,
  type Endpoint,
  type EndpointWish,
  type EndpointWithSecret,
  enableEndpoint,
  findEndpoint,
  type ListedEndpoint,
  listEndpoints,
  lockEndpoint,
  moveBack,
  removeEndpoint,
  resendEvent,
  rotateSecret,
} from './endpoints.js';
import { sendTestMessage, TEST_TYPE } from './test-message.js';

export interface WebhookSecret {
  readonly id: WebhookEndpointId;
  readonly url: string;
  /** Shown once: it is stored sealed. */
  readonly secret: string;
}

export interface WebhookView {
  readonly id: WebhookEndpointId;
  readonly merchant: MerchantId;
  readonly mode: Mode;
  readonly url: string;
  readonly types: readonly string[] | null;
  readonly state: 'enabled' | 'failing' | 'disabled';
  /** Why it is disabled. */
  readonly because: string | null;
  /** Since when it is disabled or failing. */
  readonly since: Date | null;
  readonly waiting: number;
  readonly deliveredAt: Date | null;
}

export interface WebhookTest {
  readonly id: WebhookEndpointId;
  readonly event: string;
  readonly result: string;
  readonly httpStatus: number | null;
  readonly durationMs: number;
  readonly response: string | null;
}

/** What commands that seal, or send, need beside the database. */
export interface WebhookMeans {
  readonly provider: KeyProvider;
  readonly networks: readonly Network[];
  /** For an attempt. */
  readonly timeoutMs: number;
}

/** How long the old secret goes on signing beside a new one, unless told otherwise. */
export const OVERLAP_MS = 24 * 3_600_000;

/** Told of what happens from now on. */
export function addWebhook(
  database: Database,
  operator: string,
  { provider, networks }: WebhookMeans,
  wish: EndpointWish,
): Promise<WebhookSecret> {
  checkTypes(wish.types);
  return database.transaction(async (connection) => {
    // All on one session: whoever holds one and waits for another may wait for somebody who does the same.
    const keys = new DataKeys(connection, provider);
    const position = await new EventFeed(connection).newestPosition();
    const added = await addEndpoint(connection, keys, wish, { networks, position });
    await journalEndpoint(connection, operator, 'webhook.added', added.endpoint);
    return shownOnce(added);
  });
}

/** Of every merchant, or of one. */
export async function listWebhooks(database: Queryable, merchant?: number): Promise<WebhookView[]> {
  await checkMerchant(database, merchant);
  return (await listEndpoints(database, { merchant })).map(viewOf);
}

/** Both secrets sign for as long as `overlapMs`. */
export function rotateWebhook(
  database: Database,
  operator: string,
  { provider }: WebhookMeans,
  id: number,
  overlapMs: number = OVERLAP_MS,
): Promise<WebhookSecret> {
  return database.transaction(async (connection) => {
    const keys = new DataKeys(connection, provider);
    const endpoint = await lockEndpoint(connection, id);
    const secret = await rotateSecret(connection, keys, endpoint, overlapMs);
    await journalEndpoint(connection, operator, 'webhook.rotated', endpoint);
    return shownOnce({ endpoint, secret });
  });
}

/** Idempotent. Nothing is lost: it goes on where it was once it is enabled. */
export function disableWebhook(database: Queryable, operator: string, id: number): Promise<WebhookView> {
  return change(database, operator, 'webhook.disabled', id, (connection, endpoint) =>
    disableEndpoint(connection, endpoint, 'operator'),
  );
}

/** Also for one that is failing: what waits is tried at once. */
export function enableWebhook(database: Queryable, operator: string, id: number): Promise<WebhookView> {
  return change(database, operator, 'webhook.enabled', id, enableEndpoint);
}

export function removeWebhook(database: Queryable, operator: string, id: number): Promise<WebhookView> {
  return database.transaction(async (connection) => {
    const endpoint = await lockEndpoint(connection, id);
    const removed = await viewById(connection, id);
    await removeEndpoint(connection, endpoint);
    await journalEndpoint(connection, operator, 'webhook.removed', endpoint);
    return removed;
  });
}

/** Sends a message that tells of nothing, enabled or not, and says what came back. */
export async function testWebhook(
  database: Database,
  operator: string,
  { provider, networks, timeoutMs }: WebhookMeans,
  id: number,
): Promise<WebhookTest> {
  const endpoint = await findEndpoint(database, id);
  const sender = new Sender({ networks, timeoutMs });
  const atMs = Date.now();
  const sent = await sendTestMessage(sender, new DataKeys(database, provider), endpoint, atMs).finally(() =>
    sender.close(),
  );
  const outcome = outcomeOf(sent.attempt);
  await database.transaction(async (connection) => {
    const logged = { atMs, eventId: sent.id, type: TEST_TYPE, version: 1, attempt: 1, ...outcome };
    await logAttempt(connection, endpoint, logged);
    await journalEndpoint(connection, operator, 'webhook.tested', endpoint, outcome.result);
  });
  const { result, httpStatus = null, durationMs, response = null } = outcome;
  return { id: endpoint.id, event: sent.id, result, httpStatus, durationMs, response };
}

/** An event and everything after it, once more. */
export function replayWebhook(
  database: Database,
  operator: string,
  id: number,
  event: string,
): Promise<WebhookView> {
  return database.transaction(async (connection) => {
    const endpoint = await lockEndpoint(connection, id);
    const { organisationId, merchantId } = endpoint;
    const position = await new EventFeed(connection).positionOf(organisationId, merchantId, event);
    if (position === undefined) refuse('webhook_event_not_found', { event });
    await moveBack(connection, endpoint, position - 1);
    await journalEndpoint(connection, operator, 'webhook.replayed', endpoint, `from ${event}`);
    return viewById(connection, id);
  });
}

/** One event alone, once more. */
export function resendWebhook(
  database: Database,
  operator: string,
  id: number,
  event: string,
): Promise<WebhookView> {
  return database.transaction(async (connection) => {
    const endpoint = await lockEndpoint(connection, id);
    const { organisationId, merchantId } = endpoint;
    const position = await new EventFeed(connection).positionOf(organisationId, merchantId, event);
    const known = parseEventId(event);
    if (position === undefined || known === undefined) refuse('webhook_event_not_found', { event });
    const { kind, subject, version } = known;
    await resendEvent(connection, endpoint, { subject: `${kind}/${subject}`, version, position });
    await journalEndpoint(connection, operator, 'webhook.resent', endpoint, event);
    return viewById(connection, id);
  });
}

/** The attempts for an endpoint, the newest first. */
export async function listDeliveries(database: Queryable, id: number, limit: number): Promise<AttemptView[]> {
  return readAttempts(database, await findEndpoint(database, id), limit);
}

function change(
  database: Queryable,
  operator: string,
  action: JournalAction,
  id: number,
  work: (connection: Queryable, endpoint: Endpoint) => Promise<unknown>,
): Promise<WebhookView> {
  return database.transaction(async (connection) => {
    const endpoint = await lockEndpoint(connection, id);
    await work(connection, endpoint);
    await journalEndpoint(connection, operator, action, endpoint);
    return viewById(connection, id);
  });
}

async function viewById(connection: Queryable, endpoint: number): Promise<WebhookView> {
  const [found] = await listEndpoints(connection, { endpoint });
  return found === undefined ? refuse('webhook_not_found', { endpoint }) : viewOf(found);
}

function viewOf(endpoint: ListedEndpoint): WebhookView {
  const { id, merchantId, mode, url, types, waiting, deliveredAt, disabledAt, failingSince } = endpoint;
  const state = disabledAt !== null ? 'disabled' : failingSince !== null ? 'failing' : 'enabled';
  const because = endpoint.disabledBecause;
  const since = disabledAt ?? failingSince;
  return { id, merchant: merchantId, mode, url, types, state, because, since, waiting, deliveredAt };
}

function shownOnce({ endpoint: { id, url }, secret }: EndpointWithSecret): WebhookSecret {
  return { id, url, secret };
}

/** Without the path: it may hold a secret of the receiver's. */
function journalEndpoint(
  connection: Queryable,
  actor: string,
  action: JournalAction,
  { id, url, organisationId, merchantId }: Endpoint,
  more?: string,
): Promise<void> {
  const detail = [`endpoint ${id}`, new URL(url).host, ...(more === undefined ? [] : [more])].join(', ');
  return journal(connection, { actor, action, organisationId, merchantId, detail });
}

function checkTypes(types: readonly string[] | undefined): void {
  if (types?.length === 0) refuse('webhook_types_missing', { known: EVENT_TYPES });
  const unknown = (types ?? []).filter((type) => !(EVENT_TYPES as readonly string[]).includes(type));
  if (unknown.length > 0) refuse('webhook_types_unknown', { unknown, known: EVENT_TYPES });
}
