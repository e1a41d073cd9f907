// A payer without a browser: loads the page of a checkout, fills its form in, and follows where that leads.
import { setLimit } from '../src/organisations/limits.js';
import { type Json, CARD as NUMBER } from './bodies.js';
import { operatorsDatabase } from './cast.js';
import type { Answer, Client } from './client.js';
import { DECLINED_CARD as DECLINED } from './test-cards.js';

export interface PageSeen {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Where it leads, instead of a page. */
  readonly location: string | undefined;
  /** What its form says for itself; absent where there is no form. */
  readonly hidden: Readonly<Record<string, string>> | undefined;
}

export const CARD = { number: NUMBER, expiry: '12/39', cvv: '123' };
export const DECLINED_CARD = { ...CARD, number: DECLINED };
export const ACCOUNT = {
  bsb: '062-000',
  account_number: '12345678',
  account_name: 'Ada Lovelace',
  agree: 'yes',
};

/** A checkout over 19.95 AUD, with members changed. */
export function checkoutBody(details: Json = {}, merchant = 1): Json {
  const amount_details = { total_amount: '1995', currency: 'AUD' };
  return { merchant: { id: merchant }, checkout: { reference: 'order-1', amount_details, ...details } };
}

export function createCheckout(api: Client, details: Json = {}, merchant = 1): Promise<Answer> {
  return api.post('/checkouts', checkoutBody(details, merchant));
}

/** For many payers with one card at one address: without this they would be held to test cards. */
export async function letManyPay(
  gateway: Parameters<typeof operatorsDatabase>[0],
  merchants: readonly number[] = [1],
): Promise<void> {
  const database = operatorsDatabase(gateway);
  const many = { attempts: 1_000, withinMs: 60_000, mode: 'block' } as const;
  for (const merchant of merchants)
    for (const per of ['card', 'address'] as const)
      await setLimit(database, 'operator:test', merchant, { per, ...many });
  await database.close();
}

export type Fields = Readonly<Record<string, string>>;

export class Payer {
  constructor(
    readonly url: string,
    private readonly headers: Readonly<Record<string, string>> = {},
  ) {}

  async look(): Promise<PageSeen> {
    return seen(await fetch(this.url, { redirect: 'manual', headers: this.headers }));
  }

  /** Sends the form as a browser does. `page`: the one that it was seen on; loaded now if it is absent. */
  async send(fields: Fields, page?: PageSeen, signal?: AbortSignal): Promise<PageSeen> {
    const { hidden = {} } = page ?? (await this.look());
    return seen(
      await fetch(this.url, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'sec-fetch-site': 'same-origin', ...this.headers },
        body: new URLSearchParams({ ...hidden, ...fields }),
        ...(signal && { signal }),
      }),
    );
  }

  /** Sends the form, and looks at what comes next. */
  async pay(fields: Fields, page?: PageSeen): Promise<PageSeen> {
    const sent = await this.send(fields, page);
    return sent.status === 303 && sent.location?.startsWith('/') ? this.look() : sent;
  }

  async status(): Promise<string> {
    const answer = await fetch(`${this.url}/status`, { headers: this.headers });
    return ((await answer.json()) as { status: string }).status;
  }
}

async function seen(answer: Response): Promise<PageSeen> {
  const text = await answer.text();
  const hidden = /<form /.test(text)
    ? Object.fromEntries(
        [...text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)].map(([, name, value]) => [
          name,
          value,
        ]),
      )
    : undefined;
  const location = answer.headers.get('location') ?? undefined;
  return { status: answer.status, headers: answer.headers, text, location, hidden };
}
