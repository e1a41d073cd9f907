// An operator's webhooks, managed in this process to save the start of a command, and the commands themselves.
import { dirname, join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { destroyKey, rotateKeys } from '../src/installation/keys.js';
import { FileKeys } from '../src/vault/keys/local-keys.js';
import { readNetworks } from '../src/webhooks/addresses.js';
import type { AttemptView } from '../src/webhooks/attempts.js';
import * as admin from '../src/webhooks/webhook-tasks.js';
import { operatorsDatabase } from './cast.js';
import { runHere } from './command-here.js';
import type { TestGateway } from './gateway.js';
import type { Ended } from './gateway-process.js';
import { startReceiver, type WebhookReceiver } from './webhook-receiver.js';

/** Settings of a gateway whose receivers are on loopback, with short pauses. */
export const WEBHOOK_SETTINGS = {
  WEBHOOK_NETWORKS: '127.0.0.0/8',
  WEBHOOK_TIMEOUT_MS: '1000',
  WEBHOOK_FIRST_PAUSE_MS: '20',
};

/** For their places in the feed. */
const WAITING_EVENTS = { name: '', text: 'SELECT FROM event LIMIT 1' };

interface Wish {
  readonly merchant?: number;
  readonly types?: readonly string[];
}

export interface TestEndpoint {
  readonly id: number;
  readonly secret: string;
  /** The merchant's server, which knows the secret. */
  readonly shop: WebhookReceiver;
}

export interface TestWebhooks {
  /** With a receiver of its own. Both end with the test. */
  endpoint(wish?: Wish): Promise<TestEndpoint>;
  add(url: string, wish?: Wish): Promise<admin.WebhookSecret>;
  rotate(id: number, overlapMs?: number): Promise<admin.WebhookSecret>;
  disable(id: number): Promise<admin.WebhookView>;
  enable(id: number): Promise<admin.WebhookView>;
  remove(id: number): Promise<admin.WebhookView>;
  replay(id: number, event: string): Promise<admin.WebhookView>;
  test(id: number): Promise<admin.WebhookTest>;
  view(id: number): Promise<admin.WebhookView>;
  /** The oldest first. */
  attempts(id: number): Promise<AttemptView[]>;
  rotateKeys(merchant: number): Promise<unknown>;
  destroyKey(merchant: number, version: number): Promise<void>;
  /** `tollgate webhook …` with the gateway's settings. */
  tollgate(...args: string[]): Promise<Ended>;
  close(): Promise<void>;
}

export function webhooksOf(gateway: TestGateway): TestWebhooks {
  const { databaseUrl, ledgerPath } = gateway;
  const folder = dirname(ledgerPath);
  const database = operatorsDatabase(gateway, 4);
  const networks = readNetworks(WEBHOOK_SETTINGS.WEBHOOK_NETWORKS.split(','));
  const timeoutMs = Number(WEBHOOK_SETTINGS.WEBHOOK_TIMEOUT_MS);
  const means = { provider: new FileKeys(join(folder, 'key-encryption-key')), networks, timeoutMs };
  const operator = 'operator:test';
  const add = (url: string, { merchant = 1, types }: Wish = {}) =>
    admin.addWebhook(database, operator, means, { url, merchant, types });
  return {
    endpoint: async (wish) => {
      const shop = await startReceiver();
      // It receives every event from now on: none may be left from an earlier test.
      await until(async () => (await database.query(WAITING_EVENTS)).rows.length === 0);
      const { id, secret } = await add(shop.url, wish);
      shop.secret = secret;
      onTestFinished(async () => {
        await admin.removeWebhook(database, operator, id);
        await shop.close();
      });
      return { id, secret, shop };
    },
    add,
    rotate: (id, overlapMs) => admin.rotateWebhook(database, operator, means, id, overlapMs),
    disable: (id) => admin.disableWebhook(database, operator, id),
    enable: (id) => admin.enableWebhook(database, operator, id),
    remove: (id) => admin.removeWebhook(database, operator, id),
    replay: (id, event) => admin.replayWebhook(database, operator, id, event),
    test: (id) => admin.testWebhook(database, operator, means, id),
    view: async (id) => {
      const found = (await admin.listWebhooks(database)).find((endpoint) => endpoint.id === id);
      return found ?? expect.fail(`there is no endpoint ${id}`);
    },
    attempts: async (id) => (await admin.listDeliveries(database, id, 1_000)).reverse(),
    rotateKeys: (merchant) => rotateKeys(database, operator, means.provider, { merchant }),
    destroyKey: (merchant, version) => destroyKey(database, operator, means.provider, { merchant, version }),
    tollgate: (...args) =>
      runHere(['webhook', ...args], {
        DATABASE_URL: databaseUrl,
        TOLLGATE_DATA_DIR: folder,
        TOLLGATE_WEBHOOK_NETWORKS: WEBHOOK_SETTINGS.WEBHOOK_NETWORKS,
        TOLLGATE_WEBHOOK_TIMEOUT_MS: WEBHOOK_SETTINGS.WEBHOOK_TIMEOUT_MS,
      }),
    close: () => database.close(),
  };
}

/** Waits for something that others do. */
export function until(condition: () => unknown): Promise<void> {
  return vi.waitFor(async () => expect(await condition()).toBeTruthy(), { timeout: 300_000, interval: 20 });
}
