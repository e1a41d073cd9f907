// The short form of `npm run proof tenants`: a few attacks on few connections. Nothing here depends on how fast the machine is.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { dayOf, isServed, told } from '../../proof/tenants/day.js';
import { compiledProgram } from '../../testkit/project.js';
import { runProof } from './program.js';

test('some tenants attack for a moment → the requests of another tenant are all served, and so is a burst', async () => {
  const attacks = ['does not answer', 'for the victim’s user on'];
  const { code, output } = await runProof('tenants', [
    ...['--seconds', '1', '--much', '0.01', '--customers', '200', '--burst', '100', '--any-time'],
    ...attacks.flatMap((attack) => ['--only', attack]),
  ]);
  expect({ code, output }).toEqual({
    code: 0,
    output: expect.stringMatching(/^tenants: 2 attacks of 1 s; 0 promises broken$/m),
  });
  expect(output).toContain('burst of 100 purchases at once: {"201":100}');
});

test('a client that only connects and is timed out → counted, and nothing is sent', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const child = spawn(process.execPath, [compiledProgram('proof/tenants/client')]);
  const { port } = server.address() as AddressInfo;
  const job = { port, connections: 2, seconds: 0.5, requests: [], manner: 'only connect' };
  child.stdin.end(JSON.stringify(job));
  let output = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(JSON.parse(output)).toMatchObject({ requests: 0, statuses: { '408': expect.any(Number) } });
});

test('a day without requests sent or answered → reported as not served', () => {
  const nothing = { requests: 0, unsent: 0, broken: 0, statuses: {}, p50Ms: 0, p99Ms: 0, lastMs: 0 };
  const day = dayOf([nothing, nothing, nothing], { anyTime: true });
  expect(isServed(day)).toBe(false);
  expect(told(day)).toBe('no request was answered');
});
