// What a distributed engine makes of every statement of the program: how many tasks it is sent to the servers as, or why it cannot be.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { adapted } from '../../src/postgres/distributed.js';
import type { Statement } from '../../src/postgres/statement.js';
import { PROJECT_ROOT } from '../../testkit/project.js';

/** The program as it is installed: beside this file there is only what proofs use of it. */
const PROGRAM = pathToFileURL(join(PROJECT_ROOT, 'dist/'));

export interface Planned {
  readonly name: string;
  /** Of each part that is sent elsewhere; none where all is done on the coordinator. */
  readonly tasks: readonly number[];
  /** Why it cannot be planned. */
  readonly refusal?: string;
}

/** Something of the type, for the organisation that is looked at. */
function sample(type: string): string {
  if (type.endsWith('[]')) return type === 'bytea[]' ? '{}' : `{${sample(type.slice(0, -2))}}`;
  if (/^(integer|bigint|smallint|double precision|real|numeric|oid)$/.test(type)) return '1';
  if (type === 'boolean') return 'true';
  if (type === 'date') return '2026-11-16';
  if (type.startsWith('timestamp')) return '2026-11-16T00:00:00Z';
  if (type === 'interval') return '1 second';
  if (type === 'uuid') return '00000000-0000-0000-0000-000000000000';
  if (/^jsonb?$/.test(type)) return '{}';
  if (type === 'bytea') return '\\x00';
  return '1';
}

/** Those that touch transactions, or may, by the names under which they are exported. */
export async function everyStatement(): Promise<Map<string, Statement>> {
  const files = (await readdir(PROGRAM, { recursive: true }))
    .filter((name) => name.endsWith('.sql.js'))
    .sort();
  const found = new Map<string, Statement>();
  for (const file of files) {
    const exported: Record<string, unknown> = await import(new URL(file, PROGRAM).href);
    for (const [name, value] of Object.entries(exported))
      if (isStatement(value)) found.set(`${file.replace('.sql.js', '')} ${name}`, value);
  }
  return found;
}

function isStatement(value: unknown): value is Statement {
  const { name, text } = (value ?? {}) as Partial<Statement>;
  return typeof name === 'string' && typeof text === 'string';
}

export async function plan(url: string, statements: ReadonlyMap<string, Statement>): Promise<Planned[]> {
  const client = new pg.Client({ connectionString: url, options: '-c plan_cache_mode=force_custom_plan' });
  await client.connect();
  const planned: Planned[] = [];
  for (const [name, statement] of statements) {
    // As batches are: one organisation's.
    const { text } = adapted(
      statement,
      Array.from({ length: 60 }, () => '{1}'),
    );
    await client.query('BEGIN');
    try {
      await client.query(`PREPARE tried AS ${text}`);
      const { rows: types } = await client.query(
        `SELECT coalesce(array_to_json(parameter_types::text[]), '[]') AS types FROM pg_prepared_statements WHERE name = 'tried'`,
      );
      const given = (types[0].types as string[]).map((type) => pg.escapeLiteral(sample(type)));
      const { rows } = await client.query(
        `EXPLAIN (COSTS OFF, FORMAT TEXT) EXECUTE tried${given.length === 0 ? '' : `(${given.join(', ')})`}`,
      );
      const lines = rows.map((row) => row['QUERY PLAN'] as string).join('\n');
      planned.push({ name, tasks: tasksOf(lines) });
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      planned.push({ name, tasks: [], refusal: `${code} ${message}` });
    }
    await client.query('ROLLBACK');
    await client.query('DEALLOCATE ALL');
  }
  await client.end();
  return planned;
}

/** Of each part, but for those that the coordinator does itself. */
function tasksOf(plan: string): number[] {
  const parts = [...plan.matchAll(/Task Count: (\d+)\n(?:.*\n){1,2}?.*-> {2}Task\n.*Node: host=(\S+)/g)];
  return parts.filter(([, , host]) => host !== 'localhost').map(([, count]) => Number(count));
}
