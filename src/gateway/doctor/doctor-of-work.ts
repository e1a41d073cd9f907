// Checks on the gateways' background work: payments in doubt, the feed, webhooks, settlement, cards, bank files.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../postgres/database.js';
import { lastClosedDay } from '../../values/time.js';
import { byAge, type CheckResult, failure, notChecked, ok, warning } from './check-result.js';
import { EVENT_WAITS, TRADED_UP_TO } from './doctor.sql.js';
import { read } from './doctor-of-server.js';

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;
/** Anything that only seemed late has gone by then. */
const STAYS_MS = 10_000;
const LOOK_EVERY_MS = 500;

/** From the database. */
export interface GatewayState {
  readonly advancedMs: number;
  readonly closedDay: string | null;
  readonly lostFrom: Date | null;
  readonly lostUntil: Date | null;
  readonly processes: number;
  readonly seenAheadSeconds: number | null;
  /** Whether there is a live merchant. */
  readonly isLive: boolean;
  readonly inDoubt: number;
  readonly inDoubtSeconds: number | null;
  readonly reversals: number;
  readonly reversalSeconds: number | null;
  readonly feedSeconds: number | null;
  readonly oldestEvent: string | null;
  readonly disabledEndpoints: number;
  readonly webhookSeconds: number | null;
  readonly scheduleSeconds: number | null;
  readonly cardSeconds: number | null;
  readonly unwrittenSeconds: number | null;
  readonly highestId: number | null;
  readonly keySeconds: number | null;
  readonly backupSeconds: number | null;
  /** Since access was reviewed, or since the first operator was added. */
  readonly unreviewedSeconds: number | null;
  readonly journalGuards: number;
  readonly brokenSeals: number;
}

export async function examineWork(database: Database, state: GatewayState): Promise<CheckResult[]> {
  return [
    ...examineDoubt(state),
    await examineFeed(database, state),
    await examineSettlement(database, state),
    ...examineLags(state),
  ];
}

/** Background work. If no gateway runs, that is reported once, and the work resumes when one starts. */
function goesOn(check: string): CheckResult {
  return notChecked(check, 'no gateway is running; it goes on when one is started');
}

async function examineFeed(database: Database, state: GatewayState): Promise<CheckResult> {
  const { feedSeconds, oldestEvent, processes } = state;
  const check = 'feed of events';
  if (feedSeconds === null || oldestEvent === null) return ok(check, 'is up to date');
  if (processes === 0) return goesOn(check);
  // An event may be backdated, as the demo's are, or the clock be ahead: it is late only if it stays.
  for (let waitedMs = 0; feedSeconds > MINUTE && waitedMs < STAYS_MS; waitedMs += LOOK_EVERY_MS) {
    await sleep(LOOK_EVERY_MS);
    const { waits } = await read<{ waits: boolean }>(database, EVENT_WAITS, [oldestEvent]);
    if (!waits) return ok(check, 'is being caught up with');
  }
  return byAge(
    check,
    feedSeconds,
    { warnAbove: MINUTE, failAbove: HOUR },
    {
      nothing: 'is up to date',
      found: (age) => `the oldest event has waited for ${age}`,
      todo: '`tollgate event status`',
    },
  );
}

async function examineSettlement(database: Database, state: GatewayState): Promise<CheckResult> {
  const { closedDay, processes } = state;
  const due = lastClosedDay(Date.now() + state.advancedMs - 5 * MINUTE * 1_000);
  if (closedDay !== null && closedDay >= due) return ok('settlement', `is closed up to ${closedDay}`);
  if (closedDay === null) {
    const { traded } = await read<{ traded: boolean }>(database, TRADED_UP_TO, [due]);
    if (!traded) return ok('settlement', 'there is no day to close yet');
  }
  if (processes === 0) return goesOn('settlement');
  return failure(
    'settlement',
    `is closed up to ${closedDay ?? 'no day'}, and ${due} should be`,
    'look for `background job failed` in the log; a session may hold a commit open',
  );
}

function examineDoubt(state: GatewayState): CheckResult[] {
  return [
    byAge(
      'in doubt',
      state.inDoubtSeconds,
      { warnAbove: 10 * MINUTE, failAbove: DAY },
      {
        nothing: 'no transaction waits for the resolver',
        found: (age) => `${state.inDoubt} transactions, the oldest for ${age}`,
        todo: '`tollgate transaction in-doubt`, and ask the acquirer',
      },
    ),
    byAge(
      'reversals',
      state.reversalSeconds,
      { warnAbove: 10 * MINUTE, failAbove: DAY },
      {
        nothing: 'all are acknowledged',
        found: (age) => `${state.reversals} are not acknowledged, the oldest for ${age}`,
        todo: 'ask the acquirer',
      },
    ),
  ];
}

function examineLags(state: GatewayState): CheckResult[] {
  return [
    state.disabledEndpoints > 0
      ? warning(
          'webhooks',
          `${state.disabledEndpoints} endpoints are disabled because they failed`,
          '`tollgate webhook list`, then enable or remove them',
        )
      : byAge(
          'webhooks',
          state.webhookSeconds,
          { warnAbove: HOUR },
          {
            nothing: 'none waits',
            found: (age) => `the oldest has failed for ${age}`,
            todo: '`tollgate webhook deliveries`, and ask its owner',
          },
        ),
    state.processes === 0 && (state.scheduleSeconds ?? 0) > 0
      ? goesOn('schedules')
      : byAge(
          'schedules',
          state.scheduleSeconds,
          { warnAbove: HOUR },
          {
            nothing: 'none is due',
            found: (age) => `one has been due for ${age}`,
            todo: 'see tollgate_schedules_late, and `background job failed` in the log',
          },
        ),
    state.processes === 0 && (state.cardSeconds ?? 0) > 0
      ? goesOn('card destruction')
      : byAge(
          'card destruction',
          state.cardSeconds,
          { warnAbove: HOUR, failAbove: DAY },
          {
            nothing: 'is up to date',
            found: (age) => `a merchant’s turn is ${age} late`,
            todo: '`tollgate cards status`; the log says why',
          },
        ),
    byAge(
      'direct-debit files',
      state.unwrittenSeconds,
      { warnAbove: HOUR },
      {
        nothing: 'all were written',
        found: (age) => `one has waited for ${age} to be written`,
        todo: '`tollgate directdebit export`',
      },
    ),
  ];
}
