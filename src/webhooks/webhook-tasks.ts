// Webhooks as operators see them: endpoints, secrets, attempts, and sending events again.
import { EVENT_TYPES, parseEventId } from '../events/events.js';
import { EventFeed } from '../events/feed.js';
import { type JournalAction, journal } from '../journal/journal.js';
import { checkSeal, type SealedRow } from '../journal/seals.js';
import { checkMerchant, listMerchants } from '../organisations/merchants.js';
import type { Database, Queryable } from '../postgres/database.js';
import { count, duration, ID, TEXT, TEXTS, text } from '../tasks/kinds.js';
import { type Doing, needed, optional, task } from '../tasks/task.js';
import type { MerchantId, OrganisationId, WebhookEndpointId } from '../values/ids.js';
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
  rowOfEndpoint,
  subjectOfEndpoint,
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

/** What tasks need beside the database to seal or to send. */
export interface WebhookMeans {
  readonly provider: KeyProvider;
  readonly networks: readonly Network[];
  /** For an attempt. */
  readonly timeoutMs: number;
}

/** How long the old secret also signs by default, and at most. */
export const OVERLAP_MS = 24 * 3_600_000;
const MOST_OVERLAP_MS = 30 * 86_400_000;

/** The endpoint receives events from now on. */
export function addWebhook(
  database: Database,
  operator: string,
  { provider, networks }: WebhookMeans,
  wish: EndpointWish,
): Promise<WebhookSecret> {
  checkTypes(wish.types);
  return database.transaction(async (connection) => {
    // On one session: two callers that each hold one session and wait for another could wait for each other.
    const keys = new DataKeys(connection, provider);
    const position = await new EventFeed(connection).newestPosition();
    const added = await addEndpoint(connection, keys, wish, { networks, position });
    const sealed = rowOfEndpoint(added.endpoint);
    await journalEndpoint(connection, operator, 'webhook.added', added.endpoint, { sealed });
    return shownOnce(added);
  });
}

/** The webhooks of every merchant, or of one; of the organisation, if given. */
export async function listWebhooks(
  database: Queryable,
  merchant?: number,
  fence?: OrganisationId,
): Promise<WebhookView[]> {
  await checkMerchant(database, merchant);
  const listed = (await listEndpoints(database, { merchant })).map(viewOf);
  if (fence === undefined) return listed;
  const own = new Set((await listMerchants(database, fence)).map(({ id }): number => id));
  return listed.filter((endpoint) => own.has(endpoint.merchant));
}

/** Both secrets sign for `overlapMs`. */
export function rotateWebhook(
  database: Database,
  operator: string,
  { provider }: WebhookMeans,
  id: number,
  overlapMs: number = OVERLAP_MS,
): Promise<WebhookSecret> {
  return database.transaction(async (connection) => {
    const keys = new DataKeys(connection, provider);
    const endpoint = await lockSealed(connection, id);
    const rotated = await rotateSecret(connection, keys, endpoint, overlapMs);
    const sealed = rowOfEndpoint(rotated.endpoint);
    await journalEndpoint(connection, operator, 'webhook.rotated', rotated.endpoint, { sealed });
    return shownOnce(rotated);
  });
}

/** Idempotent. Nothing is lost: once enabled, the endpoint continues where it stopped. */
export function disableWebhook(database: Queryable, operator: string, id: number): Promise<WebhookView> {
  return change(database, operator, 'webhook.disabled', id, (connection, endpoint) =>
    disableEndpoint(connection, endpoint, 'operator'),
  );
}

/** Also for a failing endpoint: waiting deliveries are due at once. */
export function enableWebhook(database: Queryable, operator: string, id: number): Promise<WebhookView> {
  return change(database, operator, 'webhook.enabled', id, async (connection, endpoint) => {
    await checkSeal(connection, rowOfEndpoint(endpoint));
    await enableEndpoint(connection, endpoint);
  });
}

export function removeWebhook(database: Queryable, operator: string, id: number): Promise<WebhookView> {
  return database.transaction(async (connection) => {
    const endpoint = await lockEndpoint(connection, id);
    const removed = await viewById(connection, id);
    await removeEndpoint(connection, endpoint);
    const sealed = { subject: subjectOfEndpoint(endpoint.id), state: null };
    await journalEndpoint(connection, operator, 'webhook.removed', endpoint, { sealed });
    return removed;
  });
}

