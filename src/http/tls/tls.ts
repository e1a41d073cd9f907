// TLS on the listener: which versions and ciphers there are, and what is known of a connection before and after its handshake.
import { constants, type X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket, TlsOptions } from 'node:tls';
import { REQUEST_TIMEOUT_MS } from '../../api/limits.js';
import type { CertificatePair } from './certificate.js';

/** Forward secrecy and authenticated encryption only. The first three are those of TLS 1.3. */
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

/** For a server, and for the context that takes another's place: Node forgets whatever is not said again. */
export function contextOptions({ certificate, key }: CertificatePair): TlsOptions {
  return {
    cert: certificate,
    key,
    // guard(TLS: no version before 1.2): 2 ⇒ 1
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
    // TLS 1.2 lets a client ask for one handshake after the other, each of which costs the server more than the client.
    // guard(TLS: a client cannot ask for one handshake after the other): SSL_OP_NO_RENEGOTIATION ⇒ SSL_OP_ALL
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}

export function serverOptions(pair: CertificatePair): TlsOptions {
  return {
    ...contextOptions(pair),
    // Everybody is asked for a certificate. Whose it has to be, and whether one is needed, its user says and no authority.
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: REQUEST_TIMEOUT_MS,
    // A client that has sent everything and says so still waits for its answers.
    allowHalfOpen: true,
  };
}

/** A connection whose handshake is not done: nothing can be said on it. */
export function isHandshaking(socket: Socket): boolean {
  return (socket as TLSSocket & { secureConnecting?: boolean }).secureConnecting === true;
}

/** The socket as it was accepted. Nothing that Node documents leads there. */
export function acceptedSocket(secure: Socket): Socket {
  return (secure as Socket & { _parent?: Socket })._parent ?? secure;
}

/** What the client has shown in its handshake, and has proved to have the key of. A resumed session has that of its first. */
export function clientCertificate({ socket }: IncomingMessage): X509Certificate | undefined {
  return 'getPeerX509Certificate' in socket ? (socket as TLSSocket).getPeerX509Certificate() : undefined;
}
