// The OpenAPI document, made from the operations and schemas that the gateway uses.
import type { Operation, Tag } from '../operation.js';
import { BASE_PATH } from '../operations/hal.js';
import { PROBLEMS, type ProblemCode, problem } from '../problems.js';
import { REFUSAL_HEADERS } from '../refusals.js';
import { CorrelationId, Errors } from '../schemas.js';
import type { TSchema } from '../typebox.js';
import { Components } from './openapi-components.js';

export interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
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
  readonly headers?: Record<string, unknown>;
  readonly content?: Record<string, { schema: unknown; example?: unknown }>;
  readonly links?: Record<string, OpenApiLink>;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { title: string; version: string; description: string; license: object };
  readonly servers: readonly { url: string }[];
  readonly security: readonly Record<string, readonly string[]>[];
  readonly tags: readonly { name: string; description: string }[];
  readonly paths: Record<string, Record<string, OpenApiOperation>>;
  readonly components: {
    schemas: Record<string, unknown>;
    headers: Record<string, OpenApiHeader>;
    securitySchemes: Record<string, unknown>;
  };
}

/** The version of the API, not of the program. The major number is that of the address. */
const INTERFACE_VERSION = '1.0.0';

const TAGS: Readonly<Record<Tag, string>> = {
  Transactions: 'Payments and what follows from them, looked up by audit or by correlation ID.',
  Checkouts: 'Pages on which payers pay, so that no card goes through the shop.',
  Schedules: 'Payments with a token that happen by themselves on their day.',
  Settlements: 'What each day comes to.',
  Customers: 'The vault: customers, and groupings of tokens in general.',
  Tokens: 'The vault: stored payment methods, each with a virtual PAN to pay with.',
  Events: 'What has changed, in order, so that nobody has to look up everything again and again.',
};

/** Problems that any operation may answer with. */
const ALWAYS: readonly ProblemCode[] = [
  'malformed_request',
  'unauthenticated',
  'operation_not_permitted',
  'method_not_allowed',
  'request_timeout',
  'organisation_moved',
  'too_many_requests',
  'headers_too_large',
  'internal_error',
  'http_version_not_supported',
];
const OF_FIELDS: readonly ProblemCode[] = [
  'field_missing',
  'field_type',
  'field_too_short',
  'field_too_long',
  'field_out_of_range',
  'field_format',
  'field_charset',
  'card_number_misplaced',
];
const OF_READING: readonly ProblemCode[] = ['unavailable'];
/** A deletion takes no body, but a client may send one. */
const OF_SENDING: readonly ProblemCode[] = ['body_too_large', 'unsupported_media_type', 'not_processed'];
const OF_BODIES: readonly ProblemCode[] = ['malformed_json', 'card_number_invalid', 'currency_unknown'];

export function openApiDocument<Services>(operations: readonly Operation<Services>[]): OpenApiDocument {
  const components = new Components();
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const operation of operations) {
    const path = paths[operation.route] ?? {};
    paths[operation.route] = path;
    path[operation.method.toLowerCase()] = describe(operation, components);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tollgate',
      version: INTERFACE_VERSION,
      description:
        'Payment gateway and customer vault. For a merchant’s backend server; never call it from a browser.',
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: BASE_PATH }],
    security: [{ basic: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: components.schemas,
      headers: ANSWER_HEADERS,
      securitySchemes: { basic: { type: 'http', scheme: 'basic' } },
    },
  };
}

function describe<Services>(operation: Operation<Services>, components: Components): OpenApiOperation {
  const { body, example, success, alsoSuccess } = operation;
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    description: operation.description,
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
      ...parameters('path', operation.path, components),
      ...parameters('query', operation.query, components),
    ],
    ...(body !== undefined && {
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: components.use(body), ...(example !== undefined && { example }) },
        },
      },
    }),
    responses: {
      ...successResponse(operation, success, components),
      ...(alsoSuccess !== undefined && successResponse(operation, alsoSuccess, components)),
      ...faultResponses(operation, components),
    },
  };
}

function successResponse(
  { id, exampleAnswer }: Operation<unknown>,
  { status, description, schema, located }: Operation<unknown>['success'],
  components: Components,
): Record<string, OpenApiResponse> {
  const links = linksOf(id);
  return {
    [status]: {
      description,
      headers: headersOfSuccess(located === true),
      ...(schema !== undefined && {
        content: { 'application/json': { schema: components.use(schema), example: exampleAnswer } },
      }),
      ...(links !== undefined && { links }),
    },
  };
}

function parameters(
  place: 'path' | 'query',
  schema: TSchema | undefined,
  components: Components,
): OpenApiParameter[] {
  if (schema === undefined) return [];
  const { properties, required = [] } = schema as unknown as {
    properties: Record<string, TSchema & { description?: string }>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description !== undefined && { description }),
    schema: components.use(rest),
  }));
}

function faultResponses<Services>(
  operation: Operation<Services>,
  components: Components,
): Record<string, OpenApiResponse> {
  const codes = [
    ...ALWAYS,
    ...OF_FIELDS,
    ...(operation.method === 'GET' ? OF_READING : OF_SENDING),
    ...(operation.body ? OF_BODIES : []),
    ...operation.problems,
  ];
  const statuses = new Set(codes.map((code) => PROBLEMS[code].status));
  return Object.fromEntries(
    [...statuses].map((status) => {
      const those = codes.filter((code) => PROBLEMS[code].status === status);
      return [
        status,
        {
          description: those.map((code) => `\`${code}\``).join(', '),
          headers: headersOfFaults(those),
          content: {
            'application/json': { schema: components.use(Errors), example: refusalOf(operation, those) },
          },
        },
      ];
    }),
  );
}

