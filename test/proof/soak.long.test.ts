// The short form of `npm run proof soak`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test.runIf(process.platform === 'linux')(
  'a few seconds of load → memory and file descriptors are flat, and every purchase is answered',
  async () => {
    const { code, output } = await runProof('soak', [
      '--connections',
      '8',
      '--minutes',
      '0.08',
      '--rate',
      '60',
      '--seed',
      '1',
    ]);
    expect(output).toMatch(/^soak: seed 1, \d+ purchases at 60\/s .*; 0 promises broken$/m);
    expect(code).toBe(0);
  },
  180_000,
);
