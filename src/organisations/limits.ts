// Limits against card testing: how often the same card, address and so on may be tried at a merchant. Set by the operator, in force within
// two seconds. Payments count against them in `src/payments/pipeline/limit-counts.ts`.
import type { JournalAction } from '../journal/journal.js';
import type { PluginSettings } from '../plugins/contract.js';
import type { Queryable } from '../postgres/database.js';
import { choice, count, duration, ID } from '../tasks/kinds.js';
import { needed, optional, task } from '../tasks/task.js';
import { refuse } from '../values/refusal.js';
import { durationText } from '../values/time.js';
import { CLEAR_LIMITS, LIST_REACHED, SET_LIMITS } from './limits.sql.js';
import { findSealedMerchant, journalMerchant, lockMerchant, type SealedMerchant } from './sealed-merchant.js';

/** What is counted. `address`: the payer's; `bin`: the first eight digits of a card number. */
export const LIMITED = ['card', 'address', 'bin', 'customer', 'checkout'] as const;
export type Limited = (typeof LIMITED)[number];

/** `block` refuses what goes beyond it, `watch` only tells of it. */
export const LIMIT_MODES = ['watch', 'block'] as const;
export type LimitMode = (typeof LIMIT_MODES)[number];

export interface Limit {
  readonly per: Limited;
  readonly attempts: number;
  /** So many of them that were declined are enough. */
  readonly declines?: number | undefined;
  readonly withinMs: number;
  readonly mode: LimitMode;
}

interface LimitView {
  readonly of: 'the merchant' | 'checkouts';
  readonly per: Limited;
  readonly attempts: number;
  readonly declines: number | null;
  readonly within: string;
  readonly mode: LimitMode;
}

const MINUTE_MS = 60_000;
const SHORTEST_MS = MINUTE_MS;
const LONGEST_MS = 30 * 86_400_000;
/** So many rows are read for each payment that comes near it. */
const MOST_ATTEMPTS = 1_000;
const MOST_LIMITS = 20;
const LISTED = 100;

/** Everybody who has its link can try cards on a checkout. */
const OF_CHECKOUTS: readonly Limit[] = [
  { per: 'card', attempts: 5, withinMs: 10 * MINUTE_MS, mode: 'block' },
  { per: 'address', attempts: 20, withinMs: 10 * MINUTE_MS, mode: 'block' },
];

/** Of a merchant: empty where it has none. */
export function limitsOf({ plugins }: { readonly plugins: PluginSettings }): readonly Limit[] {
  return (plugins.limits as readonly Limit[] | undefined) ?? [];
}

/** What a merchant blocks by itself takes the place of what is usual for checkouts. */
export function limitsOfCheckouts(merchant: { readonly plugins: PluginSettings }): readonly Limit[] {
  const own = limitsOf(merchant);
  const isBlocked = (wanted: Limited) => own.some(({ per, mode }) => per === wanted && mode === 'block');
  return [...own, ...OF_CHECKOUTS.filter(({ per }) => !isBlocked(per))];
}

/** One for the same thing and time, of the same mode, is replaced. */
export async function setLimit(database: Queryable, actor: string, merchant: number, wish: Limit) {
  const { per, attempts, declines, withinMs, mode } = wish;
  if (declines !== undefined && declines > attempts) refuse('limit_declines_beyond', { attempts, declines });
  if (withinMs < SHORTEST_MS) refuse('limit_too_short');
  const limit = { per, attempts, ...(declines !== undefined && { declines }), withinMs, mode };
  return change(database, actor, 'limit.set', merchant, (limits) => {
    const others = limits.filter((one) => one.per !== per || one.withinMs !== withinMs || one.mode !== mode);
    if (others.length >= MOST_LIMITS) refuse('limit_too_many', { merchant, most: MOST_LIMITS });
    return [...others, limit];
  });
}

/** Takes all away, or those of one thing. */
function removeLimits(database: Queryable, actor: string, merchant: number, per: Limited | undefined) {
  return change(database, actor, 'limit.off', merchant, (limits) =>
    limits.filter((one) => per !== undefined && one.per !== per),
  );
}

