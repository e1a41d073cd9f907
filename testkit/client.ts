// A merchant's backend server. Checks every response against the OpenAPI document.
import { randomUUID } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type OpenApiOperation, openApiDocument } from '../src/api/openapi/openapi.js';
import { OPERATIONS } from '../src/api/operations/operations.js';
import {
  basicAuthorization,
  type Json,
  type PaymentChange,
  paymentBody,
  type TargetChange,
  targetedBody,
} from './bodies.js';
import { type ClientTls, callOverHttp, httpsCaller } from './http-call.js';

export {
  BANK_ACCOUNT,
  CARD,
  type Json,
  type PaymentChange,
  paymentBody,
  type TargetChange,
} from './bodies.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Json;
  /** The first error code, if it is an error. */
  readonly code: string | undefined;
  /** All errors as `code location/location`. */
  readonly errors: string[];
}

export interface CallOptions {
  readonly method?: string;
  readonly correlationId?: string | null;
  readonly headers?: Record<string, string>;
  /** Sent unchanged. */
  readonly raw?: string | Uint8Array;
  readonly body?: unknown;
}

export interface Client {
  call(path: string, options?: CallOptions): Promise<Answer>;
  post(path: string, body: unknown, correlationId?: string | null): Promise<Answer>;
  get(path: string): Promise<Answer>;
  purchase(change?: PaymentChange): Promise<Answer>;
  preauthorise(change?: PaymentChange): Promise<Answer>;
  standaloneRefund(change?: PaymentChange): Promise<Answer>;
  complete(audit: number, amount: number | string, change?: TargetChange): Promise<Answer>;
  refund(audit: number, amount: number | string, change?: TargetChange): Promise<Answer>;
  void(audit: number, change?: TargetChange): Promise<Answer>;
  lookUp(audit: number): Promise<Answer>;
  search(correlationId: string, merchant?: number): Promise<Answer>;
  /** Looks the transaction up until its status is no longer `unknown`. */
  decided(audit: number): Promise<Json>;
}

/** What every transaction of a test merchant says. */
export const TEST_MODE = { 'GATEWAY.RESPONSE.KVP.MODE': 'test' };

export function client(
  baseUrl: string,
  credentials?: { username: string; password: string },
  /** Of a gateway that speaks TLS. */
  tls?: ClientTls,
): Client {
  const authorization = credentials && basicAuthorization(credentials);
  const send = tls ? httpsCaller(tls) : callOverHttp;

  async function call(path: string, options: CallOptions = {}): Promise<Answer> {
    const payload = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
    const method = options.method ?? (payload === undefined ? 'GET' : 'POST');
    const correlationId = options.correlationId === undefined ? randomUUID() : options.correlationId;
    const asked = {
      method,
      headers: {
        ...(authorization && { authorization }),
        ...(payload !== undefined && { 'content-type': 'application/json' }),
        ...(correlationId !== null && { 'x-correlation-id': correlationId }),
        ...options.headers,
      },
      ...(payload !== undefined && { body: payload }),
    };
    const response = await send(baseUrl + path, asked);
    const { text } = response;
    const body = text === '' ? undefined : JSON.parse(text);
    checkAgainstDocument(method, path, response, body);
    const errors: Json[] = body?.errors ?? [];
    return {
      status: response.status,
      headers: response.headers,
      text,
      body,
      code: errors[0]?.error_code,
      errors: errors.map((error) => `${error.error_code} ${error.location.join('/')}`),
    };
  }

  const post = (path: string, body: unknown, correlationId?: string | null) =>
    call(path, { body, ...(correlationId !== undefined && { correlationId }) });
  const pay =
    (path: string) =>
    (change: PaymentChange = {}) =>
      post(path, paymentBody(change), change.correlationId);
  const act = (operation: string, audit: number, amount: number | string | undefined, change: TargetChange) =>
    post(`/transactions/${audit}/${operation}`, targetedBody({ ...change, amount }), change.correlationId);

  return {
    call,
    post,
    get: (path) => call(path),
    purchase: pay('/transactions/purchase'),
    preauthorise: pay('/transactions/preauthorisation'),
    standaloneRefund: pay('/transactions/refund'),
    complete: (audit, amount, change = {}) => act('completion', audit, amount, change),
    refund: (audit, amount, change = {}) => act('refund', audit, amount, change),
    void: (audit, change = {}) => act('void', audit, undefined, change),
    lookUp: (audit) => call(`/transactions/${audit}`),
    search: (correlationId, merchant = 1) =>
      call(
        `/transactions?merchant_id=${merchant}&correlation_id_lookup=${encodeURIComponent(correlationId)}`,
      ),
    async decided(audit) {
      for (;;) {
        const { body } = await call(`/transactions/${audit}`);
        if (body.status.transaction_status_code !== 'unknown') return body;
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    },
  };
}

const DOCUMENT = openApiDocument(OPERATIONS);
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
// Clients must accept more than this gateway answers today: new members, and new values.
ajv.addKeyword({
  keyword: 'x-extensible-enum',
  validate: (values: unknown[], value: unknown) => values.includes(value),
});
ajv.addSchema(
  JSON.parse(
    JSON.stringify(DOCUMENT).replaceAll('"additionalProperties":true', '"additionalProperties":false'),
  ),
  'openapi',
);

/** Headers of the connection or of HTTP itself, not of the API. */
const HEADERS_OF_HTTP = ['connection', 'content-length', 'content-type', 'date', 'keep-alive'];

const ROUTES = Object.keys(DOCUMENT.paths).map((route) => ({
  route,
  pattern: new RegExp(`^${route.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

/** Throws if an answer is not in the document. */
function checkAgainstDocument(
  method: string,
  path: string,
  response: Pick<Response, 'status' | 'headers'>,
  body: unknown,
): void {
  const [withoutQuery = ''] = path.split('?');
  // /transactions/history is itself, and not an audit called "history".
  const template = Object.hasOwn(DOCUMENT.paths, withoutQuery)
    ? withoutQuery
    : ROUTES.find(({ pattern }) => pattern.test(withoutQuery))?.route;
  const operation = template && DOCUMENT.paths[template]?.[method.toLowerCase()];
  if (!operation) return;
  const documented = (operation as OpenApiOperation).responses[response.status];
  if (documented === undefined)
    throw new Error(`${method} ${path} answered ${response.status}, which is not documented`);
  const known = [...HEADERS_OF_HTTP, ...Object.keys(documented.headers ?? {})].map((name) =>
    name.toLowerCase(),
  );
  for (const name of response.headers.keys()) {
    if (!known.includes(name))
      throw new Error(`${method} ${path} answered ${response.status} with ${name}, which is not documented`);
  }
  const schema = documented.content?.['application/json']?.schema;
  if (schema === undefined) return;
  const pointer = `/paths/${escaped(template)}/${method.toLowerCase()}/responses/${response.status}/content/${escaped('application/json')}/schema`;
  const validate = ajv.getSchema(`openapi#${pointer}`);
  if (!validate?.(body)) {
    throw new Error(`${method} ${path} answered what is not documented: ${ajv.errorsText(validate?.errors)}`);
  }
  for (const { error_code } of (body as { errors?: Json[] }).errors ?? []) {
    if (!documented.description.includes(`\`${error_code}\``)) {
      throw new Error(`${method} ${path} answered ${response.status} ${error_code}, which is not documented`);
    }
  }
}

function escaped(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
}
