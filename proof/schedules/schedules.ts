// A year of schedules by the gateway's clock, while gateways are killed at each point of a payment, and the database fails over to its
// standby: every date comes to one outcome, none is paid twice, no card is tried against the table, and the books are equal to the cent.
import { setTimeout as sleep } from 'node:timers/promises';
import { POINTS } from '../../src/payments/pipeline/create.js';
import { bankAccount, cardAccount } from '../../testkit/bodies.js';
import { differences } from '../../testkit/books.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { type AttackedGateway, Installation } from '../../testkit/installation.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { sydneyToday } from '../../testkit/schedules.js';
import { clientOfSeveral } from '../../testkit/several-gateways.js';
import { cardAnsweredWith, LOST_ANSWER_CARD, UNREACHABLE_CARD } from '../../testkit/test-cards.js';
import { FailingDatabase, KINDS, type Kind } from '../arena/failover-scenes.js';
import { verdict } from '../arena/verdict.js';

const values = programOptions({
  schedules: 1_000,
  days: 365,
  // How far the clock goes at a time.
  step: 3,
  kills: 60,
  // Of the database, to its standby.
  failovers: 4,
  // Both gateways stand still for a week, in the middle.
  jump: false,
  seed: newSeed(),
});
const random = new Chance(values.seed);
say(`schedules: seed ${values.seed}`);

const DAY_MS = 86_400_000;
/** After the last date: retries, returns, and what is made up for an hour apart. */
const DAYS_AFTER = 45;
const CARD_AGAIN_DAYS = 30;
const MOST_DECLINES = 20;
const PATIENCE_MS = 240_000;
const MOST_STEPS_AFTER = 250;

/** What a schedule pays with, and how many of a hundred do. */
const ACCOUNTS = [
  { name: 'good card', share: 50, account: () => cardAccount() },
  { name: 'not covered', share: 12, account: () => cardAccount({ 'CARD.PAN': cardAnsweredWith('51') }) },
  { name: 'stolen', share: 5, account: () => cardAccount({ 'CARD.PAN': cardAnsweredWith('43') }) },
  { name: 'out of reach', share: 4, account: () => cardAccount({ 'CARD.PAN': UNREACHABLE_CARD }) },
  { name: 'lost answer', share: 4, account: () => cardAccount({ 'CARD.PAN': LOST_ANSWER_CARD }) },
  { name: 'good account', share: 15, account: () => bankAccount() },
  { name: 'returned', share: 7, account: () => bankAccount({ 'BANK.ACCOUNT_NUMBER': '900006' }) },
  { name: 'closed', share: 3, account: () => bankAccount({ 'BANK.ACCOUNT_NUMBER': '900003' }) },
] as const;

const installation = await Installation.on(
  { killable: true, openDatabase: (directory) => FailingDatabase.open(directory, 2) },
  { ACQUIRER_DEADLINE_MS: '1500', RESOLVER_FIRST_PAUSE_MS: '50', RESOLVER_INTERVAL_MS: '250' },
);
const { database } = installation;
await installation.prepare();
const { merchantId } = installation;
const gateways: AttackedGateway[] = [
  await installation.startedGateway({}, database.urlOf(0)),
  await installation.startedGateway({}, database.urlOf(1)),
];
const clientNow = () => clientOfSeveral({ gateways, random: random.fork(), ...installation.credentials });

const [{ ms }] = (await installation.sql<{ ms: number }>(
  'SELECT (extract(epoch FROM gateway_now()) * 1000)::float8 AS ms',
)) as [{ ms: number }];
let advancedMs = 0;
const aheadMs = ms - Date.now();
const today = () => sydneyToday(Date.now() + aheadMs + advancedMs);
const dayAfter = (date: string, days: number) =>
  new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);

interface Agreed {
  readonly id: string;
  readonly kind: string;
  readonly dates: readonly string[];
}

