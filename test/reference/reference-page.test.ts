// The reference page: complete, loads nothing, and cannot be broken by its contents.
import { describe, expect, test } from 'vitest';
import {
  type OpenApiDocument,
  type OpenApiOperation,
  openApiDocument,
} from '../../src/api/openapi/openapi.js';
import { OPERATIONS } from '../../src/api/operations/operations.js';
import { PROBLEMS } from '../../src/api/problems.js';
import { filled } from '../../src/reference/html.js';
import { referencePage } from '../../src/reference/page.js';
import { Html } from '../../src/values/html.js';
import { expectEach } from '../../testkit/each-case.js';
import { textOf } from '../../testkit/page-text.js';

const DOCUMENT = openApiDocument(OPERATIONS);
const PAGE = referencePage(DOCUMENT);

function documentWith(
  operation: Partial<OpenApiOperation>,
  schemas: Record<string, unknown> = {},
): OpenApiDocument {
  const whole: OpenApiOperation = {
    operationId: 'tryOut',
    tags: ['Trials'],
    summary: 'Try out',
    description: 'For trials.',
    parameters: [],
    responses: {},
    ...operation,
  };
  return {
    ...DOCUMENT,
    paths: { '/trials/{trial_id}': { patch: whole } },
    components: { schemas, headers: {}, securitySchemes: {} },
  };
}

function pageOfBody(schema: unknown, example?: unknown): string {
  return referencePage(
    documentWith({ requestBody: { required: true, content: { 'application/json': { schema, example } } } }),
  );
}

