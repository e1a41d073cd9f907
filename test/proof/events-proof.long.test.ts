// The short form of `npm run proof events`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('gateways, database and readers of events killed → every change has one event, in order for its subject', async () => {
  const args = ['--kills', '3', '--latest', '4', '--traders', '1', '--readers', '2', '--seed', '20261115'];
  const { code, output } = await runProof('events', args);
  expect(output).toMatch(/^events: seed 20261115, 3 kills .*; 0 promises broken$/m);
  expect(code).toBe(0);
});
