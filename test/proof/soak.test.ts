import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const SOAK = new URL('../../proof/soak.js', import.meta.url).pathname;

test.runIf(process.platform === 'linux')(
  'half the load for some seconds → memory and file descriptors are flat, and every purchase is answered',
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      SOAK,
      '--minutes',
      '0.1',
      '--rate',
      '200',
      '--seed',
      '1',
    ]);
    expect(stdout).toMatch(/^soak: seed 1, \d+ purchases at 200\/s .*; 0 promises broken$/m);
  },
);
