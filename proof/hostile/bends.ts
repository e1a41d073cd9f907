// Requests made from the OpenAPI document: proper ones, and the same bent by one rule.
import { inAgreement, ofDisagreement } from './agreement.js';
import { ofBody } from './body.js';
import { ACCEPTED, type Bend, type MakeBend, type RequestCase, type RequestParts } from './case.js';
import type { ApiDocument, Operation } from './document.js';
import type { HostileGateway } from './gateway.js';
import { ofCorrelationId, ofCredentials, ofMerchants, ofParameters } from './head.js';
import type { Proper } from './proper.js';
import { jsonOf } from './values.js';

type Credentials = Pick<HostileGateway, 'username' | 'password'>;

const JSON_TYPE = 'application/json';

/** Every bend of every operation, each to be made again and again by chance. */
export function bendsOf(document: ApiDocument, proper: Proper, gateway: Credentials): Bend[] {
  const bends = document.operations.flatMap((operation) => ofOperation(operation, proper, gateway));
  return [...bends, ...document.templates.flatMap((template) => ofTemplate(document, template, proper))];
}

function ofOperation(operation: Operation, proper: Proper, gateway: Credentials): Bend[] {
  const bend: MakeBend = (what, change, wanted) => ({
    what: `${operation.id}: ${what}`,
    make: () => {
      const request = beginning(operation, proper, wanted);
      const expect = change(request);
      return { operation: operation.id, expect, fresh: expect.accepted === true, ...written(request) };
    },
  });
  return [
    ...Array.from({ length: 8 }, () => bend('proper', () => ACCEPTED)),
    ...ofBody(operation, proper, bend),
    ...ofParameters(operation, proper, bend),
    ...ofCorrelationId(operation, proper, bend),
    ...ofCredentials(proper, gateway, bend),
    ...ofMerchants(operation, bend),
    ...ofDisagreement(operation.id, bend),
  ];
}

/** A proper request as its parts. */
function beginning(operation: Operation, proper: Proper, wanted: readonly string[] = []): RequestParts {
  const [place, ...keys] = wanted;
  const { chance } = proper;
  const query = operation.parameters
    .filter(({ in: where, required, name }) => {
      // A cursor is made by the gateway alone.
      const optional = name !== 'after' && chance.below(3) === 0;
      return where === 'query' && (required || optional);
    })
    .map(({ name, schema }) => [name, encodeURIComponent(proper.value(schema, [], name))] as const);
  const keysOfBody = place === 'body' ? keys : [];
  const body =
    operation.body && inAgreement(operation.id, proper.value(operation.body.schema, keysOfBody), keysOfBody);
  return {
    method: operation.method,
    path: operation.template.replaceAll(/\{(\w+)\}/g, (_whole, name) => `<<${operation.targets[name]}>>`),
    query,
    correlationId: chance.id(),
    headers: { Authorization: ['<<authorization>>'], 'Content-Type': [JSON_TYPE] },
    body: body && jsonOf(body),
  };
}

function written({
  method,
  path,
  query,
  correlationId,
  headers,
  body,
  base = '/v1',
}: RequestParts): Pick<RequestCase, 'bytes' | 'correlationId'> {
  const target = base + path + (query.length > 0 ? `?${query.map((pair) => pair.join('=')).join('&')}` : '');
  const payload = body === undefined ? '' : Buffer.from(body, 'utf8').toString('latin1');
  const fields: Record<string, readonly string[]> = {
    Host: ['gateway'],
    'X-Correlation-Id': correlationId === undefined ? [] : [correlationId],
    ...headers,
    ...(body === undefined ? { 'Content-Type': [] } : { 'Content-Length': [String(payload.length)] }),
  };
  const lines = Object.entries(fields).flatMap(([name, values]) =>
    values.map((value) => `${name}: ${value}\r\n`),
  );
  return { bytes: `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${payload}`, correlationId };
}

/** Methods and addresses that lead nowhere. */
function ofTemplate(document: ApiDocument, template: string, proper: Proper): Bend[] {
  const known = document.methodsOf(template);
  const operation = document.operations.find((one) => one.template === template) as Operation;
  const begin = (method: string, change: (request: RequestParts) => void = () => {}) => {
    const request = { ...beginning(operation, proper), method, body: undefined };
    change(request);
    return written(request);
  };
  const methods = [
    'GET',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'PROPFIND',
    'SEARCH',
    'PURGE',
    'LOCK',
  ];
  const others = [...methods, ...(known.includes('GET') ? [] : ['HEAD'])].filter(
    (method) => !known.includes(method),
  );
  const nowhere: [string, (path: string) => string][] = [
    ['a slash behind', (path) => `${path}/`],
    ['a word behind', (path) => `${path}/void/void`],
    ['a double slash', (path) => path.replace('/', '//')],
    ['other letters', (path) => path.toUpperCase()],
    ['an encoded slash', (path) => `%2F${path.slice(1)}`],
    ['a NUL behind', (path) => `/nowhere${path}%00`],
    ['a card number', (path) => `/${proper.secrets.card()}${path}`],
  ];
  return [
    ...others.map((method) => ({
      what: `${method} ${template}`,
      make: () => ({ expect: { statuses: [405], location: '', allows: true }, ...begin(method) }),
    })),
    ...nowhere.map(([what, change]) => ({
      what: `${template} with ${what}`,
      make: () => ({
        // Whether what is left is still an address of something depends on the template.
        expect: { statuses: [404, 405, 422] },
        ...begin(known[0] as string, (request) => {
          request.path = change(request.path);
        }),
      }),
    })),
  ];
}
