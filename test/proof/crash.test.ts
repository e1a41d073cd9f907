// The short form of `npm run test:crash`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('gateways and database, killed at every point and at a moment of chance → every promise kept', async () => {
  const args = ['--kills', '6', '--traders', '8', '--impatient', '5', '--seed', '20240422'];
  const { code, output } = await runProof('crash', args);
  expect(output).toMatch(/^crash: seed 20240422, 6 kills .*; 0 promises broken$/m);
  expect(code).toBe(0);
}, 180_000);
