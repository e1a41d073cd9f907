// Settlement days, cut-offs and ages: until when a transaction can be voided, completed and found.
import { Temporal } from 'temporal-polyfill';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import { type Json, TEST_MODE } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

// The gateway's clock only ever moves forward: every test takes the next fitting day from where the last one left it.
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
  await gateway.sqlSealed('UPDATE merchant SET preauthorisation_days = 2 WHERE id = 2');
  await gateway.sqlSealed('UPDATE merchant SET preauthorisation_days = 1 WHERE id = 3');
});
afterAll(() => gateway.close());

const SYDNEY = 'Australia/Sydney';
const KVP = 'GATEWAY.RESPONSE.KVP.';

async function advancedMs(): Promise<number> {
  const [row] = await gateway.sql<{ advanced_ms: number }>('SELECT advanced_ms FROM gateway');
  return row?.advanced_ms ?? 0;
}

async function today(): Promise<Temporal.PlainDate> {
  const instant = Temporal.Instant.fromEpochMilliseconds(Date.now() + (await advancedMs()));
  return instant.toZonedDateTimeISO(SYDNEY).toPlainDate();
}

/** The first day after today for which this holds. */
async function nextDay(fits: (day: Temporal.PlainDate) => boolean): Promise<Temporal.PlainDate> {
  let day = (await today()).add({ days: 1 });
  while (!fits(day)) day = day.add({ days: 1 });
  return day;
}

/** Neither a weekend nor a holiday, nor is the next day: in the middle of a week without a fixed holiday. */
function ordinary(day: Temporal.PlainDate): boolean {
  const holidays = /-(01-0[1-3]|01-2[6-8]|04-2[5-7]|12-2[5-8])$/;
  const next = day.add({ days: 1 });
  return [2, 3].includes(day.dayOfWeek) && !holidays.test(`${day}`) && !holidays.test(`${next}`);
}

async function moveTo(day: Temporal.PlainDate, time: string): Promise<void> {
  const { epochMilliseconds } = day.toZonedDateTime({ timeZone: SYDNEY, plainTime: time });
  await moveToMs(epochMilliseconds);
}

async function moveToMs(instantMs: number): Promise<void> {
  await gateway.advance(`${instantMs - Date.now() - (await advancedMs())}ms`);
}

async function lookedUp(audit: number): Promise<Json> {
  return (await gateway.api.lookUp(audit)).body;
}

/** Of each kind that settles. */
async function oneOfEachKind(): Promise<number[]> {
  const { api } = gateway;
  const purchase = (await api.purchase()).body.audit;
  const completed = (await api.preauthorise()).body.audit;
  const completion = (await api.complete(completed, 10_000)).body.audit;
  const refunded = (await api.purchase()).body.audit;
  const refund = (await api.refund(refunded, 10_000)).body.audit;
  const standaloneRefund = (await api.standaloneRefund()).body.audit;
  return [purchase, completion, refund, standaloneRefund];
}

// catches(void: not after the settlement cut-off)
test('before the cut-off of a business day → settles on that day and can be voided until 18:00, not later', async () => {
  const day = await nextDay(ordinary);
  await moveTo(day, '17:58');
  const voidedInTime = await oneOfEachKind();
  const kept = await oneOfEachKind();
  for (const audit of [...voidedInTime, ...kept]) {
    const { status, kvps, _links } = await lookedUp(audit);
    expect(status.acquirer.settlement_date).toBe(`${day}`);
    expect(kvps[`${KVP}VOIDABLE_UNTIL`]).toMatch(new RegExp(`^${day}T18:00:00\\.000\\+1[01]:00$`));
    expect(_links.void).toEqual({ href: `/v1/transactions/${audit}/void` });
  }
  for (const audit of voidedInTime) expect((await gateway.api.void(audit)).status).toBe(201);

  await moveTo(day, '18:00:01');
  for (const audit of kept) {
    const { kvps, _links } = await lookedUp(audit);
    expect(_links).not.toHaveProperty('void');
    expect(kvps).not.toHaveProperty([`${KVP}VOIDABLE_UNTIL`]);
    const { status, errors } = await gateway.api.void(audit);
    expect([status, errors]).toEqual([422, ['target_not_voidable path/audit']]);
  }
  const afterwards = await gateway.api.purchase();
  expect(afterwards.body.status.acquirer.settlement_date).toBe(`${day.add({ days: 1 })}`);
  expect(afterwards.body._links).toHaveProperty('void');
});

