// The short form of `npm run proof schedules`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('six weeks of schedules while gateways are killed and the database fails over → every date comes to one outcome', async () => {
  const sizes = [
    '--schedules',
    '12',
    '--days',
    '45',
    '--step',
    '5',
    '--kills',
    '4',
    '--failovers',
    '1',
    '--jump',
  ];
  const { code, output } = await runProof('schedules', [...sizes, '--seed', '20261119']);
  expect(output).toMatch(/^schedules: seed 20261119, 12 schedules .*; 0 promises broken$/m);
  expect(code).toBe(0);
}, 900_000);
