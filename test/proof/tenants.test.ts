// The short form of `npm run test:tenants`: a few attacks on few connections. Nothing here depends on how fast the machine is.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

test('some tenants attack for a moment → the other one’s requests are all served, and so is a burst', async () => {
  const attacks = ['does not answer', 'for the victim’s user on'];
  const { code, output } = await runProof('tenants', [
    ...['--seconds', '1', '--much', '0.01', '--customers', '1000', '--burst', '100', '--any-time'],
    ...attacks.flatMap((attack) => ['--only', attack]),
  ]);
  expect({ code, output }).toEqual({
    code: 0,
    output: expect.stringMatching(/^tenants: 2 attacks of 1 s; 0 promises broken$/m),
  });
  expect(output).toContain('burst of 100 purchases at once: {"201":100}');
}, 240_000);
