// What happens to gateways, their database and their acquirer while clients race: processes are killed and stand still for longer than the
// others wait, heartbeats are held back, and the acquirer's connections stall, break and lie.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Chance } from '../../testkit/chance.js';
import type { RunningProcess } from '../../testkit/gateway-process.js';
import type { Installation } from '../../testkit/installation.js';
import type { Rule } from '../../testkit/iso8583-host/behaviour.js';
import type { HostSettings } from '../../testkit/iso8583-host/settings.js';
import type { CalledGateway } from '../../testkit/several-gateways.js';
import type { IsoAcquirer } from '../arena/iso-acquirer.js';

/** After so long without a heartbeat the other gateway takes over. */
export const PROCESS_TIMEOUT_MS = 2_500;
export const DEADLINE_MS = 600;

/** Of a hundred messages. */
const RULES: readonly Rule[] = [
  { kind: 'payment', fault: 'slow', percent: 2 },
  { kind: 'payment', fault: 'late answer', percent: 1 },
  { kind: 'payment', fault: 'lost answer', percent: 1 },
  { kind: 'payment', fault: 'lost request', percent: 1 },
  { kind: 'payment', fault: 'answered twice', percent: 1 },
  { kind: 'payment', fault: 'answered again later', percent: 2 },
  { kind: 'payment', fault: 'stray approvals', percent: 2 },
  { kind: 'payment', fault: 'answers for others', percent: 1 },
  { kind: 'payment', fault: 'out of order', percent: 1 },
  { kind: 'completion', fault: 'lost answer', percent: 3 },
  { kind: 'completion', fault: 'lost request', percent: 3 },
  { kind: 'reversal', fault: 'lost answer', percent: 3 },
  { kind: 'reversal', code: '91', percent: 6, timesEach: 2 },
  { kind: 'reversal', code: '30', percent: 3, timesEach: 1 },
];

/** How long heartbeats are held back while nothing else happens. */
const HELD_MS = 3 * PROCESS_TIMEOUT_MS;
/** Well before the deadline, but so that at any time some payments wait for their answers. */
const UNHURRIED_MS = DEADLINE_MS / 2;
/** So many of a hundred: on a slow machine an answer comes too late now and then. */
const REVERSED_PERCENT = 5;
const REVERSED_AMONG = `
  SELECT count(*)::integer AS all, count(*) FILTER (WHERE reversing)::integer AS reversed FROM transaction
  WHERE acquirer = $1 AND created_at BETWEEN to_timestamp($2::float8 / 1000) AND to_timestamp($3::float8 / 1000)`;

interface Gateway extends CalledGateway {
  baseUrl: string | undefined;
  process?: RunningProcess;
}

export interface TroubleOptions {
  readonly installation: Installation;
  readonly acquirer: IsoAcquirer;
  readonly random: Chance;
  /** Whether the host remembers the reversals of what it has not seen. */
  readonly memory: HostSettings['unseenReversals'];
}

export class Trouble {
  readonly gateways: readonly Gateway[] = [{ baseUrl: undefined }, { baseUrl: undefined }];
  readonly done: Record<string, number> = {};
  readonly complaints: string[] = [];
  /** Payments that live gateways took from each other. */
  readonly takenOver: string[] = [];
  #isOver = false;
  #isClosed = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: TroubleOptions) {}

  /** Both gateways listen, and both of their connections are signed on. */
  async begin(): Promise<void> {
    for (const gateway of this.gateways) void this.#keepRunning(gateway);
    await this.#ready();
  }

