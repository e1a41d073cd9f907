// Answers of the console: JSON, errors and downloads, each with what browsers have to be told.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { TLSSocket } from 'node:tls';
import { NO_STORE, SECURITY_HEADERS, STAY_WITH_TLS } from './headers.js';
import type { ErrorAnswer } from './problems.js';
import type { Download, Onward, Redirect } from './route.js';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Of every answer of the interface. */
export function headersFor({ socket }: Pick<ServerResponse, 'socket'>): Record<string, string> {
  return { ...SECURITY_HEADERS, ...NO_STORE, ...(socket instanceof TLSSocket && STAY_WITH_TLS) };
}

export function sendJson(
  { method }: IncomingMessage,
  response: ServerResponse,
  status: number,
  value: unknown,
): void {
  const text = value === undefined ? '' : JSON.stringify(value);
  response.writeHead(text === '' ? 204 : status, {
    ...headersFor(response),
    ...(text !== '' && { 'content-type': JSON_TYPE, 'content-length': Buffer.byteLength(text) }),
  });
  response.end(method === 'HEAD' ? undefined : text);
}

export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  { status, body }: ErrorAnswer,
  retryAfter: number | undefined,
): void {
  if (response.headersSent) {
    // What was begun cannot be unsaid: the browser sees that it was cut short.
    response.destroy();
    return;
  }
  if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter));
  // What was not read of the body is not waited for.
  if (!request.complete) response.setHeader('connection', 'close');
  sendJson(request, response, status, body);
  if (!request.complete) request.resume();
}

export async function sendDownload(
  response: ServerResponse,
  { name, type, content }: Download,
): Promise<void> {
  response.writeHead(200, {
    ...headersFor(response),
    'content-type': type,
    'content-disposition': `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`,
  });
  await pipeline(content, response);
}

export function sendRedirect(response: ServerResponse, { url }: Redirect): void {
  response.writeHead(302, { ...headersFor(response), location: url }).end();
}

/** A path of ours, which holds nothing that would have to be escaped. */
export function sendOnward(response: ServerResponse, { path }: Onward): void {
  const text = `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${path}"><title>Tollgate</title><a href="${path}">Go on</a></html>\n`;
  response.writeHead(200, {
    ...headersFor(response),
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
