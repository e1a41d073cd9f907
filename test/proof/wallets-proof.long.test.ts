// The short form of `npm run proof wallets`. What is not installed is skipped.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('others make and open payloads of wallets → they and the gateway agree', async () => {
  const sizes = ['--tokens', '20', '--altered', '100', '--signatures', '3'];
  const { code, output } = await runProof('wallets', [...sizes, '--seed', '20261119']);
  expect(output).toMatch(/^wallets: seed 20261119; .*; 0 promises broken$/m);
  expect(code).toBe(0);
});
