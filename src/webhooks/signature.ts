// Signatures by Standard Webhooks 1.0.0: a receiver with the secret can tell that a webhook is ours, complete and recent.
import { createHmac, randomBytes } from 'node:crypto';
import { USER_AGENT } from '../values/program.js';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** In the form that receivers' libraries take. */
export function makeSigningSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** The headers of every webhook, beside its signature. */
export const MESSAGE_HEADERS = { 'content-type': 'application/json', 'user-agent': USER_AGENT } as const;

export interface SignedMessage {
  /** The same at each attempt: receivers recognise a repeat by it. */
  readonly id: string;
  readonly timestampSeconds: number;
  readonly body: string;
}

/** With every secret, newest first: during a rotation, receivers may know either. */
export function signatureHeaders(secrets: readonly string[], message: SignedMessage): Record<string, string> {
  const { id, timestampSeconds, body } = message;
  const signed = `${id}.${timestampSeconds}.${body}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': secrets.map((secret) => `v1,${sign(secret, signed)}`).join(' '),
  };
}

function sign(secret: string, text: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  return createHmac('sha256', key).update(text, 'utf8').digest('base64');
}
