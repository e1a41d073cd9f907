// The headers of the answers, as the OpenAPI document describes them.
import type { ProblemCode } from '../problems.js';
import { REFUSAL_HEADERS } from '../refusals.js';

export interface OpenApiHeader {
  readonly description: string;
  readonly schema: unknown;
}

export const ANSWER_HEADERS = {
  'X-Correlation-Id': {
    description:
      'That of the request, where it was well-formed; made up by the gateway for a look-up that came without one.',
    schema: { type: 'string' },
  },
  'Cache-Control': {
    description: 'Always `no-store`: answers are not to be kept on the way.',
    schema: { type: 'string' },
  },
  Location: {
    description: 'The path of the transaction, customer or token that the answer is about.',
    schema: { type: 'string' },
  },
  'WWW-Authenticate': { description: 'How to authenticate: with HTTP Basic.', schema: { type: 'string' } },
  Allow: { description: 'The methods that this address takes.', schema: { type: 'string' } },
  'Retry-After': {
    description: 'After how many seconds to try again.',
    schema: { type: 'integer', minimum: 0 },
  },
} as const satisfies Record<string, OpenApiHeader>;

export type AnswerHeader = keyof typeof ANSWER_HEADERS;

const ON_EVERY_ANSWER: readonly AnswerHeader[] = ['X-Correlation-Id', 'Cache-Control'];
const OF_FAULTS: Partial<Record<ProblemCode, AnswerHeader>> = {
  method_not_allowed: 'Allow',
  acquirer_answer_unreadable: 'Location',
  acquirer_timeout: 'Location',
};

export function headersOfSuccess(located: boolean): Record<string, unknown> {
  return references([...ON_EVERY_ANSWER, ...(located ? (['Location'] as const) : [])]);
}

/** Those that an answer with any of these codes may have. */
export function headersOfFaults(codes: readonly ProblemCode[]): Record<string, unknown> {
  const fixed = new Set(codes.flatMap((code) => Object.keys(REFUSAL_HEADERS[code] ?? {})));
  const others = codes.map((code) => OF_FAULTS[code]);
  const names = Object.keys(ANSWER_HEADERS) as AnswerHeader[];
  return references([
    ...ON_EVERY_ANSWER,
    ...names.filter((name) => fixed.has(name.toLowerCase()) || others.includes(name)),
  ]);
}

function references(names: readonly AnswerHeader[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