test('settled purchase → can still be refunded, and the refund settles on the open day', async () => {
  const day = await nextDay(ordinary);
  await moveTo(day, '17:58');
  const { body } = await gateway.api.purchase();
  await moveTo(day, '18:00:01');
  const refund = await gateway.api.refund(body.audit, 10_000);
  expect(refund.body.status.transaction_status_code).toBe('approved');
  expect(refund.body.status.acquirer.settlement_date).toBe(`${day.add({ days: 1 })}`);
});

test('voided purchase, after the cut-off → still voided, and cannot be voided again', async () => {
  const day = await nextDay(ordinary);
  await moveTo(day, '12:00');
  const { audit } = (await gateway.api.purchase()).body;
  const voiding = await gateway.api.void(audit);
  expect(voiding.body.status.acquirer.settlement_date).toBe(`${day}`);
  await moveTo(day, '18:00:01');
  expect((await gateway.api.void(audit)).code).toBe('target_not_voidable');
  expect((await lookedUp(audit)).status.transaction_status_code).toBe('voided');
});

test('preauthorisation → can be completed until seven days have passed', async () => {
  const { audit, gateway_timestamp } = (await gateway.api.preauthorise()).body;
  const other = (await gateway.api.preauthorise()).body.audit;
  const untilMs = Date.parse(gateway_timestamp) + 7 * 24 * 3_600_000;
  expect(Date.parse((await lookedUp(audit)).kvps[`${KVP}COMPLETABLE_UNTIL`])).toBe(untilMs);

  await moveToMs(untilMs - 60_000);
  expect((await lookedUp(audit))._links).toHaveProperty('completion');
  const inTime = await gateway.api.complete(other, 10_000);
  expect(inTime.body.status.transaction_status_code).toBe('approved');

  await moveToMs(untilMs + 1_000);
  const { _links, kvps, status } = await lookedUp(audit);
  expect(status.transaction_status_code).toBe('approved');
  expect(Object.keys(_links)).toEqual(['self']);
  expect(kvps).toEqual(TEST_MODE);
  const late = await gateway.api.complete(audit, 10_000);
  expect([late.status, late.errors]).toEqual([422, ['target_not_completable path/audit']]);
  // What was completed in time can be refunded as ever.
  expect((await gateway.api.refund(inTime.body.audit, 10_000)).status).toBe(201);
});

test('preauthorisation → can be voided for as long as it can be completed, past every cut-off', async () => {
  const { audit, gateway_timestamp } = (await gateway.api.preauthorise()).body;
  const other = (await gateway.api.preauthorise()).body;
  const untilMs = Date.parse(gateway_timestamp) + 7 * 24 * 3_600_000;
  expect(other._links).toHaveProperty('void');

  await moveToMs(untilMs - 60_000);
  const { _links, kvps } = await lookedUp(audit);
  expect(_links).toHaveProperty('void');
  expect(kvps[`${KVP}VOIDABLE_UNTIL`]).toBe(kvps[`${KVP}COMPLETABLE_UNTIL`]);
  expect(Date.parse(kvps[`${KVP}VOIDABLE_UNTIL`])).toBe(untilMs);
  expect((await gateway.api.void(audit)).body.status.transaction_status_code).toBe('approved');

  await moveToMs(untilMs + 1_000);
  expect((await lookedUp(other.audit))._links).not.toHaveProperty('void');
  const late = await gateway.api.void(other.audit);
  expect([late.status, late.errors]).toEqual([422, ['target_not_voidable path/audit']]);
});

test('preauthorisation that expires before its day closes → cannot be voided after that either', async () => {
  const saturday = await nextDay((day) => day.dayOfWeek === 6);
  await moveTo(saturday, '09:00');
  const { body } = await gateway.api.preauthorise({ merchant: 3 });
  await moveTo(saturday.add({ days: 1 }), '09:01');
  expect((await lookedUp(body.audit))._links).not.toHaveProperty('void');
  expect((await gateway.api.void(body.audit, { merchant: 3 })).code).toBe('target_not_voidable');
});

// catches(completion: not of a preauthorisation that is too old)
test('preauthorisation, eight days old → 422 target_not_completable', async () => {
  const { audit } = (await gateway.api.preauthorise()).body;
  await gateway.advance('8d');
  expect((await gateway.api.complete(audit, 1)).code).toBe('target_not_completable');
});

