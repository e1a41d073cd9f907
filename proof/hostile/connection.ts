// Connections on which any bytes can be sent, one a character, and the responses that are read from them.
import net from 'node:net';
import type { RawCase } from './case.js';

const PATIENCE_MS = 20_000;
const QUIET_MS = 80;

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Head and body as they came. */
  readonly text: string;
}

/** All that came back on a connection, and whether the gateway closed the connection. */
export interface Exchanged {
  readonly text: string;
  readonly closed: boolean;
}

/** The responses in a text, in order, and what is left. `heads`: whether the answer at this place has no body. */
export function responsesIn(
  text: string,
  heads: (at: number) => boolean = () => false,
): { responses: HttpResponse[]; rest: string } {
  const responses: HttpResponse[] = [];
  let at = 0;
  for (;;) {
    const end = text.indexOf('\r\n\r\n', at);
    if (end === -1) break;
    const [line = '', ...fields] = text.slice(at, end).split('\r\n');
    const [, status] = /^HTTP\/1\.1 ([0-9]{3}) /.exec(line) ?? [];
    if (status === undefined) break;
    const headers: Record<string, string> = Object.fromEntries(
      fields.map((field) => [
        field.split(':', 1).join('').toLowerCase(),
        field.slice(field.indexOf(':') + 1).trim(),
      ]),
    );
    const interim = status.startsWith('1');
    const length = interim || heads(responses.length) ? 0 : Number(headers['content-length'] ?? 0);
    if (text.length < end + 4 + length) break;
    const head = text.slice(at, end);
    const body = Buffer.from(text.slice(end + 4, end + 4 + length), 'latin1').toString('utf8');
    at = end + 4 + length;
    if (!interim) responses.push({ status: Number(status), headers, body, text: `${head}\n\n${body}` });
  }
  return { responses, rest: text.slice(at) };
}

/** A connection that is kept: one request after the other. */
export class Kept {
  readonly #port: number;
  #socket: net.Socket | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** The response, or undefined if the gateway closed the connection or stayed silent. */
  async send(bytes: string): Promise<HttpResponse | undefined> {
    const fresh = this.#socket === undefined;
    const answer = await this.#once(bytes);
    // The gateway may close an old connection just when it is used again.
    return answer === undefined && !fresh ? this.#once(bytes) : answer;
  }

  #once(bytes: string): Promise<HttpResponse | undefined> {
    const socket = this.#socket ?? net.connect({ host: '127.0.0.1', port: this.#port, noDelay: true });
    this.#socket = socket;
    return new Promise((resolve) => {
      let text = '';
      const done = (answer: HttpResponse | undefined) => {
        clearTimeout(timer);
        socket.removeAllListeners();
        socket.on('error', () => {});
        if (answer === undefined || answer.headers.connection === 'close') {
          socket.destroy();
          this.#socket = undefined;
        } else socket.on('close', () => this.#forget(socket));
        resolve(answer);
      };
      const timer = setTimeout(() => done(undefined), PATIENCE_MS);
      socket.removeAllListeners('close');
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        const [answer] = responsesIn(text, () => bytes.startsWith('HEAD ')).responses;
        if (answer) done(answer);
      });
      socket.on('error', () => {});
      socket.on('close', () => done(undefined));
      socket.write(bytes, 'latin1');
    });
  }

  #forget(socket: net.Socket): void {
    if (this.#socket === socket) this.#socket = undefined;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }
}

/**
 * Sends the parts with pauses between them, and returns all that came back until the gateway closed; `closed` is false if it had said
 * nothing for long and had not closed. A slow machine takes its time for a thousand answers. When nothing has come for a moment it says
 * that no more will be sent, unless told to `hold` the connection; with `reset` it hangs up at once.
 */
export function exchange(
  port: number,
  { parts, pauseMs = 0, reset = false, hold = false }: Pick<RawCase, 'parts' | 'pauseMs' | 'reset' | 'hold'>,
): Promise<Exchanged> {
  return new Promise((resolve) => {
    const socket = net.connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true });
    let text = '';
    let closed = true;
    const timer = setTimeout(() => {
      closed = false;
      socket.destroy();
    }, PATIENCE_MS);
    let quiet: NodeJS.Timeout | undefined;
    const waitForQuiet = () => {
      clearTimeout(quiet);
      if (!hold) quiet = setTimeout(() => socket.end(), QUIET_MS);
    };
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      timer.refresh();
      if (quiet) waitForQuiet();
    });
    socket.on('error', () => {});
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      clearTimeout(timer);
      clearTimeout(quiet);
      resolve({ text, closed });
    });
    const next = (index: number) => {
      if (socket.destroyed || socket.writableEnded) return;
      const part = parts[index];
      if (part === undefined) {
        if (reset) socket.destroy();
        else waitForQuiet();
        return;
      }
      socket.write(part, 'latin1', () => {
        if (pauseMs > 0) setTimeout(() => next(index + 1), pauseMs);
        else next(index + 1);
      });
    };
    socket.on('connect', () => next(0));
  });
}
