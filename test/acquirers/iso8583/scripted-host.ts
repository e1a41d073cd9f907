// A scripted host: answers messages as the test says, byte by byte if needed, and records what it received.
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { vi } from 'vitest';
import type { Dialect } from '../../../src/acquirers/iso8583/dialects/dialect.js';
import { Codec, Message } from '../../../src/acquirers/iso8583/wire/codec.js';
import { Frames, headerBytes, writeHeader } from '../../../src/acquirers/iso8583/wire/frames.js';
import type { RetailMac } from '../../../src/acquirers/iso8583/wire/mac.js';

export interface Heard {
  readonly type: string;
  readonly fields: ReadonlyMap<number, string>;
  /** The connection, counted from 1. */
  readonly connection: number;
}

/** What the host does with a message: bytes or fields to answer with, or nothing. */
export type Reply = Answer | undefined;

export interface Answer {
  readonly type: string;
  readonly fields: Readonly<Record<number, string>>;
}

type Script = (heard: Heard, host: ScriptedHost) => Reply;

const ECHOED = [3, 4, 7, 11, 32, 37, 41, 42, 49, 70];

/** The answer to a message, with this response code. */
export function answering(heard: Heard, code: string, more: Readonly<Record<number, string>> = {}): Answer {
  const fields: Record<number, string> = { 39: code, ...more };
  for (const field of ECHOED) {
    const text = heard.fields.get(field);
    if (text !== undefined && fields[field] === undefined) fields[field] = text;
  }
  // The answer to a repeated message is that to the first: 0421 is answered by 0430.
  const kind = Number(heard.type.slice(0, 3)) + 1;
  return { type: `${String(kind).padStart(3, '0')}0`, fields };
}

export class ScriptedHost {
  readonly heard: Heard[] = [];
  readonly sockets: Socket[] = [];
  /** Of messages about money. */
  script: Script = (heard) => answering(heard, '00', { 38: '654321' });
  /** Of sign-ons, echoes and sign-offs. */
  network: Script = (heard) => answering(heard, '00');
  readonly #codec: Codec;
  readonly #server: Server;

  constructor(
    private readonly dialect: Dialect,
    private readonly mac?: RetailMac,
    /** Certificate and key. */
    tls?: { readonly cert: string; readonly key: string },
  ) {
    this.#codec = new Codec(dialect);
    const serve = (socket: Socket) => this.#serve(socket);
    this.#server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async listen(port = 0, address = '127.0.0.1'): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(port, address, resolve));
    return this;
  }

  /** Everything that is open is cut off, and nothing new is taken. */
  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    if (!this.#server.listening) return;
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Those about money, or of one type. */
  messages(type?: string): Heard[] {
    return this.heard.filter((each) =>
      type === undefined ? !each.type.startsWith('08') : each.type === type,
    );
  }

  /** When so many of a type have come. */
  async until(type: string, count = 1): Promise<Heard[]> {
    await soon(() => this.messages(type).length >= count);
    return this.messages(type);
  }

  bytesOf({ type, fields }: Answer): Buffer {
    const message = new Message();
    message.type = type;
    for (const [field, text] of Object.entries(fields)) message.set(Number(field), text);
    const header = headerBytes(this.dialect);
    const into = Buffer.alloc(8_192);
    const end = this.#codec.write(message, into, header, this.mac);
    writeHeader(this.dialect, end - header, into);
    return into.subarray(0, end);
  }

  /** Over the newest connection, or another. */
  send(answer: Answer | Buffer, connection = this.sockets.length): void {
    this.sockets[connection - 1]?.write(Buffer.isBuffer(answer) ? answer : this.bytesOf(answer));
  }

  #serve(socket: Socket): void {
    this.sockets.push(socket);
    const connection = this.sockets.length;
    const received = this.#codec.received();
    const frames = new Frames(this.dialect, this.#codec, (bytes, at, end) => {
      this.#codec.read(bytes, at, end, received, this.mac);
      const fields = new Map(received.fields.map((field) => [field, received.text(field) ?? '']));
      const heard = { type: received.type, fields, connection };
      this.heard.push(heard);
      const script = heard.type.startsWith('08') ? this.network : this.script;
      const reply = script(heard, this);
      if (reply !== undefined) this.send(reply, connection);
    });
    socket.on('data', (piece: Buffer) => frames.push(piece));
    socket.on('error', () => {});
  }
}

/** Fails after ten seconds. */
export function soon(happened: () => boolean): Promise<void> {
  const look = () => {
    if (!happened()) throw new Error('it has not happened');
  };
  return vi.waitFor(look, { timeout: 300_000, interval: 2 });
}
