// What breaks one rule of a schema, for a field of any kind.
import type { Json } from '../../testkit/bodies.js';
import type { Schema } from './document.js';
import type { Proper } from './proper.js';

/** A value that breaks a rule, with a name. */
export type Wrong<Value> = readonly [what: string, value: Value];

/** A number or a structure as it is to stand in the JSON text. */
export class Raw {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** JSON with `Raw` parts as they are. */
export function jsonOf(value: Json): string {
  const parts: string[] = [];
  const text = JSON.stringify(value, (_key, member) => {
    if (!(member instanceof Raw)) return member;
    parts.push(member.text);
    return `\u0001raw ${parts.length - 1}\u0001`;
  });
  return text.replaceAll(/"\\u0001raw ([0-9]+)\\u0001"/g, (_whole, index) => parts[Number(index)] ?? '');
}

export const FOREIGN = [
  ...['\u0000', '\u0001', '\b', '\t', '\n', '\r', '\r\n', '\u001b[2J', '\u007f', '"', "'", '\\', '\u0085'],
  ...['é', 'ß', 'я', '中', '\u0661', '\uff11', '\u00a0', '\u200b', '\u202e', '\u2028', '\ufeff', '\ufffd'],
  ...['😀', '\ud800', '\udc00', 'e\u0301', '\u{e0041}', '\u{10ffff}'],
];
const OF_OTHER_TYPES: readonly Wrong<Json>[] = [
  ['null', null],
  ['true', true],
  ['false', false],
  ['zero', 0],
  ['a fraction', 1.5],
  ['a text', 'text'],
  ['an empty text', ''],
  ['an empty array', []],
  ['an array of texts', ['text']],
  ['an empty object', {}],
  ['an object with a prototype', new Raw('{"__proto__":{"id":1}}')],
  ['an object that is a text', { toString: 'x', valueOf: 'x', length: 1 }],
  ['5,000 nested arrays', new Raw('['.repeat(5_000) + ']'.repeat(5_000))],
  ['5,000 nested objects', new Raw(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`)],
  ['an array of 20,000', new Raw(`[${'1,'.repeat(19_999)}1]`)],
];
const NUMBERS = [
  '-1',
  '0',
  '-0',
  '0.5',
  '1.0000001',
  '2147483648',
  '4294967297',
  '9007199254740993',
  '1e21',
  '1e400',
];
NUMBERS.push('-1e400', '1E-400', `1${'0'.repeat(5_000)}`, `0.${'0'.repeat(5_000)}1`);

const typeOf = (value: Json): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (value instanceof Raw) return value.text.startsWith('[') ? 'array' : 'object';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
};

/** Values of a field in a body that break a rule of its schema, each with a name. `proper` keeps to all of them. */
export function wrongValues(schema: Schema, proper: Proper): Wrong<Json>[] {
  const type = schema.type ?? 'string';
  const wrong = OF_OTHER_TYPES.filter(([, value]) => typeOf(value) !== type);
  if (type === 'integer')
    wrong.push(...wrongNumbers(schema).map((text) => [`the number ${shown(text)}`, new Raw(text)] as const));
  if (type === 'string') wrong.push(...wrongTexts(schema, proper));
  if (type === 'array') wrong.push(...wrongArrays(schema, proper));
  if (schema.maxProperties !== undefined) {
    const entries = (count: number, entry: (index: number) => [string, Json]) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => entry(index)));
    const card = proper.secrets.card();
    wrong.push(
      ['an entry too many', entries(schema.maxProperties + 1, (index) => [`k${index}`, 'v'])],
      ['3,000 entries', entries(3_000, (index) => [`k${index}`, 'v'])],
      ['6,000 wrong keys', entries(6_000, (index) => [`-${index.toString(36)}`, ''])],
      ['6,000 wrong values', entries(6_000, (index) => [`${index.toString(36)}x`, 1])],
      ['1,500 wrong keys and values', entries(1_500, (index) => [`é${index}`, {}])],
      ['1,500 card numbers', entries(1_500, (index) => [`${card} ${index}`, card])],
    );
  }
  return wrong;
}

function wrongArrays({ items = {}, minItems = 0, maxItems }: Schema, proper: Proper): Wrong<Json>[] {
  const wrong: Wrong<Json>[] = [];
  if (minItems > 0) wrong.push(['nothing in it', []]);
  if (maxItems !== undefined)
    for (const count of [maxItems + 1, 5_000])
      wrong.push([`${count} items`, Array.from({ length: count }, () => proper.value(items))]);
  return wrong;
}

function wrongNumbers({ minimum = -Infinity, maximum = Infinity }: Schema): string[] {
  return NUMBERS.filter((text) => {
    const number = Number(text);
    return !Number.isInteger(number) || number < minimum || number > maximum;
  });
}

/** Texts that break a rule. Those that keep to it by chance are left out. */
export function wrongTexts(schema: Schema, proper: Proper): Wrong<string>[] {
  const { chance, secrets } = proper;
  const good: string = proper.value(schema);
  const middle = Math.floor(good.length / 2);
  const filled = (count: number) => (schema.enum ? 'x' : good).padEnd(count, good).slice(0, count);
  const all: Wrong<string>[] = [
    ...FOREIGN.flatMap((foreign): Wrong<string>[] => [
      [`${shown(foreign)} inside`, good.slice(0, middle) + foreign + good.slice(middle)],
      [`${shown(foreign)} at the end`, good + foreign],
    ]),
    ['nothing but spaces', ' '.repeat(20_000)],
    ['one character too few', good.slice(0, Math.max(0, (schema.minLength ?? 1) - 1))],
    ['one character too many', filled((schema.maxLength ?? good.length) + 1)],
    ['far too long', filled(20_000)],
    ['a long run with a foreign end', `${'1 '.repeat(10_000)}\u0000`],
    ['a long run of hyphens and digits', `${'1-'.repeat(10_000)}\\`],
    ['other letters', good.toLowerCase() === good ? `${good.toUpperCase()}x` : good.toLowerCase()],
    ['text of a statement', "'; DROP TABLE transaction; --"],
    ['text of a format', '%s%n$(id){{7*7}}"'],
  ];
  const wrong = all.filter(([, text]) => breaks(schema, text));
  if (schema.format === 'no-card-number') {
    const card = secrets.card();
    const grouped = (separator: string) => inFours(card, separator);
    const around = (text: string) => [text, `x${text}`.slice(0, 1) + text, `${text}x`];
    const forms = [...around(card), grouped('-'), ...(allows(schema, ' ') ? [grouped(' ')] : [])];
    wrong.push(
      ...forms.filter((text) => !breaks(schema, text)).map((text) => ['a card number', text] as const),
    );
  }
  if (schema.format === 'luhn-checked') {
    wrong.push([
      'a wrong last digit',
      good.slice(0, -1) + ((Number(good.at(-1)) + chance.between(1, 9)) % 10),
    ]);
    wrong.push(['separators', inFours(good, '-')], ['eleven digits', good.slice(0, 11)]);
    wrong.push(['twenty digits', good.padEnd(20, '0')]);
  }
  if (schema.format === 'card-expiry')
    wrong.push(...['0000', '0039', '1300', '9999', '12/39'].map((text) => [text, text] as const));
  if (schema.format === 'iso-4217')
    wrong.push(...['ZZZ', 'XXX', 'XAU', 'aud'].map((text) => [text, text] as const));
  if (schema.format === 'web-address' || schema.format === 'web-origin')
    wrong.push(...NO_ADDRESSES.filter(([, text]) => !breaks(schema, text)), [
      'a card number',
      `https://shop.example:443/${secrets.card()}`,
    ]);
  if (schema.format === 'web-origin') wrong.push(['a path behind', `${good}/`]);
  return wrong;
}

const NO_ADDRESSES: readonly Wrong<string>[] = [
  'https://',
  'https:///',
  'https://:443',
  'https://shop.example:99999',
  'https://a..b:x',
  'https://[::1',
  'https://ada:secret@shop.example/',
  'http://shop.example',
  'http://127.0.0.1.shop.example',
  'http://localhost.',
].map((text) => [text, text] as const);

/** Digits in groups of four. */
export function inFours(digits: string, separator: string): string {
  return (digits.match(/.{4}/g) ?? []).join(separator);
}

const allows = ({ pattern = '' }: Schema, character: string) => new RegExp(pattern, 'u').test(character);

function breaks(schema: Schema, text: string): boolean {
  if (schema.enum) return !schema.enum.includes(text);
  const { minLength = 0, maxLength = Infinity, pattern = '' } = schema;
  return text.length < minLength || text.length > maxLength || !new RegExp(pattern, 'u').test(text);
}

function shown(text: string): string {
  const printed = JSON.stringify(text).slice(1, -1);
  return printed.length > 24 ? `${printed.slice(0, 20)}…` : printed;
}

/** A copy with the value at this place. */
export function withValue(whole: Json, path: readonly string[], value: Json): Json {
  const last = path.at(-1);
  if (last === undefined) return value;
  const copy = structuredClone(whole);
  const parent = path.slice(0, -1).reduce((object, key) => {
    object[key] ??= {};
    return object[key];
  }, copy);
  parent[last] = value;
  return copy;
}
