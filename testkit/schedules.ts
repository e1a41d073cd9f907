// What tests of schedules share: a token to pay with, a schedule, and how its dates come out.
import type { Json } from './bodies.js';
import { cardAccount } from './bodies.js';
import type { Answer, Client } from './client.js';
import { type TokenChange, vaultOf } from './vault-client.js';

/** Noon in Sydney, so that no test runs over a midnight there. */
export function sydneyToday(nowMs = Date.now()): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone: 'Australia/Sydney' }).format(nowMs);
}

export async function tokenFor(api: Client, card?: string, change: TokenChange = {}): Promise<string> {
  const account = card === undefined ? {} : { account: cardAccount({ 'CARD.PAN': card }) };
  return (await vaultOf(api).newToken({ ...account, ...change })).virtualPan;
}

export function scheduleBody(virtualPan: string, details: Json = {}, merchant = 1): Json {
  return {
    merchant: { id: merchant },
    schedule: {
      reference: 'subscription-1',
      virtual_pan: virtualPan,
      amount_details: { total_amount: '1995', currency: 'AUD' },
      first_date: sydneyToday(),
      every: { weeks: 1 },
      ...details,
    },
  };
}

export async function createSchedule(api: Client, virtualPan: string, details: Json = {}): Promise<Answer> {
  return api.post('/schedules', scheduleBody(virtualPan, details));
}

/** Its dates and what came of them, the first one first. */
export async function datesOf(api: Client, id: string): Promise<string[]> {
  const { body } = await api.get(`/schedules/${id}`);
  return body.dates
    .map(({ date, status }: { date: string; status: string }) => `${date} ${status}`)
    .reverse();
}
