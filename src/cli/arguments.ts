// What arguments of commands may look like.
import { InvalidArgumentError } from 'commander';
import { parseDuration, periodStart } from '../values/time.js';

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

/** From when on, in milliseconds. */
export function from(text: string): number {
  const ms = periodStart(text);
  if (ms === undefined)
    throw new InvalidArgumentError(
      'It must be a day in Sydney, or an instant with its offset, such as 2026-11-15T11:07:18+11:00.',
    );
  return ms;
}
