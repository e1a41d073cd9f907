// The demo's history: days of trade that never happened, so that a newcomer's console has something to show. Transactions,
// events, settlement, direct debits, vault and the simulated acquirer's ledger agree about it.
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { type LedgerEntry, SimulatorLedger } from '../acquirers/simulator/ledger.js';
import { gatewayTime } from '../clock/gateway-clock.js';
import type { TradedDebit } from '../directdebit/traded-debit.js';
import { addTradedDebits } from '../directdebit/traded-items.js';
import { journal } from '../journal/journal.js';
import type { CredentialKey } from '../organisations/users/credentials.js';
import { REVIEW_CARDS_AGAIN } from '../payments/cards/card-destruction.sql.js';
import type { DemoEvent, DemoSettlementEntry } from '../payments/demo-transaction.js';
import { addDemoTransactions, existingDays, reserveAudits } from '../payments/demo-transactions.js';
import { acquirerReferences } from '../payments/transaction.js';
import type { Database } from '../postgres/database.js';
import { count } from '../tasks/kinds.js';
import { type Doing, optional, task } from '../tasks/task.js';
import type { Audit } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { settlementCutOff } from '../values/time.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import { DataKeys } from '../vault/keys/keys.js';
import type { Draft } from './draft.js';
import { HISTORY_INSTALLATION, LOCK_HISTORY } from './history.sql.js';
import { ledgerEntries } from './ledger-entries.js';
import { members } from './members.js';
import { checkDemo, historyOwner } from './organisation.js';
import { type RowParts, rowOf } from './rows.js';
import { demoSchedules } from './schedules.js';
import { tradeIn } from './trade.js';
import { unfinishedTransactions } from './unfinished.js';
import { windowsOf } from './windows.js';

interface HistoryWish {
  readonly provider: KeyProvider;
  readonly key: CredentialKey;
  /** The simulated acquirer's file. */
  readonly ledger: string;
  /** How many days back. */
  readonly days: number;
  /** Whether to leave some in doubt at the end, and some waiting for the bank. */
  readonly unfinished: boolean;
  /** As the login that serves: operators make no schedules. Without it there are none. */
  readonly serving?: Database;
}

interface FilledHistory {
  /** Settlement days that were filled, wholly or in part. */
  readonly days: number;
  readonly transactions: number;
  readonly events: number;
  readonly customers: number;
  readonly inDoubt: number;
}

/** How many to generate before yielding to other work. */
const AT_ONCE = 100;

