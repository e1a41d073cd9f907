// What searches for customers cost among a million, beside ten thousand, in turns. `--customers 10000000` stores more. The bench shows
// what each plan reads, and purchases a second while a client searches without pause.
import { Database } from '../src/postgres/database.js';
import type { MerchantId, OrganisationId } from '../src/values/ids.js';
import { type CustomerSearch, Customers, type VaultAccess } from '../src/vault/customers.js';
import { type CallAnswer, call } from '../testkit/caller.js';
import { explaining, nodesOf, type PlanNode } from '../testkit/explained.js';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, say } from '../testkit/report.js';
import { type StandaloneGateway, startStandalone } from '../testkit/standalone.js';
import { tidyUp, withDatabase, withoutIndexes } from './measuring/filling.js';

const CHUNK = 500_000;
/** From so many on, what is filled in at once goes in without indexes. */
const WITHOUT_INDEXES_FROM = 100_000;
const SYLLABLES = [...'bdfghklmnprstvw'].flatMap((consonant) =>
  [...'aeiou'].map((vowel) => consonant + vowel),
);
const FAMILY_NAMES = 4_000;
const FIRST_NAMES = 300;

const FAMILIES = names(FAMILY_NAMES, 3);
const FIRSTS = names(FIRST_NAMES, 2);

/** About one in a hundred has it. */
const FREQUENT_NAME = FAMILIES[0] as string;
/** One in some twenty thousand. */
const UNCOMMON_NAME = FAMILIES[FAMILY_NAMES - 1] as string;
/** A first name that some have whose names come late in the alphabet. */
const LATE_NAME = FIRSTS.find((name) => name.startsWith('W')) as string;
/** Three of all have it, however many there are. */
const RARE_NAME = 'Temolanu';
/** As the rare one it has a syllable more than others, so that every part of it is in the names of many. */
const NOBODYS_NAME = 'Bakunimo';

/** Merchant 1 has seven tenths, merchant 2 one in a hundred, and another organisation the rest. */
const SHARE_OF_MERCHANT_1 = 0.7;
const IS_OF_ANOTHER = 'n % 100 BETWEEN 71 AND 99';

const referenceOf = (id: number) => `cust-${String(id).padStart(8, '0')}`;

/** A rank by chance, the same each time: that of a name is as frequent as one by (rank + 20), as Zipf and Mandelbrot have it. */
const rank = (salt: number, count: number) =>
  `floor(20 * pow(${(count + 20) / 20}, (hashint8extended(n, ${salt}) & 1048575) / 1048576.0::float8))::integer - 19`;

const CUSTOMERS = `
  INSERT INTO customer (organisation_id, merchant_id, id, version, reference, name)
  SELECT CASE WHEN ${IS_OF_ANOTHER} THEN 2 ELSE 1 END, CASE WHEN ${IS_OF_ANOTHER} THEN 4 WHEN n % 100 = 70 THEN 2 ELSE 1 END,
    n, 1, 'cust-' || lpad(n::text, 8, '0'),
    first.name || ' ' || CASE WHEN n IN ($5::integer / 400 * 100 + 1, $5 / 200 * 100 + 2, $5 / 400 * 300 + 3)
      THEN '${RARE_NAME}' ELSE family.name END
  FROM generate_series($1::integer, $2::integer) n
  JOIN unnest($3::text[]) WITH ORDINALITY AS family(name, rank) ON family.rank = ${rank(1, FAMILY_NAMES)}
  JOIN unnest($4::text[]) WITH ORDINALITY AS first(name, rank) ON first.rank = ${rank(2, FIRST_NAMES)}
  ORDER BY n`;

/** One of merchant 1's. */
const anyId = (round: number, stored: number) =>
  ((round * 7_919) % Math.floor(stored / 100)) * 100 + 1 + (round % 69);
const always = (query: Query) => () => query;

