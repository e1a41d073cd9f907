// The guard after a backup was brought back: whatever is given out once moves past what may have been given out since, and what lives
// again is told. The backup does not know what happened after it, but clients, acquirers and banks do.
import { MOVE_STANS, REVERSALS_UNDER_WAY } from '../acquirers/restored.sql.js';
import { gatewayTime } from '../clock/gateway-clock.js';
import { MOVE_POSITIONS } from '../events/restored.sql.js';
import { journal } from '../journal/journal.js';
import {
  forgetLostTime,
  journalDeferredLostTime,
  journalLostTime,
  type LostTime,
  lostTime,
} from '../payments/processes/lost-time.js';
import {
  LIVING_PROCESSES,
  MOVE_COUNTERS,
  MOVE_GATEWAY,
  MOVE_VERSIONS_IN_DOUBT,
} from '../payments/processes/restored.sql.js';
import { checkedReason } from '../payments/requests/operator-request.js';
import type { Database, Queryable, Statement } from '../postgres/database.js';
import { TEXT } from '../tasks/kinds.js';
import { optional, task } from '../tasks/task.js';
import { BECS_CURRENCY } from '../values/bank-account.js';
import { moneyText } from '../values/money.js';
import { refuse } from '../values/refusal.js';
import { addBusinessDays, settlementDay } from '../values/time.js';
import { MOVE_CUSTOMER_VERSIONS, MOVE_TOKEN_VERSIONS } from '../vault/restored.sql.js';
import { leaveToOthers, type PaidElsewhere } from './moving/left-to-others.js';
import {
  DEBITS_THAT_WAIT,
  MOVE_SEQUENCES,
  RECONCILED_SINCE,
  WEBHOOKS_THAT_WAIT,
  WHO_MAY_LOG_IN,
} from './restored.sql.js';

export interface Restored {
  /** When the backup was taken: what came later is lost here. */
  readonly takenMs: number;
  /** How often this backup was brought back, this time included. */
  readonly times: number;
  /** By how many audits and IDs to move, where the operator knows better. */
  readonly ahead?: number | undefined;
  /** Nobody else can reach the database yet; the processes in its registry are those of its former life. */
  readonly isAlone: boolean;
  /** Organisations that other cells of the fleet pay for. */
  readonly elsewhere?: readonly PaidElsewhere[] | undefined;
}

export interface MovedCounters {
  readonly organisation: number;
  readonly fromAudit: number;
  readonly toAudit: number;
  readonly fromCustomer: number;
  readonly toCustomer: number;
  readonly fromToken: number;
  readonly toToken: number;
}

export interface InDoubt {
  readonly acquirer: string;
  readonly currency: string;
  readonly transactions: number;
  readonly amountCents: number;
  readonly oldest: Date;
}

export interface WaitingDebits {
  readonly merchant: number;
  readonly items: number;
  readonly amountCents: number;
  readonly lastFile: number;
}

/** What is again as it was when the backup was taken, and may do something. */
export interface Revived {
  readonly inDoubt: readonly InDoubt[];
  readonly reversals: number;
  readonly debits: readonly WaitingDebits[];
  readonly endpoints: number;
  readonly deliveries: number;
  readonly users: number;
  readonly closedDay: string | null;
}

export interface Guarded {
  readonly lostSeconds: number;
  readonly moved: readonly MovedCounters[];
  readonly terminals: number;
  readonly revived: Revived;
  /** Organisations that have moved to another cell since. */
  readonly left: readonly Pick<PaidElsewhere, 'organisation' | 'cell'>[];
}

/** Ids have 31 bits. With fewer than so many left an organisation would soon be at its end. */
const LAST_ID = 2_147_483_647;
const SHOULD_BE_LEFT = 100_000_000;
/** Nobody changes a customer so often within the time that a backup misses. */
const VERSIONS = 1_000;

