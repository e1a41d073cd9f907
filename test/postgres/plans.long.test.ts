// Every statement of the gateway goes by an index, whatever the tables hold and whatever the statistics say. Statements
// are found by themselves: a new one need not be added here.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HISTORY_PAGES, HISTORY_PAGES_ANYWHERE } from '../../src/payments/finding/history.js';
import { Database, type DatabaseOptions, type Statement } from '../../src/postgres/database.js';
import { customerPage } from '../../src/vault/customer-page.js';
import { type CustomerSearch, Customers, type VaultAccess } from '../../src/vault/customers.js';
import { expectEach } from '../../testkit/each-case.js';
import { explaining, nodesOf, type PlanNode } from '../../testkit/explained.js';
import { addCast, type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { fillTables } from './filled-tables.js';

/** A million by `TOLLGATE_TEST_ROWS=1000000`, which takes minutes. */
const ROWS = Number(process.env.TOLLGATE_TEST_ROWS ?? 100_000);

/** Tables that grow with every payment, customer or deed. */
const LARGE = ['transaction', 'customer', 'token', 'journal', 'directdebit_item', 'settlement_entry'];

/** Commands of operators that are meant to read everything, and why. */
const READING_EVERYTHING: Readonly<Record<string, string>> = {
  KEY_STATUS: '`keys status` counts what each version seals',
  COUNT_OLDER_TOKENS: '`keys rotate` counts once what it has to do, for its progress bar',
  COUNT_OLDER_PAYMENT_DETAILS: '`keys rotate` counts once what it has to do, for its progress bar',
  OLDER_PAYMENT_DETAILS_LEFT: '`keys rotate` looks twice whether it has left anything behind',
  DESTROY_DATA_KEY: '`keys destroy` makes sure that nothing is sealed under the version',
  DIRECT_DEBIT_STATUS: '`directdebit status` counts every item of a merchant',
  DATED_AHEAD: '`clock reset` looks whether anything is dated ahead',
  EVENT_STATUS: '`event status` counts every event',
  COUNT_KEPT_EVENTS: '`figures rebuild` counts once what it has to do',
  WRONG_FIGURES: '`figures check` adds up every transaction of its days',
  EXISTING_DAYS: '`demo fill` looks which days have trade, of the demo alone',
  TOKENS_OF_MEMBERS: '`demo fill` looks which customers there are, of the demo alone',
  MOVE_VERSIONS_IN_DOUBT: '`restore` looks for everything that is undecided, before a gateway runs',
  MOVE_CUSTOMER_VERSIONS: '`restore` changes every customer, before a gateway runs',
  MOVE_TOKEN_VERSIONS: '`restore` changes every token, before a gateway runs',
  DEBITS_THAT_WAIT: '`restore` counts what waits for banks, before a gateway runs',
  SERVING_UNSEALED: 'an upgrade looks once whether the earlier release has left anything unsealed',
  EXPORT_JOURNAL: '`journal export` reads from one end to the other',
  COPIED_ENTRIES: '`journal verify` reads everything',
  SIZE_OF_ORGANISATION: '`organisation move --dry-run` counts what an organisation has',
  READ_JOURNAL: '`journal` reads backwards until it has found enough',
};

/** Planned once and kept, on connections of their own. */
const KEPT =
  /^payments\/(pipeline\/(claim|record)|finding\/lookup)\.sql|^payments\/pipeline\/ask-acquirer\.sql (BANKS|REROUTE)$|^directdebit\/intake\.sql|^vault\/tokens\.sql USABLE_TOKENS$|^payments\/processes\/process-registry\.sql|^organisations\/(users\/callers\.sql FIND_(SECRETS|USERS)$|host-names\.sql|routing\/routes\.sql)|^acquirers\/(configured\.sql ACQUIRERS$|iso8583\/stan-leases\.sql)|^events\/events\.sql SEQUENCE_EVENTS$|^gateway\/(due-work|observability\/disk-watch)\.sql/;

const BATCH = `'{${Array.from({ length: 500 }, (_, place) => place + 1)}}'`;

/** What a parameter of a type is planned with: everything belongs to merchant 1, and any batch is a large one. */
const SAMPLES: Readonly<Record<string, string>> = {
  integer: '1',
  // Limits are bigint too.
  bigint: '500',
  smallint: '1',
  'double precision': '(extract(epoch FROM now()) * 1000)',
  boolean: 'true',
  text: `'abcdefgh%'`,
  'character varying': `'abcdefgh%'`,
  date: 'current_date',
  uuid: 'gen_random_uuid()',
  json: `'{}'`,
  jsonb: `'[]'`,
  bytea: `''`,
  'bytea[]': `'{}'`,
  numeric: '500',
  interval: `interval '1 second'`,
  ...Object.fromEntries(
    ['integer', 'bigint', 'smallint', 'double precision', 'text'].map((type) => [`${type}[]`, BATCH]),
  ),
  'date[]': `'{2026-11-13,2026-11-16}'`,
  'timestamp with time zone[]': `'{2026-11-13T07:00:00Z,2026-11-16T07:00:00Z}'`,
  'boolean[]': `'{${Array.from({ length: 500 }, () => true)}}'`,
  'timestamp with time zone': 'now()',
};

interface Named extends Statement {
  /** Where it stands: `payments/processes/process-registry.sql HEARTBEAT`. */
  readonly place: string;
}

async function everyStatement(): Promise<Named[]> {
  const found: Named[] = [];
  const source = join(PROJECT_ROOT, 'src');
  for (const path of readdirSync(source, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!path.endsWith('.sql.ts')) continue;
    const exported = Object.entries((await import(join(source, path))) as Record<string, unknown>);
    for (const [name, value] of exported) {
      // What is exported as a text is a part of statements, or runs before there is a schema; so are columns of batches.
      if (typeof value === 'string' || !('text' in (value as object))) continue;
      found.push({ ...(value as Statement), place: `${path.replace(/\.ts$/, '')} ${name}` });
    }
  }
  const yesAndNo = [true, false];
  for (const ordering of ['name', 'reference', 'customer_id'] as const) {
    for (const goesOn of yesAndNo) {
      for (const byName of yesAndNo) {
        for (const byReference of [true, false, 'part'] as const) {
          const page = customerPage(ordering, goesOn, byName, byReference);
          found.push({ ...page, place: `vault/customer-page ${page.name}` });
        }
      }
    }
  }
  for (const page of [...Object.values(HISTORY_PAGES), ...Object.values(HISTORY_PAGES_ANYWHERE)]) {
    found.push({ ...page, place: `payments/finding/history ${page.name}` });
  }
  return found;
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Plan[];
}

interface Explained {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: Plan }];
}

