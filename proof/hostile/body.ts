// Bodies bent by one rule: a field of the wrong kind, too many members, no JSON at all.
import type { Json } from '../../testkit/bodies.js';
import type { Chance } from '../../testkit/chance.js';
import { ACCEPTED, ANYTHING, type Bend, type Expectation, type MakeBend, REFUSED } from './case.js';
import { isChoice, type Operation, type Schema } from './document.js';
import { matching } from './patterns.js';
import type { Proper } from './proper.js';
import { FOREIGN, jsonOf, Raw, withValue, wrongValues } from './values.js';

const NO_JSON_TYPES = [
  'text/plain',
  'application/xml',
  'application/jsonp',
  'application/x-www-form-urlencoded',
  'json',
];
NO_JSON_TYPES.push(
  'multipart/form-data; boundary=x',
  'application/json2',
  'text/json',
  '*/*',
  ';',
  'a'.repeat(4_000),
);

interface Field {
  readonly path: readonly string[];
  readonly schema: Schema;
  readonly required: boolean;
}

/** All fields of a schema: where they are, what they must be, and whether they must be there. */
function fieldsOf(schema: Schema, path: readonly string[] = [], required = true): Field[] {
  const { properties = {}, required: names = [], additionalProperties } = schema;
  const below = Object.entries(properties).flatMap(([name, member]) =>
    fieldsOf(member, [...path, name], names.includes(name)),
  );
  if (typeof additionalProperties === 'object')
    below.push(...fieldsOf(additionalProperties, [...path, 'bent_1.x'], false));
  if (schema.items !== undefined) below.push(...fieldsOf(schema.items, [...path, '0'], false));
  return [{ path, schema, required }, ...below];
}

/** Bends of a body; `bend` makes one of them. */
export function ofBody({ body, id }: Operation, proper: Proper, bend: MakeBend): Bend[] {
  if (body === undefined) return [];
  const { chance } = proper;
  const bends: Bend[] = [];
  const add = (what: string, path: readonly string[], expect: Expectation, change: (whole: Json) => string) =>
    bends.push(
      bend(
        `${['body', ...path].join('/')} ${what}`,
        (request) => {
          request.body = change(JSON.parse(request.body ?? ''));
          return expect;
        },
        ['body', ...path],
      ),
    );
  for (const { path, schema, required } of fieldsOf(body.schema)) {
    const at = ['body', ...path].join('/');
    if (path.length > 0 && required)
      add('missing', path, REFUSED(at), (whole) => jsonOf(without(whole, path)));
    const names = wrongValues(schema, proper).map(([what]) => what);
    names.forEach((what, index) => {
      // Made anew each time, so that chance and card numbers differ.
      add(what, path, REFUSED(at), (whole) =>
        jsonOf(withValue(whole, path, wrongValues(schema, proper)[index]?.[1])),
      );
    });
    if (schema.type === 'object') {
      for (const [what, member] of ODD_MEMBERS) {
        // In a choice or a map every member counts.
        if (schema.propertyNames || isChoice(schema)) continue;
        add(`with ${what}`, path, ACCEPTED, (whole) =>
          jsonOf(whole).replace(
            jsonOf(valueAt(whole, path)),
            (text) => `{${member}${text === '{}' ? '' : ','}${text.slice(1)}`,
          ),
        );
      }
    }
    if (schema.propertyNames) {
      const badKeys = [
        '',
        'a b',
        'a-b',
        'é',
        '\u0000',
        'x'.repeat(65),
        'x'.repeat(9_000),
        'GATEWAY.REQUEST.KVP.',
        proper.secrets.card(),
      ];
      for (const key of badKeys) {
        // A card number is starred, and of a huge key only the beginning is repeated.
        const starred = /^[0-9]+$/.test(key) ? '*'.repeat(key.length) : key;
        const named = `${at}/${starred.length > 128 ? `${starred.slice(0, 128)}...` : starred}`;
        add('with a bad key', path, REFUSED(named), (whole) => jsonOf(withValue(whole, [...path, key], 'v')));
      }
      for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
        add(`with the key ${key}`, path, ACCEPTED, (whole) =>
          jsonOf(withValue(whole, path, new Raw(`{"${key}":"v"}`))),
        );
      }
    }
    // A wallet's token is an object or a text, and what is in it is refused by its own rules.
    if (isChoice(schema) && !at.endsWith('/wallet/token')) {
      // Of payment methods the card is the one that is missed.
      const missed = at.endsWith('/payment_method') ? `${at}/creditcard` : at;

      add('with nothing to choose', path, REFUSED(missed), (whole) => jsonOf(withValue(whole, path, {})));
      const both = () =>
        Object.fromEntries(
          Object.entries(schema.properties ?? {}).map(([name, member]) => [name, proper.value(member)]),
        );
      add('with two at once', path, REFUSED(at), (whole) => jsonOf(withValue(whole, path, both())));
    }
    if (schema.type === 'string' && schema.maxLength && !schema.enum && schema.pattern?.endsWith(']*$')) {
      const { pattern, maxLength } = schema;
      const longest = { least: maxLength, most: maxLength };
      add('of the greatest length', path, ACCEPTED, (whole) =>
        jsonOf(withValue(whole, path, matching(chance, pattern, longest))),
      );
    }
  }
  for (const [what, change] of NO_JSON)
    add(what, [], REFUSED('body', 400), (whole) => change(jsonOf(whole), chance));
  for (const name of body.schema.required ?? []) {
    add(`twice ${name}, the later one wrong`, [name], REFUSED('body', 400), (whole) =>
      jsonOf(whole).replace(/\}$/, `,"${name}":null}`),
    );
    add(`twice ${name}, the first one wrong`, [name], REFUSED('body', 400), (whole) =>
      jsonOf(whole).replace('{', `{"${name}":[],`),
    );
  }
  for (const size of [131_073, 132_000, 160_000])
    add(`of ${size} bytes`, [], REFUSED('', 413), (whole) => jsonOf(whole).padEnd(size));
  add('of 131,072 bytes', [], ACCEPTED, (whole) => jsonOf(whole).padEnd(131_072));
  for (let index = 0; index < 8; index += 1)
    add('with changed bytes', [], ANYTHING, (whole) => damaged(jsonOf(whole), chance));
  const types = [...NO_JSON_TYPES, ...(id.startsWith('delete') ? [] : [undefined])];
  for (const type of types) {
    bends.push(
      bend(`content type ${String(type).slice(0, 40)}`, (request) => {
        request.headers['Content-Type'] = type === undefined ? [] : [type];
        return REFUSED('', 415);
      }),
    );
  }
  return bends;
}

