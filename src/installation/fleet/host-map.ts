// Which host name leads to which cell, for the proxy in front of a fleet.

import type { Residence } from '../../organisations/sealed-organisation.js';
import type { FieldProblem } from '../../values/refusal.js';
import type { Fleet } from './fleet-file.js';

/** An organisation with a host name, as a cell knows it. */
export interface NamedOrganisation {
  readonly hostName: string;
  readonly residence: Residence;
  readonly movedTo: string | null;
}

export interface HostEntry {
  readonly host: string;
  readonly cell: string;
}

interface HostMap {
  readonly entries: readonly HostEntry[];
  /** Names that lead nowhere, or to two cells. */
  readonly problems: readonly FieldProblem[];
}

/** `named`: of each cell, by its name. A name leads to the cell in which its organisation is, and on the way to where it was. */
export function hostMap({ cells }: Fleet, named: ReadonlyMap<string, readonly NamedOrganisation[]>): HostMap {
  const hosts = new Map<string, Map<string, NamedOrganisation>>();
  for (const [cell, organisations] of named)
    for (const organisation of organisations) {
      const known = hosts.get(organisation.hostName) ?? new Map<string, NamedOrganisation>();
      hosts.set(organisation.hostName, known.set(cell, organisation));
    }
  const entries: HostEntry[] = cells.map(({ name, address }) => ({
    host: new URL(address).hostname,
    cell: name,
  }));
  const ofCells = new Set(entries.map(({ host }) => host));
  const problems: FieldProblem[] = [];
  for (const [host, known] of [...hosts].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const found = cellsOf(known);
    const [cell] = found;
    // guard(fleet: a name that two cells have leads to neither): found.length > 1 ⇒ found.length > 2
    if (found.length > 1)
      problems.push({ field: host, rule: `is the name of an organisation in ${found.join(' and in ')}` });
    else if (ofCells.has(host))
      problems.push({ field: host, rule: 'is the address of a cell, and the name of an organisation' });
    else if (cell === undefined || !cells.some(({ name }) => name === cell))
      problems.push({ field: host, rule: `leads to ${cell ?? 'no cell'}, which the fleet does not have` });
    else entries.push({ host, cell });
  }
  return { entries, problems };
}

/** The one where the organisation is. Where none says so, the one that has it closed, or the last one to which it has moved. */
function cellsOf(known: ReadonlyMap<string, NamedOrganisation>): string[] {
  const those = (...residences: Residence[]) =>
    [...known].filter(([, { residence }]) => residences.includes(residence)).map(([cell]) => cell);
  const here = those('here', 'closing');
  if (here.length > 0) return here;
  const closed = those('closed');
  if (closed.length > 0) return closed;
  const next = new Map(
    those('moved').map((cell) => [cell, (known.get(cell) as NamedOrganisation).movedTo as string]),
  );
  return [...new Set(next.values())].filter((cell) => !next.has(cell));
}

export function haproxyMap(entries: readonly HostEntry[]): string {
  return entries.map(({ host, cell }) => `${host} ${cell}\n`).join('');
}
