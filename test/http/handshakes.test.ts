// Handshakes go in turns over addresses. Without a gateway: the server alone.
import { once } from 'node:events';
import type { Server } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import tls from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { makeServer } from '../../src/http/connection-queue.js';
import { makeCertificate } from '../../testkit/certificates.js';

const CROWD = 400;
const { certificate, key } = makeCertificate();

async function listening(): Promise<Server> {
  const server = makeServer(
    { requestTimeout: 60_000 },
    {
      handle: (_, response) => response.end(),
      refuse: () => ({ status: 400, headers: {}, text: '' }),
      now: () => ({ epoch: 0, toldAbsent: 0, heard: 0 }),
    },
    { certificate, key },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return server;
}

/** The first bytes of a proper client. */
async function clientHello(): Promise<Buffer> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = tls.connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  const [socket] = await once(server, 'connection');
  const [hello] = await once(socket, 'data');
  for (const each of [client, socket]) each.destroy();
  server.close();
  return hello;
}

// catches(TLS: handshakes are begun in turns over addresses)
test('hundreds of handshakes from one address at once → one from another address is served among the first', async () => {
  const [server, hello] = await Promise.all([listening(), clientHello()]);
  const { port } = server.address() as AddressInfo;
  let [accepted, answered] = [0, 0];
  server.on('connection', () => {
    accepted += 1;
  });
  const crowd = Array.from({ length: CROWD }, () =>
    net.connect({ host: '127.0.0.1', port, localAddress: '127.0.0.2' }).on('error', () => {}),
  );
  await expect.poll(() => accepted).toBe(CROWD);
  for (const socket of crowd) {
    socket.once('data', () => {
      answered += 1;
    });
    socket.write(hello);
  }
  const one = tls.connect({ host: '127.0.0.1', port, ca: certificate });
  await once(one, 'secureConnect');
  expect(answered).toBeLessThan(CROWD / 2);
  one.destroy();
  // And everybody has their turn.
  await expect.poll(() => answered).toBe(CROWD);
  for (const socket of crowd) socket.destroy();
});