const SEARCHES: readonly Search[] = [
  {
    what: 'a whole reference',
    query: (round, stored) => ({ reference: referenceOf(anyId(round, stored)) }),
    isHeld: true,
  },
  {
    what: 'the last five digits of a reference',
    query: (round, stored) => ({ reference: referenceOf(anyId(round, stored)).slice(-5) }),
  },
  { what: 'a reference that nobody has', query: always({ reference: 'cust-99999999' }) },
  { what: 'a frequent name (1 in 100)', query: always({ name: FREQUENT_NAME }) },
  { what: '… by reference', query: always({ name: FREQUENT_NAME, ordering: 'reference' }) },
  { what: '… by customer_id', query: always({ name: FREQUENT_NAME, ordering: 'customer_id' }) },
  { what: '… ten pages by next', query: always({ name: FREQUENT_NAME }), pages: 10 },
  { what: 'a first name late in the alphabet', query: always({ name: `${LATE_NAME} ` }) },
  { what: 'an uncommon name (1 in 20,000)', query: always({ name: UNCOMMON_NAME }) },
  {
    what: '… by customer_id, a page of 10',
    query: always({ name: UNCOMMON_NAME, ordering: 'customer_id', limit: 10 }),
  },
  { what: 'a rare name (three of all)', query: always({ name: RARE_NAME }) },
  { what: '… a page of one', query: always({ name: RARE_NAME, limit: 1 }), isHeld: true },
  {
    what: '… by customer_id, a page of 10',
    query: always({ name: RARE_NAME, ordering: 'customer_id', limit: 10 }),
  },
  { what: 'a name that nobody has', query: always({ name: NOBODYS_NAME }) },
  { what: '… a page of one', query: always({ name: NOBODYS_NAME, limit: 1 }) },
  { what: 'the first three letters of a frequent name', query: always({ name: FREQUENT_NAME.slice(0, 3) }) },
  { what: 'two letters that many names have', query: always({ name: FREQUENT_NAME.slice(0, 2) }) },
  { what: 'two letters that no name has', query: always({ name: 'zq' }) },
  { what: 'first page by name', query: always({}), isHeld: true },
  { what: 'first page by reference', query: always({ ordering: 'reference' }), isHeld: true },
  { what: 'first page by customer_id', query: always({ ordering: 'customer_id' }), isHeld: true },
  { what: 'ten pages by next, by name', query: always({}), pages: 10, isHeld: true },
  {
    what: 'an offset of nine tenths',
    query: (_, stored) => ({ offset: Math.floor(stored * SHARE_OF_MERCHANT_1 * 0.9) }),
  },
  { what: 'of a small merchant: first page', query: always({ merchant_id: 2 }), isHeld: true },
  { what: '… a frequent name', query: always({ merchant_id: 2, name: FREQUENT_NAME }) },
  { what: '… a name that only others have', query: always({ merchant_id: 2, name: RARE_NAME }) },
  { what: '… two letters that no name has', query: always({ merchant_id: 2, name: 'zq' }) },
];

/** A search at one gateway. */
class Side {
  readonly #timesMs: number[] = [];
  /** How often the first page had how many, or was answered otherwise. */
  readonly answers = new Map<string, number>();
  constructor(
    private readonly gateway: StandaloneGateway,
    private readonly stored: number,
  ) {}

  /** One round of it: every page. */
  async ask({ what, query, pages = 1, isHeld }: Search, round: number): Promise<void> {
    const caller = { ...this.gateway, baseUrl: new URL(this.gateway.baseUrl).origin };
    let path: string | undefined = pathOf(query(round, this.stored));
    for (let page = 1; page <= pages && path !== undefined; page += 1) {
      const startedMs = performance.now();
      const { status, code, body }: CallAnswer = await call(caller, 'GET', path, { timeoutMs: 60_000 });
      this.#timesMs.push(performance.now() - startedMs);
      if (status !== 200 && status !== 503)
        throw new Error(`${what}: ${path} was answered ${status} ${code}`);
      if (isHeld && !(body.results?.length > 0)) throw new Error(`${what}: ${path} has found nobody`);
      const answer = status === 200 ? `${body.results.length} found` : `${status} ${code}`;
      if (page === 1) this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
      path = body._links?.next?.href;
    }
  }

