// Statements for the rows of one organisation ($1), made for each table from its columns.
import { SEALED_CHECKOUT } from '../../checkout/checkouts.sql.js';
import { OUTCOME } from '../../payments/outcome-seals.sql.js';
import type { Statement } from '../../postgres/database.js';
import type { TableInPages } from './tables.js';

/** Without columns that the database computes. */
export const COLUMNS_OF_TABLE: Statement = {
  name: '',
  text: `
    SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
    WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attname`,
};

/** What a pass begins with: whatever is committed from now on was written by a transaction that is not older than this one. */
export const PASS_BEGINS: Statement = {
  name: '',
  text: `
    SELECT pg_snapshot_xmin(pg_current_snapshot())::xid::text AS xmin, database_lineage() AS lineage`,
};

export interface Column {
  readonly name: string;
  readonly type: string;
}

const list = (columns: readonly string[], of = '') => columns.map((name) => `${of}"${name}"`).join(', ');

/** What is sealed anew, by table. */
const SEALS_OF: Readonly<Record<string, string>> = {
  transaction: `, ${OUTCOME} AS stored, t.prepared, t.attestation, t.archived_at IS NOT NULL AS archived`,
  checkout: `, ${SEALED_CHECKOUT} AS checkout, t.seal`,
  token: `, CASE WHEN t.network_transaction_id IS NOT NULL AND t.network_transaction_mark IS NOT NULL THEN
        json_build_object('organisationId', t.organisation_id, 'tokenId', t.id, 'sealVersion', t.seal_version,
          'networkTransactionId', t.network_transaction_id) END AS network, t.network_transaction_mark AS seal`,
};

interface Page {
  /** Whether only what has changed since a pass ($3) began, and only what comes after a key ($4 and on). */
  readonly changed: boolean;
  readonly after: boolean;
}

/**
 * A page ($2) in the order of the key. A row that was changed by a transaction that is not older than the pass may have been seen by it, or
 * not: it comes again. Of rows that are frozen, long ago, some may come, too.
 */
export function pageOf(
  { name, key }: TableInPages,
  columns: readonly Column[],
  { changed, after }: Page,
): Statement {
  const types = new Map(columns.map((column) => [column.name, column.type]));
  const first = changed ? 4 : 3;
  const place = key.map((column, index) => `$${first + index}::${types.get(column)}`).join(', ');
  const names = columns.map((column) => column.name);
  // guard(moving: what has changed since the last pass comes again): age(t.xmin) <= age($3::text::xid) ⇒ age(t.xmin) < 0
  const since = changed ? 'AND age(t.xmin) <= age($3::text::xid)' : '';
  return {
    name: '',
    text: `
    SELECT json_build_array(${list(key, 't.')})::text AS key, row_to_json(t)::text AS row
      ${SEALS_OF[name] ?? ''}
    FROM (
      SELECT ${list(names, 't.')} FROM ${name} t WHERE t.organisation_id = $1
      ${since}
      ${after ? `AND (${list(key, 't.')}) > (${place})` : ''}
      ORDER BY ${list(key, 't.')} LIMIT $2) t
    ORDER BY ${list(key, 't.')}`,
  };
}

/** Of a table that is replaced as a whole. */
export function rowsOf(name: string, columns: readonly Column[]): Statement {
  return {
    name: '',
    text: `
    SELECT row_to_json(t)::text AS row
    FROM (SELECT ${list(columns.map((column) => column.name))} FROM ${name} WHERE organisation_id = $1) t`,
  };
}

/** Takes the rows ($1) as JSON. A member that comes twice counts as it comes last. */
export function putRows(name: string, columns: readonly Column[]): string {
  const names = list(columns.map((column) => column.name));
  return `
    INSERT INTO ${name} AS t (${names}) OVERRIDING SYSTEM VALUE
    SELECT ${names} FROM json_populate_recordset(NULL::${name}, $1::json) r`;
}

export function putPage({ name, key, appended }: TableInPages, columns: readonly Column[]): Statement {
  if (appended !== undefined) {
    const same = ['organisation_id', ...appended.by].map((column) => `x.${column} = r.${column}`);
    return {
      name: '',
      // guard(moving: what is only ever added is added once): WHERE NOT EXISTS ⇒ WHERE true OR NOT EXISTS
      text: `${putRows(name, columns)}
    WHERE NOT EXISTS (SELECT FROM ${name} x WHERE ${same.join(' AND ')})`,
    };
  }
  const changes = columns
    .map((column) => column.name)
    .filter((column) => column !== 'organisation_id' && !key.includes(column));
  const set = changes.map((column) => `"${column}" = excluded."${column}"`).join(', ');
  return {
    name: '',
    text: `${putRows(name, columns)}
    ON CONFLICT (organisation_id, ${list(key)}) DO UPDATE SET ${set}`,
  };
}

export function removeRows(name: string): Statement {
  return {
    name: '',
    text: `
    DELETE FROM ${name} WHERE organisation_id = $1`,
  };
}

/** The keys of a page ($2) after a key ($3 and on), for rows that have gone. */
export function keysOf({ name, key }: TableInPages, columns: readonly Column[], after: boolean): Statement {
  const types = new Map(columns.map((column) => [column.name, column.type]));
  const place = key.map((column, index) => `$${3 + index}::${types.get(column)}`).join(', ');
  return {
    name: '',
    text: `
    SELECT ${list(key)} FROM ${name} WHERE organisation_id = $1 ${after ? `AND (${list(key)}) > (${place})` : ''}
    ORDER BY ${list(key)} LIMIT $2`,
  };
}

