// Organisations that have left a cell, come to one, or are on their way, as all cells of a fleet together know them: how far a move is, and
// whether exactly one cell pays for each.
import type { Residence } from '../../organisations/sealed-organisation.js';
import type { Queryable } from '../../postgres/database.js';
import { RESIDENCES, TRAVELLERS } from './cells.sql.js';

/** As one cell has it. */
export interface Traveller {
  readonly organisation: number;
  readonly residence: Residence;
  readonly movedTo: string | null;
  /** The other cell of the move that has not ended, and whether the organisation comes from there; null where there is none. */
  readonly other: string | null;
  readonly arrives: boolean | null;
  readonly begun: Date | null;
  readonly highestAudit: number | null;
  /** A command works on the move. */
  readonly worked: boolean;
}

/** A move that has not ended. */
export interface MoveUnderWay {
  readonly organisation: number;
  readonly from: string;
  readonly to: string;
  /** Where it stands at the source; null where that cannot be read. */
  readonly step: 'copying' | 'closing' | 'closed' | 'open' | null;
  readonly begun: Date;
  /** Transactions that the destination does not have yet; null where one of the two cannot be read. */
  readonly transactionsLeft: number | null;
  readonly worked: boolean;
}

/** What is wrong, and in which cell. */
interface ProblemOfCell {
  readonly cell: string;
  readonly problem: string;
}

/** By cell, of those that could be read. */
export type InCells<Known> = ReadonlyMap<string, Known>;

const MOST_TRAVELLERS = 10_000;
const PAYS: readonly Residence[] = ['here', 'closing'];

export async function travellersOf(database: Queryable): Promise<readonly Traveller[]> {
  return (await database.query<Traveller>(TRAVELLERS, [MOST_TRAVELLERS])).rows;
}

export async function residencesOf(
  database: Queryable,
  organisations: readonly number[],
): Promise<ReadonlyMap<number, Residence>> {
  type Row = { readonly organisation: number; readonly residence: Residence };
  const { rows } = await database.query<Row>(RESIDENCES, [organisations]);
  return new Map(rows.map(({ organisation, residence }) => [organisation, residence]));
}

export function movesUnderWay(known: InCells<readonly Traveller[]>): MoveUnderWay[] {
  const at = (cell: string, organisation: number) =>
    known.get(cell)?.find((traveller) => traveller.organisation === organisation);
  const moves = new Map<string, MoveUnderWay>();
  for (const [cell, travellers] of known)
    for (const { organisation, other, arrives, begun } of travellers) {
      if (other === null || begun === null) continue;
      const [from, to] = arrives ? [other, cell] : [cell, other];
      const [there, here] = [at(from, organisation), at(to, organisation)];
      const isUnread = !known.has(from) || !known.has(to);
      const left = (there?.highestAudit ?? 0) - (here?.highestAudit ?? 0);
      moves.set(`${organisation} ${from}`, {
        organisation,
        from,
        to,
        step: stepOf(there, here),
        begun: there?.begun ?? begun,
        transactionsLeft: isUnread ? null : Math.max(0, left),
        worked: there?.worked ?? false,
      });
    }
  return [...moves.values()].toSorted((one, next) => one.organisation - next.organisation);
}

function stepOf(there: Traveller | undefined, here: Traveller | undefined): MoveUnderWay['step'] {
  if (there === undefined) return null;
  if (there.residence === 'closing') return 'closing';
  if (there.residence !== 'closed') return there.residence === 'moved' ? 'open' : 'copying';
  return here !== undefined && PAYS.includes(here.residence) ? 'open' : 'closed';
}

/** Of every traveller, in every cell. `isWhole`: all cells of the fleet could be read, so that what is in none of them is nowhere. */
export function residenceProblems(
  residences: InCells<ReadonlyMap<number, Residence>>,
  travellers: InCells<readonly Traveller[]>,
  isWhole: boolean,
): ProblemOfCell[] {
  const problems: ProblemOfCell[] = [];
  for (const organisation of organisationsOf(travellers)) {
    const where = [...residences].flatMap(([cell, known]) => {
      const residence = known.get(organisation);
      return residence === undefined ? [] : [{ cell, residence }];
    });
    const payers = where.filter(({ residence }) => PAYS.includes(residence)).map(({ cell }) => cell);
    // guard(fleet: an organisation that is paid for in two cells is named): if (payers.length > 1) ⇒ if (payers.length > 1_000)
    if (payers.length > 1)
      for (const cell of payers) {
        const others = payers.filter((other) => other !== cell).join(' and ');
        problems.push({
          cell,
          problem: `organisation ${organisation} is paid for here and in ${others}: one of them was restored from a backup of before its move`,
        });
      }
    const moves = where.some(({ residence }) => residence === 'closed' || residence === 'arriving');
    if (payers.length === 0 && !moves && isWhole)
      for (const { cell } of where)
        problems.push({ cell, problem: `organisation ${organisation} has moved, and no cell pays for it` });
  }
  return problems;
}

export function organisationsOf(travellers: InCells<readonly Traveller[]>): number[] {
  const all = [...travellers.values()].flatMap((known) => known.map(({ organisation }) => organisation));
  return [...new Set(all)].toSorted((one, next) => one - next);
}
