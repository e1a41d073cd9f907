// Connection poolers before PostgreSQL that change what passes through them.
import { connect, createServer } from 'node:net';
import { onTestFinished } from 'vitest';
import type { PairedServer } from '../../testkit/pair.js';

/** Changes what passes. */
type Bend = (chunk: Buffer, fromServer: boolean) => Buffer;

/** Like a pooler that opens its own sessions: the process that it names is not the server's. */
export function forgingGreetings(): Bend {
  let done = false;
  return (chunk, fromServer) => {
    const at = fromServer && !done ? chunk.indexOf('K\0\0\0') : -1;
    if (at === -1) return chunk;
    done = true;
    chunk.writeInt32BE(chunk.readInt32BE(at + 5) ^ 1, at + 5);
    return chunk;
  };
}

/** Like a pooler that ignores settings it cannot pass on. */
export function droppingSettings(): Bend {
  let done = false;
  return (chunk, fromServer) => {
    const at = fromServer || done ? -1 : chunk.indexOf('options\0');
    if (at === -1) return chunk;
    done = true;
    const end = chunk.indexOf('\0', at + 'options\0'.length) + 1;
    const rest = Buffer.concat([chunk.subarray(0, at), chunk.subarray(end)]);
    rest.writeInt32BE(rest.length, 0);
    return rest;
  };
}

/** The address of the server by way of such a pooler. */
export async function relayed({ url, port }: PairedServer, pooler: () => Bend): Promise<string> {
  const relay = createServer((near) => {
    const bend = pooler();
    const far = connect(port, '127.0.0.1');
    near.on('data', (chunk) => far.write(bend(chunk, false))).on('close', () => far.destroy());
    far.on('data', (chunk) => near.write(bend(chunk, true))).on('close', () => near.destroy());
    for (const socket of [near, far]) socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void relay.close());
  const through = new URL(url);
  through.port = String((relay.address() as { port: number }).port);
  return through.href;
}
