// The short form of `npm run proof vault-moving`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('a vault is moved twice while commands are killed → nothing lost or duplicated, no card in clear, and tokens pay', async () => {
  const { code, output } = await runProof('vault-moving', [
    ...['--tokens', '300', '--pay', '30', '--kills', '1', '--seed', '7'],
  ]);
  expect(output).toMatch(/^vault-moving: seed 7, 300 tokens .* 30 tokens paid, .*; 0 promises broken$/m);
  expect(code).toBe(0);
});
