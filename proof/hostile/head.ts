// Addresses, headers and credentials bent by one rule.
import {
  ACCEPTED,
  ANYTHING,
  type Bend,
  type Expectation,
  type MakeBend,
  REFUSED,
  type RequestParts,
} from './case.js';
import type { Operation, Schema } from './document.js';
import type { HostileGateway } from './gateway.js';
import { matching } from './patterns.js';
import type { Proper } from './proper.js';
import { inFours, jsonOf, withValue, wrongTexts } from './values.js';

const MAX_ID = 2147483647;

/** Identifiers in a path or query that are none. */
const NO_IDS = [
  '0',
  '-1',
  '1.5',
  '+1',
  '1e3',
  '0x1',
  'abc',
  '%20',
  '1%20',
  '%201',
  '%00',
  '1%00',
  '1%0A',
  '%D9%A1',
];
NO_IDS.push(
  '2147483648',
  '9'.repeat(30),
  '9'.repeat(6_000),
  'null',
  'NaN',
  '[1]',
  '1,1',
  '..',
  '%2e%2e',
  '1%2F2',
  "1'--",
);
NO_IDS.push('x'.repeat(6_000), '__proto__', 'constructor', '%F0%9F%98%80', '1;a=1', '%7B%7D');
const BAD_PERCENTS = ['%', '%z', '%zz', '%E0%A4%A', '%ff', '%C0%80', '1%'];

export function ofParameters(
  { parameters, body, method }: Operation,
  proper: Proper,
  bend: MakeBend,
): Bend[] {
  const { chance } = proper;
  const bends: Bend[] = [];
  for (const { in: where, name, schema, required } of parameters) {
    if (where === 'header') continue;
    const at = `${where}/${name}`;
    const put = (request: RequestParts, values: readonly string[]) => {
      if (where === 'path') {
        // Identifiers stand in the address in the order of the parameters.
        const place = parameters.filter((one) => one.in === 'path').findIndex((one) => one.name === name);
        let seen = -1;
        request.path = request.path.replaceAll(/<<\w+>>/g, (whole) => {
          seen += 1;
          return seen === place ? (values[0] ?? '') : whole;
        });
      } else {
        request.query = [
          ...request.query.filter(([known]) => known !== name),
          ...values.map((value) => [name, value] as const),
        ];
      }
    };
    const add = (what: string, values: () => string[], expect: Expectation) =>
      bends.push(
        bend(`${at} ${what}`, (request) => {
          put(request, values());
          return expect;
        }),
      );
    if (where === 'query') {
      if (required) add('missing', () => [], REFUSED(at));
      add('twice', () => [0, 1].map(() => encodeURIComponent(proper.value(schema, [], name))), REFUSED(at));
    }
    if (schema.type === 'integer') {
      const outside = where === 'query' ? ['', String((schema.maximum ?? 0) + 1)] : [];
      const wrong = [...NO_IDS, ...outside].filter((text) => where === 'path' || !isWithin(text, schema));
      for (const text of wrong) add(text.slice(0, 20), () => [text], REFUSED(at));
      for (const text of BAD_PERCENTS)
        add(text, () => [text], where === 'path' ? REFUSED('', 400) : REFUSED(at));
      if (where === 'path') add('of nobody', () => [String(MAX_ID - chance.below(1_000))], REFUSED(at, 404));
      if (where === 'query' && name !== 'merchant_id') {
        for (const edge of [schema.minimum, schema.maximum]) add(`${edge}`, () => [String(edge)], ACCEPTED);
      }
    } else {
      wrongTexts(schema, proper).forEach(([what], index) => {
        const made = () => {
          const [, text = ''] = wrongTexts(schema, proper)[index] ?? [];
          return encodeURIComponent(wellFormed(text).slice(0, 8_000));
        };
        // Long ones grow by their encoding, beyond what a head may hold.
        if (made().length < 9_000) add(what, () => [made()], REFUSED(at));
      });
      for (const text of BAD_PERCENTS) add(`with ${text}`, () => [text], ANYTHING);
      if (where === 'path' && name === 'id')
        add('of nobody', () => [`co_${matching(chance, '^[a-z]{28}$')}`], REFUSED(at, 404));
      // A cursor is made by the gateway alone.
      if (where === 'query' && name !== 'after')
        add('as a map', () => [`${encodeURIComponent(proper.value(schema))}&${name}[a]=1`], ACCEPTED);
      if (name === 'after')
        add(
          'that was not made here',
          () => [matching(chance, schema.pattern ?? '', { least: 8, most: 60 })],
          REFUSED(at),
        );
      if (schema.format === undefined) add('with a card number', () => [proper.secrets.card()], ANYTHING);
    }
  }
  const odd = (what: string, query: () => [string, string][]) =>
    bends.push(
      bend(`query ${what}`, (request) => {
        request.query.push(...query());
        return ACCEPTED;
      }),
    );
  odd('with unknown parameters', () => [
    ['unknown', '1'],
    ['__proto__', '1'],
    ['constructor', 'x'],
    ['', ''],
    ['a[b]', '%zz'],
  ]);
  odd('with a card number that nobody asked for', () => [
    ['pan', proper.secrets.card()],
    [proper.secrets.card(), '1'],
  ]);
  odd('with 1,000 parameters', () => Array.from({ length: 1_000 }, (_, index) => [`q${index}`, '1']));
  if (method === 'GET' && body === undefined) {
    bends.push(
      bend('a body where none belongs', (request) => {
        request.body = `{"pan":"${proper.secrets.card()}"}`;
        return ACCEPTED;
      }),
    );
  }
  return bends;
}

