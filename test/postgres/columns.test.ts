// The columns of batches: what goes in as entries comes out as rows, and no entry can become two.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as of from '../../src/postgres/batches.js';
import { Batcher } from '../../src/postgres/batches.js';
import { Database } from '../../src/postgres/database.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';

let own: TestDatabase;
let database: Database;

beforeAll(async () => {
  own = await testDatabase();
  database = new Database(own.url, { maxConnections: 1 });
});
afterAll(async () => {
  await database.close();
  await own.drop();
});

interface Entry {
  readonly organisationId: number;
  readonly cents?: number;
  readonly atMs: number;
  readonly active: boolean;
  readonly name: string;
  readonly note?: string | null;
  readonly day?: string;
  readonly kvps?: unknown;
  readonly sealed: Buffer;
  readonly merchants: readonly number[];
}

const ENTRIES = of.columns<Entry>(
  'entry',
  {
    organisation_id: of.integer(({ organisationId }) => organisationId),
    cents: of.bigint(({ cents }) => cents),
    at_ms: of.float(({ atMs }) => atMs),
    active: of.boolean(({ active }) => active),
    name: of.text(({ name }) => name),
    note: of.optionalText(({ note }) => note),
    day: of.date(({ day }) => day),
    kvps: of.json(({ kvps }) => kvps),
    sealed: of.bytes(({ sealed }) => sealed),
    merchants: of.integers(({ merchants }) => merchants),
  },
  { after: 1 },
);
const READ_BACK = {
  name: '',
  text: `
    SELECT $1::text AS before, organisation_id AS "organisationId", cents, at_ms AS "atMs", active, name, note, day::text, kvps::json,
      decode(sealed, 'base64') AS sealed, merchants::integer[] AS merchants, place::integer
    FROM ${ENTRIES.places} ORDER BY place`,
};

function entry(change: Partial<Entry> = {}): Entry {
  return {
    organisationId: 1,
    cents: 999_999_999_999,
    atMs: 1_763_190_000_123,
    active: true,
    name: 'A name',
    note: 'A note',
    day: '2026-11-15',
    kvps: { A: 'b' },
    sealed: Buffer.from([0, 30, 31, 255]),
    merchants: [1, 22],
    ...change,
  };
}

async function readBack(entries: readonly Entry[]): Promise<unknown[]> {
  const { rows } = await database.query(READ_BACK, ['first', ...ENTRIES.encode(entries)]);
  return rows;
}

describe('a batch', () => {
  test('of texts that PostgreSQL or JSON could misread → arrives as it was', async () => {
    const awkward = [
      'NULL',
      '{a,b}',
      `"quoted" 'twice'`,
      'back\\slash',
      '\\x1f',
      '$1',
      'naïve 💳',
      ' ',
      'a,b;c',
    ];
    const entries = awkward.map((text, index) =>
      entry({ organisationId: index, name: text, note: text, kvps: { A: text, B: '\u001f\u001e' } }),
    );
    expect(await readBack(entries)).toEqual(
      entries.map((sent, index) => ({ ...sent, before: 'first', place: index + 1 })),
    );
  });

  test.each([1, 3])('of %i entries without optional values → arrives as NULL', async (count) => {
    const bare: Entry = {
      organisationId: 1,
      atMs: 0,
      active: false,
      name: 'n',
      sealed: Buffer.of(1),
      merchants: [],
    };
    const nothing = { cents: null, note: null, day: null, kvps: null };
    expect(await readBack(Array.from({ length: count }, () => bare))).toEqual(
      Array.from({ length: count }, (_, index) => ({
        ...bare,
        ...nothing,
        before: 'first',
        place: index + 1,
      })),
    );
  });

  test.each([1, 2])('of %i entries with an empty optional text → arrives as NULL', async (count) => {
    const rows = await readBack(Array.from({ length: count }, () => entry({ note: '' })));
    expect(rows).toEqual(rows.map(() => expect.objectContaining({ note: null })));
  });

  test.each(['\u001f', '\u001e'])('with %j in a text → refused, without repeating the text', (reserved) => {
    for (const bad of [entry({ name: `secret${reserved}x` }), entry({ note: `secret${reserved}` })]) {
      expect(() => ENTRIES.encode([entry(), bad])).toThrow(of.SeparatorInText);
      expect(() => ENTRIES.encode([bad])).not.toThrow(/secret/);
    }
  });
});

test('an entry with a separator among others of its batch → fails alone, and the others are answered', async () => {
  const sizes: number[] = [];
  const batcher = new Batcher<Entry, string>(
    async (entries) => {
      const rows = (await readBack(entries)) as Entry[];
      sizes.push(rows.length);
      return rows.map(({ name }) => name);
    },
    { maxBatch: 8, lanes: 1 },
  );
  const names = ['a', 'b', 'c\u001fd', 'e', 'f'];
  const answers = await Promise.allSettled(names.map((name) => batcher.submit(entry({ name }))));
  expect(
    answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason.constructor)),
  ).toEqual(['a', 'b', of.SeparatorInText, 'e', 'f']);
  expect(sizes.reduce((sum, size) => sum + size)).toBe(4);
});
