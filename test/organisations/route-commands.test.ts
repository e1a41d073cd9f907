// `tollgate route`, as an operator runs it: on a database of its own.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addAcquirer, removeAcquirer } from '../../src/acquirers/acquirer-tasks.js';
import { addMerchant } from '../../src/organisations/merchants.js';
import { addOrganisation } from '../../src/organisations/organisations.js';
import { removeRoutes, setRoute, showRoutes } from '../../src/organisations/routing/route-tasks.js';
import type { Database } from '../../src/postgres/database.js';
import { EnvironmentKeys } from '../../src/vault/keys/local-keys.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import { dataDirectory } from '../../testkit/gateway-process.js';

const OPERATOR = 'operator:test';
/** Each merchant has its own. */
const acceptor = (acceptorId: string) => ({ acceptorId, terminals: ['T1'] });
const CARD = '4111111111111111';

let database: TestDatabase;
let connection: Database;
let folder: string;
let organisation: number;
let shop: number;
beforeAll(async () => {
  database = await testDatabase();
  folder = await dataDirectory();
  connection = operatorsDatabase({ databaseUrl: database.url, dataDir: folder }, 2);
  organisation = (await addOrganisation(connection, OPERATOR, 'Ours')).id;
  shop = (await addMerchant(connection, OPERATOR, organisation, 'Shop', acceptor('SHOP'))).id;
  const provider = new EnvironmentKeys(Buffer.alloc(32, 1).toString('base64'));
  for (const [name, test] of Object.entries({ bank: true, cheap: true, other: true, real: false }))
    await addAcquirer(connection, OPERATOR, provider, { name, address: '127.0.0.1:1', test });
});
afterAll(async () => {
  await connection.close();
  await database.drop();
});

const { json, text, refusal } = commands((line) =>
  runHere(wordsOf(line), { DATABASE_URL: database.url, TOLLGATE_DATA_DIR: folder }),
);

async function sql<Row>(statement: string): Promise<Row[]> {
  return (await connection.query<Row & Record<string, unknown>>({ name: '', text: statement })).rows;
}

const route = (acquirer: string, change: object = {}) => ({
  acquirer,
  card: null,
  bin: null,
  currency: null,
  share: null,
  order: 1,
  ...change,
});

