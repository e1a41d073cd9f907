// Routes for direct debit and settlement: files for the banks, what they return, and an acquirer's file held against a day.
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Type } from '../../api/typebox.js';
import { setDirectEntry, showDirectEntry } from '../../directdebit/direct-entry-tasks.js';
import {
  exportDirectDebits,
  importDirectDebitReturns,
  listDirectDebitFiles,
} from '../../directdebit/directdebit-tasks.js';
import { reconcileAndKeep, shownReconciliation, showSettlement } from '../../settlement/settlement-tasks.js';
import type { Mode } from '../../values/mode.js';
import { refuse } from '../../values/refusal.js';
import { outward } from '../../values/snake-case.js';
import { isDay } from '../../values/time.js';
import { numberIn } from '../fence.js';
import { TEXT } from '../fields.js';
import { ConsoleProblem } from '../problems.js';
import { Download, fileRoute, type Route, route } from '../route.js';

/** A file of the bank has 999,999 items of 122 bytes at most. */
const MOST_BYTES = 128 * 1024 * 1024;
const LISTED = 100;

const DIRECT_DEBIT: readonly Route[] = [
  route(
    { method: 'GET', path: '/directdebit/:merchant/settings', task: 'directdebit show' },
    async ({ database, params }) => outward(await showDirectEntry(database, numberIn(params.merchant))),
  ),
  route(
    {
      method: 'POST',
      path: '/directdebit/:merchant/settings',
      task: 'directdebit set',
      recent: true,
      body: Type.Object({
        bank: TEXT,
        user_name: TEXT,
        user_id: TEXT,
        description: Type.Optional(TEXT),
        trace_bsb: TEXT,
        trace_account: TEXT,
        remitter: TEXT,
        clearing_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 30 })),
        dispute_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3_650 })),
        simulated: Type.Optional(Type.Boolean()),
      }),
    },
    async ({ database, actor, params, body }) => {
      const { user_name, user_id, trace_bsb, trace_account, clearing_days, dispute_days, ...rest } = body;
      const { description = 'PAYMENTS', bank, remitter, simulated } = rest;
      const wish = {
        bank,
        remitter,
        description,
        simulated,
        userName: user_name,
        userId: user_id,
        traceBsb: trace_bsb,
        traceAccount: trace_account,
        clearingDays: clearing_days,
        disputeDays: dispute_days,
      };
      return outward(await setDirectEntry(database, actor, numberIn(params.merchant), wish));
    },
  ),
  route(
    { method: 'GET', path: '/directdebit/:merchant/files', task: 'directdebit files' },
    async ({ database, params }) =>
      (await listDirectDebitFiles(database, numberIn(params.merchant), LISTED)).map(outward),
  ),
  route(
    { method: 'POST', path: '/directdebit/:merchant/export', task: 'directdebit export', recent: true },
    async ({ database, actor, parts, params }) => {
      const merchant = numberIn(params.merchant);
      const { folder, out } = await temporaryFile();
      try {
        // It is made, and counts as written; the page asks for it by its number.
        const result = await exportDirectDebits(database, actor, parts.provider, { merchant, out });
        if (result === undefined) return { merchant, file: null, items: 0 };
        const { number: file, items, debitCents, creditCents, processingDay } = result.file;
        return outward({ merchant, file, items, debitCents, creditCents, processingDay, left: result.left });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  ),
  route(
    {
      method: 'GET',
      path: '/directdebit/:merchant/files/:number',
      task: 'directdebit export',
      recent: true,
    },
    async ({ database, actor, parts, params }) => {
      const [merchant, number] = [numberIn(params.merchant), numberIn(params.number)];
      const { folder, out } = await temporaryFile();
      try {
        const result = await exportDirectDebits(database, actor, parts.provider, { merchant, out, number });
        if (result === undefined) refuse('file_not_found', { merchant, number });
      } catch (error) {
        await rm(folder, { recursive: true, force: true });
        throw error;
      }
      return new Download(`direct-debit-${merchant}-${number}.aba`, 'text/plain', andRemoved(out, folder));
    },
  ),
  fileRoute(
    {
      path: '/directdebit/returns',
      task: 'directdebit import-returns',
      recent: true,
      fileBytes: MOST_BYTES,
    },
    async ({ database, actor, parts, body }) =>
      outward(await importDirectDebitReturns(database, actor, parts.provider, { path: body.path })),
  ),
];

const SETTLEMENT: readonly Route[] = [
  route(
    { method: 'GET', path: '/settlement.csv', task: 'settlement show' },
    async ({ database, actor, fence, query }) => {
      const date = dayIn(query);
      const merchant = query.has('merchant') ? numberIn(query.get('merchant')) : undefined;
      if (fence !== undefined && merchant === undefined)
        throw new ConsoleProblem('organisation_not_permitted');
      const mode = modeIn(query);
      // A file does not say what was chosen when it was made.
      if (merchant === undefined && mode === undefined)
        throw new ConsoleProblem('field_format', ['query', 'mode']);
      const { folder, out } = await temporaryFile();
      try {
        await showSettlement(database, {
          date,
          merchant,
          mode,
          csv: { path: out, operator: actor, to: 'the console' },
        });
      } catch (error) {
        await rm(folder, { recursive: true, force: true });
        throw error;
      }
      return new Download(
        `settlement-${[date, merchant, mode].filter((part) => part !== undefined).join('-')}.csv`,
        'text/csv; charset=utf-8',
        andRemoved(out, folder),
      );
    },
  ),
  fileRoute(
    { path: '/settlement/reconcile', task: 'settlement reconcile', fileBytes: MOST_BYTES },
    async ({ database, actor, query, body }) => {
      const [date, acquirer] = [dayIn(query), query.get('acquirer') ?? ''];
      const result = await reconcileAndKeep(database, actor, { path: body.path, acquirer, date });
      return outward(shownReconciliation(result));
    },
  ),
];

export const DIRECT_DEBIT_ROUTES: readonly Route[] = [...DIRECT_DEBIT, ...SETTLEMENT];

function modeIn(query: URLSearchParams): Mode | undefined {
  const mode = query.get('mode') ?? undefined;
  if (mode === undefined || mode === 'test' || mode === 'live') return mode;
  throw new ConsoleProblem('field_format', ['query', 'mode']);
}

function dayIn(query: URLSearchParams): string {
  const date = query.get('date') ?? '';
  if (!isDay(date)) throw new ConsoleProblem('field_format', ['query', 'date']);
  return date;
}

async function temporaryFile(): Promise<{ readonly folder: string; readonly out: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-download-'));
  return { folder, out: join(folder, 'file') };
}

async function* andRemoved(path: string, folder: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of createReadStream(path)) yield chunk as Buffer;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
