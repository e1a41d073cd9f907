// An operator's bank day, run in this process to save the start of a command, and the commands themselves.
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, vi } from 'vitest';
import { gatewayTime } from '../src/clock/gateway-clock.js';
import { type DirectEntryWish, directEntryOf, setDirectEntry } from '../src/directdebit/direct-entry.js';
import { exportFile } from '../src/directdebit/files/export.js';
import { DirectDebitFiles } from '../src/directdebit/files/files.js';
import { type ImportResult, importReturns } from '../src/directdebit/files/returns-file.js';
import type { Database } from '../src/postgres/database.js';
import { DataKeys } from '../src/vault/keys/keys.js';
import { FileKeys } from '../src/vault/keys/local-keys.js';
import { type DirectEntryFile, read } from './bank-file-layout.js';
import { operatorsDatabase } from './cast.js';
import type { Json } from './client.js';
import { runHere } from './command-here.js';
import type { TestGateway } from './gateway.js';
import type { Ended } from './gateway-process.js';

/** How a merchant with a real bank lodges. */
export const REAL_BANK: DirectEntryWish = {
  bank: 'CBA',
  userName: 'OURS PTY LTD',
  userId: '301500',
  description: 'RENT',
  traceBsb: '062-111',
  traceAccount: '87654321',
  remitter: 'OURS',
  clearingDays: 2,
  disputeDays: 365,
  simulated: false,
};

export interface BankDay {
  readonly folder: string;
  readonly database: Database;
  readonly keys: DataKeys;
  setDirectEntry(merchant: number, change?: Partial<DirectEntryWish>): Promise<void>;
  /** The new file of waiting items; undefined if there are none. */
  export(merchant: number): Promise<DirectEntryFile | undefined>;
  /** At this instant of the gateway's time, or at the present one. */
  importReturns(text: string, atMs?: number): Promise<ImportResult>;
  /** The path of a file with this text. */
  save(text: string): Promise<string>;
  /** `tollgate …` with the gateway's settings. */
  tollgate(...args: string[]): Promise<Ended>;
  close(): Promise<void>;
}

export function bankDayOf(gateway: TestGateway): BankDay {
  const { databaseUrl, ledgerPath } = gateway;
  const folder = dirname(ledgerPath);
  const database = operatorsDatabase(gateway, 8);
  const keys = new DataKeys(database, new FileKeys(join(folder, 'key-encryption-key')));
  const files = new DirectDebitFiles(database, keys);
  const actor = 'operator:test';
  const progress = () => {};
  const save = async (text: string) => {
    const path = join(folder, randomUUID());
    await writeFile(path, text);
    return path;
  };
  return {
    folder,
    database,
    keys,
    save,
    setDirectEntry: async (merchant, change) => {
      await setDirectEntry(database, actor, merchant, { ...REAL_BANK, ...change });
    },
    export: async (merchant) => {
      const out = join(folder, randomUUID());
      const entry = await directEntryOf(database, merchant);
      const nowMs = await gatewayTime(database);
      const made = await exportFile(files, entry, { out, nowMs, actor, progress });
      return made && read(await readFile(out, 'latin1'));
    },
    importReturns: async (text, atMs) => {
      const nowMs = atMs ?? (await gatewayTime(database));
      return importReturns(database, { keys, nowMs, actor, path: await save(text), progress });
    },
    tollgate: (...args) => runHere(args, { DATABASE_URL: databaseUrl, TOLLGATE_DATA_DIR: folder }),
    close: () => database.close(),
  };
}

/** Moves the clock where no command may, and waits until the gateway has done everything due. */
export function moveClock(gateway: Pick<TestGateway, 'sql'>, days: number): Promise<void> {
  return moveClockByMs(gateway, days * 86_400_000);
}

export async function moveClockByMs({ sql }: Pick<TestGateway, 'sql'>, ms: number): Promise<void> {
  await sql('UPDATE gateway SET advanced_ms = advanced_ms + $1', [Math.round(ms)]);
  const behind = `SELECT p.id::text FROM process p, gateway g WHERE p.advanced_ms <> g.advanced_ms
    UNION ALL SELECT i.audit::text FROM directdebit_item i, gateway g
    WHERE i.next_at <= now() + (g.advanced_ms * interval '1 millisecond')`;
  await vi.waitFor(async () => expect(await sql(behind)).toEqual([]), { timeout: 300_000, interval: 20 });
}

/** Everything about transactions that can change: their rows, items and events. */
export async function stateOf({ sql }: Pick<TestGateway, 'sql'>): Promise<Json> {
  return {
    transactions: await sql('SELECT t::text FROM transaction t ORDER BY organisation_id, audit'),
    items: await sql('SELECT i::text FROM directdebit_item i ORDER BY organisation_id, audit'),
    late: await sql(`SELECT j::text FROM journal j WHERE action = 'directdebit.returned_late'`),
  };
}
