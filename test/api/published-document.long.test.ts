// The OpenAPI document as the gateway publishes it.
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { tokenFor } from '../../testkit/schedules.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '20000', CHECKOUT_PORT: '0' } });
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

  test('every response with a body has an example that its schema accepts', () => {
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
      version: '1.0.0',
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
      // To pause or cancel something, nothing has to be said.
      const isSaid = (method === 'post' && !/\/(cancel|pause|resume)$/.test(path)) || method === 'patch';
      expect(operation.requestBody !== undefined).toBe(isSaid);
      for (const [status, response] of Object.entries<Json>(operation.responses)) {
        expect(status).toMatch(/^[2-5]\d\d$/);
        expect(response.description).not.toBe('');
      }
    }
  });

  test('every reference resolves, every schema is valid, and every example matches its schema', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: true });
    addFormats.default(ajv);
    for (const format of [
      'no-card-number',
      'luhn-checked',
      'card-expiry',
      'iso-4217',
      'web-address',
      'web-origin',
      'ip-address',
    ])
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

  const operationOf = (id: string) =>
    operations().find(({ operation }) => operation.operationId === id) as Operation;
  const linksOf = (id: string): [string, Json][] =>
    Object.values<Json>(operationOf(id).operation.responses).flatMap(({ links = {} }) =>
      Object.entries<Json>(links),
    );

  test('links lead from a purchase, a preauthorisation, a customer and a token to the operations that may follow', () => {
    const followers = (id: string) => [...new Set(linksOf(id).map(([name]) => name))];
    expect(followers('createPurchase')).toEqual(['lookUpTransaction', 'createRefund', 'voidTransaction']);
    expect(followers('createPreauthorisation')).toEqual([
      'lookUpTransaction',
      'createCompletion',
      'voidTransaction',
    ]);
    for (const id of ['findOrCreateCustomer', 'lookUpCustomer', 'updateCustomer'])
      expect(followers(id)).toEqual(expect.arrayContaining(['listTokens', 'createToken', 'lookUpCustomer']));
    expect(followers('createToken')).toEqual(expect.arrayContaining(['lookUpToken', 'deleteToken']));
  });

  test('every link leads to an existing operation, with exactly the parameters that its path needs', () => {
    for (const { operation } of operations()) {
      for (const [, { operationId, parameters }] of linksOf(operation.operationId)) {
        const taken: Json[] = operationOf(operationId).operation.parameters;
        const inPath = taken.filter((each) => each.in === 'path').map(({ name }) => name);
        expect(Object.keys(parameters)).toEqual(expect.arrayContaining(inPath));
        expect(taken.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(parameters)));
        for (const said of Object.values<string>(parameters)) {
          const [, place, name] = /^\$request\.(path|query)\.(\w+)$/.exec(said) ?? [];
          if (place === undefined) expect(said).toMatch(/^\$response\.body#\/(audit|id)$/);
          else expect(operation.parameters).toContainEqual(expect.objectContaining({ in: place, name }));
        }
      }
    }
  });

  test('a tool that follows the links of a purchase and of a customer → finds them', async () => {
    /** The address of a link, as a tool would make it from the answer. */
    const addressOf = ({ operationId, parameters }: Json, answer: Json): string =>
      operationOf(operationId).path.replaceAll(/\{(\w+)\}/g, (_, name) =>
        String(answer[parameters[name].slice('$response.body#/'.length)]),
      );
    const purchase = (await gateway.api.purchase()).body;
    const customer = (
      await gateway.api.post('/customers', { reference: 'linked', name: 'Linked' }, 'linked-customer')
    ).body;
    for (const [id, answer] of [
      ['createPurchase', purchase],
      ['findOrCreateCustomer', customer],
    ] as const) {
      const reading = linksOf(id).filter(([name]) => operationOf(name).method === 'get');
      expect(reading.length).toBeGreaterThan(0);
      for (const [, link] of reading)
        expect((await gateway.api.get(addressOf(link, answer))).status).toBe(200);
    }
  });

  describe('the document and the gateway accept the same', () => {
    const ajv = addFormats.default(new Ajv2020({ strict: false }));
    const documented = (id: string, parameter: string, value: string): boolean => {
      const { schema } = operationOf(id).operation.parameters.find(({ name }: Json) => name === parameter);
      return ajv.validate(schema, value) as boolean;
    };
    const DAYS = [
      '2026-11-16',
      '2028-02-29',
      '2026-02-29',
      '2026-02-30',
      '2026-13-01',
      '2026-00-10',
      '2026-11-31',
    ];
    const NO_DAYS = [
      '2026-11-32',
      '2026-1-1',
      '20261116',
      '2026-11-16T00:00:00Z',
      '0999-01-01',
      '3000-01-01',
      'x',
      '',
    ];

    test('settlement dates', () =>
      expectEach([...DAYS, ...NO_DAYS], async (day) => {
        const { status } = await gateway.api.get(`/transactions/history?settlement_date=${day}`);
        expect(status).toBe(documented('listTransactions', 'settlement_date', day) ? 200 : 422);
      }));

    test('days of a settlement', () =>
      expectEach(DAYS, async (day) => {
        const { status } = await gateway.api.get(`/settlements/${day}`);
        expect(status).toBe(documented('settlementOfDay', 'date', day) ? 200 : 422);
      }));

    test('instants and days for `from`', () =>
      expectEach(
        [
          ...[
            '2026-11-16',
            '2026-11-16T10:00Z',
            '2026-11-16T10:00:00+11',
            '2026-11-16T23:59:60.123456789+1100',
          ],
          ...[
            '2026-11-16T24:00Z',
            '2026-11-16T10:60Z',
            '2026-13-16T10:00Z',
            '2026-11-16T10:00',
            '2026-11-16T10:00+24:00',
          ],
        ],
        async (from) => {
          const { status } = await gateway.api.get(`/transactions/history?from=${encodeURIComponent(from)}`);
          expect(status).toBe(documented('listTransactions', 'from', from) ? 200 : 422);
        },
      ));

    test('empty cursors: refused by both', () =>
      expectEach(
        [
          ['listTransactions', '/transactions/history'],
          ['searchCustomers', '/customers'],
          ['listEvents', '/events'],
        ],
        async ([id, path]) => {
          expect(documented(id, 'after', '')).toBe(false);
          expect((await gateway.api.get(`${path}?after=`)).status).toBe(422);
        },
      ));

    test('expiry dates of four digits', async () => {
      const schemas = document.components.schemas;
      const patterns = [
        schemas.Creditcard.properties.expiry_date.pattern,
        schemas.GeneralCreditcard.properties['CARD.EXPIRY'].pattern,
      ];
      const tried = [
        '0000',
        '0012',
        '0112',
        '1212',
        '1300',
        '1301',
        '1312',
        '1313',
        '9912',
        '9999',
        '2612',
        '2600',
      ];
      for (const expiry of tried) {
        const answer = await gateway.api.purchase({ expiry });
        for (const pattern of patterns)
          expect([expiry, answer.status]).toEqual([expiry, new RegExp(pattern).test(expiry) ? 201 : 422]);
      }
    });
  });

  test('every example works unchanged', async () => {
    for (const { path, method, operation } of operations()) {
      const example = operation.requestBody?.content['application/json'].example;
      if (example === undefined || path.includes('{')) continue;
      // The example's token is nobody's.
      if (path === '/schedules') example.schedule.virtual_pan = await tokenFor(gateway.api);
      const answer = await gateway.api.call(path, { method: method.toUpperCase(), body: example });
      expect({ path, status: answer.status }).toEqual({ path, status: 201 });
    }
  });
});
