// The short form of `npm run proof guards`: one guard is really removed.
import { expect, inject, test } from 'vitest';
import { runProof } from './program.js';

test('a guard that protects money, removed → a test fails; all guards stand below their marks', async () => {
  const args = ['--sample', '1', '--seed', '7', '--trust-untouched'];
  // On the server of this test run; its databases have names of their own.
  const { code, output } = await runProof('guards', args, { DATABASE_URL: inject('adminUrl') });
  expect({ code, output }).toEqual({
    code: 0,
    output: expect.stringMatching(/1 guards: 1 caught, 0 not caught, 0 stale/),
  });
});
