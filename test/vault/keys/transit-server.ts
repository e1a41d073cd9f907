// A server that speaks HashiCorp Vault's Transit interface, as far as its documentation describes it: encrypt and decrypt
// with associated data, versions of a key, tokens and namespaces, and Vault's way of refusing.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TransitServer {
  readonly address: string;
  /** The token that is accepted now. */
  readonly token: string;
  /** What was asked, without bodies. */
  readonly requests: { path: string; namespace: string | undefined }[];
  /** As `vault write -f transit/keys/NAME/rotate`. */
  rotate(): void;
  /** The token expires after so many seconds, unless it is renewed. */
  expiresAfter(seconds: number): void;
  /** How often it was renewed. */
  renewals(): number;
  /** From now on accepts only another token. */
  replaceToken(): string;
  /** Answers everything with this from now on. */
  break(status: number | 'garbage' | 'silence'): void;
  close(): Promise<void>;
}

export async function transitServer(keyName = 'tollgate'): Promise<TransitServer> {
  const newToken = () => `hvs.${randomBytes(16).toString('hex')}`;
  let token = newToken();
  let lease: { seconds: number; until: number } | undefined;
  let renewals = 0;
  const versions = [randomBytes(32)];
  const requests: TransitServer['requests'] = [];
  let broken: number | 'garbage' | 'silence' | undefined;

  const encrypt = (body: Record<string, string>) => {
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', versions.at(-1) as Buffer, iv);
    cipher.setAAD(Buffer.from(body.associated_data ?? '', 'base64'));
    const sealed = Buffer.concat([
      iv,
      cipher.update(Buffer.from(body.plaintext ?? '', 'base64')),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return {
      ciphertext: `vault:v${versions.length}:${sealed.toString('base64')}`,
      key_version: versions.length,
    };
  };
  const decrypt = (body: Record<string, string>) => {
    const [, version, encoded] = /^vault:v(\d+):(.+)$/.exec(body.ciphertext ?? '') ?? [];
    const sealed = Buffer.from(encoded ?? '', 'base64');
    const decipher = createDecipheriv(
      'aes-256-gcm',
      versions[Number(version) - 1] as Buffer,
      sealed.subarray(0, 12),
    );
    decipher.setAAD(Buffer.from(body.associated_data ?? '', 'base64'));
    decipher.setAuthTag(sealed.subarray(-16));
    const plain = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
    return { plaintext: plain.toString('base64') };
  };

  const answer = async (request: IncomingMessage): Promise<[number, unknown]> => {
    const ended = lease !== undefined && lease.until < Date.now();
    if (request.headers['x-vault-token'] !== token || ended) return [403, { errors: ['permission denied'] }];
    if (request.method === 'GET' && request.url === '/v1/auth/token/lookup-self') {
      const ttl = lease === undefined ? 0 : Math.ceil((lease.until - Date.now()) / 1_000);
      return [200, { data: { ttl, renewable: lease !== undefined } }];
    }
    if (request.method === 'POST' && request.url === '/v1/auth/token/renew-self') {
      if (lease === undefined) return [400, { errors: ['lease is not renewable'] }];
      renewals += 1;
      lease.until = Date.now() + lease.seconds * 1_000;
      return [200, { auth: { lease_duration: lease.seconds, renewable: true } }];
    }
    const operation = /^\/v1\/transit\/(encrypt|decrypt)\/(.+)$/.exec(request.url ?? '');
    if (request.method !== 'POST' || operation?.[2] !== keyName) return [404, { errors: [] }];
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, string>;
    try {
      return [
        200,
        { request_id: 'x', lease_id: '', data: operation[1] === 'encrypt' ? encrypt(body) : decrypt(body) },
      ];
    } catch {
      return [400, { errors: ['cipher: message authentication failed'] }];
    }
  };

  const server: Server = createServer(async (request, response) => {
    requests.push({
      path: request.url ?? '',
      namespace: request.headers['x-vault-namespace'] as string | undefined,
    });
    if (broken === 'silence') return;
    if (broken === 'garbage') return void response.end('<html>not vault</html>');
    const [status, body] = broken === undefined ? await answer(request) : [broken, { errors: ['sealed'] }];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get token() {
      return token;
    },
    expiresAfter: (seconds) => {
      lease = { seconds, until: Date.now() + seconds * 1_000 };
    },
    renewals: () => renewals,
    replaceToken: () => {
      token = newToken();
      lease = undefined;
      return token;
    },
    requests,
    rotate: () => void versions.push(randomBytes(32)),
    break: (how) => {
      broken = how;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
