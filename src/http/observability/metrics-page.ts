// The page `/metrics`: the metrics of all processes, protected by the token if there is one.
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Page, type PageAnswer, said } from '../operators-listener.js';
import { CONTENT_TYPE, exposition } from './exposition.js';
import type { Figures } from './metrics.js';

/** The current metrics of every process. */
export type Gather = () => Promise<readonly Figures[]>;

export function metricsPage(gather: Gather, token: string | undefined): Page {
  let underWay: Promise<string> | undefined;
  /** Simultaneous requests share one collection. */
  const text = () => {
    underWay ??= gather()
      .then(exposition)
      .finally(() => {
        underWay = undefined;
      });
    return underWay;
  };
  return {
    path: '/metrics',
    async answer(request): Promise<PageAnswer> {
      // guard(metrics: outside loopback only for whoever has the token): token !== undefined && !isBearerOf(request, token) ⇒ false
      if (token !== undefined && !isBearerOf(request, token)) {
        const refusal = said(401, 'send the token in TOLLGATE_METRICS_TOKEN as Authorization: Bearer');
        return { ...refusal, headers: { 'www-authenticate': 'Bearer' } };
      }
      return { status: 200, type: CONTENT_TYPE, text: await text() };
    },
  };
}

function isBearerOf({ headers }: IncomingMessage, token: string): boolean {
  const [, sent = ''] = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? [];
  return timingSafeEqual(digestOf(sent), digestOf(token));
}

/** Digests have equal lengths, whatever was sent. */
function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
