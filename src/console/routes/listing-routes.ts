// Routes that list what is set up, and what the installation knows of itself: each answers with what the command of its task prints.
import { showDirectDebitStatus } from '../../directdebit/directdebit-tasks.js';
import { showKeys } from '../../installation/keys.js';
import { readJournal } from '../../journal/journal-tasks.js';
import { listMerchants } from '../../organisations/merchants.js';
import { showSettlement } from '../../settlement/settlement-tasks.js';
import { outward } from '../../values/snake-case.js';
import { isDay, periodEnd, periodStart } from '../../values/time.js';
import { numberIn } from '../fence.js';
import { ConsoleProblem } from '../problems.js';
import { type Call, type Route, route } from '../route.js';

const MOST_ENTRIES = 1_000;

export const LISTING_ROUTES: readonly Route[] = [
  route({ method: 'GET', path: '/keys', task: 'keys status' }, async ({ database }) =>
    (await showKeys(database)).map(outward),
  ),
  route({ method: 'GET', path: '/journal', task: 'journal list' }, async (call) => {
    const { database, query } = call;
    const entries = await readJournal(database, {
      merchant: ownMerchant(call),
      token: given(call, 'token'),
      user: query.get('user') || undefined,
      action: query.get('action') || undefined,
      fromMs: momentIn(query, 'from', periodStart),
      toMs: momentIn(query, 'until', periodEnd),
      limit: limitIn(call, MOST_ENTRIES),
    });
    return entries.map(outward);
  }),
  route({ method: 'GET', path: '/directdebit', task: 'directdebit status' }, async (call) => {
    const isInside = await insideFence(call);
    return (await showDirectDebitStatus(call.database, given(call, 'merchant')))
      .filter(isInside)
      .map(outward);
  }),
  route({ method: 'GET', path: '/settlement', task: 'settlement show' }, async (call) => {
    const date = call.query.get('date') ?? '';
    if (!isDay(date)) throw new ConsoleProblem('field_format', ['query', 'date']);
    return outward(await showSettlement(call.database, { date, merchant: ownMerchant(call) }));
  }),
];

function given({ query }: Pick<Call, 'query'>, name: string): number | undefined {
  const value = query.get(name);
  return value === null || value === '' ? undefined : numberIn(value);
}

function limitIn(call: Pick<Call, 'query'>, most: number): number {
  return Math.min(given(call, 'limit') ?? most, most);
}

/** Whoever is of one organisation names a merchant of it. */
function ownMerchant(call: Pick<Call, 'query' | 'fence'>): number | undefined {
  const merchant = given(call, 'merchant');
  if (call.fence !== undefined && merchant === undefined)
    throw new ConsoleProblem('organisation_not_permitted');
  return merchant;
}

async function insideFence({
  database,
  fence,
}: Pick<Call, 'database' | 'fence'>): Promise<(of: { readonly merchant: number }) => boolean> {
  if (fence === undefined) return () => true;
  const own = new Set((await listMerchants(database, fence)).map(({ id }): number => id));
  return ({ merchant }) => own.has(merchant);
}

/** A day, or an instant. */
function momentIn(
  query: URLSearchParams,
  name: string,
  read: (text: string) => number | undefined,
): number | undefined {
  const text = query.get(name) ?? '';
  const momentMs = text === '' ? undefined : read(text);
  if (text !== '' && momentMs === undefined) throw new ConsoleProblem('field_format', ['query', name]);
  return momentMs;
}
