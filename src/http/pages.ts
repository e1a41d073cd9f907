// Pages besides the operations: the documents, liveness and readiness.
import type { LinkReport } from '../acquirers/links.js';
import { BASE_PATH } from '../api/operations/hal.js';
import type { LostTime } from '../payments/processes/lost-time.js';
import { type AnswerServices, JSON_TYPE, refuse, send } from './answers.js';
import type { Exchange, Route } from './exchange.js';

export interface PageServices extends AnswerServices {
  readonly documents: Documents;
  /** Undefined if the process can serve; otherwise what is missing. */
  readonly notReady: () => Promise<string | undefined>;
  /** The links of this process. A link that is down does not make the process unready: everything else goes on. */
  readonly links: () => readonly LinkReport[];
  /** A period that the database has lost and nobody has reconciled; payments go on. */
  readonly lostTime: () => LostTime | undefined;
}

const HTML_TYPE = 'text/html; charset=utf-8';
const FRONT_HEADERS = {
  'content-type': HTML_TYPE,
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
};
/** The page loads styles and script from here, calls operations here, and nothing else. */
const REFERENCE_HEADERS = {
  'content-type': HTML_TYPE,
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
};

/** Browsers must not guess the type. */
const NOT_GUESSED = { 'x-content-type-options': 'nosniff' };

/** By their paths. */
export function pagesOf(services: PageServices): ReadonlyMap<string, Route> {
  const pages = new Map<string, Route>();
  const { failedAnswers, documents, draining, notReady, links, lostTime, requests } = services;
  const add = (pattern: string, page: string, begin: Route['begin']) =>
    pages.set(pattern, { pattern, figures: requests.of(page), begin });
  add('/', 'front', (exchange) => {
    const page = wantsPage(exchange.headers.accept);
    const headers = page ? FRONT_HEADERS : { 'content-type': JSON_TYPE };
    send(
      services,
      setAll(exchange, headers).set('vary', 'accept'),
      { status: 200 },
      page ? FRONT_PAGE : FRONT_DOCUMENT,
    );
  });
  const serve = (path: string, page: string, name: DocumentName, headers: Record<string, string>) =>
    add(path, page, (exchange) => {
      const form = formFor(documents[name], exchange);
      send(services, setAll(exchange, { ...NOT_GUESSED, ...headers }), { status: 200 }, form);
    });
  serve(`${BASE_PATH}/openapi.json`, 'openapi', 'openApi', { 'content-type': JSON_TYPE });
  serve('/docs', 'docs', 'reference', REFERENCE_HEADERS);
  serve('/docs/reference.css', 'docs', 'style', { 'content-type': 'text/css; charset=utf-8' });
  serve('/docs/reference.js', 'docs', 'script', { 'content-type': 'text/javascript; charset=utf-8' });
  // guard(metrics: not on the merchants’ port): add('/livez' ⇒ add('/metrics', 'metrics', (exchange) => send(services, exchange, { status: 200 }, 'tollgate_up 1')); ⏎ add('/livez'
  add('/livez', 'livez', (exchange) =>
    send(services, exchange.set('content-type', JSON_TYPE), { status: 200 }, '{"status":"live"}'),
  );
  const answerReady = async (exchange: Exchange) => {
    const missing = draining() ? 'shutting down' : await notReady();
    const [status, said] =
      missing === undefined ? [200, { status: 'ready' }] : [503, { status: 'not ready', reason: missing }];
    failedAnswers.note(exchange, status, 'not ready');
    const body = JSON.stringify({ ...said, ...lostTimeShown(lostTime()), ...linksShown(links()) });
    send(services, exchange.set('content-type', JSON_TYPE), { status }, body);
  };
  add('/readyz', 'readyz', (exchange) => {
    answerReady(exchange).catch((error: unknown) => refuse(services, exchange, error));
  });
  return pages;
}

function setAll(exchange: Exchange, headers: Readonly<Record<string, string>>): Exchange {
  for (const [name, value] of Object.entries(headers)) exchange.set(name, value);
  return exchange;
}

function lostTimeShown(lost: LostTime | undefined): { readonly lost_time?: object } {
  if (lost === undefined) return {};
  const { fromMs, untilMs } = lost;
  return { lost_time: { from: new Date(fromMs).toISOString(), until: new Date(untilMs).toISOString() } };
}

/** Names and counts only, nothing about hosts: the page needs no credentials. */
function linksShown(reports: readonly LinkReport[]): { readonly links?: readonly object[] } {
  if (reports.length === 0) return {};
  return {
    links: reports.map(({ name, signedOn, connections }) => ({ name, signed_on: signedOn, connections })),
  };
}

/** As bytes, because encoding and compressing such a long text for every answer is slow. */
export interface ServedDocument {
  readonly plain: Buffer;
  readonly br: Buffer;
  readonly gzip: Buffer;
}

export type DocumentName = 'openApi' | 'reference' | 'style' | 'script';
export type Documents = Readonly<Record<DocumentName, ServedDocument>>;

/** The smallest first. */
const COMPRESSED = ['br', 'gzip'] as const;

/** Chooses the encoding that the client accepts, and sets its headers. */
function formFor(document: ServedDocument, exchange: Exchange): Buffer {
  exchange.set('vary', 'accept-encoding');
  const form = COMPRESSED.find((encoding) => takes(exchange.headers['accept-encoding'], encoding));
  if (form === undefined) return document.plain;
  exchange.set('content-encoding', form);
  return document[form];
}

/** Whether the header names the encoding without refusing it. */
function takes(accepted = '', encoding: string): boolean {
  return accepted
    .toLowerCase()
    .split(',')
    .map((each) => each.trim().split(/\s*;\s*/))
    .some(([name, quality = 'q=1']) => name === encoding && !/^q=0(\.0*)?$/.test(quality));
}

/** `/` has a page for people and a document for programs, with links to everything public. */
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

/** Whether the client wants the page: browsers say so, and a client that says nothing is a program. */
function wantsPage(accept: string | undefined): boolean {
  return qualityOf(accept, 'text/html') > qualityOf(accept, 'application/json');
}

/** The quality of a media type, from 0 to 1, by its exact name: clients that accept anything get the document. */
function qualityOf(accept: string | undefined, type: string): number {
  for (const range of accept?.toLowerCase().split(',') ?? []) {
    const [name, ...parameters] = range.split(';').map((part) => part.trim());
    if (name !== type) continue;
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length);
    return quality === undefined ? 1 : Number(quality) || 0;
  }
  return 0;
}
