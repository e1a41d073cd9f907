// What a field of a task may hold: how it reads on a command line, in a path or a query, and its JSON schema in a body.
import { MAX_AMOUNT_CENTS } from '../values/money.js';
import { DAY_PATTERN, isDay, parseDuration, periodEnd, periodStart } from '../values/time.js';

const MAX_ID = 2_147_483_647;
const DAY_MS = 86_400_000;

export interface Kind<Value> {
  /** Undefined if the text is not valid. `earlier`: the value of earlier uses of the same option. */
  readonly read: (text: string, earlier?: Value) => Value | undefined;
  /** The error for an invalid text, as a sentence. */
  readonly mustBe: string | ((text: string, earlier?: Value) => string);
  /** JSON schema. */
  readonly schema: object;
  /** For a value that JSON spells as a string: reads that string; undefined if it is not valid. */
  readonly fromJson?: (text: string) => Value | undefined;
  /** The option may be repeated, and each use adds a value. */
  readonly repeats?: boolean;
  /** An ID: the console answers 404 to anything else in a path or a query. */
  readonly finds?: boolean;
  /** An option without a value. */
  readonly isFlag?: boolean;
  /** On a command line the path of the file that has the value. */
  readonly inFile?: boolean;
  /** Listed by the help, and checked by commander. */
  readonly choices?: readonly string[];
}

function wholeNumber(most: number): Kind<number> {
  return {
    read: (text) => {
      const value = Number(text);
      return /^[0-9]+$/.test(text) && value >= 1 && value <= most ? value : undefined;
    },
    mustBe: `It must be a whole number from 1 to ${most}.`,
    schema: { type: 'integer', minimum: 1, maximum: most },
  };
}

/** The ID of a row. */
export const ID: Kind<number> = { ...wholeNumber(MAX_ID), finds: true };

export function count(most = MAX_ID): Kind<number> {
  return wholeNumber(most);
}

export const AMOUNT_CENTS: Kind<number> = count(MAX_AMOUNT_CENTS);

/** Reads an invalid text as NaN: the task reports that together with everything else that is wrong. */
export const NUMBER: Kind<number> = {
  read: (text) => (/^[0-9]+$/.test(text) ? Number(text) : Number.NaN),
  mustBe: '',
  schema: { type: 'number' },
};

/** In milliseconds; on a command line `12h`. */
export function duration(mostMs = Number.MAX_SAFE_INTEGER): Kind<number> {
  return {
    read: (text) => {
      const ms = parseDuration(text);
      return ms === undefined || ms > mostMs ? undefined : ms;
    },
    mustBe: (text) =>
      parseDuration(text) === undefined
        ? 'It must be a number and a unit, such as 3d, 12h, 30m or 45s.'
        : `It must be ${mostMs / DAY_MS}d at most.`,
    schema: { type: 'integer', minimum: 0, maximum: mostMs },
  };
}

/** Any text: the task checks its content. */
export function text(mostCharacters = 256): Kind<string> {
  return {
    read: (given) => given,
    mustBe: '',
    schema: { type: 'string', maxLength: mostCharacters },
  };
}

export const TEXT = text();

/** Separated by commas on a command line. */
export const TEXTS: Kind<string[]> = {
  read: (given) => given.split(',').map((part) => part.trim()),
  mustBe: '',
  schema: { type: 'array', items: TEXT.schema, maxItems: 1_000 },
};

export function fileContent(mostCharacters = 32_768): Kind<string> {
  return { ...text(mostCharacters), inFile: true };
}

export const FLAG: Kind<boolean> = {
  read: (given) => given === 'true',
  mustBe: '',
  schema: { type: 'boolean' },
  isFlag: true,
};

export function choice<const Name extends string>(...names: readonly Name[]): Kind<Name> {
  return {
    read: (given) => names.find((name) => name === given),
    mustBe: `It must be one of ${names.join(', ')}.`,
    schema: { enum: [...names] },
    choices: names,
  };
}

export const DAY: Kind<string> = {
  read: (given) => (isDay(given) ? given : undefined),
  mustBe: 'It must be a day, such as 2026-11-15.',
  schema: { type: 'string', pattern: DAY_PATTERN, format: 'date' },
};

export const END_OF_PERIOD =
  'It must be a day in Sydney, or an instant with its offset, such as 2026-11-15T11:07:18+11:00.';

/** The beginning of a period, in milliseconds. */
export const FROM: Kind<number> = { ...NUMBER, read: periodStart, mustBe: END_OF_PERIOD };

/** The end of a period, in milliseconds, exclusive. */
export const UNTIL: Kind<number> = { ...NUMBER, read: periodEnd, mustBe: END_OF_PERIOD };

/** For an option that may be repeated. */
export function several<Value>(kind: Kind<Value>, most = 1_000): Kind<Value[]> {
  return {
    read: (given, earlier = []) => {
      const value = kind.read(given);
      return value === undefined ? undefined : [...earlier, value];
    },
    mustBe: (given) => (typeof kind.mustBe === 'string' ? kind.mustBe : kind.mustBe(given)),
    schema: { type: 'array', items: kind.schema, maxItems: most },
    repeats: true,
  };
}
