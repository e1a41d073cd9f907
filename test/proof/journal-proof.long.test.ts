// The short form of `npm run proof journal`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('processes that write to the journal and chain it, killed → its chain is valid, even while they write', async () => {
  const args = ['--entries', '1500', '--writers', '2', '--kills', '2', '--seed', '20261116'];
  const { code, output } = await runProof('journal', args);
  expect(output).toMatch(
    /^journal: seed 20261116, 2 kills of 2 writers, .* purchases meanwhile, .*; 0 promises broken$/m,
  );
  expect(code).toBe(0);
});
