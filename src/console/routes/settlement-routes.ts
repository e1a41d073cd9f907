// Routes for settlement and direct debit that are more than their tasks: files that come and go, and differences with the days they are of.
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { acquirerNames } from '../../acquirers/configured.js';
import { Type } from '../../api/typebox.js';
import { exportDirectDebits, importDirectDebitReturns } from '../../directdebit/directdebit-tasks.js';
import { listDifferences, lookAtDay, openDays } from '../../settlement/differences.js';
import { reconcileAndKeep, showSettlement } from '../../settlement/settlement-tasks.js';
import { outward } from '../../values/snake-case.js';
import { DAY_PATTERN, isDay } from '../../values/time.js';
import { permissionOf } from '../all-tasks.js';
import { numberIn } from '../fence.js';
import { ConsoleProblem } from '../problems.js';
import { type Call, Download, fileRoute, type Route, route } from '../route.js';

/** A file of the bank has 999,999 items of 122 bytes at most. */
const MOST_BYTES = 128 * 1024 * 1024;
const LISTED = 500;

export const SETTLEMENT_ROUTES: readonly Route[] = [
  route({ method: 'GET', path: '/settlement', permission: permissionOf('settlement show') }, async (call) =>
    outward(await showSettlement(call.database, call.actor, askedOf(call))),
  ),
  route(
    { method: 'GET', path: '/settlement.csv', permission: permissionOf('settlement show'), recent: true },
    async (call) => {
      const { database, actor, query } = call;
      const wish = { ...askedOf(call), mode: modeIn(query) };
      const { date, merchant, mode } = wish;
      // A file does not say what was chosen when it was made.
      if (merchant === undefined && mode === undefined)
        throw new ConsoleProblem('field_format', ['query', 'mode']);
      const name = `settlement-${[date, merchant, mode].filter((part) => part !== undefined).join('-')}.csv`;
      return written(name, 'text/csv; charset=utf-8', (csv) =>
        showSettlement(database, actor, { ...wish, csv, to: 'the console' }),
      );
    },
  ),
  fileRoute(
    {
      path: '/settlement/reconcile',
      permission: permissionOf('settlement reconcile'),
      fileBytes: MOST_BYTES,
    },
    async ({ database, actor, query, body: { path } }) => {
      const wish = { path, acquirer: query.get('acquirer') ?? '', date: dayIn(query) };
      return outward(await reconcileAndKeep(database, actor, wish));
    },
  ),
  route(
    { method: 'GET', path: '/settlement/differences', permission: permissionOf('settlement differences') },
    async ({ database, query }) => {
      const date = query.get('date') ? dayIn(query) : undefined;
      const all = query.get('all') === 'true';
      const [differences, days, acquirers] = await Promise.all([
        listDifferences(database, { date, acquirer: query.get('acquirer') || undefined, all, limit: LISTED }),
        openDays(database),
        acquirerNames(database),
      ]);
      return outward({ differences, days, acquirers });
    },
  ),
  route(
    {
      method: 'POST',
      path: '/settlement/differences/looked-at',
      permission: permissionOf('settlement looked-at'),
      body: Type.Object({
        date: Type.String({ pattern: DAY_PATTERN, format: 'calendar-day' }),
        acquirer: Type.String({ maxLength: 64 }),
        note: Type.String({ maxLength: 256 }),
        open: Type.Integer({ minimum: 1 }),
      }),
    },
    async ({ database, actor, body }) => outward(await lookAtDay(database, actor, body)),
  ),
  route(
    {
      method: 'POST',
      path: '/directdebit/:merchant/export',
      permission: permissionOf('directdebit export'),
      recent: true,
    },
    async ({ database, actor, parts: { provider }, params }) => {
      const merchant = numberIn(params.merchant);
      const { path: out, remove } = await temporaryFile();
      // It is made, and counts as written; the page asks for it by its number.
      return outward(await exportDirectDebits(database, actor, provider, { merchant, out }).finally(remove));
    },
  ),
  route(
    {
      method: 'GET',
      path: '/directdebit/:merchant/files/:number',
      permission: permissionOf('directdebit export'),
      recent: true,
    },
    async ({ database, actor, parts: { provider }, params }) => {
      const wish = { merchant: numberIn(params.merchant), number: numberIn(params.number) };
      return written(`direct-debit-${wish.merchant}-${wish.number}.aba`, 'text/plain', (out) =>
        exportDirectDebits(database, actor, provider, { ...wish, out }),
      );
    },
  ),
  fileRoute(
    {
      path: '/directdebit/returns',
      permission: permissionOf('directdebit import-returns'),
      recent: true,
      fileBytes: MOST_BYTES,
    },
    async ({ database, actor, parts: { provider }, body: { path } }) =>
      outward(await importDirectDebitReturns(database, actor, provider, { path })),
  ),
];

/** Whoever is of one organisation names a merchant of it. */
function askedOf({ query, fence }: Call): { readonly date: string; readonly merchant: number | undefined } {
  const date = dayIn(query);
  const merchant = query.get('merchant') ? numberIn(query.get('merchant')) : undefined;
  if (fence !== undefined && merchant === undefined) throw new ConsoleProblem('organisation_not_permitted');
  return { date, merchant };
}

function modeIn(query: URLSearchParams): 'test' | 'live' | undefined {
  const mode = query.get('mode') ?? undefined;
  if (mode === undefined || mode === 'test' || mode === 'live') return mode;
  throw new ConsoleProblem('field_format', ['query', 'mode']);
}

function dayIn(query: URLSearchParams): string {
  const date = query.get('date') ?? '';
  if (!isDay(date)) throw new ConsoleProblem('field_format', ['query', 'date']);
  return date;
}

/** What `write` puts into a file, which is there only while it is sent. */
async function written(
  name: string,
  type: string,
  write: (path: string) => Promise<unknown>,
): Promise<Download> {
  const { path, remove } = await temporaryFile();
  try {
    await write(path);
  } catch (error) {
    await remove();
    throw error;
  }
  return new Download(name, type, andThen(createReadStream(path), remove));
}

async function temporaryFile(): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-download-'));
  return { path: join(folder, 'file'), remove: () => rm(folder, { recursive: true, force: true }) };
}

async function* andThen(chunks: AsyncIterable<Buffer>, remove: () => Promise<void>): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } finally {
    await remove();
  }
}
