// Sockets that somebody holds open on the operators' listener: scrapes and operators get through.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { networkOf } from '../../src/values/network.js';
import { consoleClient, signedIn } from '../../testkit/console.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { readScrape } from '../../testkit/scrape.js';

const held: Socket[] = [];
afterEach(() => {
  for (const socket of held.splice(0)) socket.destroy();
});

async function hold(url: string, count: number, says: string, localAddress = '127.0.0.1'): Promise<void> {
  const { hostname, port } = new URL(url);
  for (let at = 0; at < count; at += 1) {
    const socket = connect({ host: hostname, port: Number(port), localAddress });
    socket.on('error', () => {}).resume();
    held.push(socket);
    await once(socket, 'connect');
    socket.write(says);
  }
}

describe('a hostile address', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await testGateway();
    return () => gateway.close();
  });

  test.each([
    ['silent', ''],
    ['with half a request', 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n'],
    [
      'with half a body',
      'POST /console/api/sign-in/link HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{',
    ],
    // catches(console: no network takes every connection)
  ])(
    '300 sockets %s → 50 scrapes and a sign-in are answered, the log and the metric say so',
    async (_, says) => {
      const operator = await signedIn(gateway);
      await hold(gateway.operatorsUrl, 300, says);
      // Others have one address each, and are let in beside it.
      await hold(gateway.operatorsUrl, 100, says, '127.0.0.2');
      let text = '';
      for (let scrape = 0; scrape < 50; scrape += 1) {
        const answer = await fetch(`${gateway.operatorsUrl}/metrics`, { headers: { connection: 'close' } });
        expect(answer.status).toBe(200);
        text = await answer.text();
      }
      expect((await operator.get('/session')).status).toBe(200);
      const wrong = { name: 'nobody', token: 'x' };
      expect((await consoleClient(gateway.operatorsUrl).post('/sign-in/link', wrong)).status).toBe(401);
      const seen = readScrape(text);
      const labels = { listener: 'operators' };
      expect(seen.sum('tollgate_connections_refused_total', labels)).toBeGreaterThan(100);
      expect(seen.sum('tollgate_connections', labels)).toBeLessThanOrEqual(256);
      // The first line comes at once, the next ones a minute apart.
      await expect.poll(() => gateway.logged()).toContain('"listener":"operators"');
      expect(gateway.logged().match(/"too many connections"/g)).toHaveLength(1);
      const still = held.filter(
        ({ destroyed, readableEnded, localAddress }) =>
          !destroyed && !readableEnded && localAddress === '127.0.0.1',
      );
      expect(still.length).toBeLessThanOrEqual(128);
    },
  );
});

// catches(networks: the addresses of a /64 count as one)
test('addresses → their networks', () =>
  expectEach(
    [
      ['192.0.2.7', '192.0.2.7'],
      ['::ffff:192.0.2.7', '192.0.2.7'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
      ['::1', '0:0:0:0::/64'],
    ] as const,
    ([address, network]) => expect(networkOf(address)).toBe(network),
  ));
