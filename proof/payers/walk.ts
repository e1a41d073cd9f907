// A walk of one payer: pages loaded and loaded again, forms sent from whatever tab, twice, too soon, given up on their way.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Tollgate } from '../../client/src/index.js';
import type { Chance } from '../../testkit/chance.js';
import { CARD, type Fields, type PageSeen, Payer } from '../../testkit/payer.js';
import type { CalledGateway } from '../../testkit/several-gateways.js';
import {
  DECLINED_CARD,
  LATE_ANSWER_CARD,
  LOST_ANSWER_CARD,
  LOST_REQUEST_CARD,
  UNREACHABLE_CARD,
  UNREADABLE_ANSWER_CARD,
} from '../../testkit/test-cards.js';

export interface WalkParts {
  readonly gateways: readonly CalledGateway[];
  readonly random: Chance;
  readonly merchantId: number;
  readonly number: number;
}

/** Most payers have a card that works, and some have one that leaves everybody in doubt. */
const NUMBERS = [
  ...[CARD.number, CARD.number, CARD.number, CARD.number, DECLINED_CARD, DECLINED_CARD],
  ...[LOST_ANSWER_CARD, LOST_REQUEST_CARD, LATE_ANSWER_CARD, UNREADABLE_ANSWER_CARD, UNREACHABLE_CARD],
];
const MOST_STEPS = 25;
const PATIENCE_MS = 120_000;
const OVER = ['complete', 'expired', 'cancelled'];
const ENDINGS: readonly (readonly [RegExp, string])[] = [
  [/data-status="complete"/, 'complete'],
  [/data-status="(expired|usedUp)"/, 'expired'],
  [/data-status="cancelled"/, 'cancelled'],
  [/data-status="processing"/, 'processing'],
  [/data-status="open"/, 'open'],
];

type Step =
  | 'look'
  | 'send'
  | 'send twice'
  | 'send everywhere'
  | 'send and give up'
  | 'send an old tab'
  | 'wait'
  | 'cancel';
const STEPS: readonly Step[] = [
  ...(['look', 'look', 'send', 'send', 'send', 'send twice', 'send everywhere'] as const),
  ...(['send and give up', 'send an old tab', 'send an old tab', 'wait'] as const),
];

export class Walk {
  checkout: string | undefined;
  readonly reference: string;
  readonly steps: string[] = [];
  /** What pages have said, by their status. */
  readonly saw = new Set<string>();
  readonly complaints: string[] = [];
  isOver = false;
  /** Forms that were seen, the newest last. */
  readonly #tabs: PageSeen[] = [];
  readonly #random: Chance;

  constructor(
    private readonly client: Tollgate,
    private readonly parts: WalkParts,
  ) {
    this.#random = parts.random;
    this.reference = `walk-${parts.number}`;
  }

  async run(): Promise<void> {
    const { id } = await this.client.checkouts.create(
      {
        merchant: { id: this.parts.merchantId },
        checkout: {
          reference: this.reference,
          amount_details: { total_amount: '1995', currency: 'AUD' },
          attempts: this.#random.between(1, 5),
        },
      },
      { correlationId: this.reference },
    );
    this.checkout = id;
    const untilMs = performance.now() + PATIENCE_MS;
    await this.#step('look');
    for (let count = 0; count < MOST_STEPS && !this.isOver && performance.now() < untilMs; count += 1) {
      // Seldom, or hardly anybody would pay.
      const step = this.#random.percent(1) ? 'cancel' : this.#random.pick(STEPS);
      await this.#step(step);
    }
    this.isOver = true;
  }

  async #step(step: Step): Promise<void> {
    const name = await this.#do(step).catch((error: Error) => `${step} failed (${error.name})`);
    this.steps.push(name);
  }

  /** What was done, in words. A gateway that is being killed answers nothing, which proves nothing. */
  async #do(step: Step): Promise<string> {
    const payer = await this.#payer();
    const newest = this.#tabs.at(-1);
    if (step === 'look' || newest === undefined) return `looked: ${this.#note(await payer.look())}`;
    if (step === 'wait') {
      await sleep(this.#random.between(50, 900));
      return 'waited';
    }
    if (step === 'cancel') {
      const refused = await this.client.checkouts.cancel(this.checkout ?? '').then(
        () => 'cancelled',
        () => 'not cancelled',
      );
      return refused;
    }
    const number = this.#random.pick(NUMBERS);
    const fields = { ...CARD, number };
    const card = number.slice(-4);
    switch (step) {
      case 'send':
        return `sent …${card}: ${this.#note(await payer.pay(fields, newest))}`;
      case 'send twice':
      case 'send everywhere': {
        const payers =
          step === 'send twice' ? [payer, payer] : [payer, await this.#payer(), await this.#payer()];
        const pages = await Promise.allSettled(payers.map((each) => each.pay(fields, newest)));
        const seen = pages.map((page) => (page.status === 'fulfilled' ? this.#note(page.value) : 'nothing'));
        return `sent ${payers.length} times …${card}: ${seen.join(' ')}`;
      }
      case 'send and give up':
        await this.#giveUp(payer, fields, newest);
        return `sent …${card} and gave up`;
      case 'send an old tab': {
        const tab = this.#random.pick(this.#tabs);
        // What a browser would not send: an attempt that the page does not know of.
        const n = this.#random.percent(10) ? { n: String(this.#random.between(1, 6)) } : {};
        return `sent …${card} from an old tab: ${this.#note(await payer.pay({ ...fields, ...n }, tab))}`;
      }
    }
  }

  async #giveUp(payer: Payer, fields: Fields, page: PageSeen): Promise<void> {
    const patience = sleep(this.#random.between(1, 60));
    const sent = payer.send(fields, page, AbortSignal.timeout(this.#random.between(1, 60)));
    await Promise.race([sent.catch(() => {}), patience]);
    await sent.catch(() => {});
  }

  /** The page of some gateway that runs now. */
  async #payer(): Promise<Payer> {
    const { url } = await this.client.checkouts.get(this.checkout ?? '');
    return new Payer(url);
  }

  #note(page: PageSeen): string {
    if (page.status === 503) return 'not now';
    const [, status = `nothing that is known (${page.status})`] =
      ENDINGS.find(([pattern]) => pattern.test(page.text)) ?? [];
    if (status.startsWith('nothing')) this.complaints.push(`${this.reference}: ${status}`);
    this.saw.add(status);
    if (page.hidden !== undefined) this.#tabs.push(page);
    // One who has paid may go on clicking.
    if (OVER.includes(status) && this.#random.percent(60)) this.isOver = true;
    return status;
  }
}