const ODD_MEMBERS: readonly [string, string][] = [
  ['an unknown member', '"unknown":{"a":[1,null,"x"]}'],
  ['a prototype', '"__proto__":{"polluted":true,"id":"x"}'],
  ['a constructor', '"constructor":{"prototype":{"polluted":true}}'],
  ['a deep unknown member', `"unknown":${'['.repeat(9_000)}${']'.repeat(9_000)}`],
  ['foreign characters in an unknown member', `${JSON.stringify(FOREIGN.join(''))}:"é"`],
];

const NO_JSON: readonly [string, (text: string, chance: Chance) => string][] = [
  ['cut off', (text, chance) => text.slice(0, chance.below(text.length - 1))],
  ['with something behind it', (text) => `${text}]`],
  ['with a trailing comma', (text) => text.replace(/\}$/, ',}')],
  ['in single quotes', (text) => text.replaceAll('"', "'").replace(/^\{\}$/, "'")],
  ['with a raw control character', (text) => text.replace(/^\{/, '{"a":"\u0001",').replace(/,\}$/, '}')],
  ['with a byte order mark', (text) => `\ufeff${text}`],
  ['as UTF-16', (text) => [...text].join('\u0000')],
  ['as a statement of JavaScript', (text) => `(${text})`],
  ['with NaN', (text) => text.replace(/\}$/, `${text === '{}' ? '' : ','}"a":NaN}`)],
  ['of nothing', () => ''],
  ['of open brackets', () => '['.repeat(40_000)],
];

const valueAt = (whole: Json, path: readonly string[]): Json =>
  path.reduce((value, key) => value[key], whole);

function without(whole: Json, path: readonly string[]): Json {
  const copy = structuredClone(whole);
  delete valueAt(copy, path.slice(0, -1))[path.at(-1) ?? ''];
  return copy;
}

/** A few bytes of the text changed, removed or added. */
function damaged(text: string, chance: Chance): string {
  let result = text;
  for (let count = chance.between(1, 6); count > 0; count -= 1) {
    const at = chance.below(result.length);
    const inserted = chance.pick([
      '',
      '"',
      '{',
      '}',
      ',',
      '0',
      '\\',
      '\u0000',
      chance.bytes(1),
      '[]',
      'null',
    ]);
    result = result.slice(0, at) + inserted + result.slice(at + chance.below(2));
  }
  return result;
}
