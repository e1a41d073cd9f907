// Virtual PANs: 16 digits that no scheme issues, valid by Luhn so that a merchant's own card field accepts them.
import { randomInt } from 'node:crypto';
import { luhnDigit } from '../values/card.js';

const HALF = 10_000_000;

export function makeVirtualPan(): string {
  const half = () => String(randomInt(HALF)).padStart(7, '0');
  const digits = `9${half()}${half()}`;
  return digits + luhnDigit(digits);
}
