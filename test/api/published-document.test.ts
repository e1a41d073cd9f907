// The OpenAPI document as the gateway publishes it.
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { read } from '../../testkit/project-files.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '20000' } });
});
afterAll(() => gateway.close());

describe('/v1/openapi.json', () => {
  let document: Json;
  beforeAll(async () => {
    const response = await fetch(`${gateway.baseUrl}/openapi.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    document = await response.json();
  });

  type Operation = { path: string; method: string; operation: Json };
  const operations = (): Operation[] =>
    Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
      Object.entries<Json>(methods).map(([method, operation]) => ({ path, method, operation })),
    );

  test('every answer with a body has an example, which its schema takes', () => {
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    const closed = JSON.stringify(document).replaceAll(
      '"additionalProperties":true',
      '"additionalProperties":false',
    );
    ajv.addSchema(JSON.parse(closed), 'openapi');
    for (const { operation } of operations()) {
      for (const [status, { content }] of Object.entries<Json>(operation.responses)) {
        if (content === undefined) continue;
        const { schema, example } = content['application/json'];
        const validate = ajv.compile({ $ref: `openapi${schema.$ref}` });
        expect([operation.operationId, status, validate(example), validate.errors]).toEqual([
          operation.operationId,
          status,
          true,
          null,
        ]);
      }
    }
  });

  test('is OpenAPI 3.1 with title, version, server and credentials', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({
      title: expect.any(String),
      version: JSON.parse(read('package.json')).version,
    });
    expect(document.servers).toEqual([{ url: '/v1' }]);
    for (const requirement of document.security) {
      for (const scheme of Object.keys(requirement)) {
        expect(document.components.securitySchemes[scheme]).toEqual({ type: 'http', scheme: 'basic' });
      }
    }
    expect(document.security.length).toBeGreaterThan(0);
  });

  test('has every transaction operation', () => {
    expect(operations().map(({ path, method }) => `${method.toUpperCase()} ${path}`)).toEqual(
      expect.arrayContaining([
        'POST /transactions/purchase',
        'POST /transactions/preauthorisation',
        'POST /transactions/{audit}/completion',
        'POST /transactions/{audit}/refund',
        'POST /transactions/refund',
        'POST /transactions/{audit}/void',
        'GET /transactions/{audit}',
        'GET /transactions',
      ]),
    );
  });

  test('every operation has its own ID, its parameters, and responses with descriptions', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, method, operation } of operations()) {
      expect(operation.operationId).toMatch(/^[a-zA-Z]+$/);
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const parameters: Json[] = operation.parameters;
      expect(parameters.filter((one) => one.in === 'path').map(({ name }) => name)).toEqual(named);
      for (const parameter of parameters) {
        expect(parameter).toMatchObject({ name: expect.any(String), required: expect.any(Boolean) });
        if (parameter.in === 'path') expect(parameter.required).toBe(true);
      }
      expect(parameters.find(({ name }) => name === 'X-Correlation-Id')?.required).toBe(method !== 'get');
      expect(operation.requestBody !== undefined).toBe(method === 'post' || method === 'patch');
      for (const [status, response] of Object.entries<Json>(operation.responses)) {
        expect(status).toMatch(/^[2-5]\d\d$/);
        expect(response.description).not.toBe('');
      }
    }
  });

  test('every reference leads somewhere, every schema is one, and every example keeps its own', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: true });
    addFormats.default(ajv);
    for (const format of ['no-card-number', 'luhn-checked', 'card-expiry', 'iso-4217'])
      ajv.addFormat(format, true);
    ajv.addSchema(document, 'document');
    let schemas = 0;
    const visit = (value: Json): void => {
      if (value === null || typeof value !== 'object') return;
      if (typeof value.$ref === 'string') expect(ajv.getSchema(`document${value.$ref}`)).toBeDefined();
      if (value.schema !== undefined) {
        schemas += 1;
        const validate = ajv.compile(
          JSON.parse(JSON.stringify(value.schema).replaceAll('"#/', '"document#/')),
        );
        if (value.example !== undefined) expect(validate(value.example)).toBe(true);
      }
      for (const member of Object.values(value)) visit(member);
    };
    visit(document.paths);
    expect(schemas).toBeGreaterThan(50);
  });

  test('every example works as it stands', async () => {
    for (const { path, method, operation } of operations()) {
      const example = operation.requestBody?.content['application/json'].example;
      if (example === undefined || path.includes('{')) continue;
      const answer = await gateway.api.call(path, { method: method.toUpperCase(), body: example });
      expect({ path, status: answer.status }).toEqual({ path, status: 201 });
    }
  });
});
