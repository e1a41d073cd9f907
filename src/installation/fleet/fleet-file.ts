// The fleet: a file that lists cells, where clients reach each, its gateways, and the settings by which commands on this machine reach its
// database.
import { readFile } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { type FieldProblem, refuse } from '../../values/refusal.js';

export interface Cell {
  readonly name: string;
  /** Where clients reach its organisations that have no host name of their own: `https://one.pay.example`. */
  readonly address: string;
  /** Its console. */
  readonly console?: string;
  /** Where payers find the pages of its checkouts: links of organisations that have moved there lead on. */
  readonly checkout?: string;
  /** Each with its port: `10.0.0.1:8080`, or `https://gateway1:8080` if it speaks TLS. */
  readonly gateways: readonly string[];
  /** A file of settings, a line for each: `NAME=VALUE`. Absent: its database is not reached from here. */
  readonly settings?: string;
}

export interface Fleet {
  readonly cells: readonly Cell[];
}

export const CELL_NAME = /^[a-z][a-z0-9-]{0,30}$/;
const GATEWAY = /^(?:https:\/\/)?(?:[a-z0-9.-]+|\[[0-9a-f:.]+\]):([0-9]{1,5})$/;

type Check = (value: unknown) => boolean;

interface FieldOfCell {
  readonly is: Check;
  readonly rule: string;
  readonly optional?: boolean;
}

const FIELDS: Readonly<Record<keyof Cell, FieldOfCell>> = {
  name: {
    is: matches(CELL_NAME),
    rule: 'takes 1 to 31 lower-case letters, digits and hyphens, and begins with a letter',
  },
  address: { is: isHttps, rule: 'must be an address such as https://one.pay.example, without a path' },
  console: {
    is: isHttps,
    rule: 'must be an address such as https://console.one.pay.example, without a path',
    optional: true,
  },
  checkout: {
    is: isHttps,
    rule: 'must be an address such as https://checkout.one.pay.example, without a path',
    optional: true,
  },
  gateways: {
    is: (value) => Array.isArray(value) && value.length > 0 && value.every(isHostWithPort),
    rule: 'must be a list of hosts with their ports, such as ["10.0.0.1:8080"], or ["https://gateway1:8080"] where they speak TLS',
  },
  settings: {
    is: (value) => typeof value === 'string' && isAbsolute(value),
    rule: 'must be the whole path of a file, such as /etc/tollgate/cells/one',
    optional: true,
  },
};

/** By its path, or as a setting gives it. Refuses, and names every wrong field. */
export async function readFleet(
  given: string | { readonly text: string } | { readonly path: string },
): Promise<Fleet> {
  if (typeof given === 'object' && 'text' in given) return fleetIn(given.text, 'TOLLGATE_FLEET');
  const path = typeof given === 'string' ? given : given.path;
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) =>
    refuse('fleet_unreadable', { path, reason: `cannot be read (${error.code})` }),
  );
  return fleetIn(text, path);
}

function fleetIn(text: string, path: string): Fleet {
  let fleet: unknown;
  try {
    fleet = JSON.parse(text);
  } catch {
    refuse('fleet_unreadable', { path, reason: 'is not JSON' });
  }
  const problems = problemsOf(fleet);
  if (problems.length > 0) refuse('fleet_wrong', { path, problems });
  return fleet as Fleet;
}

/** Refuses a cell that the fleet does not have. */
export function cellCalled({ cells }: Fleet, name: string): Cell {
  const names = cells.map((cell) => cell.name);
  return cells.find((cell) => cell.name === name) ?? refuse('cell_not_found', { cell: name, names });
}

function problemsOf(fleet: unknown): FieldProblem[] {
  if (!isObject(fleet)) return [{ field: 'the file', rule: 'must be an object with a list of cells' }];
  const { cells, ...others } = fleet;
  const unknown = Object.keys(others).map((field) => ({ field, rule: 'is not known' }));
  if (!Array.isArray(cells) || cells.length === 0)
    return [...unknown, { field: 'cells', rule: 'must be a list of at least one cell' }];
  const each = cells.flatMap((cell, index) => problemsOfCell(cell, `cells[${index}]`));
  return [...unknown, ...each, ...repeated(cells)];
}

function problemsOfCell(cell: unknown, place: string): FieldProblem[] {
  if (!isObject(cell)) return [{ field: place, rule: 'must be an object' }];
  const wrong = Object.entries(FIELDS).flatMap(([name, { is, rule, optional }]) => {
    const value = cell[name];
    if (value === undefined) return optional ? [] : [{ field: `${place}.${name}`, rule: 'is missing' }];
    return is(value) ? [] : [{ field: `${place}.${name}`, rule }];
  });
  const unknown = Object.keys(cell).filter((name) => !(name in FIELDS));
  return [...wrong, ...unknown.map((name) => ({ field: `${place}.${name}`, rule: 'is not known' }))];
}

/** Nothing belongs to two cells. */
function repeated(cells: readonly unknown[]): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const seen = new Map<string, string>();
  const once = (kind: string, value: unknown, field: string) => {
    if (typeof value !== 'string') return;
    const earlier = seen.get(`${kind} ${value}`);
    if (earlier === undefined) seen.set(`${kind} ${value}`, field);
    else problems.push({ field, rule: `is the same as ${earlier}` });
  };
  for (const [index, cell] of cells.entries()) {
    if (!isObject(cell)) continue;
    const { gateways, ...others } = cell;
    for (const name of ['name', 'address', 'console', 'checkout', 'settings'] as const)
      once(name, others[name], `cells[${index}].${name}`);
    if (!Array.isArray(gateways)) continue;
    for (const [place, gateway] of gateways.entries())
      once('gateway', gateway, `cells[${index}].gateways[${place}]`);
  }
  return problems;
}

function matches(pattern: RegExp): Check {
  return (value) => typeof value === 'string' && pattern.test(value);
}

function isHostWithPort(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const port = Number(GATEWAY.exec(value)?.[1]);
  return port >= 1 && port <= 65_535;
}

function isHttps(value: unknown): boolean {
  return typeof value === 'string' && /^https:\/\/[a-z0-9.-]+(:[0-9]{1,5})?$/.test(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
