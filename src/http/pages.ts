// What is served beside the operations: the documents, and whether the process lives and can serve.
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { LinkReport } from '../acquirers/links.js';
import { BASE_PATH } from '../api/operations/hal.js';
import type { LostTime } from '../payments/processes/lost-time.js';
import { type AnswerServices, JSON_TYPE, send } from './answers.js';

export interface PageServices extends AnswerServices {
  readonly documents: Documents;
  /** Empty when everything needed to serve is there, otherwise what is missing. */
  readonly notReady: () => Promise<string | undefined>;
  /** Of this process. One that is down says nothing about whether the process can serve: the others go on, and so does all else. */
  readonly links: () => readonly LinkReport[];
  /** What the database has lost and nobody has reconciled: payments go on meanwhile. */
  readonly lostTime: () => LostTime | undefined;
}

const HTML_TYPE = 'text/html; charset=utf-8';
const FRONT_HEADERS = {
  'content-type': HTML_TYPE,
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
};
/** It takes its looks and its script from here, tries out operations here, and knows nobody else. */
const REFERENCE_HEADERS = {
  'content-type': HTML_TYPE,
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
};

/** What it is, its type says. */
const NOT_GUESSED = { 'x-content-type-options': 'nosniff' };

export function addPages(app: FastifyInstance, services: PageServices): void {
  const { failedAnswers, documents, draining, notReady, links, lostTime, requests } = services;
  const counted = (page: string) => ({ config: { figures: requests.of(page) } });
  app.get('/', counted('front'), (request, reply) => {
    const page = wantsPage(request.headers.accept);
    reply.headers(page ? FRONT_HEADERS : { 'content-type': JSON_TYPE }).header('vary', 'accept');
    return send(services, request, reply, { status: 200 }, page ? FRONT_PAGE : FRONT_DOCUMENT);
  });
  const serve = (path: string, page: string, name: DocumentName, headers: Record<string, string>) =>
    app.get(path, counted(page), (request, reply) => {
      const form = formFor(documents[name], request.headers['accept-encoding'], reply);
      return send(services, request, reply.headers({ ...NOT_GUESSED, ...headers }), { status: 200 }, form);
    });
  serve(`${BASE_PATH}/openapi.json`, 'openapi', 'openApi', { 'content-type': JSON_TYPE });
  serve('/docs', 'docs', 'reference', REFERENCE_HEADERS);
  serve('/docs/reference.css', 'docs', 'style', { 'content-type': 'text/css; charset=utf-8' });
  serve('/docs/reference.js', 'docs', 'script', { 'content-type': 'text/javascript; charset=utf-8' });
  // guard(metrics: not on the merchants’ port): app.get( ⇒ app.get('/metrics', (_request, reply) => reply.send('tollgate_up 1')); ⏎ app.get(
  app.get('/livez', counted('livez'), (request, reply) =>
    send(services, request, reply.header('content-type', JSON_TYPE), { status: 200 }, '{"status":"live"}'),
  );
  app.get('/readyz', counted('readyz'), async (request, reply) => {
    const missing = draining() ? 'shutting down' : await notReady();
    const [status, said] =
      missing === undefined ? [200, { status: 'ready' }] : [503, { status: 'not ready', reason: missing }];
    failedAnswers.note(request, status, 'not ready');
    const body = JSON.stringify({ ...said, ...lostTimeShown(lostTime()), ...linksShown(links()) });
    return send(services, request, reply.header('content-type', JSON_TYPE), { status }, body);
  });
}

function lostTimeShown(lost: LostTime | undefined): { readonly lost_time?: object } {
  if (lost === undefined) return {};
  const { fromMs, untilMs } = lost;
  return { lost_time: { from: new Date(fromMs).toISOString(), until: new Date(untilMs).toISOString() } };
}

/** Names and counts, and nothing that would lead anybody to a host: whoever asks has shown no credentials. */
function linksShown(reports: readonly LinkReport[]): { readonly links?: readonly object[] } {
  if (reports.length === 0) return {};
  return {
    links: reports.map(({ name, signedOn, connections }) => ({ name, signed_on: signedOn, connections })),
  };
}

/** As bytes: to encode, let alone to compress, so long a text for every answer takes its time. */
export interface ServedDocument {
  readonly plain: Buffer;
  readonly br: Buffer;
  readonly gzip: Buffer;
}

export type DocumentName = 'openApi' | 'reference' | 'style' | 'script';
export type Documents = Readonly<Record<DocumentName, ServedDocument>>;

/** The smallest first. */
const COMPRESSED = ['br', 'gzip'] as const;

/** The form that the client takes, with the headers that say which it is. */
function formFor(document: ServedDocument, accepted: string | undefined, reply: FastifyReply): Buffer {
  reply.header('vary', 'accept-encoding');
  const form = COMPRESSED.find((encoding) => takes(accepted, encoding));
  if (form === undefined) return document.plain;
  reply.header('content-encoding', form);
  return document[form];
}

/** Whether an encoding is named, and not to say that it is unwanted. */
function takes(accepted = '', encoding: string): boolean {
  return accepted
    .toLowerCase()
    .split(',')
    .map((each) => each.trim().split(/\s*;\s*/))
    .some(([name, quality = 'q=1']) => name === encoding && !/^q=0(\.0*)?$/.test(quality));
}

/** At `/` a page for people and a document for programs lead to everything that needs no credentials. */
const PLACES = [
  { name: 'reference', href: '/docs', title: 'The API reference' },
  { name: 'openapi', href: `${BASE_PATH}/openapi.json`, title: 'The OpenAPI document, for programs' },
  { name: 'live', href: '/livez', title: 'Whether this process lives' },
  { name: 'ready', href: '/readyz', title: 'Whether it can serve' },
] as const;

const FRONT_DOCUMENT = JSON.stringify({
  name: 'Tollgate',
  description: 'A payment gateway and customer vault',
  _links: {
    self: { href: '/' },
    ...Object.fromEntries(PLACES.map(({ name, href, title }) => [name, { href, title }])),
  },
});

const FRONT_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Tollgate</title>
<style>
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 34rem; margin: 4rem auto; padding: 0 1.5rem; }
</style>
</head>
<body>
<main>
<h1>Tollgate</h1>
<p>A payment gateway and customer vault. Its interface is at <code>${BASE_PATH}</code>.</p>
<ul>
${PLACES.map(({ href, title }) => `<li><a href="${href}">${title}</a> <code>${href}</code></li>`).join('\n')}
</ul>
</main>
</body>
</html>
`;

/** Whether the page is wanted and not the document: browsers say so, and who says nothing is a program. */
function wantsPage(accept: string | undefined): boolean {
  return qualityOf(accept, 'text/html') > qualityOf(accept, 'application/json');
}

/** How much a media type is wanted, from 0 to 1, by its own name only: whoever takes anything gets the document. */
function qualityOf(accept: string | undefined, type: string): number {
  for (const range of accept?.toLowerCase().split(',') ?? []) {
    const [name, ...parameters] = range.split(';').map((part) => part.trim());
    if (name !== type) continue;
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length);
    return quality === undefined ? 1 : Number(quality) || 0;
  }
  return 0;
}
