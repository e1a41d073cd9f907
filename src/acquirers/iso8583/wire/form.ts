// The form of a field, read from the notation of dialects: what it holds, how much of it, and how long its length is.
import type { Dialect } from '../dialects/dialect.js';
import { LAST_FIELD } from './message.js';

export interface Form {
  readonly kind: 'n' | 'an' | 'b';
  /** Digits, characters or bytes: so many, or at most so many. */
  readonly most: number;
  /** Of the length in front of it; none where it is always as long as `most`. */
  readonly lengthDigits: 0 | 2 | 3;
}

const NOTATION = /^(n|an|b)(?:([1-9]\d*)|\.\.([1-9]\d*) (LL|LLL))$/;

function formOf(notation: string): Form {
  const [, kind, fixed, most, length] = NOTATION.exec(notation) ?? [];
  if (kind === undefined) throw new Error(`a dialect has a field of the form ${notation}, which is none`);
  const lengthDigits = length === undefined ? 0 : length.length === 2 ? 2 : 3;
  return { kind: kind as Form['kind'], most: Number(fixed ?? most), lengthDigits };
}

/** By the number of the field; undefined where the dialect has no such field. */
export function formsOf({ fields }: Dialect): readonly (Form | undefined)[] {
  const forms: (Form | undefined)[] = new Array(LAST_FIELD + 1).fill(undefined);
  for (const [field, notation] of Object.entries(fields)) forms[Number(field)] = formOf(notation);
  return forms;
}

/** How many bytes it can take up, its length included. */
export function mostBytes({ kind, most, lengthDigits }: Form, { digits, bytes }: Dialect): number {
  const dense = digits === 'bcd';
  const length = dense ? (lengthDigits + 1) >> 1 : lengthDigits;
  switch (kind) {
    case 'an':
      return length + most;
    case 'n':
      return length + (dense ? (most + 1) >> 1 : most);
    case 'b':
      return length + (bytes === 'binary' ? most : 2 * most);
  }
}
