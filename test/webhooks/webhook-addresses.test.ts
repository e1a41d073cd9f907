// Where a webhook may not go, whatever its address looks like: real servers on loopback must not be reached.
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { judge, readNetwork } from '../../src/webhooks/addresses.js';
import { type Attempt, Sender, type SenderOptions } from '../../src/webhooks/delivery/sender.js';
import { readDestination } from '../../src/webhooks/destination.js';
import { expectEach } from '../../testkit/each-case.js';
import { type NameServer, startNameServer } from '../../testkit/name-server.js';
import { FORBIDDEN, OWN, UNREADABLE } from './address-spellings.js';

const LOOPBACK = ['127.0.0.0/8', '0.0.0.0/32', '::1/128', '::/128', '::ffff:0:0/96'];

interface Receiver {
  readonly port: number;
  /** How often somebody connected. */
  connections: number;
  readonly requests: string[];
  close(): void;
}

async function listen(server: Server, host?: string, port = 0): Promise<Receiver> {
  const receiver = { port: 0, connections: 0, requests: [] as string[], close: () => void server.close() };
  server.on('connection', () => {
    receiver.connections += 1;
  });
  server.on('request', (request) =>
    receiver.requests.push(`${request.method} ${request.headers.host} ${request.url}`),
  );
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  receiver.port = (server.address() as AddressInfo).port;
  return receiver;
}

let everywhere: Receiver;
let names: NameServer;
/** The name server's answers for a name, first and later. */
const zone = new Map<string, readonly (readonly string[])[]>();

beforeAll(async () => {
  everywhere = await listen(createServer((_, response) => response.end('thank you')));
  names = await startNameServer((name, times) => {
    const versions = zone.get(name) ?? [[]];
    return versions[Math.min(times, versions.length) - 1] ?? [];
  });
});
afterAll(async () => {
  everywhere.close();
  await names.close();
});

async function attempt(
  url: string,
  networks: readonly string[],
  options: Partial<SenderOptions> = {},
): Promise<Attempt> {
  const allowed = networks.map((text) => readNetwork(text) ?? expect.fail(text));
  const sender = new Sender({
    networks: allowed,
    timeoutMs: 5_000,
    nameServers: [names.address],
    ...options,
  });
  try {
    return await sender.post({ url, headers: { 'content-type': 'application/json' }, body: '{}' });
  } finally {
    sender.close();
  }
}

// catches(webhooks: localhost is refused as soon as it is read)
test('any spelling of a forbidden address in a URL → refused when it is parsed', () =>
  expectEach([...OWN, 'localhost..', ...FORBIDDEN], (host) => {
    expect(readDestination(`https://${host}/`, [])).toMatch(/^(address_forbidden|unreadable)$/);
  }));

test('localhost, with one loopback network allowed → that one is called, and no other', async () => {
  const allowed = readNetwork('127.0.0.0/8') ?? expect.fail();
  for (const host of ['localhost', 'LOCALHOST.', 'shop.localhost'])
    expect(readDestination(`http://${host}/`, [allowed])).toMatchObject({ literal: false });
  const outcome = await attempt(`http://localhost:${everywhere.port}/`, ['127.0.0.0/8']);
  expect(outcome).toMatchObject({ kind: 'answered', httpStatus: 200 });
});

describe.each(['http', 'https'])('forbidden addresses by %s', (scheme) => {
  test('any spelling of a forbidden address → no server is called', () =>
    expectEach([...OWN, ...FORBIDDEN], async (host) => {
      const before = everywhere.connections;
      const outcome = await attempt(`${scheme}://${host}:${everywhere.port}/`, []);
      expect(outcome).toMatchObject({ kind: 'failed', reason: expect.stringMatching(/forbidden$/) });
      expect(everywhere.connections).toBe(before);
    }));
});

test('an address that cannot be called → no server is called', () =>
  expectEach(UNREADABLE, async (template) => {
    const before = everywhere.connections;
    const outcome = await attempt(template.replace('PORT', String(everywhere.port)), []);
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'url_forbidden' });
    expect(everywhere.connections).toBe(before);
  }));

test('without the check → the server on loopback is reached', async () => {
  const before = everywhere.connections;
  await new Promise((resolve) =>
    connect(everywhere.port, '127.0.0.1', () => resolve(undefined)).on('data', () => {}),
  );
  expect(everywhere.connections).toBe(before + 1);
});

test('an address of this machine in any spelling, with its network allowed → called, even without TLS', () =>
  expectEach(OWN, async (host) => {
    const outcome = await attempt(`http://${host}:${everywhere.port}/hook?a=1`, LOOPBACK);
    expect(outcome).toMatchObject({ kind: 'answered', httpStatus: 200, excerpt: 'thank you' });
    expect(everywhere.requests.at(-1)).toMatch(/^POST \S+ \/hook\?a=1$/);
  }));

