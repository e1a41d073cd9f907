// Webhooks: who has the secret can tell that one is the gateway's, whole, and recent (Standard Webhooks 1.0.0).
import { WebhookRejected } from './errors.js';
import { webCrypto } from './runtime.js';
import type { Event } from './wire.js';

export interface Webhook {
  /** As it came, byte for byte: parsed and written again, it is another text. */
  readonly body: string | Uint8Array;
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** As `tollgate webhook add` printed it; several while one takes the place of another. */
  readonly secret: string | readonly string[];
  /** How far the sender's clock may be from this one's. */
  readonly toleranceSeconds?: number;
}

const PREFIX = 'whsec_';
const TOLERANCE_SECONDS = 300;

/** The event in a webhook, if it is to be believed; otherwise throws `WebhookRejected`. */
export async function verifyWebhook(webhook: Webhook): Promise<Event> {
  const { headers, secret, toleranceSeconds = TOLERANCE_SECONDS } = webhook;
  const id = headerIn(headers, 'webhook-id');
  const timestamp = headerIn(headers, 'webhook-timestamp');
  const signatures = headerIn(headers, 'webhook-signature');
  if (!id || !signatures || !timestamp || !/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookRejected('header_missing');
  }
  const ageSeconds = Date.now() / 1000 - Number(timestamp);
  if (ageSeconds > toleranceSeconds) throw new WebhookRejected('too_old');
  if (ageSeconds < -toleranceSeconds) throw new WebhookRejected('too_new');
  const body = typeof webhook.body === 'string' ? new TextEncoder().encode(webhook.body) : webhook.body;
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  const secrets = typeof secret === 'string' ? [secret] : secret;
  for (const each of secrets) {
    if (await isSigned(each, signatures, signed)) return eventIn(body, id);
  }
  throw new WebhookRejected('wrong_signature');
}

function headerIn(headers: Webhook['headers'], name: string): string | undefined {
  if (typeof (headers as Headers).get === 'function') return (headers as Headers).get(name) ?? undefined;
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === name) return typeof value === 'string' ? value : undefined;
  }
  return undefined;
}

async function isSigned(
  secret: string,
  signatures: string,
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const { subtle } = await webCrypto();
  const bytes = decoded(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
  if (bytes === undefined || bytes.length === 0)
    throw new TypeError('the secret of a webhook begins with whsec_');
  const key = await subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  for (const each of signatures.split(' ')) {
    const [version, given = ''] = each.split(',');
    const signature = version === 'v1' ? decoded(given) : undefined;
    // Compared by the runtime, in the same time whatever is wrong with it.
    if (signature !== undefined && (await subtle.verify('HMAC', key, signature, signed))) return true;
  }
  return false;
}

function eventIn(body: Uint8Array, id: string): Event {
  let event: Partial<Event> | null;
  try {
    event = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new WebhookRejected('not_an_event');
  }
  if (typeof event?.type !== 'string' || event.id !== id) throw new WebhookRejected('not_an_event');
  return event as Event;
}

function decoded(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(one.length + other.length);
  whole.set(one);
  whole.set(other, one.length);
  return whole;
}