/** Existing transactions stay as they are: it can be repeated, and killed. */
export async function fillHistory(
  database: Database,
  operator: string,
  wish: HistoryWish,
): Promise<FilledHistory> {
  await checkDemo(database);
  const keys = new DataKeys(database, wish.provider);
  const owner = await historyOwner(database, operator, wish.key);
  const { added, tokenOf } = await members(database, keys, owner);
  const ledger = await SimulatorLedger.open(wish.ledger);
  try {
    const { organisationId } = owner;
    const { rows } = await database.query<{ installation: string }>(HISTORY_INSTALLATION);
    const referenceOf = acquirerReferences(rows[0] as { installation: string });
    const filled = await database.transaction(async (connection) => {
      await connection.query(LOCK_HISTORY);
      const nowMs = await gatewayTime(connection);
      const { days, newestMs, inDoubt } = await existingDays(connection, organisationId);
      const windows = windowsOf(nowMs, wish.days, { days, newestMs: newestMs ?? undefined });
      const made = await tradeIn({ windows, nowMs });
      const open = windows.at(-1);
      if (wish.unfinished && !inDoubt && open !== undefined)
        made.push(...unfinishedTransactions(open, nowMs));
      const drafts = made.filter(({ shop }) => owner.merchants.has(shop.kind));
      // Outside the database transaction: if that fails, these audits are never used again, since the acquirer may know some of
      // them.
      const first = drafts.length === 0 ? 0 : await reserveAudits(database, organisationId, drafts.length);
      const audits = new Map(drafts.map((draft, index) => [draft, (first + index) as Audit]));
      const parts: RowParts = { owner, keys, tokenOf, audits };
      const traded = [];
      for (const [index, draft] of drafts.entries()) {
        traded.push({ draft, row: await rowOf(draft, parts) });
        // A payment that arrives meanwhile does not wait for all of them.
        if (index % AT_ONCE === 0) await yieldToOthers();
      }
      const told = traded.flatMap(({ draft, row }) =>
        draft.told.map(({ type, atMs }, index): DemoEvent => ({ ...row, version: index + 1, type, atMs })),
      );
      const settled = traded.flatMap(({ draft, row }) =>
        draft.settles.map((settles): DemoSettlementEntry => ({ traded: row, ...settles })),
      );
      await addDemoTransactions(
        connection,
        traded.map(({ row }) => row),
        told,
        settled,
      );
      const debits = traded.flatMap(({ draft, row }) => debitOf(draft, row));
      for (const merchantId of owner.merchants.values())
        await addTradedDebits(
          connection,
          debits.filter((debit) => debit.merchantId === merchantId),
        );
      for (const merchantId of owner.merchants.values())
        await connection.query(REVIEW_CARDS_AGAIN, [merchantId]);
      const detail = `${drafts.length} transactions on ${windows.length} days`;
      if (drafts.length > 0)
        await journal(connection, { actor: operator, action: 'demo.filled', organisationId, detail });
      // Last: if the commit fails, the ledger only has extra references that are never used.
      await append(
        ledger,
        drafts.flatMap((draft) =>
          ledgerEntries(draft, (each) => referenceOf(organisationId, audits.get(each) as Audit)),
        ),
      );
      return {
        days: windows.length,
        transactions: drafts.length,
        events: told.length,
        inDoubt: drafts.filter(({ status }) => status === 'unknown').length,
      };
    });
    await keys.recordSeals();
    if (wish.serving !== undefined) await demoSchedules(wish.serving, wish.provider, owner, operator);
    return { ...filled, customers: added };
  } finally {
    ledger.close();
  }
}

function debitOf(
  { item }: Draft,
  row: Pick<TradedDebit, 'organisationId' | 'merchantId' | 'audit' | 'amountCents'>,
): TradedDebit[] {
  if (item === undefined) return [];
  const { organisationId, merchantId, audit, amountCents } = row;
  const { day, state, returnCode, nextMs } = item;
  return [
    {
      organisationId,
      merchantId,
      audit,
      amountCents,
      day,
      closesMs: settlementCutOff(day),
      state,
      returnCode,
      nextMs,
    },
  ];
}

async function append(ledger: SimulatorLedger, entries: readonly LedgerEntry[]): Promise<void> {
  for (let from = 0; from < entries.length; from += AT_ONCE)
    await Promise.all(entries.slice(from, from + AT_ONCE).map((entry) => ledger.append(entry)));
}

/** As far back as events, and so figures, are kept by default. */
const DEFAULT_DAYS = 30;
const MOST_DAYS = 120;

interface DemoMeans {
  provider(): Promise<KeyProvider>;
  key(): Promise<CredentialKey>;
}

export const DEMO = {
  name: 'demo',
  help: 'the demo that `serve` makes where there is no DATABASE_URL',
  tasks: [
    task({
      name: 'demo fill',
      help: 'give the demo’s merchants of the organisation Harbour Group a history, for the console to show; what is there stays as it is',
      role: 'administrator',
      scope: 'installation',
      input: {
        days: optional(count(MOST_DAYS), '--days <days>', `how many days back, up to ${MOST_DAYS}`, {
          default: DEFAULT_DAYS,
        }),
      },
      run: async ({ database, actor, means, settings }: Doing<DemoMeans>, { days }) => {
        if (!settings.demo || settings.environment === 'production') refuse('demo_absent');
        return fillHistory(database, actor, {
          provider: await means.provider(),
          key: await means.key(),
          ledger: settings.simulatorLedger,
          days,
          unfinished: true,
        });
      },
      says: ({ days, transactions, events, customers, inDoubt }) =>
        transactions === 0
          ? 'There was nothing to fill: these days have their trade.'
          : `${transactions} transactions on ${days} days, with ${events} events and ${customers} new customers; ${inDoubt} are in doubt.`,
    }),
  ],
} as const;