async function change(
  database: Queryable,
  actor: string,
  action: JournalAction,
  merchant: number,
  changed: (limits: readonly Limit[]) => readonly Limit[],
): Promise<LimitView[]> {
  return database.transaction(async (connection) => {
    const locked = await lockMerchant(connection, merchant);
    const limits = changed(limitsOf(locked));
    const owner = [locked.merchantOrganisationId, locked.id];
    if (limits.length === 0) await connection.query(CLEAR_LIMITS, owner);
    else await connection.query(SET_LIMITS, [...owner, JSON.stringify(limits)]);
    const detail = limits.map(inWords).join('; ');
    await journalMerchant(connection, { actor, action, detail }, merchant);
    return viewsOf((await findSealedMerchant(connection, merchant)) as SealedMerchant);
  });
}

async function listLimits(database: Queryable, merchant: number): Promise<LimitView[]> {
  return viewsOf(await merchantOf(database, merchant));
}

async function merchantOf(database: Queryable, merchant: number): Promise<SealedMerchant> {
  return (await findSealedMerchant(database, merchant)) ?? refuse('merchant_not_found', { merchant });
}

/** Those of the merchant, and what its checkouts have beside them. */
function viewsOf(merchant: SealedMerchant): LimitView[] {
  const own = limitsOf(merchant);
  return limitsOfCheckouts(merchant).map((limit) => ({
    of: own.includes(limit) ? 'the merchant' : 'checkouts',
    per: limit.per,
    attempts: limit.attempts,
    declines: limit.declines ?? null,
    within: durationText(limit.withinMs),
    mode: limit.mode,
  }));
}

function inWords({ per, attempts, declines, withinMs, mode }: Limit): string {
  const declined = declines === undefined ? '' : ` or ${declines} declines`;
  return `${mode} ${per} after ${attempts} attempts${declined} within ${durationText(withinMs)}`;
}

interface ReachedView {
  readonly mode: LimitMode;
  /** `retry`: its merchant wanted to try a card again that must not be. */
  readonly per: Limited | 'retry';
  /** A masked card number, an address, the number of a customer. */
  readonly what: string;
  readonly times: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

const MERCHANT = needed(ID, '--merchant <id>', 'the merchant', { names: 'merchants' });

export const LIMITS = {
  name: 'limit',
  help: 'limits against card testing: how often the same card, address and so on is tried',
  tasks: [
    task({
      name: 'limit set',
      help: 'set a limit for the payments of a merchant',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /limits/:merchant/set',
      fresh: true,
      input: {
        merchant: MERCHANT,
        per: needed(choice(...LIMITED), '--per <what>', 'what is counted'),
        attempts: needed(count(MOST_ATTEMPTS), '--attempts <count>', 'so many are let through'),
        withinMs: needed(duration(LONGEST_MS), '--within <duration>', 'in this time, such as 10m or 1d'),
        declines: optional(
          count(MOST_ATTEMPTS),
          '--declines <count>',
          'so many declined ones are enough, too',
        ),
        mode: needed(
          choice(...LIMIT_MODES),
          '--mode <mode>',
          'block refuses what goes beyond it, watch only tells of it',
        ),
      },
      run: ({ database, actor }, { merchant, ...limit }) => setLimit(database, actor, merchant, limit),
    }),
    task({
      name: 'limit list',
      help: 'list the limits of a merchant, and those that its checkouts have from the start',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /limits',
      input: { merchant: MERCHANT },
      run: ({ database }, { merchant }) => listLimits(database, merchant),
    }),
    task({
      name: 'limit reached',
      help: 'list what the limits of a merchant have caught in the last 30 days, the newest first',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /limits/reached',
      input: {
        merchant: MERCHANT,
        limit: optional(count(), '--limit <count>', 'how many at most', { default: LISTED, onPage: LISTED }),
      },
      run: async ({ database }, { merchant, limit }) => {
        const { merchantOrganisationId, id } = await merchantOf(database, merchant);
        const values = [merchantOrganisationId, id, limit];
        return (await database.query<ReachedView>(LIST_REACHED, values)).rows;
      },
    }),
    task({
      name: 'limit off',
      help: 'take the limits of a merchant away',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /limits/:merchant/off',
      fresh: true,
      input: {
        merchant: MERCHANT,
        per: optional(choice(...LIMITED), '--per <what>', 'only those that count this'),
      },
      run: ({ database, actor }, { merchant, per }) => removeLimits(database, actor, merchant, per),
    }),
  ],
} as const;
