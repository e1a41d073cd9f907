// Millions of customers of several merchants, with names about as varied as people's, made quickly.
import type { StandaloneGateway } from '../testkit/standalone.js';
import { tidyUp, withDatabase, withoutIndexes } from './filling.js';

const CHUNK = 500_000;
/** From so many on, what is filled in at once goes in without indexes. */
const MANY = 100_000;
const SYLLABLES = [...'bdfghklmnprstvw'].flatMap((consonant) =>
  [...'aeiou'].map((vowel) => consonant + vowel),
);
const FAMILY_NAMES = 4_000;
const FIRST_NAMES = 300;

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

const FAMILIES = names(FAMILY_NAMES, 3);
const FIRSTS = names(FIRST_NAMES, 2);

/** About one in a hundred has it. */
export const FREQUENT_NAME = FAMILIES[0] as string;
/** One in some twenty thousand. */
export const UNCOMMON_NAME = FAMILIES[FAMILY_NAMES - 1] as string;
/** A first name that some have whose names come late in the alphabet. */
export const LATE_NAME = FIRSTS.find((name) => name.startsWith('W')) as string;
/** Three of all have it, however many there are. */
export const RARE_NAME = 'Temolanu';
/** As the rare one it has a syllable more than others, so that every part of it is in the names of many. */
export const NOBODYS_NAME = 'Bakunimo';

/** Merchant 1 has seven tenths, merchant 2 one in a hundred, and another organisation the rest. */
export const SHARE_OF_MERCHANT_1 = 0.7;
const IS_OF_ANOTHER = 'n % 100 BETWEEN 71 AND 99';

export const referenceOf = (id: number) => `cust-${String(id).padStart(8, '0')}`;

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

/** Returns how large they are, and with their indexes. */
export function storeCustomers(gateway: StandaloneGateway, customers: number): Promise<string> {
  return withDatabase(gateway, async (database) => {
    const fill = async () => {
      await database.query('SET synchronous_commit = off');
      for (let first = 1; first <= customers; first += CHUNK) {
        const last = Math.min(customers, first + CHUNK - 1);
        await database.query(CUSTOMERS, [first, last, FAMILIES, FIRSTS, customers]);
      }
    };
    if (customers < MANY) await fill();
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
