// The short form of `npm run proof card-testing`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('stolen cards are tried from many addresses over two gateways → limits hold, and honest payers pay', async () => {
  const sizes = ['--cards', '150', '--addresses', '20', '--links', '60', '--honest', '8', '--testers', '6'];
  const { code, output } = await runProof('card-testing', [...sizes, '--seed', '20261119']);
  expect(output).toMatch(/^card testing: seed 20261119, \d+ tries .*; 0 promises broken$/m);
  expect(code).toBe(0);
});
