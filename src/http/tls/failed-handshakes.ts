// Handshakes that fail: a line of the log for each reason, address and second, however many there are.
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { Tally } from '../observability/tally.js';
import { acceptedSocket } from './tls.js';

/** Reasons and addresses that have a line of their own within a second. */
const MOST_KINDS = 10;
/** Whoever hangs up before it has said anything has not failed: so do those who only look whether somebody listens. */
const HUNG_UP = 'ECONNRESET';

interface FailedHandshake {
  readonly reason: string;
  readonly address: string;
}

export class FailedHandshakes {
  readonly #tally: Tally<FailedHandshake>;
  total = 0;

  constructor(log: Logger) {
    this.#tally = new Tally<FailedHandshake>(
      MOST_KINDS,
      ({ reason, address }, count) => log.warn({ reason, address, count }, 'failed TLS handshakes'),
      (count) => log.warn({ count }, 'further failed TLS handshakes'),
    );
  }

  note({ code = 'unknown' }: { code?: string }, socket: Socket): void {
    if (code === HUNG_UP) return;
    this.total += 1;
    // Of the one that was accepted it is known, also when it is closed.
    const address = acceptedSocket(socket).remoteAddress ?? 'unknown';
    this.#tally.add(`${code} ${address}`, { reason: code, address });
  }
}
