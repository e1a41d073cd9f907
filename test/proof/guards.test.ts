// The short form of `npm run test:guards`: every guard of the list is still where the list says, and two of them are really removed.
import { expect, inject, test } from 'vitest';
import { runProof } from './program.js';

test('two guards of the money, removed → a test notices each; all are where the list says', async () => {
  const args = ['--sample', '2', '--seed', '7', '--trust-untouched'];
  // On the server of this test run; its databases have names of their own.
  const { code, output } = await runProof('guards', args, { DATABASE_URL: inject('adminUrl') });
  expect({ code, output }).toEqual({
    code: 0,
    output: expect.stringMatching(/2 guards: 2 caught, 0 not caught, 0 stale/),
  });
}, 180_000);
