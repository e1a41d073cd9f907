// The short form of `npm run proof client`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('a shop, killed with its gateways while a proxy interferes → every order known, and none charged twice', async () => {
  const size = [
    ...['--kills', '2', '--latest', '4', '--orders', '16', '--concurrency', '8'],
    ...['--timeout', '2', '--meddle', '15'],
  ];
  const { code, output } = await runProof('client', [...size, '--seed', '20240424']);
  expect(output).toMatch(
    /^client: typescript, seed 20240424, 2 kills .* 0 without a known outcome; 0 promises broken$/m,
  );
  expect(code).toBe(0);
});
