// Cached plans: whatever the tables were like when a plan was made, each row is found by its key.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DIRECT_ENTRIES } from '../../../src/directdebit/direct-entry.sql.js';
import * as taking from '../../../src/directdebit/intake.sql.js';
import * as finding from '../../../src/payments/finding/lookup.sql.js';
import * as claiming from '../../../src/payments/pipeline/claim.sql.js';
import * as recording from '../../../src/payments/pipeline/record.sql.js';
import { Database, type Statement } from '../../../src/postgres/database.js';
import { USABLE_TOKENS } from '../../../src/vault/tokens.sql.js';
import { expectEach } from '../../../testkit/each-case.js';
import { type TestDatabase, testDatabase } from '../../../testkit/gateway.js';

let empty: TestDatabase;
let commits: Database;

beforeAll(async () => {
  empty = await testDatabase();
  commits = new Database(empty.url, { maxConnections: 1, planOnce: true });
});
afterAll(async () => {
  await commits.close();
  await empty.drop();
});

/** The lines of a statement's cached plan. */
async function keptPlan({ name, text }: Statement): Promise<string[]> {
  const parameters = new Set(text.match(/\$\d+/g)).size;
  await commits.script(commits, `PREPARE "${name}" AS ${text}`);
  const { rows } = await commits.query<{ 'QUERY PLAN': string }>({
    name: '',
    text: `EXPLAIN EXECUTE "${name}" (${Array.from({ length: parameters }, () => 'NULL').join(', ')})`,
  });
  return rows.map((row) => row['QUERY PLAN']);
}

const STATEMENTS: readonly Statement[] = Object.values({
  ...claiming,
  ...recording,
  ...finding,
  ...taking,
  DIRECT_ENTRIES,
  USABLE_TOKENS,
}).filter((exported): exported is Statement => typeof exported === 'object' && 'text' in exported);
/** Each table that a cached plan reads, and its expected index condition. */
const KEYS: Readonly<Record<string, RegExp>> = {
  transaction: /Index Cond: .*\b(?:audit|target_audit|correlation_id) = /,
  token: /Index Cond: .*\bvirtual_pan = /,
  merchant: /Index Cond: .*\bid = /,
  direct_entry: /Index Cond: .*\bmerchant_id = /,
};

test('every statement planned while all tables are empty → finds each row by its whole key', () =>
  expectEach(STATEMENTS, async (statement) => {
    const plan = await keptPlan(statement);
    for (const [at, line] of plan.entries()) {
      const [, table = ''] = / Scan .* on (\w+)/.exec(line) ?? [];
      const key = KEYS[table];
      if (key !== undefined) expect(plan[at + 1], plan.join('\n')).toMatch(key);
    }
    const { rows } = await commits.query({
      name: '',
      text: `SELECT FROM pg_prepared_statements
      WHERE name = '${statement.name}' AND generic_plans > 0 AND custom_plans = 0`,
    });
    expect(rows).toHaveLength(1);
  }));