/** Sends a test message, enabled or not, and returns the result. */
export async function testWebhook(
  database: Database,
  operator: string,
  { provider, networks, timeoutMs }: WebhookMeans,
  id: number,
): Promise<WebhookTest> {
  const endpoint = await findEndpoint(database, id);
  await checkSeal(database, rowOfEndpoint(endpoint));
  const sender = new Sender({ networks, timeoutMs });
  const atMs = Date.now();
  const sent = await sendTestMessage(sender, new DataKeys(database, provider), endpoint, atMs).finally(() =>
    sender.close(),
  );
  const outcome = outcomeOf(sent.attempt);
  await database.transaction(async (connection) => {
    const logged = { atMs, eventId: sent.id, type: TEST_TYPE, version: 1, attempt: 1, ...outcome };
    await logAttempt(connection, endpoint, logged);
    await journalEndpoint(connection, operator, 'webhook.tested', endpoint, { more: outcome.result });
  });
  const { result, httpStatus = null, durationMs, response = null } = outcome;
  return { id: endpoint.id, event: sent.id, result, httpStatus, durationMs, response };
}

/** Sends an event and everything after it again. */
export function replayWebhook(
  database: Database,
  operator: string,
  id: number,
  event: string,
): Promise<WebhookView> {
  return database.transaction(async (connection) => {
    const endpoint = await lockSealed(connection, id);
    const { organisationId, merchantId } = endpoint;
    const position = await new EventFeed(connection).positionOf(organisationId, merchantId, event);
    if (position === undefined) refuse('webhook_event_not_found', { event });
    await moveBack(connection, endpoint, position - 1);
    await journalEndpoint(connection, operator, 'webhook.replayed', endpoint, { more: `from ${event}` });
    return viewById(connection, id);
  });
}

/** Sends one event again. */
export function resendWebhook(
  database: Database,
  operator: string,
  id: number,
  event: string,
): Promise<WebhookView> {
  return database.transaction(async (connection) => {
    const endpoint = await lockSealed(connection, id);
    const { organisationId, merchantId } = endpoint;
    const position = await new EventFeed(connection).positionOf(organisationId, merchantId, event);
    const known = parseEventId(event);
    if (position === undefined || known === undefined) refuse('webhook_event_not_found', { event });
    const { kind, subject, version } = known;
    await resendEvent(connection, endpoint, { subject: `${kind}/${subject}`, version, position });
    await journalEndpoint(connection, operator, 'webhook.resent', endpoint, { more: event });
    return viewById(connection, id);
  });
}

/** The attempts for an endpoint, newest first. */
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

/** Without the path, which may hold a secret of the receiver's. */
function journalEndpoint(
  connection: Queryable,
  actor: string,
  action: JournalAction,
  { id, url, organisationId, merchantId }: Endpoint,
  { more, sealed }: { readonly more?: string; readonly sealed?: SealedRow } = {},
): Promise<void> {
  const detail = [`endpoint ${id}`, new URL(url).host, ...(more === undefined ? [] : [more])].join(', ');
  return journal(connection, { actor, action, organisationId, merchantId, detail }, sealed);
}

/** For what sends to it, or has it sent to. */
async function lockSealed(connection: Queryable, id: number): Promise<Endpoint> {
  const endpoint = await lockEndpoint(connection, id);
  await checkSeal(connection, rowOfEndpoint(endpoint));
  return endpoint;
}

function checkTypes(types: readonly string[] | undefined): void {
  if (types?.length === 0) refuse('webhook_types_missing', { known: EVENT_TYPES });
  const unknown = (types ?? []).filter((type) => !(EVENT_TYPES as readonly string[]).includes(type));
  if (unknown.length > 0) refuse('webhook_types_unknown', { unknown, known: EVENT_TYPES });
}

const ENDPOINT = needed(ID, '<id>', 'the endpoint', { names: 'endpoints' });
/** None rather than one without a name: an empty list is refused. */
const TYPES = { ...TEXTS, read: (types: string) => TEXTS.read(types)?.filter((type) => type !== '') };
const EVENT = 'the event’s id, such as evt_1_transaction_17_1';

type ByEndpoint = Doing<{ webhooks(): Promise<WebhookMeans> }>;

const nowIs = ({ id, state }: WebhookView) => `Webhook endpoint ${id} is ${state}.`;

