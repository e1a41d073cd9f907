// Random changes to the rows of any table: another value, a copy, a deletion, or a row as it was before operators changed it.
import type pg from 'pg';
import type { Chance } from '../../testkit/chance.js';
import {
  deleting,
  type Image,
  imagesOf,
  inserting,
  type Row,
  type Rows,
  rowsLike,
  run,
  type Statement,
  type Table,
  updating,
} from './rows.js';
import type { Thief } from './thief.js';
import { hostileValue, otherValue } from './values.js';

/** A change to the database, with the rows that it may affect. */
export interface Change {
  readonly what: string;
  readonly rows: readonly Rows[];
  readonly apply: (login: pg.Client) => Promise<unknown>;
  /** While the change is there: what was gained by it, if anything was. */
  readonly exploit?: (() => Promise<string | undefined>) | undefined;
}

interface ChangesParts {
  readonly superuser: pg.Client;
  readonly tables: ReadonlyMap<string, Table>;
  /** By table: rows as they were before operators changed them. */
  readonly earlier: ReadonlyMap<string, readonly Image[]>;
  readonly chance: Chance;
  readonly thief: Thief;
}

/** No trader works on these any more. */
const CHOSEN: Readonly<Record<string, string>> = { transaction: `t.reference LIKE 'old-%'` };
const CHOICE = 200;

export class Changes {
  constructor(private readonly parts: ChangesParts) {}

  /** Undefined where the table has nothing to change. */
  async toTable(table: Table): Promise<Change | undefined> {
    const { superuser, chance } = this.parts;
    const where = CHOSEN[table.name] ?? 'true';
    const images = await imagesOf(
      superuser,
      { table: table.name, where: `${where} ORDER BY random()` },
      CHOICE,
    );
    if (images.length === 0) return this.#putBack(table, images);
    const image = chance.pick(images);
    const kind = chance.pick(['update', 'update', 'update', 'update', 'copy', 'delete', 'back']);
    if (kind === 'back') return this.#putBack(table, images) ?? this.#update(table, image, images);
    if (kind === 'copy') return this.#copy(table, image);
    return kind === 'delete' ? this.#delete(table, image) : this.#update(table, image, images);
  }

  #update(table: Table, image: Image, images: readonly Image[]): Change {
    const { chance, thief } = this.parts;
    const column = chance.pick(table.columns);
    const present = image.row[column.name];
    const others = images.map(({ row }) => row[column.name]);
    const value = hostileValue(column, present, { chance, thief, others });
    const changed: Row = { ...image.row, [column.name]: value };
    const what = `${column.name} = ${JSON.stringify(value)?.slice(0, 60)} in ${nameOf(table, image.row)}`;
    return this.#change(
      table,
      what,
      [image.row, changed],
      updating(table, [column.name], image.text, JSON.stringify(changed)),
    );
  }

  #copy(table: Table, image: Image): Change {
    const typeOf = (name: string) => table.columns.find((column) => column.name === name)?.type ?? 'text';
    const others = table.once.map((name) => [
      name,
      otherValue(typeOf(name), image.row[name], this.parts.chance),
    ]);
    const copy: Row = { ...image.row, ...Object.fromEntries(others) };
    return this.#change(
      table,
      `a copy of ${nameOf(table, image.row)}`,
      [copy],
      inserting(table, JSON.stringify(copy)),
    );
  }

  #delete(table: Table, image: Image): Change {
    return this.#change(
      table,
      `no more ${nameOf(table, image.row)}`,
      [image.row],
      deleting(table, image.text),
    );
  }

  /** A row that has changed or gone since, as it was. */
  #putBack(table: Table, images: readonly Image[]): Change | undefined {
    const now = new Map(images.map(({ row }) => [nameOf(table, row), JSON.stringify(row)]));
    const changed = (this.parts.earlier.get(table.name) ?? []).filter(
      ({ row }) => now.get(nameOf(table, row)) !== JSON.stringify(row),
    );
    if (changed.length === 0) return undefined;
    const { text, row } = this.parts.chance.pick(changed);
    const what = `${nameOf(table, row)} as it was`;
    const columns = table.columns.map(({ name }) => name).filter((name) => !table.key.includes(name));
    const isThere = now.has(nameOf(table, row)) && columns.length > 0;
    return this.#change(
      table,
      what,
      [row],
      isThere ? updating(table, columns, text, text) : inserting(table, text),
    );
  }

  /** Foreign keys and triggers may change further rows. */
  #change(table: Table, what: string, rows: readonly Row[], statement: Statement): Change {
    const { tables } = this.parts;
    const own = rows.map((row) => rowsLike(table, row));
    const cascading = table.cascades.flatMap(({ table: name, columns }) => {
      const there = tables.get(name);
      return rows.flatMap((row) => {
        const wanted = Object.fromEntries(Object.entries(columns).map(([to, from]) => [to, row[from]]));
        return there === undefined ? [] : [rowsLike(there, wanted, Object.keys(columns))];
      });
    });
    const concerned = [...own, ...cascading, ...heldTerminals(table, rows)];
    const once = new Map(concerned.map((each) => [`${each.table} ${each.where}`, each]));
    return { what, rows: [...once.values()], apply: (login) => run(login, statement) };
  }
}

/** A trigger keeps them in step with merchants and routes. */
function heldTerminals({ name }: Table, rows: readonly Row[]): Rows[] {
  const merchants = rows.map((row) =>
    name === 'merchant' ? row.id : name === 'route' ? row.merchant_id : undefined,
  );
  return merchants
    .filter((merchant) => merchant !== undefined)
    .map((merchant) => ({ table: 'acquirer_terminal', where: `t.merchant_id = ${merchant}` }));
}

function nameOf(table: Table, row: Row): string {
  return `${table.name} ${table.key
    .map((column) => String(row[column] ?? ''))
    .join('/')
    .slice(0, 80)}`;
}
