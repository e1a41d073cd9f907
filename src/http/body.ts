// Reads the JSON of a request. A body may contain card numbers and CVVs: each piece is overwritten once it is read.
import type { IncomingMessage } from 'node:http';
import { BODY_LIMIT_BYTES } from '../api/limits.js';
import { refused } from '../api/problems.js';
import { parseJson } from '../values/json.js';

type Done = (error: Error | null, body?: unknown) => void;

const JSON_TYPE = /^application\/json\s*(?:;|$)/i;
const WITHOUT_BODY: readonly string[] = ['GET', 'HEAD'];

/** Calls back at once if there is nothing to read. */
export function readBody(request: IncomingMessage, done: Done): void {
  const { method = '', headers } = request;
  if (WITHOUT_BODY.includes(method) || isEmpty(request)) done(null);
  else if (!JSON_TYPE.test(headers['content-type'] ?? '')) done(refused('unsupported_media_type'));
  else readJson(request, done);
}

function isEmpty({ headers }: IncomingMessage): boolean {
  const { 'content-type': type, 'content-length': length = '0', 'transfer-encoding': encoding } = headers;
  return type === undefined && length === '0' && encoding === undefined;
}

function readJson(request: IncomingMessage, done: Done): void {
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
    // Many clients send a content type even without content.
    else if (request.method === 'DELETE') end(null);
    else if (!isPlain(request)) end(refused('unsupported_media_type', ['header', 'Content-Encoding']));
    else parse(text, end);
  }

  function end(error: Error | null, body?: unknown): void {
    request.off('data', onData).off('end', onEnd).off('error', end);
    for (const piece of pieces) piece.fill(0);
    done(error, body);
  }

  request.on('data', onData).on('end', onEnd).on('error', end).resume();
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

function isPlain({ headers: { 'content-encoding': encoding = 'identity' } }: IncomingMessage): boolean {
  return encoding.toLowerCase() === 'identity';
}
