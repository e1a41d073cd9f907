// What this installation is called among other cells, and which IDs it gives out: those of its own million, so that no two cells give out
// the same organisation, merchant, user or endpoint.
import { journal } from '../../journal/journal.js';
import { isCheckViolation, isValueRefused, type Queryable } from '../../postgres/database.js';
import { count, TEXT } from '../../tasks/kinds.js';
import { type Doing, needed, task } from '../../tasks/task.js';
import { Refusal, refuse } from '../../values/refusal.js';
import { NAME_CELL, SHOW_CELL } from './cells.sql.js';
import { CELL_NAME } from './fleet-file.js';

export interface CellView {
  readonly name: string;
  readonly number: number;
}

/** What naming a cell needs besides the database. */
interface SigningMeans {
  journalKey(): Promise<Buffer>;
}

const MOST_CELLS = 2_000;
const IDS_OF_CELL = 1_000_000;

export async function showCell(database: Queryable): Promise<CellView> {
  return (await database.query<CellView>(SHOW_CELL)).rows[0] as CellView;
}

/** As the owner of the tables: no other login may. The database numbers what it gives out accordingly. */
export async function nameCell(
  database: Queryable,
  operator: string,
  name: string,
  number: number,
): Promise<CellView> {
  if (!CELL_NAME.test(name)) refuse('cell_name_not_allowed');
  return database.transaction(async (connection) => {
    const before = await showCell(connection);
    const { rows } = await connection.query<CellView>(NAME_CELL, [name, number]).catch((error: unknown) => {
      if (isCheckViolation(error, 'cell_number_is_kept'))
        throw new Refusal('cell_has_organisations', { number: before.number });
      if (isCheckViolation(error, 'cell_name_is_kept')) throw new Refusal('cell_is_moving', undefined);
      throw isValueRefused(error) ? new Refusal('cell_past_its_range', { number }) : error;
    });
    await journal(connection, { actor: operator, action: 'cell.named', detail: `${name}, number ${number}` });
    return rows[0] as CellView;
  });
}

function says({ name, number }: CellView): string {
  const first = (number - 1) * IDS_OF_CELL + 1;
  return `This is cell ${name}, number ${number}: its IDs go from ${first} to ${number * IDS_OF_CELL}.`;
}

export const CELL = {
  name: 'cell',
  help: 'what this installation is called among other cells, and which IDs it gives out',
  tasks: [
    task({
      name: 'cell show',
      help: 'show the name and the number of this cell',
      role: 'viewer',
      scope: 'nobody',
      input: {},
      run: ({ database }) => showCell(database),
      says,
    }),
    task({
      name: 'cell name',
      help: 'name and number this cell, before it has organisations; needs the login that owns the tables',
      role: 'administrator',
      scope: 'installation',
      on: 'as owner',
      fresh: true,
      input: {
        name: needed(TEXT, '<name>', 'for example two'),
        number: needed(
          count(MOST_CELLS),
          '--number <n>',
          'from 1 to 2000: no two cells may have the same; its IDs are those of the n-th million',
        ),
      },
      run: async ({ database, actor, means }: Doing<SigningMeans>, { name, number }) => {
        // Whoever cannot sign the journal names nothing.
        await means.journalKey();
        return nameCell(database, actor, name, number);
      },
      says,
    }),
  ],
} as const;
