// The short form of `npm run test:guards`: every guard of the list is still where the list says, and two of them are really removed.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { PROJECT_ROOT } from '../../testkit/gateway-process.js';

test('two guards of the money, removed → a test notices each; all are where the list says', async () => {
  // On the server of this test run; its databases have names of their own.
  const args = [join(PROJECT_ROOT, 'proof/guards.js'), '--sample', '2', '--seed', '7', '--trust-untouched'];
  const child = spawn(process.execPath, args, {
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
    output: expect.stringMatching(/2 guards: 2 caught, 0 not caught, 0 stale/),
  });
}, 180_000);
