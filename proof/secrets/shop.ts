// A shop whose every payment has a card number and a CVV of this run: all operations, over every acquirer, also declined, lost, wrong and
// with card numbers where none belong.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Json, paymentBody, targetedBody } from '../../testkit/bodies.js';
import { type CallAnswer, call, Unanswered } from '../../testkit/caller.js';
import type { Chance } from '../../testkit/chance.js';
import type { Secrets } from '../arena/secrets.js';

const GOOD_UNTIL = '1239';
const OVER = '0120';
const READY_LIMIT_MS = 30_000;

/** Amounts by which the hosts of the links are told what to do; see their rules. */
export const AMOUNTS = { declined: 5_105, failed: 9_600, lostRequest: 4_202, lostAnswer: 4_203 } as const;

const PAYMENTS = ['purchase', 'preauthorisation', 'refund'] as const;
const KINDS = ['pay', 'pay', 'pay', 'pay', 'decline', 'lose', 'vault', 'blunder', 'blunder'] as const;

export interface ShopParts {
  readonly baseUrl: string;
  readonly authorization: string;
  readonly chance: Chance;
  readonly secrets: Secrets;
  /** Those that are put where no card number belongs. */
  readonly misplaced: Secrets;
  /** Merchants by what they pay over. The first has the vault. */
  readonly merchants: readonly number[];
}

export class SecretsShop {
  /** How often each status was answered. */
  readonly answered: Record<string, number> = {};
  /** Answers in which a secret stood, and answers of 500. */
  readonly wrong: string[] = [];
  #requests = 0;

  constructor(private readonly parts: ShopParts) {}