describe('the gateway’s own page', () => {
  const text = textOf(PAGE);

  test('every operation has its section, its entry in the contents and its address', () =>
    expectEach(
      OPERATIONS.map((operation) => [operation.id, operation] as const),
      ([id, { method, route, summary }]) => {
        expect(PAGE).toContain(`id="op-${id}"`);
        expect(PAGE).toContain(`href="#op-${id}"`);
        expect(text).toContain(summary);
        expect(text).toContain(`${method} /v1${route}`);
      },
    ));

  test('every object of responses is shown once, with every field', () =>
    expectEach(
      [
        'CreatedTransaction',
        'LookedUpTransaction',
        'SearchResults',
        'Customer',
        'CustomerList',
        'Token',
        'TokenList',
        'Errors',
      ],
      (name) => {
        expect(PAGE.split(`id="object-${name}"`)).toHaveLength(2);
        const section = textOf(`<body>${PAGE.slice(PAGE.indexOf(`id="object-${name}"`))}`);
        const { properties } = DOCUMENT.components.schemas[name] as { properties: object };
        for (const field of Object.keys(properties)) expect(section).toContain(field);
      },
    ));

  test('a schema that is not a response object is shown in place, under its name', () => {
    expect(text).toMatch(/transaction\.amount_details\s+AmountDetails · required/);
    expect(text).toMatch(/transaction\.amount_details\.total_amount\s+string · required/);
  });

  test('alternatives are shown as such, with the fields of both', () => {
    expect(text).toMatch(
      /transaction\.payment_method\s+CreditcardPaymentMethod or BankaccountPaymentMethod or WalletPaymentMethod · required/,
    );
    expect(text).toContain('either creditcard, or bankaccount, or wallet');
    expect(text).toMatch(/transaction\.payment_method\.creditcard\.pan\s+string · required/);
    expect(text).toMatch(/transaction\.payment_method\.bankaccount\.bsb\s+string · required/);
    expect(text).toContain('either general_creditcard, or general_bankaccount');
  });

  test('patterns of texts are described in words', () => {
    expect(text).not.toContain('matches ^');
    expect(text).toContain('keys: 1 to 64 letters, digits, _ and .');
  });

  test('every error code is explained', () => {
    for (const [code, { message }] of Object.entries(PROBLEMS)) {
      expect(PAGE).toContain(`id="error-${code}"`);
      expect(text).toContain(message);
    }
  });

  test('every link inside the page works, and every anchor is unique', () => {
    const ids = [...PAGE.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    const targets = [...PAGE.matchAll(/href="#([^"]*)"/g)].map(([, target]) => target);
    expect(new Set(ids).size).toBe(ids.length);
    expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
  });

  test('the page loads only its own style sheet and script, and has no inline script', () => {
    const own = [
      '<link rel="stylesheet" href="/docs/reference.css">',
      '<script src="/docs/reference.js"></script>',
    ];
    for (const element of own) expect(PAGE.split(element)).toHaveLength(2);
    const rest = own.reduce((page, element) => page.replace(element, ''), PAGE);
    expect(rest).not.toMatch(
      /<script|<style|<iframe|<img|<link|<object|<embed|\son\w+=|\sstyle=|\ssrc=|javascript:|@import|url\(/i,
    );
    expect(rest).not.toMatch(/(?:href|action|content)="(?:https?:)?\/\//i);
  });

  test('controls that need a script are hidden without one', () => {
    for (const [opening] of PAGE.matchAll(
      /<(?:form id="search"|details class="try"|div id="credentials")[^>]*>/g,
    ))
      expect(opening).toMatch(/ hidden>$/);
    expect(PAGE.split('<details class="try" hidden>')).toHaveLength(OPERATIONS.length + 1);
  });

  test('the introduction explains how to recover, and that 2XX does not mean approved', () => {
    expect(text).toContain('2XX never means approval.');
    expect(text).toMatch(/empty results within those 24 hours, or 404: it was not processed/);
    expect(PAGE).toContain('href="/v1/openapi.json"');
  });

  test('a nested schema is a link to it', () => {
    expect(text).toContain('array of LookedUpTransaction');
    expect(text).not.toContain('results[].audit');
  });
});

describe('content of the document is shown as text', () => {
  const EVIL = `<b title='x'>"&</b><script>`;
  const evilSchema = {
    type: 'object',
    description: EVIL,
    properties: { [EVIL]: { enum: [EVIL], format: EVIL, pattern: EVIL } },
  };

  test('texts, names, values and examples → escaped everywhere', () => {
    const operation = documentWith(
      {
        operationId: EVIL,
        tags: [EVIL],
        summary: EVIL,
        description: `${EVIL} \`${EVIL}\``,
        parameters: [{ name: EVIL, in: 'query', required: true, description: EVIL, schema: { type: EVIL } }],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: evilSchema, example: { [EVIL]: EVIL } } },
        },
        responses: {
          200: { description: EVIL, headers: { [EVIL]: {} } },
          201: {
            description: EVIL,
            content: { 'application/json': { schema: { $ref: `#/components/schemas/${EVIL}` } } },
          },
          422: { description: `\`${EVIL}\`` },
        },
      },
      { [EVIL]: evilSchema },
    );
    const page = referencePage({
      ...operation,
      info: { ...DOCUMENT.info, title: EVIL, version: EVIL, description: EVIL },
      tags: [{ name: EVIL, description: EVIL }],
      components: { ...operation.components, headers: { [EVIL]: { description: EVIL, schema: {} } } },
    });
    expect(page.replace('<script src="/docs/reference.js"></script>', '')).not.toContain('<script');
    expect(page).not.toContain("<b title='x'>");
    expect(page).toContain('&lt;b title=&#39;x&#39;&gt;&quot;&amp;&lt;/b&gt;&lt;script&gt;');
  });

  test('backticks → code', () => {
    expect(referencePage(documentWith({ description: 'Set `active` & wait.' }))).toContain(
      'Set <code>active</code> &amp; wait.',
    );
  });

  test('an apostrophe in an example → the shell command is still valid', () => {
    const text = textOf(pageOfBody({ type: 'object' }, { name: "O'Neill" }));
    expect(text).toContain(`curl -X PATCH "$BASE_URL/trials/$TRIAL_ID"`);
    expect(text).toContain(`"name": "O'\\''Neill"`);
  });
});

