// A merchant's server while gateways are killed: it checks every signature with the library of the standard, alters some to see them
// refused, fails now and then, and keeps books of what came. At the end every event must have come, in order for its subject.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '../../testkit/bodies.js';
import type { Chance } from '../../testkit/chance.js';
import type { Installation } from '../../testkit/installation.js';
import {
  isGenuine,
  type Received,
  startReceiver,
  type WebhookReceiver,
} from '../../testkit/webhook-receiver.js';

/** What gateways and commands need, so that a receiver on loopback may be told. */
export const RECEIVER_SETTINGS = {
  WEBHOOK_NETWORKS: '127.0.0.0/8',
  WEBHOOK_TIMEOUT_MS: '1000',
  WEBHOOK_FIRST_PAUSE_MS: '10',
};

export class WebhookBooks {
  /** By subject, the versions in the order in which they first came. */
  readonly #versions = new Map<string, number[]>();
  readonly #ids = new Set<string>();
  readonly #problems: string[] = [];
  #received = 0;
  #altered = 0;

  private constructor(
    private readonly receiver: WebhookReceiver,
    private readonly chance: Chance,
  ) {}

  /** Adds an endpoint for the installation's merchant, which is told of everything. It must have `RECEIVER_SETTINGS`. */
  static async open(
    installation: Pick<Installation, 'merchantId' | 'command' | 'sql'>,
    chance: Chance,
  ): Promise<WebhookBooks> {
    const receiver = await startReceiver();
    const books = new WebhookBooks(receiver, chance);
    const args = ['webhook', 'add', receiver.url, '--merchant', String(installation.merchantId), '--json'];
    receiver.secret = JSON.parse(await installation.command(...args)).secret;
    await installation.sql('UPDATE webhook_endpoint SET position = 0');
    receiver.behave = (received) => books.#enter(received);
    return books;
  }

  get received(): number {
    return this.#received;
  }

  get altered(): number {
    return this.#altered;
  }

  /** Until every one of these events has come, or the time is up. */
  async waitForAll(ids: readonly string[], limitMs: number): Promise<void> {
    const untilMs = performance.now() + limitMs;
    while (!ids.every((id) => this.#ids.has(id)) && performance.now() < untilMs) await sleep(100);
  }

  /** What is wrong, given the ids of all events of the feed. */
  problems(ids: readonly string[]): string[] {
    const lost = ids.filter((id) => !this.#ids.has(id)).map((id) => `${id} was not delivered`);
    const known = new Set(ids);
    const invented = [...this.#ids].filter((id) => !known.has(id)).map((id) => `${id} is no event`);
    const disordered = [...this.#versions]
      .filter(([, versions]) => versions.some((version, place) => version < (versions[place - 1] ?? 0)))
      .map(([subject, versions]) => `${subject} came in the order ${versions.join(', ')}`);
    return [...this.#problems, ...lost, ...invented, ...disordered];
  }

  close(): Promise<void> {
    return this.receiver.close();
  }

  /** Fails for one in ten, before it is entered: that must come again. */
  #enter(received: Received): number {
    // What is kept by the receiver itself would grow for ever.
    this.receiver.received.length = 0;
    this.#received += 1;
    const { id, genuine, body } = received;
    if (genuine !== true) this.#problems.push(`${id} came with a signature that is not right`);
    if (body.id !== id) this.#problems.push(`${id} came with the body of ${body.id}`);
    this.#alter(received);
    if (this.chance.below(10) === 0) return 500;
    if (!this.#ids.has(id)) {
      const subject = id.replace(/_\d+$/, '');
      const versions = this.#versions.get(subject) ?? [];
      this.#versions.set(subject, [...versions, body.version]);
    }
    this.#ids.add(id);
    return 204;
  }

  #alter({ text, headers }: Received): void {
    if (this.chance.below(10) !== 0) return;
    this.#altered += 1;
    const secret = this.receiver.secret as string;
    const body = JSON.parse(text) as Json;
    const altered = JSON.stringify({ ...body, version: body.version + 1 });
    const later = { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) };
    if (isGenuine(secret, altered, headers) || isGenuine(secret, text, later)) {
      this.#problems.push(`${body.id} was altered, and the library did not see it`);
    }
  }
}