/** Counted here by the calendar alone, and not as the gateway counts. */
function datesBy(first: string, unit: string, every: number, last: string): string[] {
  const dates: string[] = [];
  for (let n = 0; ; n += 1) {
    let date = dayAfter(first, n * every * (unit === 'weeks' ? 7 : 1));
    if (unit === 'months') {
      const [year, month, day] = first.split('-').map(Number) as [number, number, number];
      const ofMonth = month - 1 + n * every;
      const longest = new Date(Date.UTC(year, ofMonth + 1, 0)).getUTCDate();
      date = new Date(Date.UTC(year, ofMonth, Math.min(day, longest))).toISOString().slice(0, 10);
    }
    if (date > last) return dates;
    dates.push(date);
  }
}

const startedMs = performance.now();
const start = today();
const last = dayAfter(start, values.days);
const agreed: Agreed[] = [];
const client = clientNow();
const tokens = new Map<string, string[]>();
for (const { name, account } of ACCOUNTS) {
  const customer = await client.customers.create({
    reference: `proof-${name.replaceAll(' ', '-')}`,
    name: 'Ada',
  });
  const token = await client.tokens.create(customer.id, {
    preferred_name: name,
    active: true,
    account: account() as never,
  });
  tokens.set(name, [token.virtual_pan]);
}
for (let n = 0; n < values.schedules; n += 1) {
  let drawn = random.below(100);
  const { name } =
    ACCOUNTS.find(({ share }) => {
      drawn -= share;
      return drawn < 0;
    }) ?? ACCOUNTS[0];
  const [unit, every] =
    name === 'out of reach'
      ? (['months', 3] as const)
      : random.pick([
          ['months', 1],
          ['months', 1],
          ['months', 3],
          ['weeks', random.between(1, 4)],
          ['days', random.between(10, 40)],
        ] as const);
  const first = dayAfter(start, random.below(Math.min(31, values.days)));
  const { id } = await client.schedules.create(
    {
      merchant: { id: merchantId },
      schedule: {
        reference: `schedule-${n}`,
        virtual_pan: (tokens.get(name) as string[])[0] as string,
        amount_details: { total_amount: String(random.between(100, 5_000)), currency: 'AUD' },
        first_date: first,
        every: { [unit]: every },
        until: last,
      },
    },
    { correlationId: `proof-schedule-${n}` },
  );
  agreed.push({ id, kind: name, dates: datesBy(first, unit, every, last) });
}
say(`… ${agreed.length} schedules with ${agreed.reduce((sum, { dates }) => sum + dates.length, 0)} dates`);

let kills = 0;
let failovers = 0;

/** A gateway that ends has died at the point that it was started for, or was killed. */
async function keepTwo(settings: Readonly<Record<string, string>> = {}): Promise<void> {
  for (const [at, gateway] of gateways.entries()) {
    const isGone = await Promise.race([gateway.ended.then(() => true), sleep(0).then(() => false)]);
    if (!isGone) continue;
    const started = installation.startGateway(settings, database.urlOf(at));
    const baseUrl = await started.listening;
    // It died as soon as it went on with what the last one had left.
    if (baseUrl !== undefined) gateways[at] = { ...started, baseUrl };
  }
}

/** Those that run: while the addresses of the database are wrong, none can start. */
async function waitUntilServed(): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
  const gone = new Set<AttackedGateway>();
  for (const gateway of gateways) void gateway.ended.then(() => gone.add(gateway));
  const serves = async (gateway: AttackedGateway) =>
    gone.has(gateway) ||
    fetch(new URL('/readyz', gateway.baseUrl)).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await Promise.all(gateways.map(serves))).every(Boolean) && performance.now() < untilMs)
    await sleep(100);
}

async function waitUntilNothingIsDue(): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
  const due = `SELECT count(*)::integer AS due FROM schedule WHERE due_at <= gateway_now()`;
  for (;;) {
    const [row] = await installation.sql<{ due: number }>(due).catch(() => []);
    if (row?.due === 0) return;
    if (performance.now() > untilMs) {
      complaints.push(`${today()}: ${row?.due} schedules are still due after ${PATIENCE_MS / 1_000} s`);
      return;
    }
    await keepTwo().catch(() => {});
    await sleep(300);
  }
}