describe('fields', () => {
  const fieldText = (schema: unknown) =>
    textOf(pageOfBody({ type: 'object', properties: { field: schema } }));

  test('constraints of a schema → described in words', () =>
    expectEach(
      [
        [{ type: 'string', format: 'luhn-checked' }, 'must pass the Luhn check'],
        [{ type: 'string', format: 'card-expiry' }, 'must be a month and a year'],
        [{ type: 'string', format: 'iso-4217' }, 'must be a currency of ISO 4217'],
        [{ type: 'string', format: 'no-card-number' }, 'must not contain a card number'],
        [{ type: 'string', format: 'unheard-of' }, 'format unheard-of'],
        [{ type: 'string', minLength: 1, maxLength: 60 }, '1 to 60 characters'],
        [{ type: 'string', maxLength: 12 }, 'at most 12 characters'],
        [{ type: 'string', pattern: '^[0-9]{3,4}$' }, '3 to 4 digits'],
        [{ type: 'string', pattern: '^[A-Z]{3}$' }, 'exactly 3 upper-case letters'],
        [{ type: 'string', pattern: '^(a|b)+$' }, 'matches ^(a|b)+$'],
        [{ type: 'integer', minimum: 0, maximum: 2147483547, default: 0 }, '0 to 2147483547'],
        [{ type: 'integer', default: 100 }, 'default 100'],
        [
          { type: 'object', maxProperties: 100, additionalProperties: { type: 'string' } },
          'at most 100 entries',
        ],
        [{ type: 'array', items: { type: 'string' }, minItems: 1 }, 'at least 1 item'],
        [{ enum: ['name', 'reference', ''] }, 'one of name, reference, ""'],
        [{ anyOf: [{ const: 'debit' }, { const: 'credit' }] }, 'one of debit, credit'],
        [{ type: ['string', 'null'] }, 'string or null'],
        [
          { type: 'string', 'x-extensible-enum': ['approved', 'unknown'] },
          'one of approved, unknown; new values may come',
        ],
      ],
      ([schema, words]) => {
        expect(fieldText(schema)).toContain(words);
      },
    ));

  test('nested objects, lists and free keys → one row each, with the whole path', () => {
    const text = fieldText({
      type: 'object',
      description: 'Holds others.',
      required: ['list'],
      properties: {
        list: { type: 'array', items: { type: 'object', properties: { 'CARD.PAN': { type: 'string' } } } },
        free: { type: 'object', additionalProperties: { type: 'boolean' } },
      },
    });
    expect(text).toMatch(/field\.list\s+array of object · required/);
    expect(text).toMatch(/field\.list\[\]\.CARD\.PAN\s+string · optional/);
    expect(text).toMatch(/field\.free\.\{key\}\s+boolean · optional/);
  });

  test('an object around one field → only that field, required if both are', () => {
    const link = { type: 'object', required: ['href'], properties: { href: { type: 'string' } } };
    const text = textOf(
      pageOfBody({ type: 'object', required: ['self'], properties: { self: link, next: link } }),
    );
    expect(text).toMatch(/self\.href\s+string · required/);
    expect(text).toMatch(/next\.href\s+string · optional/);
    expect(text).not.toMatch(/self\s+object/);
  });

  test('alternatives → the choice in words, and the fields of each', () => {
    const of = (name: string) => ({
      type: 'object',
      required: [name],
      properties: { [name]: { type: 'string' } },
    });
    const text = fieldText({ anyOf: [of('card'), of('bank')] });
    expect(text).toContain('either card, or bank');
    expect(text).toMatch(/field\.card\s+string · optional/);
    expect(text).toMatch(/field\.bank\s+string · optional/);
  });
});

test('a response without a body → only its status', () => {
  const page = referencePage(documentWith({ responses: { 204: { description: 'Gone.' } } }));
  expect(textOf(page)).toContain('204 No Content. Gone.');
});

test('a response with its own schema → its fields, in a collapsible section', () => {
  const schema = { type: 'object', properties: { active: { type: 'boolean' } } };
  const page = referencePage(
    documentWith({ responses: { 200: { description: 'It.', content: { 'application/json': { schema } } } } }),
  );
  expect(page).toMatch(/<details><summary>Fields of the body<\/summary>.*active/s);
});

test('the build includes templates and style sheet → the built gateway shows the same page', async () => {
  const built = new URL('../../dist/reference/documents.js', import.meta.url).href;
  const { referenceDocuments } = (await import(built)) as typeof import('../../src/reference/documents.js');
  expect((await referenceDocuments()).reference.plain.toString()).toBe(PAGE);
});

test('a template with an unfilled placeholder → an error before anything is served', () => {
  expect(() => filled(new Html('<p>{{nothing}}</p>'), () => undefined)).toThrow('is not filled: nothing');
});
