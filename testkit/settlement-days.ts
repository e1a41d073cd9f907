// Settlement days for tests: which one is open, how to get past its close, and what the interface says of a day.
import { expect, vi } from 'vitest';
import { settlementCutOff, settlementDay } from '../src/values/time.js';
import { moveClockByMs } from './bank-day.js';
import type { Client, Json } from './client.js';
import type { TestGateway } from './gateway.js';

type OnDatabase = Pick<TestGateway, 'sql'>;

export async function gatewayNow({ sql }: OnDatabase): Promise<number> {
  const [row] = await sql<{ advanced: string }>('SELECT advanced_ms::text AS advanced FROM gateway');
  return Date.now() + Number(row?.advanced);
}

export async function openDay(gateway: OnDatabase): Promise<string> {
  return settlementDay(await gatewayNow(gateway));
}

/** Moves the clock to this long after the close of the open day, and returns that day. */
export async function passClose(gateway: OnDatabase, afterMs = 60_000): Promise<string> {
  const day = await openDay(gateway);
  await moveClockByMs(gateway, settlementCutOff(day) + afterMs - (await gatewayNow(gateway)));
  return day;
}

export async function untilClosed({ sql }: OnDatabase, day: string): Promise<void> {
  const closed = () =>
    sql<{ closed: boolean }>('SELECT closed_day >= $1::date AS closed FROM gateway', [day]);
  await vi.waitFor(async () => expect(await closed()).toEqual([{ closed: true }]), { timeout: 300_000 });
}

/** The report of a day, as the interface answers it. */
export async function settlementOf(api: Client, day: string, merchant?: number): Promise<Json> {
  const query = merchant === undefined ? '' : `?merchant_id=${merchant}`;
  const { status, body } = await api.get(`/settlements/${day}${query}`);
  expect(status).toBe(200);
  return body;
}

/** Its lines in short: `visa purchase 2 20000`. */
export function inShort({ lines }: Json): string[] {
  return lines.map((line: Json) =>
    [line.card_type || line.payment_method, line.transaction_type, line.count, line.total_amount].join(' '),
  );
}
