// The short form of `npm run proof slow-host`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('random purchases over a slow host → all served, and the books agree', async () => {
  const size = ['--rate', '60', '--seconds', '3', '--delay', '500', '--clients', '300'];
  const { code, output } = await runProof('slow-host', [...size, '--limit', '60000', '--patient']);
  expect(output).toMatch(/^slow host: 500 ms for each answer, [1-9]\d+ purchases .*; 0 promises broken$/m);
  expect(code).toBe(0);
});
