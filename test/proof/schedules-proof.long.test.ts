// The short form of `npm run proof schedules`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('two months of schedules while gateways and the database are killed → every date comes to one outcome', async () => {
  const sizes = [
    '--schedules',
    '20',
    '--days',
    '60',
    '--step',
    '5',
    '--kills',
    '6',
    '--databases',
    '1',
    '--jump',
  ];
  const { code, output } = await runProof('schedules', [...sizes, '--seed', '20261119']);
  expect(output).toMatch(/^schedules: seed 20261119, 20 schedules .*; 0 promises broken$/m);
  expect(code).toBe(0);
}, 900_000);