const complaints: string[] = [];
const days = values.days + DAYS_AFTER;
const steps = Math.ceil(days / values.step);
const killEvery = Math.max(1, Math.floor(Math.ceil(values.days / values.step) / Math.max(1, values.kills)));
const failoverEvery = Math.max(1, Math.floor(Math.ceil(values.days / values.step) / (values.failovers + 1)));
const advance = async (daysOn: number) => {
  await installation.command('clock', 'advance', `${daysOn}d`);
  advancedMs += daysOn * DAY_MS;
};
for (let step = 1; step <= steps; step += 1) {
  const isYear = step * values.step <= values.days;
  if (values.jump && step === Math.ceil(values.days / values.step / 2)) {
    for (const gateway of gateways) gateway.kill('SIGKILL');
    await Promise.all(gateways.map(({ ended }) => ended));
    await advance(7);
    await keepTwo();
    await waitUntilNothingIsDue();
  }
  const begunAt = step % killEvery === 0 && isYear ? kills : undefined;
  if (begunAt !== undefined) {
    // At each point in turn, and now and then at any moment.
    const point = [...POINTS, undefined][kills % (POINTS.length + 1)];
    kills += 1;
    const victim = random.below(2);
    const gateway = gateways[victim] as AttackedGateway;
    gateway.kill('SIGKILL');
    await gateway.ended;
    await keepTwo(point === undefined ? {} : { CRASH_AT: `${point}:${random.between(1, 3)}` });
  }
  await advance(values.step);
  if (begunAt !== undefined && begunAt % (POINTS.length + 1) === POINTS.length) {
    await sleep(random.between(0, 2_500));
    for (const gateway of gateways) gateway.kill('SIGKILL');
    await Promise.all(gateways.map(({ ended }) => ended));
    await keepTwo();
  }
  if (isYear && failovers < values.failovers && step % failoverEvery === 0) {
    failovers += 1;
    await sleep(random.between(500, 2_500));
    await database.failOver(KINDS[failovers % KINDS.length] as Kind, random, {
      served: waitUntilServed,
      traded: async () => {},
    });
  }
  await waitUntilNothingIsDue();
  if (step % 20 === 0) say(`… ${today()}, ${kills} kills`);
}
await installation.decidedTransactions(60_000);
// What was late on the last day is made up for. An acquirer that is out of reach is tried 28 times for each date, hours apart.
const open = 'SELECT count(*)::integer AS open FROM schedule WHERE ended_at IS NULL';
for (let again = 0; again < MOST_STEPS_AFTER; again += 1) {
  if ((await installation.sql<{ open: number }>(open))[0]?.open === 0) break;
  await installation.command('clock', 'advance', '12h');
  advancedMs += DAY_MS / 2;
  await waitUntilNothingIsDue();
}
const transactions = await installation.decidedTransactions(60_000);
const seconds = (performance.now() - startedMs) / 1_000;

