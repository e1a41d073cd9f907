// Short forms of `npm run proof fleet`. What `--frozen` shows is a matter of speed, and has none.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('organisations that move while they trade, killed at every step → nothing lost, doubled, or paid in two cells', async () => {
  const args = ['--organisations', '4', '--moves', '4', '--kills', '7', '--seed', '3'];
  const { code, output } = await runProof('fleet', args);
  expect(output).toMatch(/ 0 lost, 0 doubled, 0 in two cells; /);
  expect(output).toMatch(/^fleet: seed 3, 4 organisations, .*; 0 promises broken$/m);
  expect(code).toBe(0);
});

test('an organisation with many stored payments moves while it trades → all of them go along', async () => {
  const { code, output } = await runProof('fleet', ['--organisations', '3', '--big', '4000', '--seed', '4']);
  expect(output).toMatch(
    /^fleet: seed 4, 3 organisations, 1 moved and 0 taken back, .*; 0 promises broken$/m,
  );
  expect(code).toBe(0);
});
