// In charge of holding the character sets against the specification's wording.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bareKvpKey,
  CORRELATION_ID_PATTERN,
  isCorrelationId,
  isRestricted,
  KVP_KEY_PATTERN,
  KVP_REQUEST_PREFIX,
  KVP_RESPONSE_PREFIX,
  RESTRICTED_PATTERN,
} from '../../src/values/text.js';

const LETTERS_AND_DIGITS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const RESTRICTED = `${LETTERS_AND_DIGITS} !#$%&()*+,-./:;<=>?@[]^_\`{|}~`;
const CORRELATION = `${LETTERS_AND_DIGITS}+-_:.,`;
const KVP_KEY = `${LETTERS_AND_DIGITS}_.`;

const everyCharacter = Array.from({ length: 0x250 }, (_, code) => String.fromCharCode(code));

describe('character sets', () => {
  test('the restricted set is exactly the listed characters', () => {
    expect(everyCharacter.filter(isRestricted).sort()).toEqual([...RESTRICTED].sort());
  });

  test('a correlation ID takes exactly the listed characters', () => {
    expect(everyCharacter.filter(isCorrelationId).sort()).toEqual([...CORRELATION].sort());
  });

  test('a KVP key takes exactly letters, digits, underscore and period', () => {
    const key = new RegExp(KVP_KEY_PATTERN);
    expect(everyCharacter.filter((character) => key.test(character)).sort()).toEqual([...KVP_KEY].sort());
    expect(key.test('')).toBe(false);
  });

  test('the patterns mean the same with the unicode flag, which schema validators set', () => {
    for (const pattern of [RESTRICTED_PATTERN, CORRELATION_ID_PATTERN, KVP_KEY_PATTERN]) {
      const plain = new RegExp(pattern);
      const unicode = new RegExp(pattern, 'u');
      for (const text of [...everyCharacter, '\u{1f600}', 'a\u{1f600}b', '\ud83d', 'a b_c.d-e', '']) {
        expect(unicode.test(text)).toBe(plain.test(text));
      }
    }
  });

  test('one bad character anywhere makes a text invalid, even a trailing newline', () => {
    const good = fc.string({ unit: fc.constantFrom(...RESTRICTED) });
    fc.assert(
      fc.property(
        good,
        fc.constantFrom('"', "'", '\\', '\n', '\t', '\0', 'é', '€'),
        good,
        (head, bad, tail) => {
          expect(isRestricted(head + tail)).toBe(true);
          expect(isRestricted(head + bad + tail)).toBe(false);
        },
      ),
    );
    expect(isCorrelationId('abc\n')).toBe(false);
  });
});

describe('correlation IDs', () => {
  test('have 1 to 128 characters', () => {
    expect(isCorrelationId('')).toBe(false);
    expect(isCorrelationId('a')).toBe(true);
    expect(isCorrelationId('a'.repeat(128))).toBe(true);
    expect(isCorrelationId('a'.repeat(129))).toBe(false);
  });

  test('may be UUIDs', () => {
    fc.assert(
      fc.property(fc.uuid(), (uuid) => {
        expect(isCorrelationId(uuid)).toBe(true);
      }),
    );
  });
});

describe('KVP keys', () => {
  test('a key with the request prefix equals the key without it, however often the prefix appears', () => {
    expect(bareKvpKey('ORDER')).toBe('ORDER');
    expect(bareKvpKey(`${KVP_REQUEST_PREFIX}ORDER`)).toBe('ORDER');
    expect(bareKvpKey(`${KVP_REQUEST_PREFIX}${KVP_REQUEST_PREFIX}ORDER`)).toBe('ORDER');
    expect(bareKvpKey(KVP_REQUEST_PREFIX)).toBe('');
    expect(bareKvpKey(`${KVP_RESPONSE_PREFIX}ORDER`)).toBe(`${KVP_RESPONSE_PREFIX}ORDER`);
  });
});
