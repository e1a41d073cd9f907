// The short form of `npm run proof forgetful`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('payments charged after their reversals were answered with 25 → reversed again, and the books agree', async () => {
  const { code, output } = await runProof('forgetful', [
    '--rounds',
    '4',
    '--purchases',
    '8',
    '--seed',
    '20240422',
  ]);
  expect(output).toMatch(
    /^forgetful: .* [1-9]\d* charged after they were reversed, 0 of them still; 0 promises broken$/m,
  );
  expect(code).toBe(0);
});