/** Everything in one commit: a database that was guarded by half would look as if it were. */
export async function guardRestored(
  database: Database,
  operator: string,
  { takenMs, times, ahead, isAlone, elsewhere = [] }: Restored,
): Promise<Guarded> {
  return database.transaction(async (connection) => {
    const { processes } = await one<{ processes: number }>(connection, LIVING_PROCESSES);
    // guard(counters: not while a gateway works on the database): > ⇒ <
    if (processes > 0 && !isAlone) refuse('gateways_at_work', { processes });
    const lostSeconds = Math.max(0, Math.ceil((Date.now() - takenMs) / 1000));
    const { rows: moved } = await connection
      .query<MovedCounters>(MOVE_COUNTERS, [times, lostSeconds, ahead ?? null])
      .catch((error: { code?: string }) => {
        if (error.code === '23514' || error.code === '22003')
          refuse('counters_exhausted', { organisation: undefined });
        throw error;
      });
    for (const { organisation, toAudit, toCustomer, toToken } of moved) {
      const left = LAST_ID - Math.max(toAudit, toCustomer, toToken);
      // guard(counters: none moves past its end): ahead === undefined && left < SHOULD_BE_LEFT ⇒ left < 0
      if (ahead === undefined && left < SHOULD_BE_LEFT) refuse('counters_exhausted', { organisation });
    }
    const terminals = (await connection.query(MOVE_STANS, [times, lostSeconds])).rows.length;
    // guard(restore: merchants and organisations are numbered further on): await connection.query(MOVE_SEQUENCES, [times]); ⇒
    await connection.query(MOVE_SEQUENCES, [times]);
    await connection.query(MOVE_POSITIONS, [times]);
    await connection.query(MOVE_CUSTOMER_VERSIONS, [times * VERSIONS]);
    await connection.query(MOVE_TOKEN_VERSIONS, [times * VERSIONS]);
    const { rows: inDoubt } = await connection.query<InDoubt>(MOVE_VERSIONS_IN_DOUBT, [times * VERSIONS]);
    const { closedDay } = await one<Pick<Revived, 'closedDay'>>(connection, MOVE_GATEWAY, [times, takenMs]);
    const revived: Revived = {
      inDoubt,
      ...(await one<Pick<Revived, 'reversals'>>(connection, REVERSALS_UNDER_WAY)),
      debits: (await connection.query<WaitingDebits>(DEBITS_THAT_WAIT)).rows,
      ...(await one<Pick<Revived, 'endpoints' | 'deliveries'>>(connection, WEBHOOKS_THAT_WAIT)),
      ...(await one<Pick<Revived, 'users'>>(connection, WHO_MAY_LOG_IN)),
      closedDay,
    };
    await journalLostTime(connection, operator, (await lostTime(connection)) as LostTime);
    await leaveToOthers(connection, operator, elsewhere);
    const left = elsewhere.map(({ organisation, cell }) => ({ organisation, cell }));
    return { lostSeconds, moved, terminals, revived, left };
  });
}

/** A settlement day of the lost time over one link. */
interface LostDay {
  readonly acquirer: string;
  readonly date: string;
  /** Its file was reconciled since the restore. */
  readonly reconciled: boolean;
  /** Payments that the acquirer has listed, that are not here, and that nobody has looked at. */
  readonly missingHere: number;
}

interface LostTimeView {
  readonly from: Date;
  readonly until: Date;
  readonly days: readonly LostDay[];
}

/** Undefined where nothing is lost, or all of it was reconciled. */
async function showLostTime(database: Queryable): Promise<LostTimeView | undefined> {
  const lost = await lostTime(database);
  if (lost === undefined) return undefined;
  const aheadMs = (await gatewayTime(database)) - Date.now();
  const dates = settlementDays(lost.fromMs + aheadMs, lost.untilMs + aheadMs);
  const { rows: days } = await database.query<LostDay>(RECONCILED_SINCE, [dates, lost.untilMs]);
  return { from: new Date(lost.fromMs), until: new Date(lost.untilMs), days };
}

/**
 * From now on searches that find nothing are answered "empty" again. `note`: how the operator knows what is missing, where the files of
 * acquirers do not say so.
 */
async function lostTimeReconciled(
  database: Database,
  operator: string,
  note: string | undefined,
): Promise<Pick<LostTimeView, 'from' | 'until'>> {
  const said = note === undefined ? undefined : checkedReason(note);
  await journalDeferredLostTime(database);
  return database.transaction(async (connection) => {
    const lost = (await showLostTime(connection)) ?? refuse('nothing_lost');
    const open = lost.days.filter(({ reconciled, missingHere }) => !reconciled || missingHere > 0);
    // guard(lost time: not done before it is reconciled): > ⇒ <
    if (open.length > 0 && said === undefined) refuse('lost_time_not_reconciled', { days: open });
    // Whoever is second has nothing to do any more.
    if (!(await forgetLostTime(connection))) refuse('nothing_lost');
    await journal(connection, {
      actor: operator,
      action: 'gateway.restore_reconciled',
      detail: `${lost.from.toISOString()} to ${lost.until.toISOString()}${said === undefined ? '' : `: ${said}`}`,
    });
    return { from: lost.from, until: lost.until };
  });
}

/** Those that were open at some moment of a time. */
function settlementDays(fromMs: number, untilMs: number): string[] {
  const days: string[] = [];
  for (let day = settlementDay(fromMs); ; day = addBusinessDays(day, 1)) {
    days.push(day);
    if (day >= settlementDay(untilMs)) return days;
  }
}

async function one<Row>(connection: Queryable, statement: Statement, values: unknown[] = []): Promise<Row> {
  return (await connection.query<Row>(statement, values)).rows[0] as Row;
}

