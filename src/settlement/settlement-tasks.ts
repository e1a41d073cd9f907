// Settlement as the operator sees it: what a day comes to, its transactions as a file, and an acquirer's file held against it.
import { gatewayTime } from '../clock/gateway-clock.js';
import { journal } from '../journal/journal.js';
import { acquirerReferences } from '../payments/transaction.js';
import { type Queryable, REPEATABLE_READ } from '../postgres/database.js';
import { choice, count, DAY, FLAG, ID, TEXT } from '../tasks/kinds.js';
import { needed, optional, task } from '../tasks/task.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { moneyText } from '../values/money.js';
import { refuse } from '../values/refusal.js';
import { writeWhole } from '../values/whole-file.js';
import { closeSettlementDays } from './closing.js';
import {
  type DifferenceView,
  keepDifferences,
  listDifferences,
  lookAtDay,
  lookAtDifference,
} from './differences.js';
import { type ReconcileWish, reconcile } from './reconcile.js';
import type { Reconciliation } from './reconciliation.js';
import {
  CSV_HEADER,
  type EntryFilter,
  entryLine,
  type SettlementReport,
  settlementEntries,
  settlementOfDay,
} from './report.js';
import { INSTALLATION_OF_MERCHANT } from './report.sql.js';

interface SettlementWish {
  readonly date: string;
  readonly merchant?: number | undefined;
  /** Only merchants of this mode: test and live are not to be taken for each other. */
  readonly mode?: Mode | undefined;
  /** Where to write a line for each transaction; nothing that is there is overwritten. */
  readonly csv?: string | undefined;
  /** For the journal, where the file goes on from there. */
  readonly to?: string;
}

interface Owner {
  readonly installation: string;
  readonly organisationId: OrganisationId | null;
}

/** A file of transactions is in the journal before its first line is written. */
export async function showSettlement(
  database: Queryable,
  actor: string,
  { date, merchant, mode, csv, to = csv }: SettlementWish,
): Promise<SettlementReport> {
  const { rows } = await database.query<Owner>(INSTALLATION_OF_MERCHANT, [merchant ?? null]);
  const { installation, organisationId } = rows[0] as Owner;
  if (merchant !== undefined && organisationId === null) refuse('merchant_not_found', { merchant });
  await closeSettlementDays(database, await gatewayTime(database));
  if (csv !== undefined)
    await journal(database, {
      actor,
      action: 'settlement.exported',
      organisationId: organisationId ?? undefined,
      merchantId: merchant as MerchantId | undefined,
      detail: `${date}${mode === undefined ? '' : `, ${mode}`}, to ${to}`,
    });
  // Of an open day, both have to tell of the same moment.
  return database.transaction(async (connection) => {
    await connection.query(REPEATABLE_READ);
    const report = await settlementOfDay(connection, date, { merchant, mode });
    if (csv !== undefined) await writeCsv(connection, { date, merchant, mode }, installation, csv);
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
        entryLine(filter.date, entry, referenceOf(entry.organisationId, entry.audit, entry.sentBy)),
      );
      await append(lines.join(''));
    }
    return path;
  });
}

export async function reconcileSettlement(database: Queryable, wish: ReconcileWish): Promise<Reconciliation> {
  await closeSettlementDays(database, await gatewayTime(database));
  return reconcile(database, wish);
}

/** The same, and what it finds is kept, for somebody to work through. */
export async function reconcileAndKeep(database: Queryable, actor: string, wish: ReconcileWish) {
  const found = await reconcileSettlement(database, wish);
  const { acquirer, date, lines, matched } = found;
  await database.transaction(async (connection) => {
    const gone = await keepDifferences(connection, actor, found);
    const detail = `${date}, ${acquirer}: ${matched} of ${lines} lines match, ${openIn(found)} differences, ${gone} gone`;
    await journal(connection, { actor, action: 'settlement.reconciled', detail });
  });
  return shownReconciliation(found);
}

/** The counts, and behind them what they count, under names of their own. */
function shownReconciliation({ listed, differentAbout: _, ...counts }: Reconciliation) {
  return {
    ...counts,
    missingHereLines: listed.missingHere,
    missingThereTransactions: listed.missingThere.map(({ organisationId: _, ...missing }) => missing),
    differentLines: listed.different,
    wrongLines: listed.wrong,
  };
}

export type ShownReconciliation = ReturnType<typeof shownReconciliation>;

/** How many differences there are to find out about. */
function openIn({
  missingHere,
  missingThere,
  different,
  wrong,
}: ShownReconciliation | Reconciliation): number {
  return missingHere + missingThere + different + wrong;
}

const DATE = needed(DAY, '--date <day>', 'the settlement day, in Sydney');

