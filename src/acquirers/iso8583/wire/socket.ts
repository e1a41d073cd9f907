// Sockets to a host, plain or with TLS.
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface Host {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** Certificates in PEM that are trusted in place of the usual ones. */
  readonly trusted?: string | undefined;
}

/** `onOpen`: it can be written to; with TLS the host has shown a certificate for its name. */
export function openSocket({ host, port, tls, trusted }: Host, onOpen: () => void): Socket {
  if (!tls) return connectPlain({ host, port }, onOpen);
  // An address is no name to ask for: the certificate is checked by the address then.
  const asked = isIP(host) === 0 ? { servername: host } : {};
  const more = trusted === undefined ? {} : { ca: trusted };
  return connectTls({ host, port, minVersion: 'TLSv1.2', ...asked, ...more }, onOpen);
}

/** The code where there is one: the system's words differ from machine to machine. */
export function reasonOf(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message;
}
