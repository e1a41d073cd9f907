// The OpenAPI document, made from the same operations and schemas that serve.
import type { TSchema } from 'typebox';
import { FAULTS, type FaultCode } from '../values/faults.js';
import { BASE_PATH } from './hal.js';
import type { Operation } from './operation.js';
import { CorrelationId, CreatedTransaction, Errors, LookedUpTransaction, SearchResults } from './schemas.js';
import { CustomerList, CustomerObject, TokenList, TokenObject } from './vault-schemas.js';

export interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly OpenApiParameter[];
  readonly requestBody?: { required: true; content: Record<string, { schema: unknown; example?: unknown }> };
  readonly responses: Record<string, OpenApiResponse>;
}

export interface OpenApiParameter {
  readonly name: string;
  readonly in: 'header' | 'path' | 'query';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: unknown;
}

export interface OpenApiResponse {
  readonly description: string;
  readonly headers?: Record<string, { description: string; schema: unknown }>;
  readonly content?: Record<string, { schema: unknown }>;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { title: string; version: string; description: string };
  readonly servers: readonly { url: string }[];
  readonly security: readonly Record<string, readonly string[]>[];
  readonly paths: Record<string, Record<string, OpenApiOperation>>;
  readonly components: { schemas: Record<string, unknown>; securitySchemes: Record<string, unknown> };
}

const SHARED: readonly [string, TSchema][] = [
  ['CreatedTransaction', CreatedTransaction],
  ['LookedUpTransaction', LookedUpTransaction],
  ['SearchResults', SearchResults],
  ['Customer', CustomerObject],
  ['CustomerList', CustomerList],
  ['Token', TokenObject],
  ['TokenList', TokenList],
  ['Errors', Errors],
];

/** What any operation may answer. */
const ALWAYS: readonly FaultCode[] = [
  'malformed_request',
  'unauthenticated',
  'request_timeout',
  'too_many_requests',
  'headers_too_large',
  'internal_error',
];
const OF_FIELDS: readonly FaultCode[] = [
  'field_missing',
  'field_type',
  'field_too_short',
  'field_too_long',
  'field_out_of_range',
  'field_format',
  'field_charset',
  'card_number_misplaced',
];
const OF_READING: readonly FaultCode[] = ['unavailable'];
/** A deletion takes no body, but one may come. */
const OF_SENDING: readonly FaultCode[] = ['body_too_large', 'unsupported_media_type', 'not_processed'];
const OF_BODIES: readonly FaultCode[] = ['malformed_json', 'card_number_invalid', 'currency_unknown'];

export function openApiDocument<Services>(operations: readonly Operation<Services>[]): OpenApiDocument {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const operation of operations) {
    const path = paths[operation.route] ?? {};
    paths[operation.route] = path;
    path[operation.method.toLowerCase()] = describe(operation);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tollgate',
      version: '1.0.0',
      description:
        'Payment gateway and customer vault. For a merchant’s backend server; never call it from a browser.',
    },
    servers: [{ url: BASE_PATH }],
    security: [{ basic: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(SHARED),
      securitySchemes: { basic: { type: 'http', scheme: 'basic' } },
    },
  };
}

function describe<Services>(operation: Operation<Services>): OpenApiOperation {
  const { body, example, description, success } = operation;
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(description !== undefined && { description }),
    parameters: [
      {
        name: 'X-Correlation-Id',
        in: 'header',
        required: operation.method !== 'GET',
        ...(operation.creates && {
          description: 'Makes the request idempotent: it is won once for each merchant.',
        }),
        schema: CorrelationId,
      },
      ...parameters('path', operation.path),
      ...parameters('query', operation.query),
    ],
    ...(body !== undefined && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: body, ...(example !== undefined && { example }) } },
      },
    }),
    responses: {
      ...successResponse(operation, success),
      ...(operation.alsoSuccess !== undefined && successResponse(operation, operation.alsoSuccess)),
      ...faultResponses(operation),
    },
  };
}

function successResponse<Services>(
  { creates }: Operation<Services>,
  { status, description, schema }: Operation<Services>['success'],
): Record<string, OpenApiResponse> {
  return {
    [status]: {
      description,
      headers: {
        'X-Correlation-Id': { description: 'That of the request.', schema: { type: 'string' } },
        ...(creates && { Location: { description: 'The transaction.', schema: { type: 'string' } } }),
      },
      ...(schema !== undefined && { content: { 'application/json': { schema: reference(schema) } } }),
    },
  };
}

function parameters(place: 'path' | 'query', schema: TSchema | undefined): OpenApiParameter[] {
  if (schema === undefined) return [];
  const { properties, required = [] } = schema as unknown as {
    properties: Record<string, { description?: string }>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description !== undefined && { description }),
    schema: rest,
  }));
}

function faultResponses<Services>(operation: Operation<Services>): Record<string, OpenApiResponse> {
  const codes = [
    ...ALWAYS,
    ...OF_FIELDS,
    ...(operation.method === 'GET' ? OF_READING : OF_SENDING),
    ...(operation.body ? OF_BODIES : []),
    ...operation.faults,
  ];
  const statuses = new Set(codes.map((code) => FAULTS[code].status));
  return Object.fromEntries(
    [...statuses].map((status) => [
      status,
      {
        description: codes
          .filter((code) => FAULTS[code].status === status)
          .map((code) => `\`${code}\``)
          .join(', '),
        content: { 'application/json': { schema: reference(Errors) } },
      },
    ]),
  );
}

function reference(schema: TSchema): unknown {
  const shared = SHARED.find(([, known]) => known === schema);
  return shared === undefined ? schema : { $ref: `#/components/schemas/${shared[0]}` };
}
