// The ways in which two servers change places, and what the addresses of the gateways lead to meanwhile.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Chance } from '../../testkit/chance.js';
import { Pair, type PairedServer } from '../../testkit/pair.js';
import { Switch } from '../../testkit/switch.js';

export const KINDS = ['kill', 'switchover', 'freeze', 'isolation'] as const;
export type Kind = (typeof KINDS)[number];

/** What is waited for while servers change places. */
interface Meanwhile {
  readonly served: () => Promise<void>;
  readonly traded: () => Promise<void>;
}

/** A pair of servers behind as many addresses as there are gateways. Each address can be wrong in a way of its own. */
export class FailingDatabase {
  readonly #pair: Pair;
  readonly ways: readonly Switch[];

  private constructor(pair: Pair, ways: readonly Switch[]) {
    this.#pair = pair;
    this.ways = ways;
  }

  static async open(directory: string, gateways: number): Promise<FailingDatabase> {
    const pair = await Pair.open(directory);
    process.once('exit', () => pair.kill());
    const ways = await Promise.all(Array.from({ length: gateways }, () => Switch.open(pair.primary.port)));
    return new FailingDatabase(pair, ways);
  }

  get url(): string {
    return this.#pair.primary.url;
  }

  get lastingUrl(): string {
    return this.urlOf(0);
  }

  urlOf(gateway: number): string {
    return (this.ways[gateway] as Switch).urlOf(this.url);
  }

  async stop(): Promise<void> {
    for (const way of this.ways) way.close();
    await this.#pair.stop();
  }

  /** The primary is killed and started again in its place; the standby goes on following it. */
  async restart(served: Meanwhile['served']): Promise<void> {
    await this.#pair.primary.end('SIGKILL');
    await this.#pair.primary.start();
    await served();
  }

  /**
   * Lets the servers change places, and returns when the standby follows again. `served` is called, and waited for, as soon as
   * there is a primary that can be written to, and no address leads to one that only says so or does not answer. While addresses
   * are wrong, `traded` is waited for too: that something was paid which the wrong server does not know.
   */
  async failOver(kind: Kind, random: Chance, { served, traded }: Meanwhile): Promise<void> {
    const [former, next] = [this.#pair.primary, this.#pair.standby];
    const wrong = async () => {
      await Promise.all([sleep(random.between(1_000, 3_000)), traded()]);
    };
    switch (kind) {
      case 'kill': {
        await former.end('SIGKILL');
        await sleep(random.below(500));
        await this.#pair.promote();
        this.#mix(next, former);
        await served();
        await this.#pair.rejoin();
        // It is back, as a standby, and the addresses lead there too.
        await this.#mistaken(next, former, random, wrong);
        break;
      }
      case 'switchover': {
        await former.end('SIGINT');
        await this.#pair.promote();
        this.#mix(next, former);
        await served();
        await this.#pair.follow();
        await this.#mistaken(next, former, random, wrong);
        break;
      }
      case 'freeze': {
        former.signal('SIGSTOP');
        await sleep(random.between(200, 1_500));
        await this.#pair.promote();
        await this.#mistaken(next, former, random, wrong);
        await served();
        // It wakes up, and still believes in itself.
        former.signal('SIGCONT');
        await this.#mistaken(next, former, random, wrong);
        await this.#pair.rejoin();
        break;
      }
      case 'isolation': {
        await this.#pair.promote();
        // One of the gateways stays with the former primary, and the other one moves.
        const moving = random.pick(this.ways);
        moving.lead(next.port);
        moving.cut();
        await wrong();
        await this.#mistaken(next, former, random, wrong);
        await served();
        await this.#pair.rejoin();
        break;
      }
    }
  }

  /** Every address leads to both in turns. */
  #mix(next: PairedServer, former: PairedServer): void {
    for (const way of this.ways) way.lead(next.port, former.port);
  }

  /** One address leads to the new server, the other to the former one or to both; then everything is noticed. */
  async #mistaken(
    next: PairedServer,
    former: PairedServer,
    random: Chance,
    wrong: () => Promise<void>,
  ): Promise<void> {
    const right = random.below(this.ways.length);
    for (const [number, way] of this.ways.entries()) {
      if (number === right) way.lead(next.port);
      else way.lead(former.port, ...(random.percent(50) ? [next.port] : []));
      // New connections, which find out where they lead now.
      if (random.percent(70)) way.cut();
    }
    await wrong();
    for (const way of this.ways) {
      way.lead(next.port);
      way.cut(former.port);
    }
  }
}
