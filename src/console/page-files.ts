// The files of the operators' page, which the build puts into dist/console. They are read at the start and served from memory, so that
// a running gateway keeps its page while another build replaces the files.
import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Beside the compiled sources, wherever this runs from. */
const FOLDER = new URL('../../dist/console/', import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/** Encodings in order of preference, with the endings of their files. */
const ENCODINGS = { br: '.br', gzip: '.gz' };

interface PageFile {
  readonly type: string | undefined;
  readonly tag: string;
  /** By encoding; `identity` is always there. */
  readonly contents: ReadonlyMap<string, Buffer>;
}

export interface PageFiles {
  readonly index: PageFile | undefined;
  /** By their names in `assets/`, which carry a hash of their content. */
  readonly assets: ReadonlyMap<string, PageFile>;
}

export async function readPageFiles(): Promise<PageFiles> {
  const folder = new URL('assets/', FOLDER);
  const names = (await readdir(folder).catch(() => [])).filter((name) => extname(name) in TYPES);
  const index = await readPageFile(new URL('index.html', FOLDER)).catch(() => undefined);
  const assets = names.map(async (name) => [name, await readPageFile(new URL(name, folder))] as const);
  return { index, assets: new Map(await Promise.all(assets)) };
}

export function addPageFiles(app: FastifyInstance, { index, assets }: PageFiles): void {
  const method = ['GET', 'HEAD'];
  app.route({ method, url: '/', handler: (request, reply) => send(request, reply, index, 'no-cache') });
  app.route<{ Params: { '*': string } }>({
    method,
    url: '/assets/*',
    handler: (request, reply) =>
      send(request, reply, assets.get(request.params['*']), 'public, max-age=31536000, immutable'),
  });
}

async function readPageFile(url: URL): Promise<PageFile> {
  const content = await readFile(url);
  const contents = new Map<string, Buffer>();
  for (const [encoding, ending] of Object.entries(ENCODINGS)) {
    const compressed = await readFile(new URL(`${url.href}${ending}`)).catch(() => undefined);
    if (compressed !== undefined) contents.set(encoding, compressed);
  }
  return {
    type: TYPES[extname(url.pathname)],
    tag: `"${hash('sha256', content, 'base64url').slice(0, 22)}"`,
    contents: contents.set('identity', content),
  };
}

function send(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  file: PageFile | undefined,
  caching: string,
): void {
  if (file === undefined) {
    const response = reply.raw.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' });
    response.end('The console’s page is not built: run `npm run build`.\n');
    return;
  }
  const { type, tag, contents } = file;
  const accepted = String(headers['accept-encoding'] ?? '');
  const isAccepted = (encoding: string) => new RegExp(`\\b${encoding}\\b`).test(accepted);
  const encoding = [...contents.keys()].find(isAccepted) ?? 'identity';
  reply.headers({ 'content-type': type, 'cache-control': caching, etag: tag, vary: 'accept-encoding' });
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  if (headers['if-none-match'] === tag) reply.code(304).send();
  else reply.send(contents.get(encoding));
}
