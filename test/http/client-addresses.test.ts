// Where a request comes from, behind proxies and without: the word of a stranger never counts.
import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { ClientAddresses } from '../../src/http/authentication.js';
import { Networks } from '../../src/values/network.js';
import { client } from '../../testkit/client.js';
import { testGateway } from '../../testkit/gateway.js';
import { logLines, requestLines } from '../../testkit/requests.js';

function addressOf(trusted: string, remoteAddress: string, forwarded?: string): string {
  const request = { socket: { remoteAddress }, headers: forwarded ? { 'x-forwarded-for': forwarded } : {} };
  return new ClientAddresses(Networks.read(trusted)).of(request as unknown as IncomingMessage);
}

describe('addresses', () => {
  test.each<[string, string, string, string | undefined, string]>([
    ['no proxy is trusted', '', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['a stranger says that it is another', '10.0.0.0/8', '203.0.113.9', '10.0.0.1', '203.0.113.9'],
    ['a proxy says nothing', '10.0.0.0/8', '10.0.0.1', undefined, '10.0.0.1'],
    ['a proxy says whom it was called by', '10.0.0.0/8', '10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['the client has made something up', '10.0.0.0/8', '10.0.0.1', '1.2.3.4, 203.0.113.9', '203.0.113.9'],
    ['the client claims to be a proxy', '10.0.0.0/8', '10.0.0.1', '10.0.0.7, 203.0.113.9', '203.0.113.9'],
    ['two proxies', '10.0.0.0/8', '10.0.0.1', '203.0.113.9,10.0.0.2', '203.0.113.9'],
    ['proxies all the way', '10.0.0.0/8', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['the last of it cannot be read', '10.0.0.0/8', '10.0.0.1', '203.0.113.9, unknown', '10.0.0.1'],
    ['behind a proxy it cannot be read', '10.0.0.0/8', '10.0.0.1', 'x, 10.0.0.2', '10.0.0.2'],
    ['nothing between commas', '10.0.0.0/8', '10.0.0.1', '203.0.113.9, ,', '10.0.0.1'],
    ['with a port', '10.0.0.0/8', '10.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
    ['IPv6', 'fd00::/8', 'fd00::1', '2001:db8::7', '2001:db8::7'],
    ['IPv6 with a port', 'fd00::/8', 'fd00::1', '[2001:db8::7]:443', '2001:db8::7'],
    ['IPv4 on a listener of IPv6', '10.0.0.1', '::ffff:10.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
    ['one address and not its neighbour', '10.0.0.1', '10.0.0.2', '203.0.113.9', '10.0.0.2'],
    ['a list of two kinds', '10.0.0.1, ::1', '::1', '203.0.113.9', '203.0.113.9'],
    // catches(addresses: read from the right)
    // catches(addresses: the word of a stranger does not count)
  ])('the address of a client where %s', (_, trusted, peer, forwarded, address) => {
    expect(addressOf(trusted, peer, forwarded)).toBe(address);
  });

  test.each([
    '10.0.0.0/33',
    '10.0.0',
    'fd00::/129',
    'proxy.example',
    '10.0.0.0/8,',
    '10.0.0.0/8 ::1',
    'fe80::1%eth0',
  ])('%s is not a list of networks', (text) => {
    expect(Networks.read(text)).toBeUndefined();
  });
});

describe('a gateway behind a proxy', () => {
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

  // catches(failed log-ins: too many of one name or address are answered late)
  test('that it trusts → the client’s address is in the log, and failed log-ins are throttled by it', async () => {
    const gateway = await testGateway({
      settings: { TRUSTED_PROXIES: '127.0.0.0/8', FAILED_LOG_INS_PER_SECOND: '1' },
    });
    await gateway.api.call('/transactions/1', { correlationId: 'seen', ...from('203.0.113.9') });
    expect(requestLines(gateway)).toMatchObject([{ correlation_id: 'seen', address: '203.0.113.9' }]);
    const guess = (username: string, address: string) =>
      client(gateway.baseUrl, { username, password: 'wrong' }).call('/transactions/1', from(address));
    const held = () => logLines(gateway).filter((line) => line.msg === 'too many failed log-ins');
    // Another name and another address each time: none of them too often.
    for (const place of [1, 2, 3, 4]) await guess(`guesser-${place}`, `198.51.100.${place}`);
    expect(held()).toEqual([]);
    await Promise.all([1, 2, 3].map((place) => guess(`other-${place}`, '198.51.100.77')));
    await expect.poll(held).toMatchObject([{ address: '198.51.100.77', held: 2 }]);
  });

  test('that it does not trust → the address of the connection', async () => {
    const gateway = await testGateway({ settings: { TRUSTED_PROXIES: '10.0.0.0/8' } });
    await gateway.api.call('/transactions/1', { correlationId: 'seen', ...from('203.0.113.9') });
    expect(requestLines(gateway)).toMatchObject([{ correlation_id: 'seen', address: '127.0.0.1' }]);
  });
});
