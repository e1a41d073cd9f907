// The files of the operators' page, as `npm ci` has built them into dist/console: read once, and served from memory.
import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname } from 'node:path';
import { NO_STORE, SECURITY_HEADERS } from './headers.js';

/** Beside the compiled sources, wherever this runs from. */
const FOLDER = new URL('../../dist/console/', import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
};

/** By what `Accept-Encoding` calls it, the smallest first. */
const FORMS = { br: '.br', gzip: '.gz' } as const;

interface PageFile {
  readonly type: string;
  readonly tag: string;
  readonly content: Buffer;
  readonly compressed: readonly { readonly encoding: string; readonly content: Buffer }[];
}

const NOT_BUILT = 'The console’s page is not built: run `npm run build`.\n';

export class PageFiles {
  private constructor(
    private readonly index: PageFile | undefined,
    /** By their names in `assets/`, which carry a hash of what is in them. */
    private readonly assets: ReadonlyMap<string, PageFile>,
  ) {}

  static async read(folder = FOLDER): Promise<PageFiles> {
    const assets = new URL('assets/', folder);
    const names = (await readdir(assets).catch(() => [])).filter((name) => extname(name) in TYPES);
    const index = await readPageFile(new URL('index.html', folder)).catch(() => undefined);
    const files = await Promise.all(
      names.map(async (name) => [name, await readPageFile(new URL(name, assets))] as const),
    );
    return new PageFiles(index, new Map(files));
  }

  /** Of a GET or a HEAD. What is no file is a place on the page, which the page itself finds. */
  answer(path: string, request: IncomingMessage, response: ServerResponse): void {
    const [, asset] = /^\/assets\/([\w.-]+)$/.exec(path) ?? [];
    if (path.startsWith('/assets/'))
      send(request, response, this.assets.get(asset ?? ''), 'public, max-age=31536000, immutable');
    else send(request, response, this.index, 'no-cache');
  }
}

async function readPageFile(url: URL): Promise<PageFile> {
  const content = await readFile(url);
  const compressed = await Promise.all(
    Object.entries(FORMS).map(async ([encoding, ending]) => ({
      encoding,
      content: await readFile(new URL(`${url.href}${ending}`)).catch(() => undefined),
    })),
  );
  return {
    type: TYPES[extname(url.pathname)] ?? 'application/octet-stream',
    tag: `"${hash('sha256', content, 'base64url').slice(0, 22)}"`,
    content,
    compressed: compressed.filter(
      (form): form is typeof form & { content: Buffer } => form.content !== undefined,
    ),
  };
}

function send(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  file: PageFile | undefined,
  caching: string,
): void {
  if (file === undefined) {
    response.writeHead(404, {
      ...SECURITY_HEADERS,
      ...NO_STORE,
      'content-type': 'text/plain; charset=utf-8',
    });
    response.end(NOT_BUILT);
    return;
  }
  const accepted = String(headers['accept-encoding'] ?? '');
  const form = file.compressed.find(({ encoding }) => new RegExp(`\\b${encoding}\\b`).test(accepted));
  const { content } = form ?? file;
  const isKnown = headers['if-none-match'] === file.tag;
  response.writeHead(isKnown ? 304 : 200, {
    ...SECURITY_HEADERS,
    'cache-control': caching,
    'content-type': file.type,
    etag: file.tag,
    vary: 'accept-encoding',
    ...(form !== undefined && { 'content-encoding': form.encoding }),
    ...(!isKnown && { 'content-length': content.length }),
  });
  response.end(isKnown || method === 'HEAD' ? undefined : content);
}
