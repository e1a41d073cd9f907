// Checks input against a schema, and reports all problems at once: codes and locations, never values.

import { isIP } from 'node:net';
import { ACCOUNT_NAME_PATTERN } from '../values/bank-account.js';
import {
  CARD_NUMBER_PATTERN,
  containsCardNumber,
  EXPIRY_PATTERN,
  luhnValid,
  parseExpiry,
} from '../values/card.js';
import { CURRENCY_PATTERN, isCurrency } from '../values/money.js';
import { IP_ADDRESS_PATTERN } from '../values/network.js';
import {
  bareKvpKey,
  CORRELATION_ID_PATTERN,
  isWebAddress,
  isWebOrigin,
  KVP_KEY_MAX_LENGTH,
  KVP_VALUE_MAX_LENGTH,
  RESTRICTED_PATTERN,
  WEB_ADDRESS_PATTERN,
  WEB_ORIGIN_PATTERN,
} from '../values/text.js';
import { DAY_PATTERN, INSTANT_OR_DAY_PATTERN, isDay, periodStart } from '../values/time.js';
import { formInWords } from './forms.js';
import { type Location, type Problem, type ProblemCode, problem } from './problems.js';
import { Compile, Format, Settings, type TObject, type TSchema } from './typebox.js';

/** Rules that a pattern cannot express. They skip texts that the pattern or the length refuses anyway. */
const FORMATS: Readonly<Record<string, { code: ProblemCode; holds: (text: string) => boolean }>> = {
  'luhn-checked': { code: 'card_number_invalid', holds: where(CARD_NUMBER_PATTERN, luhnValid) },
  'card-expiry': {
    code: 'field_format',
    holds: where(EXPIRY_PATTERN, (text) => parseExpiry(text) !== undefined),
  },
  'iso-4217': { code: 'currency_unknown', holds: where(CURRENCY_PATTERN, isCurrency) },
  date: { code: 'field_format', holds: where(DAY_PATTERN, isDay) },
  'instant-or-day': {
    code: 'field_format',
    holds: where(INSTANT_OR_DAY_PATTERN, (text) => periodStart(text) !== undefined),
  },
  'web-address': {
    code: 'field_format',
    holds: where(WEB_ADDRESS_PATTERN, (text) => isWebAddress(text) && !containsCardNumber(text)),
  },
  'web-origin': { code: 'field_format', holds: where(WEB_ORIGIN_PATTERN, isWebOrigin) },
  'ip-address': { code: 'field_format', holds: where(IP_ADDRESS_PATTERN, (text) => isIP(text) !== 0) },
  'no-card-number': {
    code: 'card_number_misplaced',
    holds: (text) => text.length > KVP_VALUE_MAX_LENGTH || !containsCardNumber(text),
  },
  // Visa's are 15 digits, of which one in five hundred would pass for a card of American Express.
  'network-transaction-id': {
    code: 'card_number_misplaced',
    holds: (text) => text.length === 15 || !containsCardNumber(text),
  },
};
for (const [name, { holds }] of Object.entries(FORMATS)) Format.Set(name, holds);

function where(pattern: string, holds: (text: string) => boolean): (text: string) => boolean {
  const fits = new RegExp(pattern);
  return (text) => !fits.test(text) || holds(text);
}

// Enough for all problems of a normal body; the library would stop at eight.
Settings.Set({ maxErrors: 1_000 });

const CHARACTER_SETS = new Set([RESTRICTED_PATTERN, CORRELATION_ID_PATTERN, ACCOUNT_NAME_PATTERN]);

/** As typebox reports it. */
interface SchemaError {
  readonly keyword: string;
  readonly schemaPath: string;
  readonly instancePath: string;
  readonly params: object;
}

export type Check = (value: unknown) => Problem[];

const NOTHING: Check = () => [];

/**
 * A check by a schema, with problems located under `root` (`body`, `query`, …). Compiled on first use: compiling all of them would take a
 * good part of the start.
 */
export function checker(root: string, schema: TSchema | undefined): Check {
  if (schema === undefined) return NOTHING;
  let compiled: ReturnType<typeof Compile> | undefined;
  const maps = mapsOf(schema);
  return (value) => {
    if (value === undefined) return [problem('field_missing', [root])];
    const crowded = maps.filter(({ path, limit }) => entriesAt(value, path) > limit);
    const tooMany = crowded.map(({ path, limit }) => tooManyEntries([root, ...path], limit));
    const rest = crowded.reduce<unknown>((whole, { path }) => emptied(whole, path), value);
    compiled ??= Compile(schema);
    if (compiled.Check(rest)) return tooMany;
    const [, errors] = compiled.Errors(rest);
    const found = (errors as SchemaError[]).flatMap((error) => problemsOf(root, schema, error));
    const problems = distinct([...tooMany, ...found]);
    // A value that the schema refuses is refused, even if no error has a description.
    return problems.length > 0 ? problems : [problem('field_format', [root])];
  };
}

interface CountedMap {
  readonly path: readonly string[];
  readonly limit: number;
}

/**
 * Maps with a limit on their entries. A map with more is refused for that alone, and not checked further: thousands of entries would take
 * long, and their errors would crowd out all others.
 */
function mapsOf(schema: object, path: readonly string[] = []): CountedMap[] {
  const { maxProperties, properties = {} } = schema as {
    maxProperties?: number;
    properties?: Record<string, object>;
  };
  const below = Object.entries(properties).flatMap(([name, member]) => mapsOf(member, [...path, name]));
  return maxProperties === undefined ? below : [{ path, limit: maxProperties }, ...below];
}

function entriesAt(value: unknown, path: readonly string[]): number {
  const [key, ...further] = path;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 0;
  if (key === undefined) return Object.keys(value).length;
  return entriesAt((value as Record<string, unknown>)[key], further);
}

