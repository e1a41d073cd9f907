// TLS on the listener: which clients it takes, and that connections are kept as they are without it. Attackers included.
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCertificate } from '../../testkit/certificates.js';
import {
  connect,
  errorOf,
  exchange,
  idsOf,
  purchaseText,
  requestText,
  statusesOf,
} from '../../testkit/connection.js';
import { gatedAcquirer } from '../../testkit/gated-acquirer.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { eventually } from '../../testkit/gateway-process.js';
import { logLines, requestLines, storedRows } from '../../testkit/requests.js';

const { certificate, key } = makeCertificate();
const TLS = { TLS_CERTIFICATE: certificate, TLS_KEY: key };
const KEEP = { Connection: 'keep-alive' };
/** More than there may be handshakes under way. */
const CROWD = 2_300;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ...TLS, ACQUIRER_DEADLINE_MS: '60000' } });
});
afterAll(() => gateway.close());

function plainConnection(): net.Socket {
  const { hostname, port } = new URL(gateway.baseUrl);
  return net.connect(Number(port), hostname).on('error', () => {});
}

/** By whatever way: a connection that is written to while it is cut off ends with an error. */
const closed = (socket: net.Socket) => new Promise((resolve) => socket.once('close', resolve));

/** What comes of a handshake: the version and cipher, or the reason why there is none. */
function handshake(options: tls.ConnectionOptions): Promise<string> {
  const { hostname, port } = new URL(gateway.baseUrl);
  return new Promise((resolve) => {
    const socket = tls.connect({ host: hostname, port: Number(port), ca: certificate, ...options }, () => {
      resolve(`${socket.getProtocol()} ${socket.getCipher().name}`);
      socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(`refused: ${error.code}`));
  });
}

/** The first such line, when there is one. */
const failedHandshake = (reason: string) =>
  eventually(async () =>
    logLines(gateway).find((line) => line.msg === 'failed TLS handshakes' && line.reason === reason),
  );

describe('handshakes', () => {
  test('the address of the gateway begins with https, and a purchase goes through', async () => {
    expect(gateway.baseUrl).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect((await gateway.api.purchase()).status).toBe(201);
  });

  test.each<[string, tls.ConnectionOptions, RegExp]>([
    ['TLS 1.3', {}, /^TLSv1\.3 TLS_/],
    ['TLS 1.2', { maxVersion: 'TLSv1.2' }, /^TLSv1\.2 ECDHE-ECDSA-AES256-GCM-SHA384$/],
    [
      'TLS 1.1',
      { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' },
      /^refused: ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION$/,
    ],
    [
      'TLS 1.2 without forward secrecy',
      { maxVersion: 'TLSv1.2', ciphers: 'AES256-GCM-SHA384' },
      /^refused: ERR_SSL_\w*HANDSHAKE_FAILURE$/,
    ],
    [
      'TLS 1.2 with CBC',
      { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES256-SHA384' },
      /^refused: ERR_SSL_\w*HANDSHAKE_FAILURE$/,
    ],
    ['HTTP/2 only', { ALPNProtocols: ['h2'] }, /^refused: ERR_SSL_\w*NO_APPLICATION_PROTOCOL$/],
    ['a certificate that it does not trust', { ca: makeCertificate().certificate }, /^refused: /],
    // catches(TLS: no version before 1.2)
  ])(
    'the listener accepts TLS 1.2 with forward secrecy, and nothing less: %s',
    async (_, options, outcome) => {
      expect(await handshake(options)).toMatch(outcome);
    },
  );

  // catches(TLS: a client cannot ask for one handshake after the other)
  test('TLS 1.2, a client that asks for another handshake → refused, and the gateway goes on', async () => {
    const { socket, closed } = await connect(gateway, { maxVersion: 'TLSv1.2' });
    const failed = once(socket, 'error');
    (socket as tls.TLSSocket).renegotiate({}, () => {});
    expect(await failed).toMatchObject([{ code: 'ERR_SSL_NO_RENEGOTIATION' }]);
    socket.destroy();
    await closed;
    expect((await gateway.api.search('x')).status).toBe(200);
  });

  test('a request without TLS → no answer, the connection is closed, and a line in the log', async () => {
    const socket = plainConnection();
    socket.end(requestText(gateway, 'GET /v1/transactions/1'));
    let answered = '';
    socket.on('data', (chunk) => {
      answered += chunk.toString('latin1');
    });
    await closed(socket);
    expect(answered).not.toContain('HTTP/');
    expect(await failedHandshake('ERR_SSL_HTTP_REQUEST')).toMatchObject({ address: '127.0.0.1', count: 1 });
  });

  test.concurrent('a client that says nothing → cut off', async () => {
    const socket = plainConnection();
    await closed(socket.resume());
  });

  test.concurrent.each<[string, (socket: net.Socket) => unknown]>([
    ['says half of a hello', (socket) => socket.write(Buffer.from('16030100c8010000c40303', 'hex'))],
    [
      'says a byte now and then',
      (socket) => {
        const hello = Buffer.from(`16030100c8010000c40303${'00'.repeat(100)}`, 'hex');
        let at = 0;
        const saying = setInterval(() => socket.write(hello.subarray(at, ++at)), 100);
        socket.once('close', () => clearInterval(saying));
      },
    ],
    // catches(TLS: nothing is written where the handshake has failed)
  ])('a client that %s instead of a handshake → cut off', async (_, say) => {
    const socket = plainConnection();
    await once(socket, 'connect');
    say(socket);
    socket.resume();
    await closed(socket);
    await failedHandshake('ERR_TLS_HANDSHAKE_TIMEOUT');
  });

  test('random bytes → the connection is closed, and none of the bytes are in the log', async () => {
    const socket = plainConnection();
    socket.end(Buffer.from(`8d3fa1c0fe007711${'41'.repeat(300)}`, 'hex')).resume();
    await closed(socket);
    expect((await gateway.api.search('x')).status).toBe(200);
    expect(gateway.logged()).not.toContain('AAAA');
  });
});

describe('what holds without TLS holds with it', () => {
  const HEAD = 'GET /v1/transactions/1 HTTP/1.1\r\nHost: gateway\r\nX-Correlation-Id: theirs\r\n';
  test.each<[string, string, number, string]>([
    ['garbage', 'garbage\r\n\r\n', 400, 'malformed_request'],
    ['a header without a colon', `${HEAD}nonsense\r\n\r\n`, 400, 'malformed_request'],
    [
      'a length and chunks',
      `${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      'malformed_request',
    ],
    ['a header of 20 kB', `${HEAD}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
  ])(
    '%s → its error, its correlation ID if known, and the connection is closed',
    async (_, bytes, status, code) => {
      const text = await exchange(gateway, bytes);
      expect(statusesOf(text)).toEqual([status]);
      expect(errorOf(text)).toMatchObject({ error_code: code });
      // A head of more than 16 kB never comes in one record: nobody can be sure whose its end is.
      expect(idsOf(text)).toEqual(bytes.startsWith('GET') && status === 400 ? ['theirs'] : []);
      expect(requestLines(gateway).at(-1)).toMatchObject({ status, outcome: code, address: '127.0.0.1' });
    },
  );

  test.concurrent.each<[string, string | undefined, () => string]>([
    ['no byte at all', undefined, () => ''],
    ['half of the headers', undefined, () => requestText(gateway, 'GET /v1/transactions/1').slice(0, 60)],
    ['half of a body', 'half', () => purchaseText(gateway, 'half').slice(0, -10)],
  ])('%s → 408, and the connection is closed', async (_, id, text) => {
    const received = await exchange(gateway, text());
    expect(statusesOf(received)).toEqual([408]);
    expect(idsOf(received)).toEqual(id === undefined ? [] : [id]);
  });

  test('100 pipelined purchases, and the client closes its side → all answered, in order, then the end', async () => {
    const before = await storedRows(gateway);
    const ids = Array.from({ length: 100 }, (_, index) => `ahead-${index}`);
    const { socket, closed } = await connect(gateway, { allowHalfOpen: true });
    socket.end(ids.map((id) => purchaseText(gateway, id, KEEP)).join(''));
    const text = await closed;
    expect(idsOf(text)).toEqual(ids);
    expect(new Set(statusesOf(text))).toEqual(new Set([201]));
    expect(await storedRows(gateway)).toBe(before + 100);
  });

  test('2,000 requests in one go → all answered, in order, and others are served meanwhile', async () => {
    const text = (index: number) =>
      `GET /v1/nowhere HTTP/1.1\r\nHost: a\r\nX-Correlation-Id: ${index}\r\n\r\n`;
    const { socket, closed } = await connect(gateway, { allowHalfOpen: true });
    socket.end(Array.from({ length: 2_000 }, (_, index) => text(index)).join(''));
    expect((await gateway.api.search('x')).status).toBe(200);
    expect(idsOf(await closed)).toEqual(Array.from({ length: 2_000 }, (_, index) => String(index)));
  });

  test('a client that closes its side in the middle of the body → 400 with its correlation ID, and nothing is processed', async () => {
    const { socket, closed } = await connect(gateway, { allowHalfOpen: true });
    socket.end(purchaseText(gateway, 'half-body').slice(0, -20));
    const received = await closed;
    expect(statusesOf(received)).toEqual([400]);
    expect(idsOf(received)).toEqual(['half-body']);
    expect((await gateway.api.search('half-body')).body).toEqual({ results: [] });
  });

  test('a client that resets the connection while the acquirer is asked → its pipelined requests are never begun', async () => {
    const acquirer = gatedAcquirer();
    const gated = await testGateway({
      settings: { ...TLS, ACQUIRER_DEADLINE_MS: '60000' },
      acquirers: [acquirer],
    });
    const { hostname, port } = new URL(gated.baseUrl);
    const raw = net.connect(Number(port), hostname).on('error', () => {});
    const socket = tls.connect({ socket: raw, ca: certificate }).on('error', () => {});
    await once(socket, 'secureConnect');
    socket.write(purchaseText(gated, 'begun', KEEP) + purchaseText(gated, 'ahead', KEEP));
    await acquirer.reached;
    raw.resetAndDestroy();
    acquirer.release();
    const [found] = (await gated.api.search('begun')).body.results;
    await gated.api.decided(found.audit);
    await eventually(async () => requestLines(gated).find((line) => line.correlation_id === 'begun'));
    expect(await storedRows(gated)).toBe(1);
    expect(gated.logged()).not.toContain('"ahead"');
  });

  test('a client that does not read its answers → disconnected', async () => {
    const { socket, closed } = await connect(gateway);
    socket.pause();
    // More than the buffers of both sides hold.
    const many = 'GET /v1/openapi.json HTTP/1.1\r\nHost: gateway\r\n\r\n'.repeat(60);
    socket.write(many);
    const gone = new Promise((resolve) => socket.once('error', resolve).once('close', resolve));
    // Who does not read does not see the end either, until it writes.
    const writing = setInterval(() => socket.write('GET / HTTP/1.1\r\n'), 500);
    await gone;
    clearInterval(writing);
    socket.destroy();
    await closed;
  });
});

describe('many connections', () => {
  // catches(TLS: connections count after their handshake, too)
  test('more connections than allowed → idle ones are closed', async () => {
    const small = await testGateway({ settings: { ...TLS, MAX_CONNECTIONS: '5' } });
    const idle = await Promise.all(Array.from({ length: 5 }, () => connect(small)));
    const { socket, closed } = await connect(small);
    socket.write(requestText(small, 'GET /v1/transactions/1'));
    expect(statusesOf(await closed)).toEqual([404]);
    await Promise.race(idle.map((each) => each.closed));
    expect(idle.filter((each) => each.socket.destroyed)).toHaveLength(1);
    for (const each of idle) each.socket.destroy();
  });

  // catches(TLS: handshakes under way are bounded)
  test('thousands that begin a handshake and stop → the oldest are closed, and clients that finish are served', async () => {
    const crowd: net.Socket[] = [];
    // No more at once than the system keeps for the gateway: it would give it the rest later, and then who is served would be the oldest.
    while (crowd.length < CROWD) {
      const next = Array.from({ length: 100 }, plainConnection);
      await Promise.all(next.map((socket) => once(socket, 'connect')));
      crowd.push(...next);
    }
    expect((await gateway.api.purchase()).status).toBe(201);
    await expect
      .poll(() => logLines(gateway).some((line) => line.msg === 'too many connections' && line.closed > 0), {
        timeout: 300_000,
      })
      .toBe(true);
    for (const socket of crowd) socket.destroy();
    expect((await gateway.api.purchase()).status).toBe(201);
  });

  test('a gateway that stops during a handshake → does not wait for it', async () => {
    const stopping = await testGateway({ settings: TLS });
    const { hostname, port } = new URL(stopping.baseUrl);
    const socket = net.connect(Number(port), hostname).on('error', () => {});
    await once(socket, 'connect');
    const ended = once(socket.resume(), 'close');
    const { socket: secure, closed } = await connect(stopping);
    await stopping.close();
    await Promise.all([ended, closed]);
    expect(secure.destroyed).toBe(true);
    expect(stopping.logged()).not.toContain('ERR_TLS_HANDSHAKE_TIMEOUT');
  });
});
