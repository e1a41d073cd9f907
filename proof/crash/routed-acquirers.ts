// Two acquirers of a crash proof, each over ISO 8583 and with books of its own: the merchant's routes lead to the second where the first is
// down and not a byte was sent to it.
import type { LedgerEntry } from '../../src/acquirers/simulator/ledger.js';
import type { StoredTransaction } from '../../testkit/books.js';
import type { Chance } from '../../testkit/chance.js';
import type { RunningProcess } from '../../testkit/gateway-process.js';
import type { Installation } from '../../testkit/installation.js';
import { IsoAcquirer } from '../arena/iso-acquirer.js';

/** Away for long enough to be noticed, so that the other link has something to do. */
const AWAY_MS = 3_000;
/** With so many kills there is time for a link to be down when it is wanted. */
const ENOUGH_KILLS = 20;

export class RoutedAcquirers {
  private constructor(
    private readonly installation: Installation,
    private readonly acquirers: readonly [IsoAcquirer, IsoAcquirer],
    private readonly random: Chance,
  ) {}

  static async start(installation: Installation, random: Chance): Promise<RoutedAcquirers> {
    const second = await IsoAcquirer.start(installation, random.fork(), { name: 'second', awayMs: AWAY_MS });
    const first = await IsoAcquirer.start(installation, random.fork(), { name: 'first', awayMs: AWAY_MS });
    for (const [index, { name }] of [first, second].entries()) {
      const way = ['--acquirer', name, '--order', `${index + 1}`];
      await installation.command('route', 'set', '--merchant', `${installation.merchantId}`, ...way);
    }
    return new RoutedAcquirers(installation, [first, second], random);
  }

  get deeds(): number {
    return this.acquirers.reduce((sum, { deeds }) => sum + deeds, 0);
  }

  get done(): Record<string, Record<string, number>> {
    return Object.fromEntries(this.acquirers.map(({ name, done }) => [name, done]));
  }

  get strikes(): string {
    return this.acquirers.map(({ name, strikes }) => `${name}: ${strikes}`).join('; ');
  }

  disturb(): void {
    for (const acquirer of this.acquirers) acquirer.disturb();
  }

  killAtMessage(process: RunningProcess, kill: () => void): void {
    this.random.pick(this.acquirers).killAtMessage(process, kill);
  }

  /** At neither of the two. */
  unstruck(kills: number): string[] {
    const [first, second] = this.acquirers.map((acquirer) => acquirer.unstruck(kills));
    return (first ?? []).filter((each) => second?.includes(each));
  }

  async leaveInPeace(): Promise<void> {
    await Promise.all(this.acquirers.map((acquirer) => acquirer.leaveInPeace()));
  }

  /** Of both: what is at both of them was asked twice. */
  async entries(rows: readonly StoredTransaction[]): Promise<LedgerEntry[]> {
    return (await Promise.all(this.acquirers.map((acquirer) => acquirer.entries(rows)))).flat();
  }

  complaints(): Promise<string[]> {
    return this.#ofBoth((acquirer) => acquirer.complaints());
  }

  unacknowledgedReversals(): Promise<string[]> {
    return this.acquirers[0].unacknowledgedReversals();
  }

  wrongNumbers(): Promise<string[]> {
    return this.#ofBoth((acquirer) => acquirer.wrongNumbers());
  }

  strangers(): Promise<string[]> {
    return this.#ofBoth((acquirer) => acquirer.strangers());
  }

  /** Where nothing has gone over the second link because the first was down, nothing was shown. */
  async unrouted(kills: number): Promise<string[]> {
    return kills < ENOUGH_KILLS || (await this.#rerouted()) > 0 ? [] : ['no payment was rerouted'];
  }

  async inWords(): Promise<string> {
    const counted = await this.installation.sql<{ acquirer: string; count: number }>(
      `SELECT acquirer, count(*)::integer AS count FROM transaction WHERE reference <> 'before-everything'
       GROUP BY acquirer ORDER BY acquirer`,
    );
    const byLink = counted.map(({ acquirer, count }) => `${count} over ${acquirer}`).join(', ');
    return `${byLink}, ${await this.#rerouted()} rerouted`;
  }

  async #rerouted(): Promise<number> {
    const rows = await this.installation.sql(`SELECT FROM journal WHERE action = 'transaction.rerouted'`);
    return rows.length;
  }

  async #ofBoth(ask: (acquirer: IsoAcquirer) => Promise<string[]>): Promise<string[]> {
    return (await Promise.all(this.acquirers.map(ask))).flat();
  }

  async close(): Promise<void> {
    for (const acquirer of this.acquirers) await acquirer.close();
  }
}
