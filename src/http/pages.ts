// What is served beside the operations: the documents, and whether the process lives and can serve.
import type { FastifyInstance } from 'fastify';
import type { LinkReport } from '../acquirers/links.js';
import { BASE_PATH } from '../api/hal.js';
import { type AnswerServices, JSON_TYPE, send } from './answers.js';
import { FRONT_DOCUMENT, FRONT_PAGE, wantsPage } from './front-page.js';

/** As bytes: to encode so long a text for every answer takes its time. */
export interface Documents {
  readonly openApi: Buffer;
  readonly reference: Buffer;
}

export interface PageServices extends AnswerServices {
  readonly documents: Documents;
  /** Empty when everything needed to serve is there, otherwise what is missing. */
  readonly notReady: () => Promise<string | undefined>;
  /** Of this process. One that is down says nothing about whether the process can serve: the others go on, and so does all else. */
  readonly links: () => readonly LinkReport[];
}

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
};

export function addPages(app: FastifyInstance, services: PageServices): void {
  const { failedAnswers, documents, draining, notReady, links, requests } = services;
  const counted = (page: string) => ({ config: { figures: requests.of(page) } });
  app.get('/', counted('front'), (request, reply) => {
    const page = wantsPage(request.headers.accept);
    reply.headers(page ? PAGE_HEADERS : { 'content-type': JSON_TYPE }).header('vary', 'accept');
    return send(services, request, reply, { status: 200 }, page ? FRONT_PAGE : FRONT_DOCUMENT);
  });
  app.get(`${BASE_PATH}/openapi.json`, counted('openapi'), (request, reply) =>
    send(services, request, reply.header('content-type', JSON_TYPE), { status: 200 }, documents.openApi),
  );
  app.get('/docs', counted('docs'), (request, reply) =>
    send(services, request, reply.headers(PAGE_HEADERS), { status: 200 }, documents.reference),
  );
  app.get('/livez', counted('livez'), (request, reply) =>
    send(services, request, reply.header('content-type', JSON_TYPE), { status: 200 }, '{"status":"live"}'),
  );
  app.get('/readyz', counted('readyz'), async (request, reply) => {
    const missing = draining() ? 'shutting down' : await notReady();
    const [status, said] =
      missing === undefined ? [200, { status: 'ready' }] : [503, { status: 'not ready', reason: missing }];
    failedAnswers.note(request, status, 'not ready');
    const body = JSON.stringify({ ...said, ...linksShown(links()) });
    return send(services, request, reply.header('content-type', JSON_TYPE), { status }, body);
  });
}

/** Names and counts, and nothing that would lead anybody to a host: whoever asks has shown no credentials. */
function linksShown(reports: readonly LinkReport[]): { readonly links?: readonly object[] } {
  if (reports.length === 0) return {};
  return {
    links: reports.map(({ name, signedOn, connections }) => ({ name, signed_on: signedOn, connections })),
  };
}