  /** Every link is signed on. */
  async ready(): Promise<void> {
    const untilMs = performance.now() + READY_LIMIT_MS;
    for (const merchant of this.parts.merchants) {
      while ((await this.#pay({ merchant }))?.body?.status?.transaction_status_code !== 'approved') {
        if (performance.now() > untilMs) throw new Error(`merchant ${merchant} cannot be paid`);
        await sleep(100);
      }
    }
  }

  async trade(requests: number, lanes: number): Promise<void> {
    const upTo = this.#requests + requests;
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        while (this.#requests < upTo) await this.#do(this.parts.chance.pick(KINDS));
      }),
    );
  }

  /** A payment whose answer the caller does not wait for. */
  begin(merchant: number, amount: number): void {
    void this.#pay({ merchant, amount });
  }

  #do(kind: (typeof KINDS)[number]): Promise<unknown> {
    const { chance, merchants } = this.parts;
    const merchant = chance.pick(merchants);
    switch (kind) {
      case 'pay':
        return this.#payAndFollow(merchant);
      case 'decline':
        return merchant === merchants[0]
          ? this.#pay({ merchant, expiry: OVER })
          : this.#pay({ merchant, amount: chance.pick([AMOUNTS.declined, AMOUNTS.failed]) });
      case 'lose':
        return this.#pay({ merchant, amount: chance.pick([AMOUNTS.lostRequest, AMOUNTS.lostAnswer]) });
      case 'vault':
        return this.#useVault();
      case 'blunder':
        return this.#blunder(merchant);
    }
  }

  async #payAndFollow(merchant: number): Promise<void> {
    const { chance } = this.parts;
    const operation = chance.pick(PAYMENTS);
    const paid = await this.#pay({ merchant }, operation);
    const audit = paid?.audit;
    if (audit === undefined) return;
    const next = chance.pick([
      'void',
      'look up',
      'nothing',
      operation === 'preauthorisation' ? 'completion' : 'refund',
    ]);
    if (next === 'look up') await this.#call('GET', `/transactions/${audit}`);
    if (next === 'void' || next === 'completion' || next === 'refund') {
      const amount = next === 'void' ? undefined : chance.pick([10_000, 4_000]);
      await this.#call('POST', `/transactions/${audit}/${next}`, targetedBody({ merchant, amount }));
    }
  }

  /** A customer with a card, which is paid with and perhaps changed; in the end perhaps one of them is deleted. */
  async #useVault(): Promise<void> {
    const { chance, secrets, merchants } = this.parts;
    const [merchant] = merchants as [number];
    const customer = (
      await this.#call('POST', '/customers', { reference: chance.id(), name: 'Ada Lovelace' })
    )?.body?.id;
    if (customer === undefined) return;
    const account = () => ({
      general_creditcard: {
        'CARD.PAN': secrets.card(),
        'CARD.EXPIRY': GOOD_UNTIL,
        'CARD.NAME': 'Ada Lovelace',
        'CARD.CVV': secrets.cvv(),
      },
    });
    const tokens = `/customers/${customer}/tokens`;
    const token = await this.#call('POST', tokens, {
      preferred_name: chance.id(),
      active: true,
      account: account(),
    });
    if (token?.body?.virtual_pan === undefined) return;
    await this.#pay({ merchant, pan: token.body.virtual_pan }, chance.pick(PAYMENTS));
    const path = `${tokens}/${token.body.id}`;
    if (chance.percent(40)) await this.#call('PATCH', path, { account: account() });
    if (chance.percent(30)) await this.#call('DELETE', path);
    if (chance.percent(40)) await this.#call('DELETE', `/customers/${customer}`);
  }

  /** Card numbers where somebody could put one by mistake. */
  async #blunder(merchant: number): Promise<unknown> {
    const { chance, secrets, misplaced } = this.parts;
    const [pan, other] = [misplaced.card(), misplaced.card()];
    const proper = secrets.card();
    const spoilt = `${proper.slice(0, -1)}${(Number(proper.at(-1)) + 1) % 10}`;
    const cvv = misplaced.cvv();
    const body = paymentBody({ merchant, pan, cvv });
    switch (chance.below(12)) {
      case 0:
        return this.#pay({ merchant, pan: spoilt });
      case 1:
        return this.#pay({ merchant, reference: proper });
      case 2:
        return this.#pay({ merchant, kvps: { note: proper, [other]: 'x' } });
      case 3:
        return this.#call('POST', '/customers', { reference: proper, name: secrets.card() });
      case 4:
        return this.#call('GET', `/customers/${pan}?name=${other}&${pan}=${cvv}`);
      case 5:
        return this.#call('GET', `/transactions/${pan}`);
      case 6:
        // Cut in the middle of the card.
        return this.#raw(JSON.stringify(body).slice(0, -20));
      case 7:
        return this.#raw(`${JSON.stringify(body)}}`, { 'content-type': `text/${pan}` });
      case 8:
        return this.#raw(JSON.stringify(body), { 'x-correlation-id': pan });
      case 9:
        return this.#raw(JSON.stringify(body), {
          authorization: `Basic ${Buffer.from(`${pan}:${other}`).toString('base64')}`,
        });
      case 10:
        return this.#raw(JSON.stringify({ ...body, [pan]: other, card: { number: pan, cvv } }));
      default:
        return this.#call('GET', `/${pan}`);
    }
  }

  #pay(
    change: Parameters<typeof paymentBody>[0],
    operation: (typeof PAYMENTS)[number] = 'purchase',
  ): Promise<CallAnswer | undefined> {
    const { secrets } = this.parts;
    const body = paymentBody({ pan: secrets.card(), cvv: secrets.cvv(), expiry: GOOD_UNTIL, ...change });
    return this.#call('POST', `/transactions/${operation}`, body);
  }

  async #call(method: string, path: string, body?: Json): Promise<CallAnswer | undefined> {
    try {
      const answer = await call(this.parts, method, path, {
        timeoutMs: 30_000,
        ...(body !== undefined && { body }),
      });
      this.#answered(answer.status, JSON.stringify(answer.body ?? ''));
      return answer;
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      this.#answered(0, '');
      return undefined;
    }
  }

  /** Whatever it is, as it is. */
  async #raw(text: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const { baseUrl, authorization, chance } = this.parts;
    const response = await fetch(`${baseUrl}/transactions/purchase`, {
      method: 'POST',
      headers: {
        authorization,
        'x-correlation-id': chance.id(),
        'content-type': 'application/json',
        ...headers,
      },
      body: text,
    });
    this.#answered(response.status, await response.text());
  }

  #answered(status: number, text: string): void {
    this.#requests += 1;
    this.answered[status] = (this.answered[status] ?? 0) + 1;
    const { secrets, misplaced } = this.parts;
    const found = secrets.foundIn(text) ?? misplaced.foundIn(text);
    if (found !== undefined) this.wrong.push(`${found} in an answer of ${status}`);
    if (status === 500) this.wrong.push(`an answer of 500: ${text}`);
  }
}
