// How easily a password is guessed, judged as somebody who guesses would: by common passwords, names, patterns and rows of keys.
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';

/** Of 0 to 4: ten thousand million guesses or more. */
const LEAST_SCORE = 4;
/** What follows counts no more. Together with fewer spellings such as p4ssw0rd it bounds the time that a judgement takes. */
const LOOKED_AT = 64;
const SPELLINGS = 30;

const estimator = new ZxcvbnFactory({
  dictionary,
  graphs: adjacencyGraphs,
  maxLength: LOOKED_AT,
  l33tMaxSubstitutions: SPELLINGS,
});

/** In words; undefined for one that is hard to guess. */
export function weaknessOf(password: string, names: readonly string[]): string | undefined {
  const words = names.flatMap((name) => name.split(/[^\p{L}\p{N}]+/u)).filter(({ length }) => length > 2);
  const { score, feedback } = estimator.check(password, [...names, ...words]);
  if (score >= LEAST_SCORE) return undefined;
  return REASONS[feedback.warning ?? ''] ?? 'too few guesses find it';
}

/** By the warnings of the estimator. */
const REASONS: Readonly<Record<string, string>> = {
  userInputs: 'it has your name, or that of the company or of this program, in it',
  topTen: 'it is one of the most common passwords',
  topHundred: 'it is one of the most common passwords',
  common: 'it is a common password',
  similarToCommon: 'it is much like a common password',
  straightRow: 'it follows a row of keys',
  keyPattern: 'it follows a pattern of keys',
  simpleRepeat: 'it repeats a character',
  extendedRepeat: 'it repeats itself',
  sequences: 'it follows a sequence such as abc or 6543',
  recentYears: 'it has a year in it',
  dates: 'it has a date in it',
  wordByItself: 'it is little more than one word',
};