test('preauthorisation of a merchant with a limit of two days → can be completed for two days', async () => {
  const { audit, gateway_timestamp } = (await gateway.api.preauthorise({ merchant: 2 })).body;
  const until = (await lookedUp(audit)).kvps[`${KVP}COMPLETABLE_UNTIL`];
  expect(Date.parse(until) - Date.parse(gateway_timestamp)).toBe(2 * 24 * 3_600_000);
  await gateway.advance('49h');
  expect((await gateway.api.complete(audit, 1, { merchant: 2 })).code).toBe('target_not_completable');
});

test('completion voided when its preauthorisation is too old → the amount is released, but cannot be completed', async () => {
  const day = await nextDay(ordinary);
  await moveTo(day, '12:00');
  const { audit, gateway_timestamp } = (await gateway.api.preauthorise()).body;
  const untilMs = Date.parse(gateway_timestamp) + 7 * 24 * 3_600_000;
  await moveToMs(untilMs - 60_000);
  const completion = (await gateway.api.complete(audit, 10_000)).body.audit;
  await moveToMs(untilMs + 1_000);
  expect((await gateway.api.void(completion)).body.status.transaction_status_code).toBe('approved');
  expect((await gateway.api.complete(audit, 1)).code).toBe('target_not_completable');
});

test('search, a day after the purchase → no longer found by correlation ID, but by audit', async () => {
  const correlationId = 'a-day-ago';
  const { audit } = (await gateway.api.purchase({ correlationId })).body;
  expect((await gateway.api.search(correlationId)).body.results).toHaveLength(1);
  await gateway.advance('25h');
  expect((await gateway.api.search(correlationId)).body).toEqual({ results: [] });
  expect((await lookedUp(audit)).transaction.reference).toBe('order-1');
});

test('on a Saturday → settles on Monday, and can be voided until then', async () => {
  // Months in which no Monday is a holiday in New South Wales.
  const saturday = await nextDay(
    (day) => day.dayOfWeek === 6 && [2, 5, 7, 9, 11].includes(day.add({ days: 2 }).month),
  );
  await moveTo(saturday, '12:00');
  const { status, audit } = (await gateway.api.purchase()).body;
  const monday = saturday.add({ days: 2 });
  expect(status.acquirer.settlement_date).toBe(`${monday}`);
  await moveTo(monday, '17:58');
  expect((await gateway.api.void(audit)).body.status.transaction_status_code).toBe('approved');
});

test('on New Year’s Eve after 18:00 → settles when the banks open again; a card valid until December expires at midnight', async () => {
  const eve = await nextDay((day) => day.month === 12 && day.day === 31);
  const yy = String(eve.year % 100).padStart(2, '0');
  await moveTo(eve, '18:01');
  const { body } = await gateway.api.purchase({ expiry: `12${yy}` });
  expect(body.status.transaction_status_code).toBe('approved');
  const lastMonth = await gateway.api.purchase({ expiry: `11${yy}` });
  expect(lastMonth.body.status.acquirer.response_code).toBe('54');

  // New Year's Day on a weekend is given back on Monday.
  const newYear = eve.add({ days: 1 });
  const opening =
    { 5: newYear.add({ days: 3 }), 6: newYear.add({ days: 3 }), 7: newYear.add({ days: 2 }) }[
      newYear.dayOfWeek
    ] ?? newYear.add({ days: 1 });
  expect(body.status.acquirer.settlement_date).toBe(`${opening}`);

  await moveTo(newYear, '00:01');
  const expired = await gateway.api.purchase({ expiry: `12${yy}` });
  expect(expired.body.status.acquirer.response_code).toBe('54');
  expect(expired.body.gateway_timestamp).toMatch(new RegExp(`^${newYear}T00:01:\\d\\d\\.\\d{3}\\+11:00$`));
});

test('in winter → gateway_timestamp and VOIDABLE_UNTIL have the offset without daylight saving', async () => {
  const day = await nextDay((day) => day.month === 7 && ordinary(day));
  await moveTo(day, '09:30');
  const { audit, gateway_timestamp } = (await gateway.api.purchase()).body;
  expect(gateway_timestamp).toMatch(new RegExp(`^${day}T09:30:\\d\\d\\.\\d{3}\\+10:00$`));
  expect((await lookedUp(audit)).kvps[`${KVP}VOIDABLE_UNTIL`]).toBe(`${day}T18:00:00.000+10:00`);
});

test('after all days → the acquirer has the same books', () => expectBooksToAgree(gateway));
