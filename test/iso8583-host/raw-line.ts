// A connection to the test host on which a test writes bytes by hand, and reads bytes.
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Host } from '../../testkit/iso8583-host/host.js';

export interface Line {
  /** Sends a message, and returns the answer. `closed` if the connection ends instead. */
  ask(...parts: string[]): Promise<string>;
}

/** Bytes in, bytes out: in hexadecimal digits for one dialect, in characters for the other. */
export async function openLine(host: Host): Promise<Line> {
  const isBinary = host.dialect.name === 'as2805';
  const socket = connect(host.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let unread = Buffer.alloc(0);
  let look = () => {};
  let closed = false;
  socket.on('data', (chunk) => {
    unread = Buffer.concat([unread, chunk]);
    look();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    closed = true;
    look();
  });
  return {
    ask(...parts) {
      const body = Buffer.from(parts.join(''), isBinary ? 'hex' : 'latin1');
      const length = isBinary
        ? body.length.toString(16).padStart(4, '0')
        : String(body.length).padStart(4, '0');
      socket.write(Buffer.concat([Buffer.from(length, isBinary ? 'hex' : 'latin1'), body]));
      return new Promise((resolve) => {
        look = () => {
          const prefix = isBinary ? 2 : 4;
          if (unread.length >= prefix) {
            const size = isBinary ? unread.readUInt16BE() : Number(unread.toString('latin1', 0, 4));
            const answer = unread.subarray(prefix, prefix + size);
            if (answer.length === size) {
              unread = unread.subarray(prefix + size);
              resolve(isBinary ? answer.toString('hex').toUpperCase() : answer.toString('latin1'));
            }
          }
          if (closed) resolve('closed');
        };
        look();
      });
    },
  };
}