describe('route', () => {
  test('set, show and off → in the order of evaluation, replaced by routes for the same payments, and journalled', async () => {
    await json(`route set --merchant ${shop} --acquirer bank`);
    await json(`route set --merchant ${shop} --acquirer bank --card visa --share 30 --order 2`);
    await json(`route set --merchant ${shop} --acquirer cheap --card visa --share 12.5 --order 2`);
    const bins = '--bin 456000-456099,45620000 --bin 456300';
    const routes = await json(`route set --merchant ${shop} --acquirer cheap ${bins} --currency AUD`);
    const expected = [
      route('cheap', { bin: '45620000', currency: 'AUD' }),
      route('cheap', { bin: '456300', currency: 'AUD' }),
      route('cheap', { bin: '456000-456099', currency: 'AUD' }),
      route('bank', { card: 'visa', share: '30', order: 2 }),
      route('cheap', { card: 'visa', share: '12.5', order: 2 }),
      route('bank'),
    ];
    expect(routes).toEqual(expected);
    expect(await json(`route show --merchant ${shop}`)).toEqual(expected);
    const replaced = await json(`route set --merchant ${shop} --acquirer bank --card visa --order 3`);
    expect(replaced).toEqual([
      ...expected.slice(0, 3),
      route('cheap', { card: 'visa', share: '12.5', order: 2 }),
      route('bank', { card: 'visa', order: 3 }),
      route('bank'),
    ]);
    expect(await text(`route off --merchant ${shop} --bin 456000-456099`)).not.toContain('456099');
    expect(await json(`route off --merchant ${shop} --acquirer cheap`)).toEqual([
      route('bank', { card: 'visa', order: 3 }),
      route('bank'),
    ]);
    expect(await refusal(`route off --merchant ${shop} --card amex`)).toMatch(
      new RegExp(`^merchant ${shop} has no such route; \`tollgate route show\``),
    );
    expect(await text(`route off --merchant ${shop}`)).toBe('None.');
    expect(
      await sql(`SELECT action, detail, merchant_id, actor ~ '^operator:.' AS operator FROM journal
        WHERE action LIKE 'route.%' ORDER BY id`),
    ).toEqual(
      [
        ['set', 'bank'],
        ['set', 'bank, visa, 30 %, order 2'],
        ['set', 'cheap, visa, 12.5 %, order 2'],
        ['set', 'cheap, BIN 456000 to 456099, 45620000, 456300, AUD'],
        ['set', 'bank, visa, order 3'],
        ['off', 'BIN 456000 to 456099'],
        ['off', 'cheap'],
        ['off', 'all'],
      ].map(([action, detail]) => ({ action: `route.${action}`, detail, merchant_id: shop, operator: true })),
    );
  });

  test('every wrong field → named at once, and the values are not repeated', async () => {
    const given = `--card plastic --bin ${CARD} --currency XXX --share 101 --order 0`;
    const refused = await refusal(`route set --merchant ${shop} --acquirer bank ${given}`);
    expect(refused.split('; ').map((problem) => problem.split(' ')[0])).toEqual([
      '--card',
      '--bin',
      '--currency',
      '--share',
      '--order',
    ]);
    expect(refused).not.toContain(CARD.slice(0, 6));
    expect(refused).not.toContain('plastic');
  });

  test.each([
    ['--acquirer nobody', /^there is no acquirer nobody$/],
    ['--acquirer real', /^real is a live link, and the merchant is not live$/],
    ['--acquirer bank --bin 456099-456000', /^--bin takes a BIN of 6 to 8 digits/],
    ['--card visa', /--acquirer/],
  ])('set %s → refused', async (given, wording) => {
    expect(await refusal(`route set --merchant ${shop} ${given}`)).toMatch(wording);
  });

  test('of an unknown merchant → refused', async () => {
    expect(await refusal('route show --merchant 999')).toBe('there is no merchant 999');
    expect(await refusal('route set --merchant 999 --acquirer bank')).toBe('there is no merchant 999');
  });

  test('a link that a route leads to → shown, and cannot be removed before the route', async () => {
    await json(`route set --merchant ${shop} --acquirer cheap --card amex`);
    expect(await json('acquirer show cheap')).toMatchObject({ merchants: [], routed_merchants: [shop] });
    expect(await refusal('acquirer remove cheap')).toBe(
      `routes of merchants lead to cheap: ${shop}; take them away with \`tollgate route off --acquirer\``,
    );
    await text(`route off --merchant ${shop} --acquirer cheap`);
    expect(await text('acquirer remove cheap')).toBe('Acquirer cheap removed.');
  });

  test('a clock advance with a route to a real link → refused', async () => {
    await json(`route set --merchant ${shop} --acquirer bank --card amex`);
    expect(await refusal('clock advance 1d')).toContain('bank');
    await text(`route off --merchant ${shop}`);
  });
});