/** Those of a table with one key column, after $2 and up to $3, that are not among $4. */
export function removeOthers({ name, key: [key] }: TableInPages): Statement {
  return {
    name: '',
    text: `
    DELETE FROM ${name} WHERE organisation_id = $1 AND "${key}" > $2 AND "${key}" <= $3 AND "${key}" <> ALL ($4::integer[])`,
  };
}

/** A digest of a page ($2) after a key, and where the next one begins. Without what the cells make each for themselves. */
export function digestOf(
  { name, key, made = [] }: TableInPages,
  columns: readonly Column[],
  after: boolean,
): Statement {
  const types = new Map(columns.map((column) => [column.name, column.type]));
  const place = key.map((column, index) => `$${3 + index}::${types.get(column)}`).join(', ');
  const names = columns.map((column) => column.name).filter((column) => !made.includes(column));
  return {
    name: '',
    text: `
    SELECT count(*)::integer AS rows, (array_agg(key ORDER BY ${list(key)}))[count(*)] AS last,
      encode(sha256(convert_to(string_agg(row, E'\\n' ORDER BY ${list(key)}), 'UTF8')), 'hex') AS digest
    FROM (
      SELECT ${list(key, 't.')}, json_build_array(${list(key, 't.')})::text AS key, row_to_json(t)::text AS row
      FROM (
        SELECT ${list(names)} FROM ${name} WHERE organisation_id = $1 ${after ? `AND (${list(key)}) > (${place})` : ''}
        ORDER BY ${list(key)} LIMIT $2) t) page
    HAVING count(*) > 0`,
  };
}

/** Of a table that is replaced as a whole. */
export function digestOfWhole(name: string, columns: readonly Column[], made: readonly string[]): Statement {
  const names = columns.map((column) => column.name).filter((column) => !made.includes(column));
  return {
    name: '',
    text: `
    SELECT count(*)::integer AS rows, encode(sha256(convert_to(coalesce(string_agg(row, E'\\n' ORDER BY row), ''), 'UTF8')), 'hex') AS digest
    FROM (SELECT row_to_json(t)::text AS row FROM (SELECT ${list(names)} FROM ${name} WHERE organisation_id = $1) t) rows`,
  };
}

/** Both cells write times alike. */
export const IN_UTC: Statement = {
  name: '',
  text: `
    SELECT set_config('TimeZone', 'UTC', true)`,
};

/** Lets this transaction write what is fenced of an organisation ($1). */
export const PASS_THE_FENCE: Statement = {
  name: '',
  text: `
    SELECT set_config('tollgate.moving', $1::integer::text, true)`,
};

/** The keys of what has changed since a pass ($2) began. */
export function changedKeys({ name, key }: TableInPages): Statement {
  return {
    name: '',
    text: `
    SELECT json_build_array(${list(key)})::text AS key FROM ${name} t
    WHERE organisation_id = $1 AND age(t.xmin) <= age($2::text::xid)`,
  };
}

export function dropFence(table: string): Statement {
  return {
    name: '',
    text: `
    DROP TRIGGER IF EXISTS organisation_is_closing ON ${table};
    DROP TRIGGER IF EXISTS organisation_is_elsewhere ON ${table};
    DROP TRIGGER IF EXISTS organisation_is_elsewhere_still ON ${table}`,
  };
}

export function figuresOf(table: string): Statement {
  return {
    name: '',
    text: `
    SELECT coalesce(json_agg(f), '[]')::text AS rows FROM ${table} f WHERE organisation_id = $1`,
  };
}

/** The figures ($2) of an organisation ($1) in the place of those that are here, and what that changes in the totals. */
export function putFigures(table: string, key: readonly string[]): Statement {
  const keys = key.join(', ');
  return {
    name: '',
    text: `
    WITH coming AS MATERIALIZED (SELECT * FROM json_populate_recordset(NULL::${table}, $2::json)),
    before AS MATERIALIZED (SELECT * FROM ${table} WHERE organisation_id = $1),
    gone AS (
      DELETE FROM ${table} f WHERE f.organisation_id = $1
        AND NOT EXISTS (SELECT FROM coming c WHERE ${key.map((name) => `c.${name} = f.${name}`).join(' AND ')})
    ), put AS (
      INSERT INTO ${table} AS f (organisation_id, ${keys}, count, cents)
      SELECT $1, ${keys}, count, cents FROM coming
      ON CONFLICT (organisation_id, ${keys}) DO UPDATE SET count = excluded.count, cents = excluded.cents
    )
    INSERT INTO ${table} AS f (organisation_id, ${keys}, count, cents)
    SELECT 0, ${keys}, sum(count), sum(cents) FROM (
      SELECT ${keys}, count, cents FROM coming UNION ALL SELECT ${keys}, -count, -cents FROM before) changed
    GROUP BY ${keys} HAVING sum(count) <> 0 OR sum(cents) <> 0
    ON CONFLICT (organisation_id, ${keys}) DO UPDATE SET count = f.count + excluded.count, cents = f.cents + excluded.cents`,
  };
}

export const FIGURE_KEYS: Readonly<Record<string, readonly string[]>> = {
  figures_by_minute: ['minute', 'mode', 'currency', 'transaction_type', 'status'],
  figures_by_hour: [
    'hour',
    'mode',
    'currency',
    'transaction_type',
    'status',
    'acquirer',
    'method',
    'response_code',
  ],
};