/** The first problem with this status; for field problems, one about a field that the operation has. */
function refusalOf<Services>(operation: Operation<Services>, [first]: readonly ProblemCode[]): unknown {
  if (first === undefined) throw new Error('a status has no code');
  if (first === 'unauthenticated') return exampleOfRefusal(first, ['header', 'Authorization']);
  if (!OF_FIELDS.includes(first)) return exampleOfRefusal(first, []);
  const { code, place } = wrongField(operation);
  return exampleOfRefusal(code, place);
}

function wrongField<Services>({ method, creates, body, query, path }: Operation<Services>): {
  code: ProblemCode;
  place: readonly string[];
} {
  const [needed] = requiredIn(body);
  const [asked] = requiredIn(query);
  if (creates) return { code: 'field_missing', place: ['body', 'transaction', 'reference'] };
  if (needed !== undefined) return { code: 'field_missing', place: ['body', needed] };
  if (method !== 'GET') return { code: 'field_missing', place: ['header', 'X-Correlation-Id'] };
  if (asked !== undefined) return { code: 'field_missing', place: ['query', asked] };
  const [named] = requiredIn(path);
  return named === undefined
    ? { code: 'field_out_of_range', place: ['query', 'limit'] }
    : { code: 'field_type', place: ['path', named] };
}

function requiredIn(schema: unknown): readonly string[] {
  return (schema as { required?: readonly string[] } | undefined)?.required ?? [];
}

interface OpenApiHeader {
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

type AnswerHeader = keyof typeof ANSWER_HEADERS;

const ON_EVERY_ANSWER: readonly AnswerHeader[] = ['X-Correlation-Id', 'Cache-Control'];
const OF_FAULTS: Partial<Record<ProblemCode, AnswerHeader>> = {
  method_not_allowed: 'Allow',
  acquirer_answer_unreadable: 'Location',
  acquirer_timeout: 'Location',
};

function headersOfSuccess(located: boolean): Record<string, unknown> {
  return references([...ON_EVERY_ANSWER, ...(located ? (['Location'] as const) : [])]);
}

/** The headers that an answer with any of these codes may have. */
function headersOfFaults(codes: readonly ProblemCode[]): Record<string, unknown> {
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

interface OpenApiLink {
  readonly operationId: string;
  readonly parameters: Readonly<Record<string, string>>;
}

type Parameters = OpenApiLink['parameters'];

/** If a request named no merchant, tools leave the parameter out. */
const IN_THE_SAME_VAULT = { merchant_id: '$request.query.merchant_id' };
const TRANSACTION = { audit: '$response.body#/audit' };
const CUSTOMER = { customer_id: '$response.body#/id', ...IN_THE_SAME_VAULT };
const TOKEN = {
  customer_id: '$request.path.customer_id',
  token_id: '$response.body#/id',
  ...IN_THE_SAME_VAULT,
};
const CUSTOMER_OF_TOKEN = { customer_id: '$request.path.customer_id', ...IN_THE_SAME_VAULT };

const FROM_TRANSACTION = (...operations: string[]) => to(TRANSACTION, 'lookUpTransaction', ...operations);
const FROM_CUSTOMER = to(
  CUSTOMER,
  'lookUpCustomer',
  'updateCustomer',
  'deleteCustomer',
  'listTokens',
  'createToken',
);
const FROM_TOKEN = {
  ...to(TOKEN, 'lookUpToken', 'updateToken', 'deleteToken'),
  ...to(CUSTOMER_OF_TOKEN, 'lookUpCustomer'),
};

/** By operation: what may follow, whether or not this particular answer allows it. */
const LINKS: Readonly<Record<string, Readonly<Record<string, OpenApiLink>>>> = {
  createPurchase: FROM_TRANSACTION('createRefund', 'voidTransaction'),
  createPreauthorisation: FROM_TRANSACTION('createCompletion', 'voidTransaction'),
  createCompletion: FROM_TRANSACTION('createRefund', 'voidTransaction'),
  createRefund: FROM_TRANSACTION('voidTransaction'),
  createStandaloneRefund: FROM_TRANSACTION('voidTransaction'),
  voidTransaction: FROM_TRANSACTION(),
  lookUpTransaction: to(TRANSACTION, 'createCompletion', 'createRefund', 'voidTransaction'),
  findOrCreateCustomer: FROM_CUSTOMER,
  lookUpCustomer: FROM_CUSTOMER,
  updateCustomer: FROM_CUSTOMER,
  createToken: FROM_TOKEN,
  lookUpToken: FROM_TOKEN,
  updateToken: FROM_TOKEN,
};

function to(parameters: Parameters, ...operations: readonly string[]): Record<string, OpenApiLink> {
  return Object.fromEntries(operations.map((operationId) => [operationId, { operationId, parameters }]));
}

function linksOf(operationId: string): Record<string, OpenApiLink> | undefined {
  return LINKS[operationId];
}

/** Problems whose answers link to a transaction. */
const LINKED: readonly ProblemCode[] = [
  'correlation_id_already_used',
  'acquirer_answer_unreadable',
  'acquirer_timeout',
];

/** A refusal, with the location of the problem if it has one. */
function exampleOfRefusal(code: ProblemCode, place: readonly string[]): unknown {
  const { message, location } = problem(code, place);
  return {
    errors: [{ error_code: code, error_message: message, location }],
    ...(LINKED.includes(code) && { _links: { transaction: { href: `${BASE_PATH}/transactions/1` } } }),
    ...(code === 'organisation_moved' && { _links: { base: { href: 'https://acme.pay.example/' } } }),
  };
}