describe('names', () => {
  const at = (name: string, ...versions: readonly (readonly string[])[]) => zone.set(name, versions);
  const url = (name: string, port = everywhere.port) => `http://${name}:${port}/`;

  test('a name that resolves to a forbidden address → no server is called', () =>
    expectEach(
      [
        ['127.0.0.1', ['127.0.0.1']],
        ['::1', ['::1']],
        ['10.0.0.1', ['10.0.0.1']],
        ['169.254.169.254', ['169.254.169.254']],
        ['a mapped address', ['::ffff:7f00:1']],
        ['NAT64', ['64:ff9b::7f00:1']],
        ['a public and a private one', ['93.184.215.14', '10.0.0.1']],
        ['a public one and loopback of IPv6', ['93.184.215.14', '::1']],
      ],
      async ([_, addresses]) => {
        at('inside.example', addresses);
        const before = everywhere.connections;
        const outcome = await attempt(`https://inside.example:${everywhere.port}/`, []);
        expect(outcome).toMatchObject({ kind: 'failed', reason: 'address_forbidden' });
        expect(everywhere.connections).toBe(before);
      },
    ));

  test('a name that resolves to an allowed network → called, with its name in the header', async () => {
    at('receiver.example', ['127.0.0.3']);
    expect(await attempt(url('receiver.example'), ['127.0.0.3/32'])).toMatchObject({ kind: 'answered' });
    expect(everywhere.requests.at(-1)).toBe(`POST receiver.example:${everywhere.port} /`);
  });

  test('http to a public address, with some network allowed → no server is called', async () => {
    at('public.example', ['93.184.215.14']);
    expect(await attempt(url('public.example'), ['10.0.0.0/8'])).toMatchObject({ reason: 'https_needed' });
    expect(await attempt('http://93.184.215.14/', ['10.0.0.0/8'])).toMatchObject({ reason: 'url_forbidden' });
  });

  // catches(webhooks: the judged address is called, and not its name)
  // catches(webhooks: every address of a name is judged at each attempt)
  test('a DNS answer that changes between check and connection → only the checked address is called, and the next attempt is checked again', async () => {
    const checked = await listen(
      createServer((_, response) => response.end()),
      '127.0.0.2',
    );
    const inside = await listen(
      createServer((_, response) => response.end()),
      '127.0.0.1',
      checked.port,
    );
    at('rebinding.example', ['127.0.0.2'], ['127.0.0.1']);
    const asked = () => names.asked.filter((question) => question === 'A rebinding.example').length;
    expect(await attempt(url('rebinding.example', checked.port), ['127.0.0.2/32'])).toMatchObject({
      httpStatus: 200,
    });
    expect([checked.connections, inside.connections, asked()]).toEqual([1, 0, 1]);
    expect(await attempt(url('rebinding.example', checked.port), ['127.0.0.2/32'])).toMatchObject({
      reason: 'address_forbidden',
    });
    expect([checked.connections, inside.connections, asked()]).toEqual([1, 0, 2]);
    checked.close();
    inside.close();
  });

  test('an unknown name, and a name server that never answers → failed at the timeout', async () => {
    expect(await attempt(url('nobody.example'), LOOPBACK)).toMatchObject({ reason: 'name_unknown' });
    const silent = await startNameServer(() => undefined);
    const options = { nameServers: [silent.address], timeoutMs: 300 };
    expect(await attempt(url('silent.example'), LOOPBACK, options)).toMatchObject({ reason: 'timed_out' });
    await silent.close();
  });

  test('the first of two addresses does not listen → the second is called', async () => {
    const second = await listen(
      createServer((_, response) => response.end()),
      '127.0.0.5',
    );
    at('two.example', ['127.0.0.4', '127.0.0.5']);
    expect(await attempt(url('two.example', second.port), LOOPBACK)).toMatchObject({ httpStatus: 200 });
    second.close();
  });
});

test.each([301, 302, 303, 307, 308])(
  'a redirect, %i, to an internal address → counts as the response, and is not followed',
  async (code) => {
    const inside = await listen(
      createServer((_, response) => response.end()),
      '127.0.0.1',
    );
    const location = `http://127.0.0.1:${inside.port}/`;
    const outside = await listen(
      createServer((_, response) => response.writeHead(code, { location }).end()),
      '127.0.0.2',
    );
    const outcome = await attempt(`http://127.0.0.2:${outside.port}/`, ['127.0.0.0/8']);
    expect(outcome).toMatchObject({ kind: 'answered', httpStatus: code });
    expect([outside.requests.length, inside.connections]).toEqual([1, 0]);
    outside.close();
    inside.close();
  },
);

test('a proxy in the environment → not used', async () => {
  const proxy = await listen(
    createServer((_, response) => response.end()),
    '127.0.0.1',
  );
  const variables = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
  const before = variables.map((name) => process.env[name]);
  for (const name of variables)
    process.env[name] = name.startsWith('NODE') ? '1' : `http://127.0.0.1:${proxy.port}`;
  try {
    expect(await attempt(`http://127.0.0.9:${everywhere.port}/`, LOOPBACK)).toMatchObject({
      httpStatus: 200,
    });
    expect(proxy.connections).toBe(0);
  } finally {
    for (const [place, name] of variables.entries()) {
      if (before[place] === undefined) delete process.env[name];
      else process.env[name] = before[place];
    }
    proxy.close();
  }
});

describe('the check of addresses', () => {
  test('public addresses are allowed', () =>
    expectEach(
      ['93.184.215.14', '8.8.8.8', '1.1.1.1', '2606:4700:4700::1111', '2a00:1450:4009:81f::200e'],
      (address) => {
        expect(judge(address, [])).toBe('public');
        const host = address.includes(':') ? `[${address}]` : address;
        expect(readDestination(`https://${host}/`, [])).toMatchObject({
          hostname: address,
          secure: true,
          port: 443,
        });
        expect(readDestination(`http://${host}/`, [readNetwork('10.0.0.0/8') ?? expect.fail()])).toBe(
          'not_https',
        );
      },
    ));

  test('a misspelt network is invalid', () =>
    expectEach(
      [
        '127.0.0.1',
        '127.0.0.1/33',
        '::1/129',
        '127.1/8',
        '0x7f.0.0.1/8',
        'localhost/8',
        '10.0.0.0/8/8',
        '10.0.0.0/',
        'fe80::1%eth0/64',
      ],
      (text) => expect(readNetwork(text)).toBeUndefined(),
    ));
});
