// What must be true when all moves are over, of each organisation and of the cells.
import type { LedgerEntry } from '../../src/acquirers/simulator/ledger.js';
import type { Json } from '../../testkit/bodies.js';
import { type StoredTransaction, TRANSACTIONS_OF_ORGANISATION } from '../../testkit/books.js';
import type { Chance } from '../../testkit/chance.js';
import { subjectsOf, wronglyTold } from '../arena/feed-reader.js';
import { brokenPromises } from '../arena/promises.js';
import type { Broken } from '../arena/verdict.js';
import { CELLS, type Cell, type CellName } from './cell.js';
import type { TradingOrganisation } from './organisation.js';
import type { Places } from './places.js';
import { NOT_STORED } from './stored.js';

/** Of so many transactions of each organisation its client asks again; the others are taken from its cell's database. */
const ASKED = 200;
const LOOKUPS_AT_ONCE = 4;

export interface JudgedParts {
  readonly cells: Readonly<Record<CellName, Cell>>;
  readonly places: Places;
  readonly entries: readonly LedgerEntry[];
  readonly random: Chance;
}

export interface Judged {
  readonly broken: Broken;
  readonly transactions: number;
}

export async function judged(
  organisation: TradingOrganisation,
  { first, home }: { readonly first: CellName; readonly home: CellName },
  { cells, places, entries, random }: JudgedParts,
): Promise<Judged> {
  const { id, shop, reader, probes, webhooks, merchantId } = organisation;
  const { orders } = shop;
  const rows = await cells[home].sql<StoredTransaction>(
    `SELECT * FROM (${TRANSACTIONS_OF_ORGANISATION}) t WHERE ${NOT_STORED}`,
    [id],
  );
  const own = entries.filter(({ reference }) => reference.split('-')[1] === String(id));
  const ofOrders = rows.filter(({ reference }) => !reference.startsWith('probe-'));
  const asked = random.shuffled(ofOrders.map(({ audit }) => audit)).slice(0, ASKED);
  const lookups = new Map<number, Json>([
    ...ofOrders.map((row) => [row.audit, shownAs(row)] as const),
    ...(await shop.lookUpAll(asked, LOOKUPS_AT_ONCE)),
  ]);
  const byAudit = new Map(rows.map((row) => [row.audit, row]));
  const lostProbes = probes.filter(({ audit, correlationId }) => {
    const row = byAudit.get(audit);
    return row?.correlationId !== correlationId || row.status !== 'approved';
  });
  const named = (list: readonly string[]) => list.map((each) => `organisation ${id}: ${each}`);
  const subjects = await subjectsOf({ sql: (text, values) => cells[home].sql(text, values), merchantId });
  const told = brokenPromises({ orders, rows, entries: own, lookups });
  return {
    transactions: rows.length,
    broken: {
      ...Object.fromEntries(Object.entries(told).map(([promise, cases]) => [promise, named(cases)])),
      'what a cell has approved stays approved': named(
        lostProbes.map(({ audit, cell }) => `audit ${audit} of ${cell} is lost`),
      ),
      'never do two cells pay at once': organisation.paidInTwoCells,
      'nothing is done in a cell in which an organisation does not live': await places.doneElsewhere(
        id,
        first,
        home,
      ),
      'what was done in a cell goes along': await places.leftBehind(id, home),
      'every change is told once, in order for its subject': named(wronglyTold(reader.events, subjects)),
      'the feed answers, or says nothing': named(reader.complaints),
      'an older cursor goes on where it was': named(await reader.readAgain()),
      'every event is delivered, signed, in order for its subject': named(
        webhooks?.problems(reader.events.map((event) => event.id)) ?? [],
      ),
    },
  };
}

/** As a look-up would show it. */
function shownAs({ status, type, reference, targetAudit, amountCents }: StoredTransaction): Json {
  return {
    status: { transaction_status_code: status },
    transaction: {
      transaction_type: type,
      reference,
      target_audit: targetAudit ?? undefined,
      amount_details: { total_amount: String(amountCents) },
    },
  };
}

/** Both journals, all seals and the sums of each day, by the commands for it. */
export async function brokenCells(cells: Readonly<Record<CellName, Cell>>): Promise<string[]> {
  const problems: string[] = [];
  for (const cell of CELLS) {
    for (const what of ['journal', 'keys']) {
      const { code, stdout, stderr } = await cells[cell].begun(what, 'verify', '--json').ended;
      const found = stdout === '' ? [stderr] : (JSON.parse(stdout).problems as Json[]);
      if (code !== 0 || found.length > 0)
        problems.push(`${cell}: ${what} ${JSON.stringify(found).slice(0, 400)}`);
    }
    const { code, stdout, stderr } = await cells[cell].begun('figures', 'check', '--json').ended;
    if (code !== 0) problems.push(`${cell}: figures ${stdout.slice(0, 400)}${stderr}`);
  }
  return problems;
}

/** Cases by promise, of all together. */
export function joined(all: readonly Broken[]): Record<string, string[]> {
  const whole: Record<string, string[]> = {};
  for (const broken of all)
    for (const [promise, cases] of Object.entries(broken)) {
      whole[promise] ??= [];
      whole[promise].push(...cases);
    }
  return whole;
}