describe('as functions', () => {
  const BAD: [string, string[]][] = ['', 'VISA', 'visa ', 'x'.repeat(100_000), '4'.repeat(16), '\u0000'].map(
    (card) => [card.slice(0, 20), [card]],
  );

  test('an unknown card type → refused', () =>
    expectEach(BAD, async ([_, [card]]) => {
      await expect(setRoute(connection, OPERATOR, shop, { acquirer: 'bank', card })).rejects.toMatchObject({
        code: 'route_not_allowed',
        details: { problems: [{ field: 'card' }] },
      });
    }));

  test('an invalid BIN → refused', () =>
    expectEach(
      [
        '',
        '45600',
        '456000000',
        '456000-4560000',
        '456000-',
        '-456000',
        '456000-456001-456002',
        '45600a',
        ' 456000',
        '４５６０００',
        '456099-456000',
      ],
      async (bin) => {
        await expect(
          setRoute(connection, OPERATOR, shop, { acquirer: 'bank', bins: ['456000', bin] }),
        ).rejects.toMatchObject({
          code: 'route_not_allowed',
          details: { problems: [{ field: 'bin' }] },
        });
      },
    ));

  test('an invalid share → refused', () =>
    expectEach(['', '-1', '1e1', '100.001', '0x10', '1.2345', ' 5', 'NaN'], async (share) => {
      await expect(setRoute(connection, OPERATOR, shop, { acquirer: 'bank', share })).rejects.toMatchObject({
        details: { problems: [{ field: 'share' }] },
      });
    }));

  test('an invalid order → refused', () =>
    expectEach([Number.NaN, 0, 1_001, -1, 1.5, 1e20], async (order) => {
      await expect(setRoute(connection, OPERATOR, shop, { acquirer: 'bank', order })).rejects.toMatchObject({
        details: { problems: [{ field: 'order' }] },
      });
    }));

  // catches(routes: one command at a time changes the routes of a merchant)
  // catches(routes: shares of a rank are no more than 100 %)
  test('shares of one rank beyond 100 % → refused, even from two commands at once; of another rank → not counted', async () => {
    const { id } = await addMerchant(connection, OPERATOR, organisation, 'Shares', acceptor('SHARES'));
    await setRoute(connection, OPERATOR, id, { acquirer: 'bank', card: 'visa', share: '60', order: 2 });
    const both = await Promise.allSettled(
      ['simulator', 'other'].map((acquirer) =>
        setRoute(connection, OPERATOR, id, { acquirer, card: 'visa', share: '40', order: 2 }),
      ),
    );
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'route_shares_exceed' },
    });
    await setRoute(connection, OPERATOR, id, { acquirer: 'bank', card: 'amex', share: '100', order: 2 });
    await expect(
      setRoute(connection, OPERATOR, id, { acquirer: 'bank', card: 'visa', share: '60.001', order: 2 }),
    ).rejects.toMatchObject({ code: 'route_shares_exceed', details: { percent: '100.001' } });
    expect((await showRoutes(connection, id)).map(({ share }) => share)).toEqual(['100', '60', '40']);
  });

  // catches(routes: none is set from test to live)
  test('a live merchant and a test link, a merchant without terminals, a clock that is ahead → refused', async () => {
    const live = await addMerchant(connection, OPERATOR, organisation, 'Live', {
      live: true,
      ...acceptor('LIVE'),
    });
    for (const acquirer of ['bank', 'simulator'])
      await expect(setRoute(connection, OPERATOR, live.id, { acquirer })).rejects.toMatchObject({
        code: 'acquirer_of_other_mode',
      });
    expect(await setRoute(connection, OPERATOR, live.id, { acquirer: 'real' })).toHaveLength(1);
    await removeRoutes(connection, OPERATOR, live.id);
    const bare = await addMerchant(connection, OPERATOR, organisation, 'Bare');
    await expect(setRoute(connection, OPERATOR, bare.id, { acquirer: 'bank' })).rejects.toMatchObject({
      code: 'acquirer_needs_terminals',
    });
    expect(await showRoutes(connection, bare.id)).toEqual([]);
  });

  // catches(routes: a link that a route leads to is not removed)
  test('a link that a route leads to → cannot be removed in any way', async () => {
    const { id } = await addMerchant(connection, OPERATOR, organisation, 'Routed', acceptor('ROUTED'));
    await setRoute(connection, OPERATOR, id, { acquirer: 'other', card: 'amex' });
    await expect(removeAcquirer(connection, OPERATOR, 'other')).rejects.toMatchObject({
      code: 'acquirer_routed',
      details: { merchants: expect.arrayContaining([id]) },
    });
  });

  test('5,000 routes → a whole BIN table is accepted; one more → refused, and nothing is changed', async () => {
    const { id } = await addMerchant(connection, OPERATOR, organisation, 'Table', acceptor('TABLE'));
    const bins = Array.from({ length: 5_000 }, (_, index) => `${40_000_000 + 2 * index}`);
    expect(await setRoute(connection, OPERATOR, id, { acquirer: 'bank', bins })).toHaveLength(5_000);
    await expect(
      setRoute(connection, OPERATOR, id, { acquirer: 'bank', card: 'visa' }),
    ).rejects.toMatchObject({
      code: 'route_too_many',
    });
    expect(await showRoutes(connection, id)).toHaveLength(5_000);
  });
});
