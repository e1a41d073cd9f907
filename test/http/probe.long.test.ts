// `tollgate probe`, the health check of the image and of the systemd unit.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { probe } from '../../src/http/probe.js';
import { makeCertificate } from '../../testkit/certificates.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { run } from '../../testkit/gateway-process.js';
import { asEnvironment } from '../../testkit/project.js';

let gateway: TestGateway;
let port: number;
const servers: Server[] = [];

beforeAll(async () => {
  gateway = await testGateway();
  port = Number(new URL(gateway.baseUrl).port);
});
afterAll(async () => {
  await gateway.close();
  for (const server of servers) server.close();
});

/** A gateway as it answers in a state that is over before a test could ask. */
async function answering(status: number, body: object, atPort = 0): Promise<number> {
  const server = createServer((_, response) => response.writeHead(status).end(JSON.stringify(body)));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(atPort, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

test.each(['ready', 'live'] as const)('probe %s, the gateway serves → yes, exit code 0', async (question) => {
  expect(await run(['probe', question], { TOLLGATE_PORT: String(port) })).toMatchObject({
    code: 0,
    stdout: `The gateway is ${question}.\n`,
    stderr: '',
  });
});

test('probe, the gateway listens on every interface → probed on loopback', async () => {
  expect(await probe({ host: '0.0.0.0', port }, 'ready', 0)).toBeUndefined();
});

test('probe, the gateway uses TLS → probed over TLS, whatever name its certificate has', async () => {
  const { certificate, key } = makeCertificate({ of: ['pay.example'] });
  const tls = { TLS_CERTIFICATE: certificate, TLS_KEY: key };
  const secure = await testGateway({ settings: tls });
  const environment = { TOLLGATE_PORT: new URL(secure.baseUrl).port, ...asEnvironment(tls) };
  expect(await run(['probe'], environment)).toMatchObject({ code: 0, stdout: 'The gateway is ready.\n' });
});

test('probe, nothing listens → no, with the reason, exit code 1', async () => {
  const ended = await run(['probe', '--json'], { TOLLGATE_PORT: '1' });
  expect(ended).toMatchObject({ code: 1, stderr: '' });
  expect(JSON.parse(ended.stdout)).toEqual({ ready: false, reason: 'nothing listens' });
});

test('probe, the gateway is not ready → prints the gateway’s reason', async () => {
  const stopping = await answering(503, { status: 'not ready', reason: 'shutting down' });
  expect(await probe({ host: '127.0.0.1', port: stopping }, 'ready', 0)).toBe('shutting down');
});

test('probe --within, ready only later → waits until it is ready', async () => {
  const later = await answering(503, { status: 'not ready' });
  const asked = probe({ host: '127.0.0.1', port: later }, 'ready', 60_000);
  const server = servers.at(-1) as Server;
  server.removeAllListeners('request').on('request', (_, response) => response.end('{"status":"ready"}'));
  expect(await asked).toBeUndefined();
});

test('probe, any free port → refused, since the port is unknown', async () => {
  expect(await run(['probe'], { TOLLGATE_PORT: '0' })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^tollgate: TOLLGATE_PORT is 0/),
  });
});