  /** Everything that can go wrong, until the end. */
  async disturb(): Promise<void> {
    const { acquirer, memory, random } = this.options;
    await acquirer.host.set({
      unseenReversals: memory,
      slowMs: 2 * DEADLINE_MS,
      lateMs: 3 * DEADLINE_MS,
      seed: random.below(1_000_000),
    });
    for (const rule of RULES) await acquirer.host.rule(rule);
    this.#running = Promise.all([
      this.#again([5_000, 11_000], () => this.#kill()),
      this.#again([500, 2_500], () => this.#freeze()),
      this.#again([5_000, 12_000], () => this.#holdHeartbeats()),
      this.#again([300, 2_000], () => this.#stall()),
      this.#again([500, 2_500], () => this.#cut()),
    ]);
  }

  /** Every gateway lives, and every payment is answered in time: what one of them waits for, no other may reverse. */
  async holdHeartbeatsAlone(most: number): Promise<void> {
    const { installation, acquirer } = this.options;
    await acquirer.host.set({ slowMs: UNHURRIED_MS });
    await acquirer.host.rule({ kind: 'payment', fault: 'slow', percent: 100 });
    const beganMs = Date.now();
    for (let times = 0; times < most; times += 1) {
      await this.#holdHeartbeatsFor(HELD_MS);
      this.#count('heartbeats held alone');
      await sleep(PROCESS_TIMEOUT_MS / 2);
    }
    const values = [acquirer.name, beganMs, Date.now()];
    await acquirer.host.clearRules();
    await sleep(2 * DEADLINE_MS);
    const [among] = await installation.sql<{ all: number; reversed: number }>(REVERSED_AMONG, values);
    this.done['reversed meanwhile'] = among?.reversed ?? 0;
    if (among && among.reversed * 100 > among.all * REVERSED_PERCENT)
      this.takenOver.push(`${among.reversed} of ${among.all}, all of which were answered in time`);
  }

  /** From now on everything is left in peace. Both gateways listen again. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await this.options.acquirer.host.clearRules();
    await this.options.acquirer.host.goOn();
    await this.#ready();
  }

  close(): void {
    this.#isClosed = true;
  }

  async #again([least, most]: readonly [number, number], trouble: () => Promise<string>): Promise<void> {
    while (!this.#isOver) {
      for (let left = this.options.random.between(least, most); left > 0 && !this.#isOver; left -= 100)
        await sleep(100);
      if (this.#isOver) return;
      this.#count(await trouble());
    }
  }

  #count(what: string): void {
    this.done[what] = (this.done[what] ?? 0) + 1;
  }

  async #keepRunning(gateway: Gateway): Promise<void> {
    while (!this.#isClosed) {
      const process = this.options.installation.startGateway();
      gateway.process = process;
      const baseUrl = await process.listening;
      gateway.baseUrl = baseUrl;
      const { signal, code } = await process.ended;
      gateway.baseUrl = undefined;
      if (signal === 'SIGKILL') continue;
      // It does not start while its entry in the registry is held back.
      if (baseUrl === undefined) this.#count('starts failed');
      else this.complaints.push(`a gateway ended by itself with ${signal ?? code}: ${process.output()}`);
      await sleep(200);
    }
  }

  async #ready(): Promise<void> {
    const limitMs = performance.now() + 60_000;
    for (;;) {
      const { connections } = await this.options.acquirer.host.status();
      const signedOn = connections.filter((connection) => connection.signedOn).length;
      if (this.gateways.every(({ baseUrl }) => baseUrl !== undefined) && signedOn >= 4) return;
      if (performance.now() > limitMs) throw new Error('the gateways are not signed on');
      await sleep(100);
    }
  }

  async #kill(): Promise<string> {
    this.options.random.pick(this.gateways).process?.kill('SIGKILL');
    return 'killed';
  }

  /** Longer than the other one waits, mostly. */
  async #freeze(): Promise<string> {
    const { process } = this.options.random.pick(this.gateways);
    process?.kill('SIGSTOP');
    const isLong = this.options.random.percent(70);
    await sleep(
      isLong
        ? this.options.random.between(PROCESS_TIMEOUT_MS + 300, 2 * PROCESS_TIMEOUT_MS)
        : this.options.random.between(50, 900),
    );
    process?.kill('SIGCONT');
    return isLong ? 'frozen for long' : 'frozen';
  }

  async #holdHeartbeats(): Promise<string> {
    await this.#holdHeartbeatsFor(this.options.random.between(1_000, 5_000));
    return 'heartbeats held';
  }

  async #holdHeartbeatsFor(ms: number): Promise<void> {
    const client = new pg.Client({ connectionString: this.options.installation.database.url });
    await client.connect();
    await client.query('BEGIN');
    await client.query('LOCK TABLE process IN SHARE ROW EXCLUSIVE MODE');
    await sleep(ms);
    await client.query('ROLLBACK');
    await client.end();
  }

  async #stall(): Promise<string> {
    const { random, acquirer } = this.options;
    const { connections } = await acquirer.host.status();
    if (connections.length === 0) return 'nothing to stall';
    const of = random.percent(70) ? 'reads' : 'answers';
    const wanted = random.percent(15) ? 'all but one' : [random.pick(connections).number];
    await acquirer.host.stall({ of, connections: wanted, ms: random.between(200, 2_500) });
    return `${of} stalled`;
  }

  async #cut(): Promise<string> {
    const struck = await this.options.acquirer.relay.strikeAt('connection', { until: sleep(2_000) });
    return struck ? 'cut' : 'not cut';
  }
}
