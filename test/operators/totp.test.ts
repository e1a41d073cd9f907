// Codes by time, held against the examples of RFC 6238; and the seals of their secrets.
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { base32, codeAt, stepOf, TotpSeals, totpUri } from '../../src/operators/sign-in/totp.js';
import { CredentialKey } from '../../src/organisations/users/credentials.js';

const SECRET = Buffer.from('12345678901234567890');

test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('at second %d → %s', (second, code) => {
  const step = Math.floor(second / 30);
  expect(codeAt(SECRET, step)).toBe(code);
  expect(stepOf(SECRET, code, second * 1_000)).toBe(step);
});

test('a code is valid one step earlier and later, no further; spaces are ignored', () => {
  const nowMs = 2_000_000_000_000;
  const now = Math.floor(nowMs / 30_000);
  const found = [-2, -1, 0, 1, 2].map((by) => stepOf(SECRET, codeAt(SECRET, now + by), nowMs));
  expect(found).toEqual([undefined, now - 1, now, now + 1, undefined]);
  expect(stepOf(SECRET, codeAt(SECRET, now).replace(/^.../, '$& '), nowMs)).toBe(now);
  for (const text of ['', '12345', '1234567', 'abcdef', '☃☃☃☃☃☃'])
    expect(stepOf(SECRET, text, nowMs)).toBeUndefined();
});

test('apps read the secret in base32', () => {
  expect(base32(Buffer.from('foobar'))).toBe('MZXW6YTBOI');
  expect(totpUri(SECRET, 'ada@example')).toBe(
    'otpauth://totp/Tollgate%3Aada%40example?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Tollgate&algorithm=SHA1&digits=6&period=30',
  );
});

test('a secret can be opened for its operator only, with its key only', () => {
  const key = () => new TotpSeals(new CredentialKey(randomBytes(32)));
  const seals = key();
  const sealed = seals.seal(SECRET, 'ada');
  expect(seals.open(sealed, 'ada')).toEqual(SECRET);
  expect(sealed.includes(SECRET)).toBe(false);
  expect(seals.open(sealed, 'grace')).toBeUndefined();
  expect(key().open(sealed, 'ada')).toBeUndefined();
  expect(seals.open(Buffer.concat([sealed.subarray(0, -1), Buffer.from([0])]), 'grace')).toBeUndefined();
  expect(seals.open(Buffer.alloc(3), 'ada')).toBeUndefined();
});