  get p50Ms(): number {
    return median(this.#timesMs);
  }

  get worstMs(): number {
    return Math.max(...this.#timesMs);
  }
}

const values = programOptions({
  customers: 1_000_000,
  /** How often each search is made, unless it takes long. */
  times: 30,
  seconds: 5,
  rounds: 5,
});
const MANY = values.customers;
const FEW = 10_000;
const LONG_MS = 10_000;
/** What is found by an index may take so many times as long as among few. */
const AT_MOST = 5;

/** Made by a client that searches without pause. Not those that are to take too long. */
const WITHOUT_PAUSE = SEARCHES.filter(
  ({ query }) => query(0, MANY).name !== 'zq' && query(0, MANY).offset === undefined,
);

async function fill(gateway: StandaloneGateway, customers: number): Promise<void> {
  // First purchases, so that the merchant has its data key.
  await load(gateway, { ...PURCHASE, connections: 1, count: 5 });
  const startedMs = performance.now();
  const size = await storeCustomers(gateway, customers);
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  say(`${customers.toLocaleString('en')} customers stored and analysed in ${seconds} s: ${size}`);
}

const ms = (time: number) => time.toFixed(1).padStart(8);
const told = ({ p50Ms, worstMs }: Side) => `${ms(p50Ms)} ${ms(worstMs)}`;

/** Returns how many times as long it takes among many. */
async function measure(search: Search, planned: Database): Promise<number> {
  const [among, amongFew] = [new Side(many, MANY), new Side(few, FEW)];
  const startedMs = performance.now();
  for (let round = 0; round < values.times && performance.now() - startedMs < LONG_MS; round += 1) {
    for (const side of round % 2 === 0 ? [among, amongFew] : [amongFew, among]) await side.ask(search, round);
  }
  const ratio = among.p50Ms / amongFew.p50Ms;
  const answers = [...among.answers].map(([answer, count]) =>
    among.answers.size === 1 ? answer : `${count} × ${answer}`,
  );
  say(
    `${search.what.padEnd(44)} ${told(among)} ${told(amongFew)} ${ratio.toFixed(1).padStart(7)}  ${answers.join(', ')}; ` +
      `looks at ${await planOf(planned, search, MANY)}`,
  );
  return search.isHeld ? ratio : 0;
}

/** Alone, and while one client searches without pause. */
async function purchases(): Promise<void> {
  const paths = WITHOUT_PAUSE.flatMap(({ query }) => [1, 2, 3].map((round) => pathOf(query(round, MANY))));
  const bought = { ...PURCHASE, connections: 64, seconds: values.seconds };
  await load(many, bought);
  const rates = { alone: [] as number[], beside: [] as number[] };
  for (let round = 1; round <= values.rounds; round += 1) {
    // Who comes second has more stored before it: they change places.
    for (const kind of round % 2 === 0 ? (['beside', 'alone'] as const) : (['alone', 'beside'] as const)) {
      const searching =
        kind === 'beside'
          ? load(many, { method: 'GET', paths, connections: 1, seconds: bought.seconds })
          : undefined;
      rates[kind].push((await load(many, bought)).perSecond);
      const searched = await searching;
      if (searched !== undefined)
        say(
          `round ${round}: ${searched.perSecond} searches/s meanwhile, p50 ${searched.p50Ms} ms, p99 ${searched.p99Ms} ms, ${JSON.stringify(searched.statuses)}`,
        );
    }
  }
  const [alone, beside] = [median(rates.alone), median(rates.beside)];
  say(
    `purchases per second: ${alone} alone, ${beside} while one client searches without pause: ${(beside / alone).toFixed(2)} (medians of ${values.rounds})`,
  );
}

const few = await startStandalone();
const many = await startStandalone();
try {
  await fill(few, FEW);
  await fill(many, MANY);
  say(
    `${'milliseconds'.padEnd(44)}     p50    worst among ${MANY.toLocaleString('en')};     p50    worst among ${FEW.toLocaleString('en')}; times; first page; rows that the plan looks at`,
  );
  // Once unmeasured: compiled, and read into memory as far as there is room.
  for (const search of SEARCHES)
    for (const side of [new Side(few, FEW), new Side(many, MANY)]) await side.ask(search, 0);
  const planned = new Database(await many.databaseUrl(), { maxConnections: 1 });
  const ratios: number[] = [];
  for (const search of SEARCHES) ratios.push(await measure(search, planned));
  await planned.close();
  await purchases();
  const worst = Math.max(...ratios);
  say(
    `whole references, short pages of rare names and pages without a filter take at most ${worst.toFixed(1)} times what they take among ${FEW.toLocaleString('en')} (wanted: at most ${AT_MOST})`,
  );
  if (worst > AT_MOST) process.exitCode = 1;
} finally {
  await few.stop();
  await many.stop();
}

/** The names of a rank each, the most frequent first: so many syllables, none a part of another. */
function names(count: number, syllables: number): string[] {
  return Array.from({ length: count }, (_, rank) => {
    // By a number that has nothing in common with theirs, so that neighbours in rank are none in the alphabet.
    let rest = (rank * 1_009 + 123_457) % SYLLABLES.length ** syllables;
    let name = '';
    for (let place = 0; place < syllables; place += 1) {
      name = SYLLABLES[rest % SYLLABLES.length] + name;
      rest = Math.floor(rest / SYLLABLES.length);
    }
    return name.charAt(0).toUpperCase() + name.slice(1);
  });
}

/** Returns how large they are, and with their indexes. */
function storeCustomers(gateway: StandaloneGateway, customers: number): Promise<string> {
  return withDatabase(gateway, async (database) => {
    const fill = async () => {
      await database.query('SET synchronous_commit = off');
      for (let first = 1; first <= customers; first += CHUNK) {
        const last = Math.min(customers, first + CHUNK - 1);
        await database.query(CUSTOMERS, [first, last, FAMILIES, FIRSTS, customers]);
      }
    };
    if (customers < WITHOUT_INDEXES_FROM) await fill();
    else await withoutIndexes(gateway, database, ['customer'], fill);
    await database.query('UPDATE organisation SET next_customer_id = $1 WHERE id = 1', [customers + 1]);
    await tidyUp(database);
    const { rows } = await database.query<{ rows: string; all: string; count: number }>(
      `SELECT pg_size_pretty(pg_relation_size('customer')) AS rows, pg_size_pretty(pg_total_relation_size('customer')) AS all,
         count(*)::integer FROM customer`,
    );
    if (rows[0]?.count !== customers) throw new Error(`${rows[0]?.count} customers were stored`);
    return `${rows[0].rows}, ${rows[0].all} with indexes`;
  });
}

type Query = Partial<Omit<CustomerSearch, 'after'>> & { readonly merchant_id?: number };

interface Search {
  readonly what: string;
  /** What is asked for, where so many customers are stored. */
  query(round: number, stored: number): Query;
  /** Pages that are followed by `next`, each timed by itself. One unless told. */
  readonly pages?: number;
  /** Whether it is held against the same among few. */
  readonly isHeld?: true;
}

function pathOf(query: Query): string {
  const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  return `/v1/customers?${new URLSearchParams(parameters)}`;
}

/** The rows that the largest step of the plan of its first page looks at, and the indexes that it goes by. */
async function planOf(database: Database, { query }: Search, stored: number): Promise<string> {
  const plans: PlanNode[] = [];
  const explained = { of: () => explaining(database, plans) };
  const customers = new Customers({ leases: database, vault: explained, searches: explained }, async () => 0);
  const { merchant_id = 1, ...search } = query(1, stored);
  const whose = { organisationId: 1 as OrganisationId, merchantId: merchant_id as MerchantId } as VaultAccess;
  await customers.search(whose, { ordering: 'name', limit: 100, offset: 0, ...search });
  const nodes = plans.flatMap(nodesOf);
  const rowsOf = (node: PlanNode) =>
    (node['Actual Rows'] +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Index Recheck'] ?? 0)) *
    node['Actual Loops'];
  const indexes = nodes
    .flatMap((node) => node['Index Name'] ?? [])
    .filter((name) => name !== 'customer_pkey');
  return `${Math.max(...nodes.map(rowsOf)).toLocaleString('en')} by ${[...new Set(indexes)].join(', ') || 'no index'}`;
}
