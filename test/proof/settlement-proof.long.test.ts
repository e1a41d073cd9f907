// The short form of `npm run proof settlement`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('random transactions over two days, also at the close → sums as in the ledger, closed days unchanged, planted differences found', async () => {
  const { code, output } = await runProof('settlement', [
    ...['--days', '2', '--seconds', '0.4', '--around', '1.2', '--lanes', '2', '--seed', '7'],
  ]);
  expect(output).toMatch(/^settlement: seed 7, \d+ days .*; 0 promises broken$/m);
  expect(code).toBe(0);
});
