// Reads, compares and changes rows of any table by the database's own catalogue, and puts changed rows back.
import type pg from 'pg';

export interface Column {
  readonly name: string;
  readonly type: string;
}

export interface Table {
  readonly name: string;
  /** All columns where it has no primary key. */
  readonly key: readonly string[];
  /** Without those that the server computes. */
  readonly columns: readonly Column[];
  /** A column of each unique index: a copy of a row needs other values there. */
  readonly once: readonly string[];
  /** Tables whose rows go with a row of this one, by the columns there and here. */
  readonly cascades: readonly {
    readonly table: string;
    readonly columns: Readonly<Record<string, string>>;
  }[];
}

export type Row = Readonly<Record<string, unknown>>;

/** A row as PostgreSQL writes it, since JavaScript does not keep every number. */
export interface Image {
  readonly text: string;
  readonly row: Row;
}

/** Some rows of a table, by a condition on `t`. */
export interface Rows {
  readonly table: string;
  readonly where: string;
}

/** How a row changed. */
export interface Difference {
  readonly table: string;
  readonly columns: readonly string[];
  /** Undefined: it was inserted. */
  readonly before: Image | undefined;
  /** Undefined: it was deleted. */
  readonly after: Image | undefined;
}

const TABLES = `
  SELECT c.relname AS name,
    coalesce((SELECT json_agg(a.attname) FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
      WHERE i.indrelid = c.oid AND i.indisprimary), '[]') AS key,
    (SELECT json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, NULL)) ORDER BY a.attnum)
      FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns,
    coalesce((SELECT json_agg(DISTINCT (SELECT a.attname FROM unnest(i.indkey) WITH ORDINALITY AS k(number, place)
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
        -- A copy belongs to the same merchant.
        ORDER BY a.attname IN ('organisation_id', 'merchant_id'), k.place DESC LIMIT 1))
      FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique), '[]') AS once,
    coalesce((SELECT json_agg(json_build_object('table', f.conrelid::regclass::text, 'columns',
        (SELECT json_object_agg(there.attname, here.attname) FROM unnest(f.conkey, f.confkey) AS k(there, here)
          JOIN pg_attribute there ON there.attrelid = f.conrelid AND there.attnum = k.there
          JOIN pg_attribute here ON here.attrelid = f.confrelid AND here.attnum = k.here)))
      FROM pg_constraint f WHERE f.contype = 'f' AND f.confrelid = c.oid AND f.confdeltype = 'c'), '[]') AS cascades
  FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  ORDER BY c.relname`;

/** The gateways count on from a changed value. These then continue past both values, since no number may be used twice. */
const COUNTERS = new Set(['next_audit', 'next_customer_id', 'next_token_id', 'leased', 'newest_absence']);
const FURTHER = 10_000;

export async function readTables(superuser: pg.Client): Promise<Map<string, Table>> {
  const { rows } = await superuser.query<Table>(TABLES);
  return new Map(
    rows.map((table) => {
      const key = table.key.length > 0 ? table.key : table.columns.map(({ name }) => name);
      return [table.name, { ...table, key }];
    }),
  );
}

export const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** The rows with the same values as this one in these columns; by default the row itself. */
export function rowsLike(table: Table, row: Row, columns: readonly string[] = table.key): Rows {
  const wanted = Object.fromEntries(columns.map((column) => [column, row[column]]));
  return { table: table.name, where: `to_jsonb(t) @> ${quoted(JSON.stringify(wanted))}::jsonb` };
}

export async function imagesOf(client: pg.Client, { table, where }: Rows, limit = 1_000): Promise<Image[]> {
  const { rows } = await client.query<{ text: string }>(
    `SELECT to_jsonb(t)::text AS text FROM ${table} t WHERE ${where} LIMIT ${limit}`,
  );
  return rows.map(({ text }) => ({ text, row: JSON.parse(text) }));
}

/** Between two readings of the same rows. */
export function differencesOf(table: Table, before: readonly Image[], after: readonly Image[]): Difference[] {
  const keyOf = ({ row }: Image) => JSON.stringify(table.key.map((column) => row[column]));
  const later = new Map(after.map((image) => [keyOf(image), image]));
  const earlier = new Map(before.map((image) => [keyOf(image), image]));
  return [...new Set([...earlier.keys(), ...later.keys()])].flatMap((key): Difference[] => {
    const [was, is] = [earlier.get(key), later.get(key)];
    const columns = table.columns
      .map(({ name }) => name)
      .filter((name) => JSON.stringify(was?.row[name]) !== JSON.stringify(is?.row[name]));
    return columns.length === 0 ? [] : [{ table: table.name, columns, before: was, after: is }];
  });
}

const rowOf = (table: Table, place: number) =>
  `jsonb_populate_record(NULL::public.${table.name}, $${place}::jsonb)`;
const sameKey = (table: Table, one: string) =>
  table.key
    .map((column) => `to_jsonb(t.${column}) IS NOT DISTINCT FROM to_jsonb(${one}.${column})`)
    .join(' AND ');

export interface Statement {
  readonly text: string;
  readonly values: readonly string[];
}

/** Gives the row with the key of one image the values of another in these columns. */
export function updating(table: Table, columns: readonly string[], was: string, is: string): Statement {
  const set = columns.map((column) => `${column} = be.${column}`).join(', ');
  return {
    text: `WITH was AS MATERIALIZED (SELECT * FROM ${rowOf(table, 1)}), be AS MATERIALIZED (SELECT * FROM ${rowOf(table, 2)})
      UPDATE ${table.name} t SET ${set} FROM was, be WHERE ${sameKey(table, 'was')}`,
    values: [was, is],
  };
}

export function inserting(table: Table, image: string): Statement {
  const columns = table.columns.map(({ name }) => name).join(', ');
  return {
    text: `INSERT INTO ${table.name} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM ${rowOf(table, 1)}`,
    values: [image],
  };
}

export function deleting(table: Table, image: string): Statement {
  return {
    text: `WITH was AS MATERIALIZED (SELECT * FROM ${rowOf(table, 1)}) DELETE FROM ${table.name} t USING was WHERE ${sameKey(table, 'was')}`,
    values: [image],
  };
}

export function run(client: pg.Client, { text, values }: Statement): Promise<pg.QueryResult> {
  return client.query(text, [...values]);
}

/** Only what was changed, and only where nobody else has changed it since. For a superuser past all triggers. */
export async function putBack(client: pg.Client, table: Table, difference: Difference): Promise<void> {
  const { before, after, columns } = difference;
  if (before === undefined && after !== undefined) await run(client, deleting(table, after.text));
  if (before !== undefined && after === undefined) {
    const { text, values } = inserting(table, before.text);
    await client.query(`${text} ON CONFLICT DO NOTHING`, [...values]);
  }
  if (before === undefined || after === undefined) return;
  const [now] = await imagesOf(client, rowsLike(table, after.row));
  const isAsChanged = (column: string) =>
    JSON.stringify(now?.row[column]) === JSON.stringify(after.row[column]);
  // At once, since some columns go only together.
  const own = columns.filter(isAsChanged);
  if (own.length > 0) await run(client, updating(table, own, after.text, before.text));
  for (const column of columns.filter((each) => COUNTERS.has(each) && !isAsChanged(each))) {
    const further = Math.max(Number(before.row[column]), Number(now?.row[column])) + FURTHER;
    await run(
      client,
      updating(table, [column], after.text, JSON.stringify({ ...after.row, [column]: further })),
    );
  }
}
