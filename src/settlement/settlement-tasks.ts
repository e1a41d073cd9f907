// Settlement as the operator sees it: what a day comes to, its transactions as a file, and an acquirer's file held against it.
import { gatewayTime } from '../clock/gateway-clock.js';
import { journal } from '../journal/journal.js';
import { acquirerReferences } from '../payments/transaction.js';
import { type Queryable, REPEATABLE_READ } from '../postgres/database.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { refuse } from '../values/refusal.js';
import { writeWhole } from '../values/whole-file.js';
import { closeSettlementDays } from './closing.js';
import { keepDifferences } from './differences.js';
import { CSV_HEADER, type EntryFilter, entryLine, settlementEntries } from './entries.js';
import { type ReconcileWish, reconcile } from './reconcile.js';
import type { Reconciliation } from './reconciliation.js';
import { type SettlementReport, settlementOfDay } from './report.js';
import { INSTALLATION_OF_MERCHANT } from './settlement-tasks.sql.js';

export interface SettlementFile {
  readonly path: string;
  readonly operator: string;
  /** For the journal, where it goes on from there. */
  readonly to?: string;
}

export interface SettlementWish {
  readonly date: string;
  readonly merchant?: number | undefined;
  /** Only merchants of this mode: test and live are not to be taken for each other. */
  readonly mode?: Mode | undefined;
  /** Where to write a line for each transaction, and who wants it; nothing that is there is overwritten. */
  readonly csv?: SettlementFile | undefined;
}

interface Owner {
  readonly installation: string;
  readonly organisationId: OrganisationId | null;
}

/** A file of transactions is in the journal before its first line is written. */
export async function showSettlement(
  database: Queryable,
  { date, merchant, mode, csv }: SettlementWish,
): Promise<SettlementReport> {
  const { rows } = await database.query<Owner>(INSTALLATION_OF_MERCHANT, [merchant ?? null]);
  const { installation, organisationId } = rows[0] as Owner;
  if (merchant !== undefined && organisationId === null) refuse('merchant_not_found', { merchant });
  await closeSettlementDays(database, await gatewayTime(database));
  if (csv !== undefined)
    await journal(database, {
      actor: csv.operator,
      action: 'settlement.exported',
      organisationId: organisationId ?? undefined,
      merchantId: merchant as MerchantId | undefined,
      detail: `${date}${mode === undefined ? '' : `, ${mode}`}, to ${csv.to ?? csv.path}`,
    });
  // Of an open day, both have to tell of the same moment.
  return database.transaction(async (connection) => {
    await connection.query(REPEATABLE_READ);
    const report = await settlementOfDay(connection, date, { merchant, mode });
    if (csv !== undefined) await writeCsv(connection, { date, merchant, mode }, installation, csv.path);
    return report;
  });
}

async function writeCsv(
  connection: Queryable,
  filter: EntryFilter,
  installation: string,
  path: string,
): Promise<void> {
  const referenceOf = acquirerReferences({ installation });
  await writeWhole(path, 'refuse', async (append) => {
    await append(CSV_HEADER);
    for await (const entries of settlementEntries(connection, filter)) {
      const lines = entries.map((entry) =>
        entryLine(filter.date, entry, referenceOf(entry.organisationId, entry.audit)),
      );
      await append(lines.join(''));
    }
    return path;
  });
}

/** The counts, and behind them what they count, under names of their own. */
export function shownReconciliation({ listed, differentAbout: _, ...counts }: Reconciliation) {
  return {
    ...counts,
    missingHereLines: listed.missingHere,
    missingThereTransactions: listed.missingThere.map(({ organisationId: _, ...missing }) => missing),
    differentLines: listed.different,
    wrongLines: listed.wrong,
  };
}

export async function reconcileSettlement(database: Queryable, wish: ReconcileWish): Promise<Reconciliation> {
  await closeSettlementDays(database, await gatewayTime(database));
  return reconcile(database, wish);
}

/** The same, and what it finds is kept, for somebody to work through. */
export async function reconcileAndKeep(
  database: Queryable,
  operator: string,
  wish: ReconcileWish,
): Promise<Reconciliation> {
  const found = await reconcileSettlement(database, wish);
  const { acquirer, date, lines, matched } = found;
  await database.transaction(async (connection) => {
    const gone = await keepDifferences(connection, operator, found);
    const open = found.missingHere + found.missingThere + found.different + found.wrong;
    const detail = `${date}, ${acquirer}: ${matched} of ${lines} lines match, ${open} differences, ${gone} gone`;
    await journal(connection, { actor: operator, action: 'settlement.reconciled', detail });
  });
  return found;
}