export const WEBHOOKS = {
  name: 'webhook',
  help: 'webhooks: events that are sent to a merchant’s server',
  tasks: [
    task({
      name: 'webhook add',
      help: 'tell an endpoint of a merchant’s events from now on, and print the secret that signs, once',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /webhooks',
      fresh: true,
      input: {
        url: needed(text(4_096), '<url>', 'where to send them, such as https://example.com/webhooks'),
        merchant: needed(ID, '--merchant <id>', 'the merchant', { names: 'merchants' }),
        types: optional(TYPES, '--types <list>', 'only of these types, with commas between'),
      },
      run: async ({ database, actor, means }: ByEndpoint, wish) =>
        addWebhook(database, actor, await means.webhooks(), wish),
      says: ({ id, secret }) => `Webhook endpoint ${id} added. The secret is shown only now: ${secret}`,
    }),
    task({
      name: 'webhook rotate',
      help: 'give an endpoint a new secret and print it, once; the old one goes on signing for a while',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /webhooks/:id/rotate',
      fresh: true,
      input: {
        id: ENDPOINT,
        overlapMs: optional(duration(MOST_OVERLAP_MS), '--overlap <duration>', 'for how long, such as 12h', {
          default: OVERLAP_MS,
          defaultText: '24h',
        }),
      },
      run: async ({ database, actor, means }: ByEndpoint, { id, overlapMs }) =>
        rotateWebhook(database, actor, await means.webhooks(), id, overlapMs),
      says: ({ id, secret }) => `The secret of endpoint ${id} is shown only now: ${secret}`,
    }),
    task({
      name: 'webhook remove',
      help: 'remove an endpoint, with everything that waits for it',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /webhooks/:id/remove',
      fresh: true,
      input: { id: ENDPOINT },
      run: ({ database, actor }, { id }) => removeWebhook(database, actor, id),
      says: ({ id }) => `Webhook endpoint ${id} is removed.`,
    }),
    task({
      name: 'webhook disable',
      help: 'send nothing more to an endpoint; once it is enabled again it goes on where it was',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /webhooks/:id/disable',
      input: { id: ENDPOINT },
      run: ({ database, actor }, { id }) => disableWebhook(database, actor, id),
      says: nowIs,
    }),
    task({
      name: 'webhook enable',
      help: 'let an endpoint go on, and try at once what waits for it',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /webhooks/:id/enable',
      fresh: true,
      input: { id: ENDPOINT },
      run: ({ database, actor }, { id }) => enableWebhook(database, actor, id),
      says: nowIs,
    }),
    task({
      name: 'webhook replay',
      help: 'send an event again, and everything after it',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /webhooks/:id/replay',
      input: { id: ENDPOINT, from: needed(TEXT, '--from <event>', EVENT) },
      run: ({ database, actor }, { id, from }) => replayWebhook(database, actor, id, from),
      says: ({ id }, { from }) => `Webhook endpoint ${id} gets ${from} again, and everything after it.`,
    }),
    task({
      name: 'webhook resend',
      help: 'send one event again, and nothing else',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /webhooks/:id/resend',
      input: { id: ENDPOINT, event: needed(TEXT, '<event>', EVENT) },
      run: ({ database, actor }, { id, event }) => resendWebhook(database, actor, id, event),
      says: ({ id }, { event }) => `Webhook endpoint ${id} gets ${event} again.`,
    }),
    task({
      name: 'webhook list',
      help: 'list the endpoints, with what waits for each',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /webhooks',
      input: { merchant: optional(ID, '--merchant <id>', 'only of this merchant', { names: 'merchants' }) },
      fenced: true,
      run: ({ database, fence }, { merchant }) => listWebhooks(database, merchant, fence),
    }),
    task({
      name: 'webhook test',
      help: 'send an endpoint a message that tells of nothing, and show what comes back; ends with 1 where it was not delivered',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /webhooks/:id/test',
      input: { id: ENDPOINT },
      run: async ({ database, actor, means }: ByEndpoint, { id }) =>
        testWebhook(database, actor, await means.webhooks(), id),
      says: ({ id, result, httpStatus, durationMs }) =>
        `Webhook endpoint ${id}: ${result}${httpStatus === null ? '' : `, HTTP ${httpStatus}`}, after ${durationMs} ms.`,
      fails: ({ result }) => result !== 'delivered',
    }),
    task({
      name: 'webhook deliveries',
      help: 'show the attempts to deliver to an endpoint, the newest first',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /webhooks/:id/deliveries',
      input: {
        id: ENDPOINT,
        limit: optional(count(1_000), '--limit <count>', 'how many at most', {
          default: 50,
          onPage: 200,
        }),
      },
      run: ({ database }, { id, limit }) => listDeliveries(database, id, limit),
    }),
  ],
} as const;
