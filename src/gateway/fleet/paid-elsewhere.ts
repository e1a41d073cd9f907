// Which organisations of a database that was restored other cells of the fleet pay for by now.
import { showCell } from '../../installation/fleet/cells.js';
import { readFleet } from '../../installation/fleet/fleet-file.js';
import { type PaidElsewhere, paidHere, paidThere } from '../../installation/moving/left-to-others.js';
import type { Queryable } from '../../postgres/database.js';
import type { FieldProblem } from '../../values/refusal.js';
import { refuse } from '../../values/refusal.js';
import type { Settings } from '../settings/settings.js';
import { problemIn } from './fleet-status.js';
import { inCell } from './reached-cell.js';

/** Nobody, without a fleet. Refuses unless every other cell can be asked: one that is left out may pay for the same organisation. */
export async function paidElsewhere(
  database: Queryable,
  { fleet }: Pick<Settings, 'fleet'>,
): Promise<readonly PaidElsewhere[]> {
  if (fleet === undefined) return [];
  const { cells } = await readFleet(fleet);
  const { name: own } = await showCell(database);
  const organisations = await paidHere(database);
  const paid: PaidElsewhere[] = [];
  const problems: FieldProblem[] = [];
  for (const cell of cells.filter(({ name }) => name !== own)) {
    const found = await inCell(cell, async (other) => {
      const { name } = await showCell(other);
      return name === cell.name
        ? paidThere(other, organisations, own)
        : `its database is that of cell ${name}`;
    }).catch(problemIn);
    if (typeof found === 'string') problems.push({ field: `cell ${cell.name}:`, rule: found });
    else for (const each of found) paid.push({ ...each, cell: cell.name, address: cell.address });
  }
  // guard(moved: a restored cell asks every other cell): if (problems.length > 0) ⇒ if (problems.length > 1_000)
  if (problems.length > 0) refuse('other_cells_unread', { problems });
  return paid;
}