function emptied(value: unknown, [key, ...further]: readonly string[]): unknown {
  if (key === undefined) return {};
  const object = value as Record<string, unknown>;
  return { ...object, [key]: emptied(object[key], further) };
}

function tooManyEntries(at: Location, limit: number): Problem {
  return problem('field_too_long', at, `This field takes at most ${limit} entries.`);
}

function problemsOf(
  root: string,
  schema: TSchema,
  { keyword, schemaPath, instancePath, params }: SchemaError,
): Problem[] {
  // The keyword `propertyNames` itself reports a bad key, once.
  if (schemaPath.endsWith('/propertyNames')) return [];
  const keys = keysOf(instancePath);
  const at = [root, ...keys.map(shownKey)];
  const form = formInWords(schemaAt(schema, keys));
  const { limit, format, pattern, type, requiredProperties, propertyNames } = params as {
    limit?: number;
    format?: string;
    pattern?: string;
    type?: string;
    requiredProperties?: string[];
    propertyNames?: string[];
  };
  switch (keyword) {
    case 'required':
      return (requiredProperties ?? []).map((name) => problem('field_missing', [...at, name]));
    case 'type':
      // Of a field that may also be null: what else it may be is reported, too.
      if (type === 'null') return [];
      return [
        problem(
          'field_type',
          at,
          `This field must be of type ${type}${form === undefined ? '' : `: ${form}`}.`,
        ),
      ];
    case 'minLength':
      return [problem('field_too_short', at, `This field needs at least ${limit} characters.`)];
    case 'maxLength':
      return [problem('field_too_long', at, `This field takes at most ${limit} characters.`)];
    case 'maxProperties':
      return [tooManyEntries(at, limit ?? 0)];
    case 'minimum':
    case 'maximum':
      return [
        problem(
          'field_out_of_range',
          at,
          `This field must be ${keyword === 'minimum' ? 'at least' : 'at most'} ${limit}.`,
        ),
      ];
    case 'pattern':
      return [inWords(CHARACTER_SETS.has(pattern ?? '') ? 'field_charset' : 'field_format', at, form)];
    case 'format':
      return [inWords(FORMATS[format ?? '']?.code ?? 'field_format', at, form)];
    case 'propertyNames':
      return (propertyNames ?? []).map((name) => problemOfKey([...at, shownKey(name)], name));
    // Repeats errors already reported at the locations themselves.
    case 'properties':
    case 'additionalProperties':
    case 'oneOf':
      return [];
    default:
      return [inWords('field_format', at, form)];
  }
}

/** Adds what the text should look like, if that is the problem. */
function inWords(code: ProblemCode, at: Location, form: string | undefined): Problem {
  if (form === undefined) return problem(code, at);
  if (code === 'field_format') return problem(code, at, `This field must be ${form}.`);
  return code === 'field_charset' ? problem(code, at, `This field takes only ${form}.`) : problem(code, at);
}

/** The schema at a location; empty if no schema leads there. */
function schemaAt(schema: object, keys: readonly string[]): object {
  return keys.reduce<object>((whole, key) => {
    const { properties = {}, additionalProperties } = whole as {
      properties?: Record<string, object>;
      additionalProperties?: unknown;
    };
    if (Object.hasOwn(properties, key)) return properties[key] as object;
    return typeof additionalProperties === 'object' && additionalProperties !== null
      ? additionalProperties
      : {};
  }, schema);
}

function problemOfKey(at: Location, name: string): Problem {
  const bare = bareKvpKey(name);
  if (bare === '') return problem('field_too_short', at, 'A key needs at least 1 character.');
  if (bare.length > KVP_KEY_MAX_LENGTH)
    return problem('field_too_long', at, `A key takes at most ${KVP_KEY_MAX_LENGTH} characters.`);
  if (containsCardNumber(bare))
    return problem('card_number_misplaced', at, 'A card number does not belong in a key.');
  return problem('field_charset', at, 'A key takes only letters, digits, underscore and period.');
}

/** A JSON pointer as keys. */
function keysOf(pointer: string): string[] {
  if (pointer === '') return [];
  const keys = pointer.slice(1).split('/');
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Longer than any allowed key with its prefix. */
const LONGEST_SHOWN_KEY = 128;

/** A key from the request, so that the client can find it: without card digits, and shortened if huge. */
export function shownKey(key: string): string {
  const shown = key.length > LONGEST_SHOWN_KEY ? `${key.slice(0, LONGEST_SHOWN_KEY)}...` : key;
  return containsCardNumber(key) ? shown.replaceAll(/[0-9]/g, '*') : shown;
}

function distinct(problems: readonly Problem[]): Problem[] {
  const seen = new Map(problems.map((one) => [`${one.code} ${one.location.join('/')}`, one]));
  return [...seen.values()];
}

/**
 * Reads path or query parameters: turns decimal digits into integers, and leaves other values for the check to refuse. Parameters without
 * a schema are dropped.
 */
export function reader(schema: TObject | undefined): (sent: unknown) => Readonly<Record<string, unknown>> {
  const parameters = Object.entries(schema?.properties ?? {}).map(
    ([name, { type }]: [string, { type?: unknown }]) => ({
      name,
      isInteger: type === 'integer',
    }),
  );
  return (sent) => {
    const values = sent as Readonly<Record<string, unknown>>;
    const read: Record<string, unknown> = {};
    for (const { name, isInteger } of parameters) {
      const value = values[name];
      if (value === undefined) continue;
      const digits = isInteger && typeof value === 'string' && /^[0-9]+$/.test(value);
      read[name] = digits ? Math.min(Number(value), Number.MAX_SAFE_INTEGER) : value;
    }
    return read;
  };
}