/** One line for each thing. */
export function revivedLines({ lostSeconds, moved, terminals, revived, left }: Guarded): string[] {
  const { inDoubt, reversals, debits, endpoints, deliveries, users, closedDay } = revived;
  return [
    `What came after it is lost here: ${inWords(lostSeconds)}. Acquirers, banks and clients know of it; \`tollgate settlement reconcile\` shows payments that are missing.`,
    'Until you have reconciled it and said so with `tollgate restored done`, searches that find nothing are answered 503: `tollgate restored show`.',
    ...left.map(
      ({ organisation, cell }) =>
        `Organisation ${organisation} has moved to cell ${cell} since: that cell pays for it, and this one does not.`,
    ),
    ...moved.map(
      ({ organisation, fromAudit, toAudit, fromCustomer, toCustomer, fromToken, toToken }) =>
        `Organisation ${organisation}: the next audit is ${toAudit} (was ${fromAudit}), the next customer ${toCustomer} (was ${fromCustomer}), the next token ${toToken} (was ${fromToken}).`,
    ),
    ...(terminals > 0 ? [`STANs of ${terminals} terminals have moved.`] : []),
    ...inDoubt.map(
      ({ acquirer, currency, transactions, amountCents, oldest }) =>
        `In doubt again: ${transactions} transactions at ${acquirer}, ${moneyText(amountCents, currency)}, the oldest of ${oldest.toISOString()}. The gateway asks about them, and reverses what a link without an inquiry cannot confirm, also if the client was told "approved" meanwhile: look at \`tollgate transaction in-doubt\` first.`,
    ),
    ...(reversals > 0 ? [`${reversals} reversals are repeated until they are acknowledged.`] : []),
    ...debits.map(
      ({ merchant, items, amountCents, lastFile }) =>
        `Merchant ${merchant}: ${items} direct debits wait for the bank again, ${moneyText(amountCents, BECS_CURRENCY)}. If a file after number ${lastFile} was lodged, they are in it: do not export them again before you have asked the bank.`,
    ),
    ...(endpoints > 0
      ? [
          `Webhooks of ${endpoints} endpoints are sent again from where they were (${deliveries} wait), under the IDs that they had.`,
        ]
      : []),
    `${users} users can log in: secrets that were replaced, and users that were revoked, since then work again. Rotate and revoke them.`,
    'Customers and tokens that were deleted since then are there again, with their cards: delete them. Settings, routes and surcharges are as they were.',
    closedDay === null
      ? 'No settlement day is closed.'
      : `Settlement is closed up to ${closedDay}: later days are closed anew, without what is lost.`,
  ];
}

function inWords(seconds: number): string {
  if (seconds < 120) return `${seconds} seconds`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} minutes`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} hours` : `${Math.round(seconds / 86_400)} days`;
}

function lostLines({ from, until, days }: LostTimeView): string {
  return [
    `Lost: what was processed from ${from.toISOString()} to ${until.toISOString()}.`,
    'Until `tollgate restored done`, searches that find nothing, and look-ups of audits that may have been given out then, are answered 503.',
    ...days.map(({ acquirer, date, reconciled, missingHere }) =>
      reconciled
        ? `${date}, ${acquirer}: reconciled; ${missingHere} payments are not here and nobody has looked at them.`
        : `${date}, ${acquirer}: not reconciled since. \`tollgate settlement reconcile FILE --acquirer ${acquirer} --date ${date}\``,
    ),
    'Payments that the acquirer has and you do not: tell their merchants, or have them refunded there, and mark each with `tollgate settlement looked-at`.',
  ].join('\n');
}

export const RESTORED = {
  name: 'restored',
  help: 'what a database that was restored has lost, until it is reconciled',
  tasks: [
    task({
      name: 'restored show',
      help: 'show the lost time, and which files of acquirers have to be reconciled',
      role: 'viewer',
      scope: 'nobody',
      byAccount: true,
      input: {},
      run: async ({ database }) => ({ lost: (await showLostTime(database)) ?? null }),
      says: ({ lost }) => (lost === null ? 'Nothing is lost, or all of it was reconciled.' : lostLines(lost)),
    }),
    task({
      name: 'restored done',
      help: 'say that the lost time is reconciled: searches that find nothing are answered again',
      role: 'operator',
      scope: 'installation',
      input: {
        note: optional(
          TEXT,
          '--note <text>',
          'how you know what is missing, where no file of an acquirer says so',
        ),
      },
      run: ({ database, actor }, { note }) => lostTimeReconciled(database, actor, note),
      says: ({ from, until }) =>
        `Reconciled: ${from.toISOString()} to ${until.toISOString()}. Searches that find nothing are answered "empty" again.`,
    }),
  ],
} as const;
