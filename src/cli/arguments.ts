// What arguments of commands may look like.
import { InvalidArgumentError } from 'commander';
import { MAX_AMOUNT_CENTS } from '../values/money.js';
import { isDay, parseDuration, periodEnd, periodStart } from '../values/time.js';

export function wholeNumber(text: string, most: number): number {
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || value < 1 || value > most) {
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}.`);
  }
  return value;
}

export function id(text: string): number {
  return wholeNumber(text, 2_147_483_647);
}

export function ids(text: string, earlier: readonly number[] = []): number[] {
  return [...earlier, id(text)];
}

/** Of an option that may be repeated. False where it was taken back just before. */
export function texts(text: string, earlier: readonly string[] | false = []): string[] {
  return [...(earlier || []), text];
}

export function days(text: string): number {
  return wholeNumber(text, 365);
}

/** Ten years at most. */
export function manyDays(text: string): number {
  return wholeNumber(text, 3_650);
}

export function shardCount(text: string): number {
  return wholeNumber(text, 1_024);
}

export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) {
    throw new InvalidArgumentError('It must be a number and a unit, such as 3d, 12h, 30m or 45s.');
  }
  return ms;
}

export function amount(text: string): number {
  return wholeNumber(text, MAX_AMOUNT_CENTS);
}

export function day(text: string): string {
  if (!isDay(text)) throw new InvalidArgumentError('It must be a day, such as 2026-11-15.');
  return text;
}

export function lastFour(text: string): string {
  if (!/^[0-9]{4}$/.test(text)) throw new InvalidArgumentError('It must be four digits.');
  return text;
}

const AN_END =
  'It must be a day in Sydney, or an instant with its offset, such as 2026-11-15T11:07:18+11:00.';

/** From when on, in milliseconds. */
export function from(text: string): number {
  const ms = periodStart(text);
  if (ms === undefined) throw new InvalidArgumentError(AN_END);
  return ms;
}

/** Up to when, in milliseconds, itself not included. */
export function until(text: string): number {
  const ms = periodEnd(text);
  if (ms === undefined) throw new InvalidArgumentError(AN_END);
  return ms;
}
