// A test webhook, to see whether an endpoint receives it. It is not an event, and not in the feed.
import { randomBytes } from 'node:crypto';
import { sydneyTimestamp } from '../values/time.js';
import type { DataKeys } from '../vault/keys/keys.js';
import type { Attempt, Sender } from './delivery/sender.js';
import { type Endpoint, signingSecrets } from './endpoints.js';
import { MESSAGE_HEADERS, signatureHeaders } from './signature.js';

export const TEST_TYPE = 'webhook.test';

export interface TestMessage {
  readonly id: string;
  readonly attempt: Attempt;
}

export async function sendTestMessage(
  sender: Sender,
  keys: DataKeys,
  endpoint: Endpoint,
  nowMs: number,
): Promise<TestMessage> {
  const id = `evt_test_${endpoint.id}_${randomBytes(8).toString('hex')}`;
  const body = JSON.stringify({
    id,
    type: TEST_TYPE,
    created: sydneyTimestamp(nowMs),
    merchant: { id: endpoint.merchantId },
    version: 1,
    data: {},
  });
  const timestampSeconds = Math.floor(nowMs / 1_000);
  const secrets = await signingSecrets(keys, endpoint);
  const headers = { ...MESSAGE_HEADERS, ...signatureHeaders(secrets, { id, timestampSeconds, body }) };
  return { id, attempt: await sender.post({ url: endpoint.url, headers, body }) };
}
