// The short form of `npm run proof secrets`. What memory holds is left to the long one: it takes a minute until it is overwritten.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('mixed transactions over simulator and links → no card number or CVV in responses, rows, files and logs; sealed where needed', async () => {
  const { code, output } = await runProof('secrets', ['--requests', '60', '--seconds', '0', '--seed', '7']);
  expect(output).toMatch(/^secrets: seed 7, \d+ cards, .*; 0 promises broken$/m);
  expect(code).toBe(0);
});