const PARTIAL_INDEXES = 'SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indpred IS NOT NULL';
const TYPES = 'SELECT name, parameter_types::text[] AS types FROM pg_prepared_statements';

function sampleOf(type: string): string {
  const sample = SAMPLES[type];
  if (sample === undefined) throw new Error(`there is no sample of a ${type}`);
  return sample;
}

/** What of a plan reads a large table without a condition that an index answers. Partial indexes are short by themselves. */
function wholeReads(plan: Plan, partial: ReadonlySet<string>, bitmapOf?: string): string[] {
  const { 'Node Type': kind, 'Relation Name': relation, 'Index Name': index, 'Index Cond': condition } = plan;
  const table = relation ?? bitmapOf ?? '';
  const large = LARGE.includes(table) || table.startsWith('event_feed');
  const reads = /^(Seq|Index|Index Only|Bitmap Index) Scan$/.test(kind) && large;
  const whole = reads && condition === undefined && !partial.has(index ?? '');
  const heap = kind === 'Bitmap Heap Scan' ? relation : bitmapOf;
  return [
    ...(whole ? [`${kind} on ${table}`] : []),
    ...(plan.Plans ?? []).flatMap((part) => wholeReads(part, partial, heap)),
  ];
}

const STATEMENTS = await everyStatement();

test('every file of statements is tested', () => {
  expect(STATEMENTS.length).toBeGreaterThan(100);
  const names = STATEMENTS.map(({ place }) => place.split(' ').at(-1));
  expect(Object.keys(READING_EVERYTHING).filter((name) => !names.includes(name))).toEqual([]);
});

