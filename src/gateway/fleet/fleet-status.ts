// How the cells of a fleet are: whether each can be reached, and what it has to do. Every question has an end within seconds.
import { setTimeout as sleep } from 'node:timers/promises';
import { readLive } from '../../figures/live.js';
import { probeReadiness } from '../../http/probe.js';
import { showCell } from '../../installation/fleet/cells.js';
import { CELL_FIGURES } from '../../installation/fleet/cells.sql.js';
import type { Cell, Fleet } from '../../installation/fleet/fleet-file.js';
import {
  type MoveUnderWay,
  movesUnderWay,
  organisationsOf,
  residenceProblems,
  residencesOf,
  travellersOf,
} from '../../installation/fleet/travellers.js';
import { DatabaseUnavailable, isUndefined, type Queryable } from '../../postgres/database.js';
import { reasonOf } from '../database/connection.js';
import { SettingsError } from '../settings/settings.js';
import { inCell } from './reached-cell.js';

export interface GatewayStatus {
  readonly address: string;
  readonly ready: boolean;
  /** Why it is not. */
  readonly reason?: string;
}

/** What the database of a cell says. */
interface CellFigures {
  readonly number: number;
  readonly schema: number;
  /** Of the gateways that run. */
  readonly releases: readonly string[];
  /** That have not moved away; and those that move at the moment. */
  readonly organisations: number;
  readonly moving: number;
  /** To another cell. */
  readonly moved: number;
  readonly merchants: number;
  /** Of any type, in the minute before this one. */
  readonly transactionsLastMinute: number;
  readonly inDoubt: number;
}

export interface CellStatus {
  readonly name: string;
  readonly address: string;
  readonly gateways: readonly GatewayStatus[];
  /** Null where its database does not answer, or is not reached from here. */
  readonly figures: CellFigures | null;
  readonly problems: readonly string[];
}

export interface FleetStatus {
  readonly cells: readonly CellStatus[];
  readonly moves: readonly MoveUnderWay[];
}

const PATIENCE_MS = 6_000;
const HTTPS = 'https://';

/** Of all of them at the same time: one that does not answer keeps nobody waiting for another. */
export async function fleetStatus({ cells }: Fleet): Promise<FleetStatus> {
  const [found, travellers] = await Promise.all([
    Promise.all(cells.map(statusOf)),
    askedOf(cells, travellersOf),
  ]);
  const wanted = organisationsOf(travellers);
  const residences =
    wanted.length === 0 ? new Map() : await askedOf(cells, (database) => residencesOf(database, wanted));
  const moves = movesUnderWay(travellers);
  const ofMoves = [
    ...residenceProblems(residences, travellers, residences.size === cells.length),
    ...moves.filter(isAbandoned).map(abandoned),
  ];
  return {
    cells: found.map((cell) => ({
      ...cell,
      problems: [
        ...cell.problems,
        ...sharedNumber(cell, found),
        ...ofMoves.filter(({ cell: name }) => name === cell.name).map(({ problem }) => problem),
      ],
    })),
    moves,
  };
}

/** Whose clients are refused until somebody goes on with it. */
const isAbandoned = ({ step, worked }: MoveUnderWay) => !worked && step !== null && step !== 'copying';

const abandoned = ({ organisation, from, to, step }: MoveUnderWay) => ({
  cell: from,
  problem: `organisation ${organisation} is ${step}, and no command moves it: run \`organisation move ${organisation} --to ${to}\` again${step === 'open' ? '' : ', or with --take-back'}`,
});

/** What the cells say that can be read; why another one cannot is told with its figures. */
async function askedOf<Answer>(
  cells: readonly Cell[],
  ask: (database: Queryable) => Promise<Answer>,
): Promise<Map<string, Answer>> {
  const answers = await Promise.all(
    cells.map(async (cell): Promise<[string, Answer] | undefined> => {
      if (cell.settings === undefined) return undefined;
      const late = sleep(PATIENCE_MS, undefined, { ref: false });
      const asked = inCell(cell, async (database): Promise<[string, Answer] | undefined> => {
        const { name } = await showCell(database);
        return name === cell.name ? [name, await ask(database)] : undefined;
      }).catch(() => undefined);
      return Promise.race([asked, late]);
    }),
  );
  return new Map(answers.filter((answer) => answer !== undefined));
}

async function statusOf(cell: Cell): Promise<CellStatus> {
  const { name, address } = cell;
  const [gateways, figures] = await Promise.all([
    Promise.all(cell.gateways.map(gatewayStatus)),
    cell.settings === undefined ? null : figuresOf(cell),
  ]);
  const unready = gateways
    .filter(({ ready }) => !ready)
    .map((gateway) => `gateway ${gateway.address} is not ready: ${gateway.reason}`);
  if (typeof figures === 'string')
    return { name, address, gateways, figures: null, problems: [...unready, figures] };
  return { name, address, gateways, figures, problems: unready };
}

async function gatewayStatus(address: string): Promise<GatewayStatus> {
  const { hostname, port } = new URL(address.startsWith(HTTPS) ? address : `http://${address}`);
  const overTls = address.startsWith(HTTPS);
  const host = hostname.replace(/^\[|\]$/g, '');
  const reason = await probeReadiness({ host, port: Number(port || (overTls ? 443 : 80)), overTls });
  return { address, ready: reason === undefined, ...(reason !== undefined && { reason }) };
}

/** A text says why there are none. */
async function figuresOf(cell: Cell): Promise<CellFigures | string> {
  const late = sleep(PATIENCE_MS, 'its database does not answer', { ref: false });
  const asked = inCell(cell, (database) => readFigures(database, cell)).catch(problemIn);
  return Promise.race([asked, late]);
}

async function readFigures(database: Queryable, cell: Cell): Promise<CellFigures | string> {
  const { rows } = await database.query<
    Omit<CellFigures, 'inDoubt' | 'transactionsLastMinute'> & { name: string }
  >(CELL_FIGURES);
  const [row] = rows;
  if (row === undefined) return 'its database has no gateway';
  const { name, ...figures } = row;
  if (name !== cell.name) return `its database is that of cell ${name}`;
  const [live] = await readLive(database, [{}]);
  return { ...figures, transactionsLastMinute: live?.lastMinute ?? 0, inDoubt: live?.inDoubt ?? 0 };
}

/** Why the database of a cell says nothing. */
export function problemIn(error: unknown): string {
  if (error instanceof SettingsError) return error.message;
  if (error instanceof DatabaseUnavailable) return `its database cannot be reached (${reasonOf(error)})`;
  if (isUndefined(error)) return 'its schema is of another release';
  return `its database cannot be read (${(error as Error).message})`;
}

function sharedNumber({ name, figures }: CellStatus, all: readonly CellStatus[]): string[] {
  const others = all.filter(
    (each) => each.name !== name && figures !== null && each.figures?.number === figures.number,
  );
  return others.map((other) => `it has the number of cell ${other.name}, and gives out the same IDs`);
}
