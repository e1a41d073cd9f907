// Values of direct-entry files, made by chance: texts and digits that banks take, and transactions with their installation.
import fc from 'fast-check';
import { BECS_CHARACTERS_PATTERN } from '../src/values/bank-account.js';
import type { Audit, OrganisationId } from '../src/values/ids.js';

export const ASCII = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index));
const BECS_CHARACTERS = ASCII.filter((character) => new RegExp(BECS_CHARACTERS_PATTERN).test(character));

export const digits = (minLength: number, maxLength = minLength) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength, maxLength }).map((each) => each.join(''));
export const text = (maxLength: number) =>
  fc
    .array(fc.constantFrom(...BECS_CHARACTERS), { minLength: 1, maxLength })
    .map((each) => each.join(''))
    .filter((name) => name.trim() !== '');
const installation = fc
  .array(fc.constantFrom(...'0123456789ABCDEF'), { minLength: 6, maxLength: 6 })
  .map((each) => each.join(''));
export const id = fc.oneof(
  fc.integer({ min: 1, max: 2_147_483_647 }),
  fc.constantFrom(1, 35, 36, 2_147_483_647),
);
export const lodged = fc.record({
  installation,
  organisationId: id.map((number) => number as OrganisationId),
  audit: id.map((number) => number as Audit),
});
