// Answers that mean that something is wrong with the gateway, its database or an acquirer (502, 503 and 504): a warning for each
// kind and second, however many there are. Each request has its own line all the same.
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { Tally } from './tally.js';

/** More than there are. */
const MOST_KINDS = 20;

interface FirstOfKind {
  readonly status: number;
  /** The error code, or what is the matter. */
  readonly outcome: string;
  readonly route: string;
  readonly correlation_id: string | undefined;
  readonly trace_id: string | undefined;
  readonly audit: number | undefined;
}

export class FailedAnswers {
  readonly #tally: Tally<FirstOfKind>;

  constructor(log: Logger) {
    this.#tally = new Tally(MOST_KINDS, (first, count) => {
      const { status, outcome, route, correlation_id, trace_id, audit } = first;
      log.warn({ status, outcome, route, correlation_id, trace_id, audit, count }, 'failed answers');
    });
  }

  note({ routeOptions, context }: FastifyRequest, status: number, outcome: string, audit?: number): void {
    if (status < 502 || status > 504) return;
    this.#tally.add(`${status} ${outcome}`, {
      status,
      outcome,
      route: routeOptions.url ?? 'unknown',
      correlation_id: context.correlationId,
      trace_id: context.trace?.traceId,
      audit,
    });
  }
}
