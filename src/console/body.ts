// The body of a request: JSON or a file, never more than the route takes, and read only once the sender is known.
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { refusedFor } from '../api/problems.js';
import type { Check } from '../api/validation.js';
import { parseJson } from '../values/json.js';
import { ConsoleProblem } from './problems.js';
import type { Route, UploadedFile } from './route.js';

/** No form of the page sends more. */
const JSON_BYTES = 64 * 1024;

/** A form on another site cannot send these types without a preflight request. */
const JSON_TYPE = /^application\/json *(; *charset=utf-8 *)?$/i;
const FILE_TYPE = /^application\/octet-stream$/i;

/** Calls `work` with the body that the route takes: none, JSON, or a file. */
export async function withBody(
  { options }: Route,
  check: Check,
  request: IncomingMessage,
  work: (body: unknown) => Promise<void>,
): Promise<void> {
  if (options.method === 'GET') return work(undefined);
  if ('fileBytes' in options && options.fileBytes !== undefined)
    return withFile(request, options.fileBytes, work);
  return work(await readJson(request, check));
}

async function readJson(request: IncomingMessage, check: Check): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of within(request, JSON_BYTES)) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  const type = request.headers['content-type'];
  if (type === undefined ? text !== '' : !JSON_TYPE.test(type))
    throw new ConsoleProblem('unsupported_media_type');
  const body = text === '' ? {} : parsed(text);
  // The database takes no such character, in no text.
  if (text.includes('\\u0000') || text.includes('\0')) throw new ConsoleProblem('field_charset', ['body']);
  const problems = check(body);
  if (problems.length > 0) throw refusedFor(problems);
  return body;
}

/** Puts the file on the disk while `work` goes on. */
async function withFile(
  request: IncomingMessage,
  mostBytes: number,
  work: (file: UploadedFile) => Promise<void>,
): Promise<void> {
  if (!FILE_TYPE.test(request.headers['content-type'] ?? ''))
    throw new ConsoleProblem('unsupported_media_type');
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-upload-'));
  try {
    const path = join(folder, 'file');
    const file = createWriteStream(path, { mode: 0o600 });
    await pipeline(within(request, mostBytes), file);
    await work({ path, bytes: file.bytesWritten });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function* within(request: IncomingMessage, mostBytes: number): AsyncGenerator<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) throw new ConsoleProblem('body_too_large');
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new ConsoleProblem('unsupported_media_type');
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > mostBytes) throw new ConsoleProblem('body_too_large');
    yield chunk as Buffer;
  }
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new ConsoleProblem('malformed_json');
  }
}
