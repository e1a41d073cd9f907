// The documents about the API as served: compressed for clients that accept it, and without any other host.
import { get } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

interface Got {
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly bytes: Buffer;
}

/** As it came: `fetch` would undo the compression. */
function got(path: string, accepted?: string): Promise<Got> {
  const url = new URL(path, gateway.baseUrl);
  const headers = accepted === undefined ? {} : { 'accept-encoding': accepted };
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => resolve({ headers: response.headers, bytes: Buffer.concat(pieces) }));
    }).on('error', reject);
  });
}

const DOCUMENTS = [
  ['/docs', 'text/html; charset=utf-8'],
  ['/docs/reference.css', 'text/css; charset=utf-8'],
  ['/docs/reference.js', 'text/javascript; charset=utf-8'],
  ['/v1/openapi.json', 'application/json; charset=utf-8'],
] as const;

describe.each(DOCUMENTS)('%s', (path, type) => {
  test('clients that accept br or gzip get that encoding, and all get the same text', async () => {
    const plain = await got(path);
    expect(plain.headers).toMatchObject({
      'content-type': type,
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    });
    expect(plain.headers).not.toHaveProperty('content-encoding');
    const br = await got(path, 'gzip, deflate, br, zstd');
    expect(br.headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(br.bytes).equals(plain.bytes)).toBe(true);
    const gzip = await got(path, 'GZIP;q=0.5, br;q=0');
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
    expect(br.bytes.length).toBeLessThan(plain.bytes.length / 2);
  });

  test('an Accept-Encoding without br and gzip → not compressed', () =>
    expectEach(['identity', '*;q=0', 'brotli', 'br;q=0.000', ';;,,'], async (accepted) => {
      expect((await got(path, accepted)).headers).not.toHaveProperty('content-encoding');
    }));
});

test('/docs → runs only its own script, sends only to its own gateway, and cannot be framed', async () => {
  const { headers } = await got('/docs');
  const rules = String(headers['content-security-policy']).split('; ');
  expect(rules).toEqual([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]);
});
