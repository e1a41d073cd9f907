// The short form of `npm run proof payers`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('payers who click whatever they like while gateways and database are killed → nobody pays twice', async () => {
  const args = ['--walks', '25', '--kills', '5', '--payers', '4', '--latest', '4', '--seed', '20261119'];
  const { code, output } = await runProof('payers', args);
  expect(output).toMatch(/^payers: seed 20261119, \d+ walks .*; 0 promises broken$/m);
  expect(code).toBe(0);
});
