// In charge of the OpenAPI document: that clients which are generated from it compile, and stand what may come later.
import Type from 'typebox';
import { describe, expect, test } from 'vitest';
import { ANSWER_HEADERS, type OpenApiOperation, openApiDocument } from '../../src/api/openapi/openapi.js';
import { alternatives, Components } from '../../src/api/openapi/openapi-components.js';
import { OPERATIONS } from '../../src/api/operations/operations.js';
import type { Json } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';

const DOCUMENT = openApiDocument(OPERATIONS);
const SCHEMAS = DOCUMENT.components.schemas as Record<string, Json>;
const PREFIX = '#/components/schemas/';

const DESCRIBED: readonly (readonly [string, OpenApiOperation])[] = Object.values(DOCUMENT.paths).flatMap(
  (methods) => Object.values(methods).map((operation) => [operation.operationId, operation] as const),
);

/** A schema and everything that it refers to or holds. */
function* within(schema: Json): Generator<Json> {
  if (schema.$ref !== undefined) {
    yield* within(SCHEMAS[schema.$ref.slice(PREFIX.length)]);
    return;
  }
  yield schema;
  const { properties = {}, oneOf = [], items, additionalProperties } = schema;
  const members = [...Object.values(properties), ...oneOf, items, additionalProperties];
  for (const member of members) if (typeof member === 'object') yield* within(member);
}

const bodyOf = ({ requestBody }: OpenApiOperation): Json => requestBody?.content['application/json']?.schema;
const answersOf = ({ responses }: OpenApiOperation): Json[] =>
  Object.values(responses).flatMap(({ content }) => content?.['application/json']?.schema ?? []);

/** Of Java, Python and TypeScript together. */
const RESERVED = new Set(
  `abstract and any as assert async await boolean break byte case catch char class const continue debugger def
  default del delete do double elif else enum except export extends false final finally float for from function
  global goto if implements import in instanceof int interface is lambda let long match module native new none
  nonlocal not null number object of or package pass private protected public raise record return sealed short
  static strictfp string super switch symbol synchronized this throw throws transient true try type typeof var void
  volatile while with yield`.split(/\s+/),
);

describe('every operation', () => {
  test('has a name that is not a reserved word of a language, and a tag with a description', () =>
    expectEach(DESCRIBED, ([id, operation]) => {
      expect(RESERVED).not.toContain(id.toLowerCase());
      expect(DOCUMENT.tags.map(({ name }) => name)).toEqual(expect.arrayContaining([...operation.tags]));
    }));

  test('uses named schemas for its request and all its responses', () =>
    expectEach(DESCRIBED, ([, operation]) => {
      const bodies = [
        ...(bodyOf(operation) === undefined ? [] : [bodyOf(operation)]),
        ...answersOf(operation),
      ];
      for (const schema of bodies) expect(SCHEMAS).toHaveProperty(schema.$ref.slice(PREFIX.length));
      for (const schema of bodies.flatMap((each) => [...within(each)])) {
        // An object inside an object has a name of its own, too.
        for (const member of Object.values<Json>(schema.properties ?? {}))
          expect(member.properties).toBeUndefined();
      }
    }));

  test('responds with objects that allow new members, and with no closed list of values', () =>
    expectEach(DESCRIBED, ([, operation]) => {
      for (const schema of answersOf(operation).flatMap((each) => [...within(each)])) {
        expect(schema.enum).toBeUndefined();
        expect(schema.const).toBeUndefined();
        if (schema.type === 'object')
          expect([true, { type: 'string' }]).toContainEqual(schema.additionalProperties);
      }
    }));

  test('lists the headers of every response, and describes them', () =>
    expectEach(DESCRIBED, ([, operation]) => {
      for (const [status, { headers = {} }] of Object.entries(operation.responses)) {
        const expected = ['X-Correlation-Id', 'Cache-Control'];
        if (status === '401') expected.push('WWW-Authenticate');
        if (status === '405') expected.push('Allow');
        if (status === '429' || status === '503') expected.push('Retry-After');
        if (['201', '502', '504'].includes(status)) expected.push('Location');
        expect(Object.keys(headers)).toEqual(expect.arrayContaining(expected));
        for (const name of Object.keys(headers)) {
          expect(headers[name]).toEqual({ $ref: `#/components/headers/${name}` });
          expect(ANSWER_HEADERS).toHaveProperty(name);
        }
      }
    }));
});

describe('schemas', () => {
  test('every named schema is used', () => {
    const used = new Set(
      [...JSON.stringify(DOCUMENT).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name),
    );
    expect(Object.keys(SCHEMAS).filter((name) => !used.has(name))).toEqual([]);
  });

  test('names differ even where a file system or a language ignores case', () => {
    const names = [...Object.keys(SCHEMAS), ...DESCRIBED.map(([id]) => id)].map((name) => name.toLowerCase());
    expect(new Set(names).size).toBe(names.length);
  });

  test('values of a closed list differ as names of constants', () => {
    for (const [, { parameters }] of DESCRIBED) {
      for (const { schema } of parameters) {
        const values = ((schema as Json).enum ?? []).map((value: string) => value.toUpperCase());
        expect(new Set(values).size).toBe(values.length);
      }
    }
  });

  test.each([
    ['PaymentMethod', 'creditcard', 'bankaccount', 'wallet'],
    ['CardPaymentMethod', 'creditcard', 'wallet'],
    ['MaskedPaymentMethod', 'creditcard', 'bankaccount'],
    ['Account', 'general_creditcard', 'general_bankaccount'],
    ['MaskedAccount', 'general_creditcard', 'general_bankaccount'],
  ])('%s is one of some named objects: %s, %s', (name, ...members) => {
    const chosen = SCHEMAS[name].oneOf.map(({ $ref }: Json) => SCHEMAS[$ref.slice(PREFIX.length)]);
    expect(chosen.map(({ required }: Json) => required)).toEqual(members.map((member) => [member]));
    expect(chosen.map(({ properties }: Json) => Object.keys(properties))).toEqual(
      members.map((member) => [member]),
    );
  });

  test.each(['Kvps', 'RequestKvps'])('%s is a plain map of strings', (name) => {
    expect(SCHEMAS[name]).toMatchObject({ type: 'object', additionalProperties: { type: 'string' } });
    expect(SCHEMAS[name]).not.toHaveProperty('properties');
    expect(SCHEMAS[name]).not.toHaveProperty('patternProperties');
  });

  test('two schemas under one name → an error', () => {
    const components = new Components();
    components.use(Type.Object({ a: Type.String() }, { title: 'One' }));
    components.use(Type.Object({ a: Type.String() }, { title: 'One' }));
    expect(() => components.use(Type.Object({ a: Type.Integer() }, { title: 'One' }))).toThrow(
      'two schemas have the name One',
    );
    expect(() =>
      components.use(
        Type.Object({ a: Type.Optional(Type.Integer()) }, { title: 'Other', ...alternatives({ a: 'One' }) }),
      ),
    ).toThrow('two schemas have the name One');
  });
});
