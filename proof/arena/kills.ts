// Gateway processes that end as they are fated to and are started again at once, on a database that does, too.
import { setTimeout as sleep } from 'node:timers/promises';
import { POINTS, type Point } from '../../src/payments/pipeline/create.js';
import type { Chance } from '../../testkit/chance.js';
import type { Ended, RunningProcess } from '../../testkit/gateway-process.js';
import type { Installation, Settings } from '../../testkit/installation.js';
import type { CalledGateway } from '../../testkit/several-gateways.js';

/**
 * How a process may end, beside the points: by itself, while it starts, together with the other one, at a message to or from its
 * acquirer, or the database does.
 */
type Fate = Point | 'moment' | 'start' | 'both' | 'message' | 'database';
const FIRST: readonly Fate[] = [...POINTS, 'moment', 'database'];
const BLOCK: readonly Fate[] = [...POINTS, 'moment', 'moment', 'moment', 'start', 'both', 'database'];
const AT_MESSAGES: readonly Fate[] = ['message', 'message', 'message', 'message', 'message', 'message'];

const isPoint = (fate: Fate | undefined): fate is Point => POINTS.some((point) => point === fate);

interface DoomedGateway extends CalledGateway {
  baseUrl: string | undefined;
  process?: RunningProcess;
  /** By what it was killed. */
  hit: Fate | 'beside' | undefined;
}

interface End extends Pick<Ended, 'code' | 'signal'> {
  readonly fate: Fate | undefined;
  readonly hit: DoomedGateway['hit'];
  readonly lastWords: string;
  readonly listened: boolean;
}

export interface KillsOptions {
  readonly installation: Installation;
  readonly random: Chance;
  readonly kills: number;
  /** A process that is to end at a point does so when so many transactions at most have passed it. */
  readonly latest: number;
  /** Makes the settings of the next process. */
  readonly settings: () => Settings;
  /** Where messages can be waited for: kills the process at one. */
  readonly atMessage?: ((process: RunningProcess, kill: () => void) => void) | undefined;
}

export class Kills {
  /** What the shops call. */
  readonly gateways: readonly DoomedGateway[] = [
    { baseUrl: undefined, hit: undefined },
    { baseUrl: undefined, hit: undefined },
  ];
  readonly done: Record<string, number> = {};
  failedStarts = 0;
  readonly complaints: string[] = [];
  readonly #plan: Fate[];
  #database: Promise<void> = Promise.resolve();
  readonly #atMessage: NonNullable<KillsOptions['atMessage']>;
  #isOver = false;
  #isStopped = false;
  #end: () => void = () => {};
  readonly #over = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

  constructor(private readonly options: KillsOptions) {
    const { random, kills, atMessage } = options;
    this.#plan = planOf(kills, random, atMessage === undefined ? [] : AT_MESSAGES);
    this.#atMessage = atMessage ?? (() => {});
  }

  get count(): number {
    return Object.values(this.done).reduce((sum, times) => sum + times, 0);
  }

  /** Returns once every fate was met, and both processes listen again. */
  async run(): Promise<void> {
    await Promise.all(this.gateways.map((gateway) => this.#keepRunning(gateway)));
    await this.#database;
  }

  /** Whoever ends from now on is not started again. */
  stop(): void {
    this.#isStopped = true;
  }

  async #keepRunning(gateway: DoomedGateway): Promise<void> {
    while (!this.#isStopped) {
      const fate = this.#nextFate();
      const process = this.options.installation.startGateway({
        ...this.options.settings(),
        ...(isPoint(fate) && { CRASH_AT: `${fate}:${this.options.random.between(1, this.options.latest)}` }),
      });
      gateway.process = process;
      gateway.hit = undefined;
      // From the first one: that with which it signs on.
      if (fate === 'message') this.#atMessage(process, () => this.#strike(gateway, process, fate));
      if (fate === 'start') this.#after(this.options.random.below(500), gateway, process, fate);
      const baseUrl = await process.listening;
      gateway.baseUrl = baseUrl;
      if (baseUrl !== undefined && fate === undefined) {
        await Promise.race([process.ended, this.#over]);
        if (this.#isOver && gateway.hit === undefined) return;
      }
      if (fate === 'moment' || fate === 'both') {
        this.#after(this.options.random.below(1_200), gateway, process, fate);
      }
      const { code, signal } = await process.ended;
      gateway.baseUrl = undefined;
      const lastWords = process.output();
      await this.#judge({ fate, hit: gateway.hit, code, signal, lastWords, listened: baseUrl !== undefined });
    }
  }

  async #judge({ fate, hit, code, signal, lastWords, listened }: End): Promise<void> {
    if (signal === 'SIGKILL') {
      // One that was killed for another's sake has yet to meet its own fate.
      const met = hit ?? (isPoint(fate) ? fate : undefined);
      if (met !== fate && fate !== undefined) this.#plan.push(fate);
      if (met !== undefined && met !== 'beside') this.#count(met);
      return;
    }
    if (fate !== undefined) this.#plan.push(fate);
    // Without a database it does not start, and says so.
    if (listened) this.complaints.push(`a gateway ended by itself with ${signal ?? code}: ${lastWords}`);
    else this.failedStarts += 1;
    await this.#database;
    await sleep(100);
  }

  #after(delayMs: number, gateway: DoomedGateway, process: RunningProcess, fate: Fate): void {
    setTimeout(() => this.#strike(gateway, process, fate), delayMs).unref();
  }

  #strike(gateway: DoomedGateway, process: RunningProcess, fate: Fate): void {
    if (gateway.process !== process || !process.kill('SIGKILL')) return;
    gateway.hit = fate;
    if (fate !== 'both') return;
    for (const other of this.gateways) {
      if (other !== gateway && other.process?.kill('SIGKILL')) other.hit ??= 'beside';
    }
  }

  #nextFate(): Exclude<Fate, 'database'> | undefined {
    for (;;) {
      const fate = this.#plan.shift();
      if (fate !== 'database') return fate;
      this.#database = this.#database.then(() => this.#killDatabase());
    }
  }

  async #killDatabase(): Promise<void> {
    await sleep(this.options.random.below(1_000));
    await this.options.installation.database.kill(this.options.random.pick(['SIGKILL', 'SIGQUIT'] as const));
    await this.options.installation.database.start();
    this.#count('database');
  }

  #count(fate: Fate): void {
    this.done[fate] = (this.done[fate] ?? 0) + 1;
    if (this.count < this.options.kills) return;
    this.#isOver = true;
    this.#end();
  }
}

/** What not every acquirer has at first, each other kind once as soon as there is room for it, and then in the mixture of the block. */
function planOf(kills: number, random: Chance, further: readonly Fate[]): Fate[] {
  const plan = [...further.slice(0, 1), ...random.shuffled(FIRST)];
  while (plan.length < kills) plan.push(...random.shuffled([...BLOCK, ...further]));
  return plan.slice(0, kills);
}
