// A server in Apple's place that gives merchants sessions: whatever this process asks for over HTTPS, meanwhile, goes to it.
import { Resolver } from 'node:dns/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { vi } from 'vitest';
import { makeCertificate } from './certificates.js';

export const APPLES_HOST = 'apple-pay-gateway.apple.com';
export const SESSION_ADDRESS = `https://${APPLES_HOST}/paymentservices/startSession`;
/** Of no meaning to anybody but Apple. */
export const SESSION = {
  merchantSessionIdentifier: 'SSH-1',
  nonce: '4111111111111111',
  signature: 'x'.repeat(4_000),
};

export interface SessionAsked {
  readonly host: string | undefined;
  /** SHA-256 of the certificate that whoever asks has shown. */
  readonly fingerprint: string;
  readonly body: unknown;
}

export class AppleHost {
  readonly asked: SessionAsked[] = [];
  /** What it answers next, instead of a session. */
  next: { readonly status: number; readonly text: string } | undefined;

  private constructor(private readonly server: Server) {}

  /** `names`: of others whose certificates it has, too. */
  static async start(names: readonly string[] = []): Promise<AppleHost> {
    const own = makeCertificate({ of: [APPLES_HOST, ...names] });
    const server = createServer({
      cert: own.certificate,
      key: own.key,
      requestCert: true,
      rejectUnauthorized: false,
    });
    const host = new AppleHost(server);
    server.on('request', (request, response) => {
      let text = '';
      request.on('data', (piece) => {
        text += piece;
      });
      request.on('end', () => {
        const { fingerprint256 = '' } = (request.socket as TLSSocket).getPeerCertificate() ?? {};
        host.asked.push({ host: request.headers.host, fingerprint: fingerprint256, body: JSON.parse(text) });
        const { status, text: said } = host.next ?? { status: 200, text: JSON.stringify(SESSION) };
        host.next = undefined;
        response.writeHead(status, { 'content-type': 'application/json' }).end(said);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const https = process.getBuiltinModule('node:https');
    const request = https.request as (options: object) => ReturnType<typeof https.request>;
    vi.spyOn(https, 'request').mockImplementation(((options: object) =>
      request({ ...options, host: '127.0.0.1', port, ca: own.certificate })) as typeof https.request);
    vi.spyOn(Resolver.prototype, 'resolve4').mockResolvedValue(['17.0.0.1'] as never);
    vi.spyOn(Resolver.prototype, 'resolve6').mockResolvedValue([]);
    return host;
  }

  close(): Promise<void> {
    vi.restoreAllMocks();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}
