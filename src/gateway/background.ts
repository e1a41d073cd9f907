// The background loops of a gateway: heartbeats, resolver, sweep, clearing of direct debits, close of settlement days,
// destruction of cards, renewal of keys, looks at sealed rows, daily figures, operators' requests, expiry of old events, and wiping of memory.
import type { Logger } from 'pino';
import type { Clock } from '../clock/clock.js';
import type { Clearing } from '../directdebit/clearing.js';
import { EventRetention } from '../events/feed.js';
import { DayFigures } from '../figures/day-figures.js';
import { ReadBuffer } from '../http/read-buffer.js';
import { reportMisfits } from '../installation/subjects.js';
import type { ChainKey } from '../journal/blocks.js';
import { JournalChain } from '../journal/chain.js';
import type { SealWatch } from '../journal/seal-watch.js';
import type { CredentialKey } from '../organisations/users/credentials.js';
import { CardDestruction } from '../payments/cards/card-destruction.js';
import type { Resolver } from '../payments/doubt/resolver.js';
import { Sweep } from '../payments/doubt/sweep.js';
import type { SearchFence } from '../payments/finding/search-fence.js';
import type { LostTime } from '../payments/processes/lost-time.js';
import type { AuditLeases, ProcessRegistry } from '../payments/processes/process-registry.js';
import type { ProcessTimes } from '../payments/processes/process-times.js';
import type { RequestRunner } from '../payments/requests/request-runner.js';
import { DayClosing } from '../settlement/closing.js';
import { isRoundNeeded } from '../values/traces-of-secrets.js';
import type { KeyRenewal } from '../vault/keys/renewal.js';
import type { Databases } from './database/databases.js';
import { DUE_WORK } from './due-work.sql.js';
import { Loop } from './loop.js';
import type { ClockWatch } from './observability/clock-watch.js';
import type { DatabaseWatch } from './observability/database-watch.js';
import type { Settings } from './settings/settings.js';
import type { Vault } from './vault.js';
import { keepSecretsInYoungHeap, wipeYoungHeap } from './wipe-young-heap.js';

/** One look for all that may be due. An operator may be waiting. */
const LOOK_EVERY_MS = 500;
/** What a look has found runs, and rests so long before the next run. Without a look it runs all the same, now and then. */
const FOUND = { restMs: 1_000 };
const FOUND_OR_EVERY_MS = 60_000;
/** The clocks are compared. */
const DESTROY_CARDS_EVERY_MS = 10_000;
const CLOSE_DAYS_EVERY_MS = 1_000;
const RENEW_KEYS_EVERY_MS = 60_000;
const COUNT_SEALS_EVERY_MS = 10_000;
const RENEW_TOKEN_EVERY_MS = 30_000;
const FORGET_EVENTS_EVERY_MS = 3_600_000;
const FORGET_FIGURES_EVERY_MS = 3_600_000;
const LOOK_AT_SEALS_EVERY_MS = 60_000;
/** Where there are many rows, less often: it takes two percent of the time at most. */
const LOOKS_SHARE = 50;
const OVERWRITE_EVERY_MS = 10_000;

export interface BackgroundParts {
  readonly settings: Settings;
  readonly log: Logger;
  readonly watch: DatabaseWatch;
  readonly clocks: ClockWatch;
  readonly databases: Databases;
  readonly clock: Clock;
  readonly times: ProcessTimes;
  readonly registry: ProcessRegistry;
  readonly leases: AuditLeases;
  readonly searchFence: SearchFence;
  readonly resolver: Resolver;
  readonly clearing: Clearing;
  readonly renewal: KeyRenewal;
  readonly requests: RequestRunner;
  readonly vault: Pick<Vault, 'keys' | 'provider'>;
  readonly chainKey: ChainKey;
  readonly credentialKey: CredentialKey;
  readonly seals: Pick<SealWatch, 'foreign'>;
}

