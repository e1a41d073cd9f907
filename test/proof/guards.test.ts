// The short form of `npm run test:guards`: every guard of the list is still where the list says, and one of them is really removed.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { PROJECT_ROOT } from '../support/process.js';

test('a guard of the money, picked at random and removed → a test notices; every other one is where the list says', async () => {
  // On the server of this test run; its databases have names of their own.
  const child = spawn(process.execPath, [join(PROJECT_ROOT, 'proof/guards.js'), '--sample', '1'], {
    env: { ...process.env, DATABASE_URL: inject('adminUrl') },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect({ code, output }).toEqual({
    code: 0,
    output: expect.stringMatching(/1 guards: 1 caught, 0 not caught, 0 stale/),
  });
});