interface StoredDate {
  readonly id: string;
  readonly date: string;
  readonly status: string;
  readonly reason: string | null;
}
interface Made {
  readonly name: string;
  readonly status: string;
  readonly code: string | null;
  readonly mask: string | null;
  readonly ms: number;
}
const dates = await installation.sql<StoredDate>(
  `SELECT s.id, d.due_on::text AS date, d.status, d.reason FROM schedule_date d
   JOIN schedule s ON s.organisation_id = d.organisation_id AND s.number = d.schedule`,
);
const made = await installation.sql<Made>(
  `SELECT correlation_id AS name, status, response_code AS code, card_mask AS mask,
     (extract(epoch FROM created_at) * 1000)::float8 AS ms
   FROM transaction WHERE correlation_id LIKE 'schedule:%' ORDER BY created_at`,
);
const told = await installation.sql<{ id: string; date: string }>(
  `SELECT data ->> 'schedule' AS id, data ->> 'date' AS date FROM (SELECT type, data::json AS data FROM event_feed) e
   WHERE type = 'schedule.payment_failed'`,
);
const keyOf = (id: string, date: string) => `schedule:${id}:${date}`;
const byDate = new Map<string, StoredDate[]>();
for (const date of dates) {
  const key = keyOf(date.id, date.date);
  byDate.set(key, [...(byDate.get(key) ?? []), date]);
}
const paymentsOf = new Map<string, Made[]>();
for (const each of made) {
  const key = each.name.split(':').slice(0, 3).join(':');
  paymentsOf.set(key, [...(paymentsOf.get(key) ?? []), each]);
}
const isPaid = ({ status }: Made) => status === 'approved' || status === 'pending' || status === 'voided';
const expected = new Set(agreed.flatMap(({ id, dates }) => dates.map((date) => keyOf(id, date))));
const kindOf = new Map(agreed.map(({ id, kind }) => [id, kind]));
const ended = await installation.sql<{ open: number }>(open);
/** Later payments that came although an earlier one forbade them. */
function againstTheTable(): string[] {
  const wrong: string[] = [];
  const declined = new Map<string, Made[]>();
  for (const each of made) {
    if (each.mask === null) continue;
    const before = (declined.get(each.mask) ?? []).filter(
      ({ ms }) => ms > each.ms - CARD_AGAIN_DAYS * DAY_MS,
    );
    // Two that are on their way at the same moment do not know of each other.
    const known = before.filter(({ ms }) => ms < each.ms - 10_000);
    if (known.some(({ code }) => code === '43')) wrong.push(`${each.name} after a stolen card`);
    if (known.length > MOST_DECLINES + 8) wrong.push(`${each.name} after ${known.length} declines`);
    if (each.status === 'declined') declined.set(each.mask, [...before, each]);
  }
  return wrong;
}
const outcomes = (status: string) => dates.filter((date) => date.status === status).length;
const broken = {
  'nothing stays due': complaints,
  'every date is there, once': [...expected].filter((key) => byDate.get(key)?.length !== 1),
  'there is no other date': [...byDate.keys()].filter((key) => !expected.has(key)),
  'every date has an outcome': dates
    .filter(({ status }) => !['paid', 'failed'].includes(status))
    .map(({ id, date, status }) => `${keyOf(id, date)} ${kindOf.get(id)}: ${status}`),
  'what is paid has one payment, and what has failed none': dates
    .filter(({ id, date, status }) => {
      const paid = (paymentsOf.get(keyOf(id, date)) ?? []).filter(isPaid).length;
      return paid !== (status === 'paid' ? 1 : 0);
    })
    .map(({ id, date, status }) => `${keyOf(id, date)} ${status}`),
  'every payment is of a date': [...paymentsOf.keys()].filter((key) => !expected.has(key)),
  'a good card or account pays': dates
    .filter(({ id, status }) => status === 'failed' && kindOf.get(id)?.startsWith('good'))
    .map(({ id, date, reason }) => `${keyOf(id, date)}: ${reason}`),
  'a failure is told once': dates
    .filter(({ status }) => status === 'failed')
    .filter(({ id, date }) => told.filter((each) => each.id === id && each.date === date).length > 1)
    .map(({ id, date }) => keyOf(id, date)),
  'no card is tried against the table': againstTheTable(),
  'every schedule has ended': ended[0]?.open === 0 ? [] : [`${ended[0]?.open} are open`],
  'the books are equal': differences(transactions, await installation.ledger()),
};
await installation.close();
process.exitCode = verdict(
  broken,
  `schedules: seed ${values.seed}, ${agreed.length} schedules over ${values.days} days in ${seconds.toFixed(0)} s; ` +
    `${dates.length} dates, ${outcomes('paid')} paid, ${outcomes('failed')} failed, ${made.length} payments; ` +
    `${kills} gateways killed, ${failovers} failovers${values.jump ? ', stood still for a week' : ''}`,
);