export class Background {
  readonly #heartbeats: Loop;
  readonly #looking: Loop;
  readonly #requests: Loop;
  readonly #resolving: Loop;
  readonly #sweeping: Loop;
  readonly #clearing: Loop;
  readonly #closing: Loop;
  readonly #destroying: Loop;
  readonly #forgetting: Loop;
  readonly #renewing: Loop;
  readonly #counting: Loop;
  readonly #tokens: Loop;
  readonly #chaining: Loop;
  readonly #seals: Loop;
  readonly #figures: Loop;
  readonly #forgettingFigures: Loop;
  readonly #overwriting: Loop;
  readonly #readBuffer = new ReadBuffer();
  #lost: LostTime | undefined;

  constructor(private readonly parts: BackgroundParts) {
    const { settings, log, watch, databases, resolver, clearing } = parts;
    const failed = (job: string) => (error: unknown) => watch.jobFailed(job, error);
    this.#requests = new Loop(() => parts.requests.run(), FOUND_OR_EVERY_MS, failed('operator requests'));
    this.#resolving = new Loop(() => resolver.run(), FOUND_OR_EVERY_MS, failed('resolver'), {
      restMs: settings.resolverIntervalMs,
    });
    const sweep = new Sweep(
      databases.background,
      settings.acquirerDeadlineMs,
      ({ organisationId, audits }) => {
        log.warn({ organisation: organisationId, audits }, 'transactions in doubt without a lease');
        this.resolveNow();
      },
    );
    this.#sweeping = new Loop(() => sweep.run(), FOUND_OR_EVERY_MS, failed('sweep'), FOUND);
    this.#clearing = new Loop(() => clearing.run(), FOUND_OR_EVERY_MS, failed('clearing'), FOUND);
    const days = new DayClosing(databases.background, parts.clock);
    this.#closing = new Loop(() => days.run(), CLOSE_DAYS_EVERY_MS, failed('settlement close'));
    const destruction = new CardDestruction(databases.background, parts.clock, {
      onFailed: ({ merchantId: merchant }, error) => {
        const { name, code } = error as { name?: string; code?: string };
        log.warn({ merchant, name, code }, 'cards of a merchant could not be reviewed');
      },
      onClocksApart: (seconds) =>
        log.error({ seconds }, 'the clocks of gateway and database differ: no cards are destroyed'),
      onClockJumped: (seconds) =>
        log.error({ seconds }, 'the clock of this machine has jumped: no cards are destroyed for a day'),
      onBehind: (hours) => log.warn({ hours }, 'cards are destroyed too late'),
    });
    this.#destroying = new Loop(
      () => destruction.run(),
      DESTROY_CARDS_EVERY_MS,
      failed('card destruction'),
      FOUND,
    );
    const retention = new EventRetention(databases.background, settings.eventDays);
    this.#forgetting = new Loop(() => retention.run(), FORGET_EVENTS_EVERY_MS, failed('event retention'));
    const figures = new DayFigures(databases.background, settings.eventDays);
    this.#figures = new Loop(() => figures.run(), FOUND_OR_EVERY_MS, failed('figures'), FOUND);
    this.#forgettingFigures = new Loop(
      () => figures.forget(),
      FORGET_FIGURES_EVERY_MS,
      failed('end of old figures'),
    );
    this.#overwriting = new Loop(
      async () => {
        // An idle process would spend more on it than on everything else.
        if (!isRoundNeeded()) return;
        await wipeYoungHeap();
        await this.#readBuffer.overwrite();
      },
      OVERWRITE_EVERY_MS,
      failed('overwriting of memory'),
      // No request has left secrets in memory yet, and a starting process is busy.
      { pausesFirst: true },
    );
    const chain = new JournalChain(databases.background, parts.chainKey, {
      onForeign: (ids) => {
        parts.seals.foreign(ids.length);
        log.error({ entries: ids }, 'journal entries were not written by the gateway');
      },
      onCut: ({ number, failover }) =>
        log.error({ block: number, failover }, 'the journal chain does not continue from its last block'),
    });
    this.#chaining = new Loop(() => chain.run(), FOUND_OR_EVERY_MS, failed('journal chain'), FOUND);
    let nextLookMs = 0;
    this.#seals = new Loop(
      async () => {
        const nowMs = performance.now();
        if (nowMs < nextLookMs) return;
        await reportMisfits(databases.background, parts.credentialKey);
        nextLookMs = nowMs + (performance.now() - nowMs) * LOOKS_SHARE;
      },
      LOOK_AT_SEALS_EVERY_MS,
      failed('look at sealed rows'),
    );
    this.#renewing = new Loop(() => parts.renewal.run(), RENEW_KEYS_EVERY_MS, failed('key renewal'));
    const { keys, provider } = parts.vault;
    this.#counting = new Loop(() => keys.recordSeals(), COUNT_SEALS_EVERY_MS, failed('count of seals'));
    const renewToken = async () => provider.renewToken?.();
    this.#tokens = new Loop(renewToken, RENEW_TOKEN_EVERY_MS, failed('token of the key provider'));
    const found = {
      requests: this.#requests,
      resolving: this.#resolving,
      sweeping: this.#sweeping,
      clearing: this.#clearing,
      destroying: this.#destroying,
      chaining: this.#chaining,
      counting: this.#figures,
    };
    this.#looking = new Loop(
      async () => {
        const values = [parts.registry.id, parts.clock.now()];
        const { rows } = await databases.looks.query<Record<keyof typeof found, boolean>>(DUE_WORK, values);
        const [due] = rows;
        for (const [work, loop] of Object.entries(found))
          if (due?.[work as keyof typeof found]) loop.runIfRested();
      },
      Math.min(LOOK_EVERY_MS, settings.resolverIntervalMs),
      failed('look for work'),
    );
    this.#heartbeats = new Loop(
      () => this.#heartbeat(),
      parts.times.heartbeatEveryMs,
      (error) => watch.heartbeatFailed(error),
    );
    watch.goBy(() => this.#heartbeats.wake());
  }

  start(): void {
    keepSecretsInYoungHeap();
    for (const loop of this.#all) loop.start();
  }

  async stop(): Promise<void> {
    this.parts.renewal.stop();
    // A request in hand lasts as long as its acquirer takes: the other loops run meanwhile, heartbeats above all.
    await this.#requests.stop();
    await this.parts.requests.finish();
    await Promise.all(this.#all.map((loop) => loop.stop()));
    this.#readBuffer.close();
  }

  /** A transaction has come into doubt. */
  resolveNow(): void {
    this.#resolving.wake();
  }

  get #all(): readonly Loop[] {
    return [
      this.#requests,
      this.#resolving,
      this.#sweeping,
      this.#clearing,
      this.#closing,
      this.#destroying,
      this.#forgetting,
      this.#renewing,
      this.#counting,
      this.#tokens,
      this.#chaining,
      this.#seals,
      this.#figures,
      this.#forgettingFigures,
      this.#overwriting,
      this.#looking,
      this.#heartbeats,
    ];
  }

  /** Once at start or when noticed, and once when reconciled. */
  #logLostTime(lost: LostTime | undefined): void {
    if (lost?.untilMs === this.#lost?.untilMs) return;
    this.#lost = lost;
    if (lost === undefined) this.parts.log.info('the lost time is reconciled');
    else
      this.parts.log.warn(
        { from: new Date(lost.fromMs).toISOString(), until: new Date(lost.untilMs).toISOString() },
        'the database was restored: searches that find nothing are answered 503 until the lost time is reconciled',
      );
  }

  async #heartbeat(): Promise<void> {
    const { registry, leases, searchFence, watch, clock } = this.parts;
    const reply = await registry.heartbeat(leases, searchFence.epochs);
    watch.heartbeatCommitted();
    this.parts.clocks.see(reply.clocksApartMs);
    this.#logLostTime(registry.lost);
    searchFence.advance(reply);
    // Moving the clock makes things due.
    if (clock.advancedBy(reply.advancedMs)) {
      this.#clearing.wake();
      this.#closing.wake();
      this.#destroying.wake();
    }
    await searchFence.forget();
  }
}
