// The order in which a payment tries the links of its merchant's routes. Without a gateway, so that chance is as the test says.
import { describe, expect, test } from 'vitest';
import { RouteTable } from '../../src/organisations/routing/routes.js';

const VISA = { cardType: 'visa', bin: 41111111, currency: 'AUD' };
const OWN = 'own';

/** Those of the same rank stand together, as they are read. */
const tried = (routes: ConstructorParameters<typeof RouteTable>[0], chance = 0) =>
  new RouteTable(routes, () => chance).linksFor(VISA, OWN);

const to = (acquirer: string, share?: number) => ({
  acquirer,
  place: 1,
  ...(share !== undefined && { share: share * 1_000 }),
});

describe('shares', () => {
  test.each([
    [0, ['a', 'b', OWN]],
    [0.2999, ['a', 'b', OWN]],
    [0.3, ['b', 'a', OWN]],
    [0.9999, ['b', 'a', OWN]],
  ])(
    '30 and 70 %, chance %s → the other one comes second, and the merchant’s own link last',
    (chance, expected) => {
      expect(tried([to('a', 30), to('b', 70)], chance)).toEqual(expected);
    },
  );

  test.each([
    [0.0999, ['a', OWN]],
    [0.1, [OWN, 'a']],
  ])(
    '10 %% alone, chance %s → the rest goes to the next route, and it is the last resort',
    (chance, expected) => {
      expect(tried([to('a', 10)], chance)).toEqual(expected);
    },
  );

  test.each([
    [0.4999, 'a'],
    [0.5, 'b'],
    [0.75, 'c'],
    [0.9999, 'c'],
  ])('50 %% and two without a share, chance %s → %s: they share the rest equally', (chance, expected) => {
    expect(tried([to('a', 50), to('b'), to('c')], chance)[0]).toBe(expected);
  });

  test('two without a share → half each', () => {
    expect([0.4999, 0.5].map((chance) => tried([to('a'), to('b')], chance)[0])).toEqual(['a', 'b']);
  });

  test('0 % → never the first, and tried when the others are not sent', () => {
    expect(tried([to('a', 0), to('b')], 0)).toEqual(['b', 'a', OWN]);
  });

  test('overlapping ranges with more than 100 % → in proportion', () => {
    const routes = [
      { ...to('a', 90), bin: { from: '411110', to: '411111' } },
      { ...to('b', 90), bin: { from: '411111', to: '411112' } },
    ];
    expect([0.4999, 0.5].map((chance) => tried(routes, chance)[0])).toEqual(['a', 'b']);
  });
});

test('a link of several routes → tried once, at its first place', () => {
  const routes = [
    { ...to('a'), cardType: 'visa' },
    to('b'),
    { ...to('a'), place: 2 },
    { ...to(OWN), place: 3 },
  ];
  expect(tried(routes)).toEqual(['a', 'b', OWN]);
});

test('no route for the payment → the merchant’s own link, or none', () => {
  const routes = [{ ...to('a'), cardType: 'amex' }];
  expect([tried(routes), new RouteTable(routes).linksFor(VISA, null)]).toEqual([[OWN], []]);
});