export const SETTLEMENT = {
  name: 'settlement',
  help: 'what a day comes to, and whether the acquirer says the same',
  tasks: [
    task({
      name: 'settlement show',
      help: 'show how much settles on a day; a closed day does not change any more',
      role: 'viewer',
      scope: 'organisation',
      input: {
        date: DATE,
        merchant: optional(ID, '--merchant <id>', 'only this merchant', { names: 'merchants' }),
        mode: optional(choice('test', 'live'), '--mode <mode>', 'only merchants of this mode'),
        csv: optional(
          TEXT,
          '--csv <file>',
          'also write a line for each transaction; never overwrites another file',
        ),
      },
      run: async ({ database, actor }, wish) => {
        const { lines, net, ...day } = await showSettlement(database, actor, wish);
        return {
          ...day,
          lines: lines.map(({ merchantId: merchant, ...line }) => ({ merchant, ...line })),
          net: net.map(({ merchantId: merchant, ...sum }) => ({ merchant, ...sum })),
        };
      },
      says: ({ date, closed, lines, net }) => {
        const heading = `${date} is ${closed ? 'closed' : 'open'}.`;
        if (lines.length === 0) return `${heading} Nothing settles on it.`;
        return [
          heading,
          ...lines.map(
            ({
              merchant,
              acquirer,
              paymentMethod,
              cardType,
              transactionType,
              currency,
              count: each,
              cents,
            }) =>
              `merchant ${merchant}, ${acquirer}, ${paymentMethod}${cardType && ` ${cardType}`}, ${transactionType}: ${each}, ${moneyText(cents, currency)}`,
          ),
          ...net.map(
            ({ merchant, currency, cents }) => `merchant ${merchant}, net: ${moneyText(cents, currency)}`,
          ),
        ].join('\n');
      },
    }),
    task({
      name: 'settlement reconcile',
      help: 'hold an acquirer’s file against a day; ends with 1 where anything is open',
      role: 'operator',
      scope: 'installation',
      byAccount: true,
      input: {
        path: needed(TEXT, '<file>', 'the acquirer’s CSV: reference,transaction_type,amount_cents,currency'),
        acquirer: needed(TEXT, '--acquirer <name>', 'the link to the acquirer'),
        date: DATE,
      },
      run: ({ database, actor, progress }, wish) =>
        reconcileAndKeep(database, actor, { ...wish, progress: progress(wish.acquirer, 'lines') }),
      says: (found) => sentencesOn(found).join('\n'),
      fails: (found) => openIn(found) > 0,
    }),
    task({
      name: 'settlement differences',
      help: 'list what reconciling has found and nobody has looked at, with what it may mean and what to do',
      role: 'viewer',
      // The files of acquirers are of all organisations.
      scope: 'installation',
      input: {
        date: optional(DAY, '--date <day>', 'only of this settlement day'),
        acquirer: optional(TEXT, '--acquirer <name>', 'only of this link'),
        all: optional(FLAG, '--all', 'also those that somebody has looked at, and those that are gone'),
        limit: optional(count(10_000), '--limit <count>', 'so many at most'),
      },
      run: ({ database }, wish) => listDifferences(database, wish),
      says: (differences) => differences.map(inWords).join('\n') || 'None.',
    }),
    task({
      name: 'settlement looked-at',
      help: 'mark a difference as looked at, or all that are open of a day and a link',
      role: 'operator',
      scope: 'installation',
      route: 'POST /settlement/differences/:difference/looked-at',
      input: {
        difference: optional(ID, '[difference]', 'its number, as `settlement differences` shows it'),
        date: optional(DAY, '--date <day>', 'all of this settlement day, with --acquirer', {
          only: 'command',
        }),
        acquirer: optional(TEXT, '--acquirer <name>', 'all of this link, with --date', { only: 'command' }),
        note: needed(TEXT, '--note <text>', 'what came of it'),
      },
      run: async ({ database, actor }, { difference, date, acquirer, note }) => {
        if (difference === undefined && date !== undefined && acquirer !== undefined)
          return lookAtDay(database, actor, { date, acquirer, note });
        if (difference === undefined || date !== undefined || acquirer !== undefined)
          refuse('differences_not_named');
        return lookAtDifference(database, actor, difference, note);
      },
      says: (result) =>
        'lookedAt' in result
          ? `${result.lookedAt} differences are marked as looked at.`
          : `Difference ${result.id} is marked as looked at.`,
    }),
  ],
} as const;

function inWords(difference: DifferenceView): string {
  const { id, date, acquirer, kind, reference, there, here, meaning, todo, looked, lookedBy, note, gone } =
    difference;
  const said = [there && `there ${there}`, here && `here ${here}`].filter((part) => part !== '').join(', ');
  const ended = looked === null ? (gone === null ? '' : ' Gone.') : ` Looked at by ${lookedBy}: ${note}.`;
  return `${id}: ${date}, ${acquirer}, ${kind.replace('_', ' ')}, ${reference}: ${said}.${ended}\n   ${meaning}\n   ${todo}`;
}

function sentencesOn({ date, closed, lines, matched, ...found }: ShownReconciliation): string[] {
  return [
    `${matched} of ${lines} lines match; ${found.missingHere} missing here, ${found.missingThere} missing there, ${found.different} different, ${found.wrong} wrong.`,
    ...(closed ? [] : [`${date} is still open: more may come.`]),
    ...found.missingHereLines.map(
      ({ line, reference, transactionType, amountCents, currency }) =>
        `Missing here: line ${line}, ${reference}, ${transactionType} ${moneyText(amountCents, currency)}.`,
    ),
    ...found.missingThereTransactions.map(
      ({ merchant, reference, transactionType, amountCents, currency }) =>
        `Missing there: ${reference}, merchant ${merchant}, ${transactionType} ${moneyText(amountCents, currency)}.`,
    ),
    ...found.differentLines.map(
      ({ line, reference, there, here }) =>
        `Different: line ${line}, ${reference}: there ${there}, here ${here}.`,
    ),
    ...found.wrongLines.map(({ line, reason }) => `Wrong: line ${line}: ${reason}.`),
  ];
}
