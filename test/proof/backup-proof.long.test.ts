// The short form of `npm run proof backup`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('backed up under load while backups, gateway and PostgreSQL are killed, restored twice → nothing acknowledged is missing, no number is used twice', async () => {
  const { code, output } = await runProof('backup', [
    ...['--seconds', '0.4', '--traders', '1', '--seed', '20261116'],
  ]);
  expect(output).toMatch(/^backup: seed 20261116, \d+ orders .* restored twice .*; 0 promises broken$/m);
  expect(code).toBe(0);
});
