// The short form of `npm run proof hostile`.
import { expect, test } from 'vitest';
import { start } from '../../testkit/gateway-process.js';
import { whereItIs } from '../../testkit/prepared-cluster.js';
import { compiledProgram } from '../../testkit/project.js';

// It sends slow clients too, which take as long as the gateway waits for them.
const LIMIT_MS = 180_000;

test(
  '300 hostile requests, raw bytes and slow clients → every promise is kept',
  async () => {
    const args = [compiledProgram('proof/hostile/hostile'), '--requests', '300', '--seed', '20261115'];
    const { code, stdout, stderr } = await start(args, whereItIs(), { command: process.execPath }).ended;
    expect(stdout.trim().split('\n').at(-1), stdout + stderr).toMatch(
      /^seed 20261115: 300 requests .* 0 promises broken$/,
    );
    expect(code).toBe(0);
  },
  LIMIT_MS,
);

test(
  'an answer that is not a refusal → exits with 1, and prints the request so that it can be sent again',
  async () => {
    const args = [compiledProgram('proof/hostile/hostile'), '--replay', 'test/proof/accepted-request.json'];
    const { code, stdout } = await start(args, whereItIs(), { command: process.execPath }).ended;
    expect(stdout).toContain('broken: refused with 422: 201');
    const printed = stdout.split('\n').find((line) => line.startsWith('{"seed"'));
    expect(JSON.parse(printed as string)).toMatchObject({ seed: 1, operation: 'findOrCreateCustomer' });
    expect(code).toBe(1);
  },
  LIMIT_MS,
);
