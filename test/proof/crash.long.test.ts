// The short form of `npm run proof crash`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('gateways and database, killed at every point and at random moments → every promise kept', async () => {
  const args = ['--kills', '6', '--latest', '4', '--traders', '2', '--impatient', '5', '--seed', '20240422'];
  const { code, output } = await runProof('crash', args);
  expect(output).toMatch(/^crash: seed 20240422, 6 kills .*; 0 promises broken$/m);
  expect(code).toBe(0);
});

test('over ISO 8583, with gateways, host and connections killed at given messages → every promise kept', async () => {
  const args = ['--link', 'iso8583', '--kills', '3', '--latest', '4', '--traders', '4', '--seed', '20240423'];
  const { code, output } = await runProof('crash', args);
  expect(output).toMatch(/^crash: seed 20240423, 3 kills .*"message":1.*; 0 promises broken$/m);
  expect(code).toBe(0);
});
