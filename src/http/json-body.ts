// Reads the bodies of requests. There may be card numbers and CVVs in them: every piece is overwritten as soon as it was read.
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { BODY_LIMIT_BYTES } from '../api/limits.js';
import { refused } from '../api/problems.js';
import { parseJson } from '../values/json.js';

type Done = (error: Error | null, body?: unknown) => void;

/** In place of Fastify's own way, which copies the pieces and leaves them behind. */
export function readJson(request: FastifyRequest, payload: IncomingMessage, done: Done): void {
  const announced = Number(request.headers['content-length']);
  if (announced > BODY_LIMIT_BYTES) {
    done(refused('body_too_large'));
    return;
  }
  const pieces: Buffer[] = [];
  let length = 0;

  function onData(piece: Buffer): void {
    length += piece.length;
    pieces.push(piece);
    if (length > BODY_LIMIT_BYTES) end(refused('body_too_large'));
  }

  function onEnd(): void {
    const text = textOf(pieces, length);
    if (length !== announced && !Number.isNaN(announced)) end(refused('malformed_request'));
    // Many clients name a content type even where there is no content.
    else if (request.method === 'DELETE') end(null);
    else if (!isPlain(request)) end(refused('unsupported_media_type', ['header', 'Content-Encoding']));
    else parse(text, end);
  }

  function end(error: Error | null, body?: unknown): void {
    payload.off('data', onData).off('end', onEnd).off('error', end);
    for (const piece of pieces) piece.fill(0);
    done(error, body);
  }

  payload.on('data', onData).on('end', onEnd).on('error', end).resume();
}

function textOf(pieces: readonly Buffer[], length: number): string {
  const [only] = pieces;
  if (only !== undefined && pieces.length === 1) return only.toString('utf8');
  const whole = Buffer.concat(pieces, length);
  const text = whole.toString('utf8');
  whole.fill(0);
  return text;
}

function parse(text: string, done: Done): void {
  let body: unknown;
  try {
    body = parseJson(text);
  } catch {
    done(refused('malformed_json', ['body']));
    return;
  }
  done(null, body);
}

function isPlain({ headers: { 'content-encoding': encoding = 'identity' } }: FastifyRequest): boolean {
  return encoding.toLowerCase() === 'identity';
}
