// What arguments of commands may look like.
import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../values/duration.js';

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

export function days(text: string): number {
  return wholeNumber(text, 365);
}

export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) {
    throw new InvalidArgumentError('It must be a number and a unit, such as 3d, 12h, 30m or 45s.');
  }
  return ms;
}
