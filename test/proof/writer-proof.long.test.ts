// The short form of `npm run proof writer`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('somebody changes every table by each login while gateways trade → no card, money or right gained, and all of it reported', async () => {
  const args = ['--changes', '25', '--seconds', '3', '--old', '8', '--traders', '3', '--seed', '34'];
  const { code, output } = await runProof('writer', args);
  expect(output).toMatch(/^writer: seed 34, \d+ changes to \d+ tables .*; 0 promises broken$/m);
  expect(code).toBe(0);
}, 900_000);
