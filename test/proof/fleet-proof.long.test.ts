// The short form of `npm run proof fleet`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('organisations that move while they trade, killed at every step → nothing lost, doubled, or paid in two cells', async () => {
  const args = ['--organisations', '6', '--moves', '4', '--kills', '7', '--seed', '3'];
  const { code, output } = await runProof('fleet', args);
  expect(output).toMatch(/ 0 lost, 0 doubled, 0 in two cells; /);
  expect(output).toMatch(/^fleet: seed 3, 6 organisations, .*; 0 promises broken$/m);
  expect(code).toBe(0);
}, 600_000);
