// TLS on the listener: certificate, versions and ciphers, the state of a connection around its handshake, and failed handshakes.
import { constants, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { createSecureContext, type TLSSocket, type TlsOptions } from 'node:tls';
import type { Logger } from 'pino';
import { REQUEST_TIMEOUT_MS } from '../api/limits.js';
import { LogThrottle } from './observability/log-throttle.js';

/** Only forward secrecy and authenticated encryption. The first three are for TLS 1.3. */
const CIPHERS = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  // guard(TLS: no version before 1.2): ] ⇒ 'ALL@SECLEVEL=0', ⏎ ]
].join(':');

/** For a new server, and for a replaced context: Node forgets every option that is not repeated. */
export function contextOptions({ certificate, key }: CertificatePair): TlsOptions {
  return {
    cert: certificate,
    key,
    // guard(TLS: no version before 1.2): 2 ⇒ 1
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
    // TLS 1.2 lets clients ask for handshakes again and again, each more expensive for the server than for the client.
    // guard(TLS: a client cannot ask for one handshake after the other): SSL_OP_NO_RENEGOTIATION ⇒ SSL_OP_ALL
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}

export function serverOptions(pair: CertificatePair): TlsOptions {
  return {
    ...contextOptions(pair),
    // Every client is asked for a certificate. The user's settings, and no authority, decide whether one is needed and which.
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: REQUEST_TIMEOUT_MS,
    // A client that has closed its side still waits for its answers.
    allowHalfOpen: true,
  };
}

/** Nothing can be sent before the handshake is done. */
export function isHandshaking(socket: Socket): boolean {
  return (socket as TLSSocket & { secureConnecting?: boolean }).secureConnecting === true;
}

/** The accepted socket below a TLS socket. Node documents no way to it. */
export function acceptedSocket(secure: Socket): Socket {
  return (secure as Socket & { _parent?: Socket })._parent ?? secure;
}

/** The client's certificate, whose key the client has proved to have. A resumed session has that of its first handshake. */
export function clientCertificate({ socket }: IncomingMessage): X509Certificate | undefined {
  return 'getPeerX509Certificate' in socket ? (socket as TLSSocket).getPeerX509Certificate() : undefined;
}

/** In PEM. Can be sent to another process. */
export interface CertificatePair {
  /** The certificate, followed by the intermediate ones. */
  readonly certificate: string;
  readonly key: string;
}

export interface Certificate {
  readonly pair: CertificatePair;
  /** SHA-256 of the certificate, as `AA:BB:…`. */
  readonly fingerprint: string;
  readonly validFromMs: number;
  readonly expiresAtMs: number;
}

/** An unusable pair: truncated, not matching, or something else. */
export class UnusableCertificate extends Error {
  override readonly name = 'UnusableCertificate';
}

const BEGIN = /-----BEGIN CERTIFICATE-----/g;
const END = /-----END CERTIFICATE-----/g;

export function checkedCertificate(pair: CertificatePair): Certificate {
  const begun = pair.certificate.match(BEGIN)?.length ?? 0;
  if (begun === 0) throw new UnusableCertificate('the certificate is not in PEM');
  // A file that ends between two certificates looks complete; truncation anywhere else is detected.
  // guard(certificates: one that is cut short is said to be): !== pair.certificate.match(END)?.length ⇒ < 0
  if (begun !== pair.certificate.match(END)?.length) {
    throw new UnusableCertificate('the certificate is cut short');
  }
  const leaf = read(() => new X509Certificate(pair.certificate), 'the certificate cannot be read');
  // guard(certificates: the key belongs to the certificate): !leaf.checkPrivateKey(privateKey(pair.key)) ⇒ privateKey(pair.key) === undefined
  if (!leaf.checkPrivateKey(privateKey(pair.key))) {
    throw new UnusableCertificate('the key is not that of the certificate');
  }
  // OpenSSL reports some errors, such as a short key, only now.
  read(
    () => createSecureContext({ cert: pair.certificate, key: pair.key }),
    'the certificate cannot be used for TLS',
  );
  return {
    pair,
    fingerprint: leaf.fingerprint256,
    validFromMs: Date.parse(leaf.validFrom),
    expiresAtMs: Date.parse(leaf.validTo),
  };
}

function privateKey(pem: string): KeyObject {
  return read(
    () => createPrivateKey(pem),
    'the key cannot be read; it must be in PEM, whole, and without a passphrase',
  );
}

/** OpenSSL's reasons are left out, because they may quote the key file. */
function read<Result>(work: () => Result, otherwise: string): Result {
  try {
    return work();
  } catch {
    throw new UnusableCertificate(otherwise);
  }
}

const DAY_MS = 86_400_000;
const WARN_AT_DAYS = [1, 7, 30] as const;

/** How close a certificate is to its expiry: within 30, 7 or 1 days, or 0 if expired. Undefined if there is time. */
export function daysToExpiry({ expiresAtMs }: Certificate, nowMs: number): 0 | 1 | 7 | 30 | undefined {
  if (expiresAtMs <= nowMs) return 0;
  return WARN_AT_DAYS.find((days) => expiresAtMs - nowMs <= days * DAY_MS);
}

export function isInForce({ validFromMs, expiresAtMs }: Certificate, nowMs: number): boolean {
  return validFromMs <= nowMs && nowMs < expiresAtMs;
}

/** How many reasons and addresses get a log line of their own per second. */
const MOST_KINDS = 10;
/** A client that hangs up before sending anything has not failed: port checks do that. */
const HUNG_UP = 'ECONNRESET';

interface FailedHandshake {
  readonly reason: string;
  readonly address: string;
}

/** One log line for each reason, address and second, however many fail. */
export class FailedHandshakes {
  readonly #throttle: LogThrottle<FailedHandshake>;
  total = 0;

  constructor(log: Logger) {
    this.#throttle = new LogThrottle<FailedHandshake>(
      MOST_KINDS,
      ({ reason, address }, count) => log.warn({ reason, address, count }, 'failed TLS handshakes'),
      (count) => log.warn({ count }, 'further failed TLS handshakes'),
    );
  }

  note({ code = 'unknown' }: { code?: string }, socket: Socket): void {
    if (code === HUNG_UP) return;
    this.total += 1;
    // The accepted socket knows its address even after it is closed.
    const address = acceptedSocket(socket).remoteAddress ?? 'unknown';
    this.#throttle.add(`${code} ${address}`, { reason: code, address });
  }
}