describe.each([
  ['filled and analysed', ROWS],
  ['empty', 0],
])('tables that are %s', (_, rows) => {
  let own: TestDatabase;
  const plans = new Map<string, Plan>();
  const partial = new Set<string>();

  beforeAll(async () => {
    own = await testDatabase();
    await addCast(own.url);
    if (rows > 0) await fillTables(own.url, rows);
    const kept = STATEMENTS.filter(({ place }) => KEPT.test(place));
    const others = STATEMENTS.filter(({ place }) => !KEPT.test(place));
    // As the gateway opens them.
    await plan({ planOnce: true }, kept);
    await plan({}, others);
  });
  afterAll(() => own.drop());

  async function plan(options: DatabaseOptions, statements: readonly Named[]): Promise<void> {
    const database = new Database(own.url, { ...options, maxConnections: 1 });
    const query = async <Row>(text: string) => (await database.query<Row>({ name: '', text })).rows;
    try {
      for (const { name } of await query<{ name: string }>(PARTIAL_INDEXES)) partial.add(name);
      await database.script(
        database,
        statements.map(({ text }, place) => `PREPARE planned_${place} AS ${text}`).join(';\n'),
      );
      const types = new Map(
        (await query<{ name: string; types: string[] }>(TYPES)).map((row) => [row.name, row.types]),
      );
      for (const [at, { place }] of statements.entries()) {
        const values = types.get(`planned_${at}`)?.map((type) => sampleOf(type)) ?? [];
        const call = values.length === 0 ? '' : ` (${values.join(', ')})`;
        const [explained] = await query<Explained>(`EXPLAIN (FORMAT JSON) EXECUTE planned_${at}${call}`);
        if (explained !== undefined) plans.set(place, explained['QUERY PLAN'][0].Plan);
      }
    } finally {
      await database.close();
    }
  }

  test('every statement → reads no large table as a whole', () =>
    expectEach(STATEMENTS, ({ place }) => {
      const planned = plans.get(place) as Plan;
      expect(planned).toBeDefined();
      if ((place.split(' ').at(-1) as string) in READING_EVERYTHING) return;
      // A custom plan may read all of a table that is empty at that moment, but by its index.
      const harmless = rows === 0 && !KEPT.test(place);
      const reads = wholeReads(planned, partial).filter((read) => !harmless || read.startsWith('Seq Scan'));
      expect(reads, JSON.stringify(planned, null, 2)).toEqual([]);
    }));

  async function explainedPage(
    database: Database,
    search: Pick<CustomerSearch, 'reference' | 'limit'>,
  ): Promise<PlanNode> {
    const explained: PlanNode[] = [];
    const connections = { of: () => explaining(database, explained) };
    const customers = new Customers(
      { leases: database, vault: connections, searches: connections },
      async () => 0,
    );
    await customers.search({ organisationId: 1, merchantId: 1 } as VaultAccess, {
      ordering: 'name',
      offset: 0,
      ...search,
    });
    // What comes before the page only looks for how it is found best.
    return explained.at(-1) as PlanNode;
  }

  test('a complete reference among many with the same beginning → reads as little as a search for its end', async () => {
    const database = new Database(own.url, { maxConnections: 1 });
    const blocksRead = async (reference: string) => {
      const page = await explainedPage(database, { reference, limit: 100 });
      return page['Shared Hit Blocks'] + page['Shared Read Blocks'];
    };
    try {
      // A session that is new reads some of the catalogue as well.
      await blocksRead('012345');
      expect(await blocksRead('customer-00012345')).toBeLessThanOrEqual(await blocksRead('012345'));
    } finally {
      await database.close();
    }
  });

  // Among ten million, a page of one was looked for in the order of all names, for 1.8 s. An empty table has no such page.
  if (rows > 0) {
    test('a page of one customer → planned like a full page, and reads one row more than it shows', async () => {
      const database = new Database(own.url, { maxConnections: 1 });
      try {
        const found = nodesOf(await explainedPage(database, { limit: 1 })).find(
          (node) => node['Subplan Name'] === 'CTE found',
        );
        expect(found).toMatchObject({ 'Plan Rows': 101, 'Actual Rows': 2 });
      } finally {
        await database.close();
      }
    });
  }
});