export function ofCorrelationId(
  { parameters, statuses }: Operation,
  { secrets, chance }: Proper,
  bend: MakeBend,
): Bend[] {
  const header = parameters.find(({ in: where }) => where === 'header');
  if (header === undefined) throw new Error('an operation without a correlation ID');
  const at = `header/${header.name}`;
  const bends: Bend[] = [];
  const add = (what: string, value: () => string[], expect: Expectation) =>
    bends.push(
      bend(`${header.name} ${what}`, (request) => {
        request.correlationId = undefined;
        request.headers[header.name] = value();
        return expect;
      }),
    );
  if (header.required) add('missing', () => [], REFUSED(at));
  else add('left out', () => [], ACCEPTED);
  const wrong = [
    '',
    'x'.repeat(129),
    'x'.repeat(8_000),
    'a b',
    'a\tb',
    'a/b',
    '"a"',
    "a'b",
    'a;b',
    '%41',
    '{}',
    '<x>',
    'a=b',
    '*',
  ];
  wrong.push('\u00e9', '\u00c3\u00a9', '\u00ff\u00fe', '\u00a0', 'a\u0080b', '\u00f0\u009f\u0098\u0080');
  for (const text of wrong) add(`as ${JSON.stringify(text.slice(0, 12))}`, () => [text], REFUSED(at));
  add('twice', () => [chance.id(), chance.id()], REFUSED(at));
  for (const form of [
    (card: string) => card,
    (card: string) => inFours(card, '-'),
    (card: string) => `order-${card}`,
    (card: string) => `${card}:1`,
  ]) {
    add('with a card number', () => [form(secrets.card())], REFUSED(at));
  }
  for (const text of ['a\u0000b', 'a\u0001b', 'a\rb', 'a\u001bb']) {
    // The parser of HTTP refuses it before there is a request.
    bends.push(
      bend('a control character in a header', (request) => {
        request.headers['X-Other'] = [text];
        request.correlationId = undefined;
        return REFUSED('', 400);
      }),
    );
  }
  if (statuses.includes('409')) {
    bends.push(
      ...[0, 1, 2, 3].map(() =>
        bend(`${header.name} that is taken`, (request) => {
          request.correlationId = '<<taken>>';
          return REFUSED(at, 409);
        }),
      ),
    );
  }
  return bends;
}

export function ofCredentials(
  { secrets, chance }: Proper,
  { username, password }: Pick<HostileGateway, 'username' | 'password'>,
  bend: MakeBend,
): Bend[] {
  const basic = (text: string) => `Basic ${Buffer.from(text, 'latin1').toString('base64')}`;
  const wrong: [string, () => string[]][] = [
    ['missing', () => []],
    ['empty', () => ['']],
    ['a scheme alone', () => ['Basic']],
    ['another scheme', () => [`Bearer ${password}`]],
    ['no base64', () => ['Basic !!!!']],
    ['in clear', () => [`Basic ${username}:${password}`]],
    ['no colon', () => [basic(username + password)]],
    ['only a colon', () => [basic(':')]],
    ['another secret', () => [basic(`${username}:${password.slice(1)}x`)]],
    ['no secret', () => [basic(`${username}:`)]],
    ['a longer secret', () => [basic(`${username}:${password}x`)]],
    ['a NUL behind the secret', () => [basic(`${username}:${password}\u0000`)]],
    ['a NUL in the name', () => [basic(`${username}\u0000:${password}`)]],
    ['letters of another case', () => [basic(`${username.toUpperCase()}:${password}`)]],
    ['an unknown user', () => [basic(`${chance.id()}:${password}`)]],
    ['a name of bytes', () => [basic(`${chance.bytes(40).replaceAll(':', '')}:${password}`)]],
    ['a statement as the name', () => [basic(`' OR 1=1 --:${password}`)]],
    ['a name of 8,000 characters', () => [basic(`${'x'.repeat(8_000)}:${password}`)]],
    ['a card number as the name', () => [basic(`${secrets.card()}:${secrets.cvv()}`)]],
    ['a prototype as the name', () => [basic(`__proto__:${password}`)]],
    ['two of them in one', () => ['<<authorization>>, <<authorization>>']],
  ];
  return wrong.map(([what, values]) =>
    bend(`Authorization ${what}`, (request) => {
      request.headers.Authorization = values();
      return REFUSED('header/Authorization', 401);
    }),
  );
}

/** What is an identifier too large may be a proper amount. */
function isWithin(text: string, { minimum = -Infinity, maximum = Infinity }: Schema): boolean {
  return /^\d+$/.test(text) && Number(text) >= minimum && Number(text) <= maximum;
}

/** As `String.prototype.toWellFormed`, which the types of ES2023 do not know. */
function wellFormed(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}

export function ofMerchants({ parameters, body }: Operation, bend: MakeBend): Bend[] {
  const inQuery = parameters.some(({ in: where, name }) => where === 'query' && name === 'merchant_id');
  const inBody = body?.schema.properties?.merchant !== undefined;
  const ofQuery = (id: number) =>
    bend(`merchant ${id} in the query`, (request) => {
      request.query = [
        ...request.query.filter(([name]) => name !== 'merchant_id'),
        ['merchant_id', String(id)],
      ];
      return REFUSED('query/merchant_id', 403);
    });
  const ofField = (id: number) =>
    bend(`merchant ${id} in the body`, (request) => {
      request.body = jsonOf(withValue(JSON.parse(request.body ?? ''), ['merchant', 'id'], id));
      return REFUSED('body/merchant/id', 403);
    });
  const foreign = [4, 999, MAX_ID];
  return [...(inQuery ? foreign.map(ofQuery) : []), ...(inBody ? foreign.map(ofField) : [])];
}
