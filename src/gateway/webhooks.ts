// Assembles the webhooks of a gateway: the deliverer, and how often it polls.
import type { Logger } from 'pino';
import { eventBodies } from '../api/operations/event-bodies.js';
import { EventFeed } from '../events/feed.js';
import type { EventWatcher } from '../events/watcher.js';
import type { Capacity } from '../payments/pipeline/capacity.js';
import { Histogram } from '../values/histogram.js';
import { Shares } from '../values/shares.js';
import { readNetworks } from '../webhooks/addresses.js';
import { AttemptRetention } from '../webhooks/attempts.js';
import type { Sent } from '../webhooks/delivery/batch.js';
import { Deliverer } from '../webhooks/delivery/deliverer.js';
import { outcomeOf } from '../webhooks/delivery/outcome.js';
import { Pace } from '../webhooks/delivery/pace.js';
import { Sender } from '../webhooks/delivery/sender.js';
import type { ClosingStack } from './closing-stack.js';
import type { Databases } from './database/databases.js';
import { Loop } from './loop.js';
import type { DatabaseWatch } from './observability/database-watch.js';
import type { ProcessRegistration } from './process-registration.js';
import type { Settings } from './settings/settings.js';
import type { Vault } from './vault.js';

const LOOK_EVERY_MS = 250;
const FORGET_EVERY_MS = 3_600_000;
/** Attempts under way at once. */
const SHARES = { inAll: 512, perOrganisation: 32 };
/** While payments keep the process busy. The rest is delivered afterwards. */
const PER_SECOND_WHILE_BUSY = 40;

/** Kept in fields, and read on demand. */
export interface WebhookFigures {
  readonly attempts: ReadonlyMap<string, number>;
  readonly lag: Histogram;
  readonly lookAgeSeconds: () => number;
}

/** In seconds: retries are days apart. */
const LAGS = [0.1, 0.5, 1, 5, 30, 60, 300, 1_800, 7_200, 28_800, 86_400];

export interface WebhookParts {
  readonly settings: Settings;
  readonly log: Logger;
  readonly watch: DatabaseWatch;
  readonly databases: Databases;
  readonly vault: Vault;
  readonly registration: Pick<ProcessRegistration, 'clock'>;
  readonly watcher: EventWatcher;
  readonly capacity: Pick<Capacity, 'waiting'>;
}

export function startWebhooks(parts: WebhookParts, stack: ClosingStack): WebhookFigures {
  const { settings, log, watch, databases, vault, watcher, capacity, registration } = parts;
  const { webhookTimeoutMs: timeoutMs, webhookFirstPauseMs: firstPauseMs } = settings;
  const onError = (error: unknown) => watch.jobFailed('webhooks', error);
  const sender = new Sender({ networks: readNetworks(settings.webhookNetworks), timeoutMs });
  const attempts = new Map<string, number>();
  const lag = new Histogram(LAGS);
  const onAttempt = ({ attempt, delivery }: Sent) => {
    const { result } = outcomeOf(attempt);
    attempts.set(result, (attempts.get(result) ?? 0) + 1);
    if (result === 'delivered')
      lag.observe(Math.max(0, registration.clock.now() - delivery.event.createdMs) / 1_000);
  };
  const deliverer = new Deliverer({
    database: databases.webhooks,
    keys: vault.keys,
    feed: new EventFeed(databases.webhooks),
    watcher,
    bodies: (events) => eventBodies(databases.webhooks, events),
    sender,
    shares: new Shares(SHARES),
    pace: new Pace({ perSecondWhileBusy: PER_SECOND_WHILE_BUSY, paymentsWait: () => capacity.waiting > 0 }),
    onAttempt,
    log,
    timeoutMs,
    firstPauseMs,
    onError,
  });
  const retention = new AttemptRetention(databases.background, settings.webhookLogDays);
  const loops = [
    new Loop(() => deliverer.run(), LOOK_EVERY_MS, onError),
    new Loop(
      () => retention.run(),
      FORGET_EVERY_MS,
      (error) => watch.jobFailed('webhook retention', error),
    ),
  ].map((loop) => loop.start());
  stack.opened(deliverer, async () => {
    await Promise.all(loops.map((loop) => loop.stop()));
    await deliverer.stop();
  });
  return { attempts, lag, lookAgeSeconds: () => deliverer.lookAgeSeconds };
}
