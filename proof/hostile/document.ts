// The gateway's own OpenAPI document: its operations, and whether an answer is documented.
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument, OpenApiOperation } from '../../src/api/openapi/openapi.js';
import type { HttpResponse } from './connection.js';

/** What of a schema the bends go by. */
export interface Schema {
  readonly $ref?: string;
  readonly oneOf?: readonly Schema[];
  /** Made of a `oneOf`: exactly one of the properties belongs there. */
  readonly choice?: boolean;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly examples?: readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly maxProperties?: number;
  readonly propertyNames?: { readonly pattern: string };
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'header' | 'path' | 'query';
  readonly required: boolean;
  readonly schema: Schema;
}

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly template: string;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly schema: Schema } | undefined;
  readonly statuses: readonly string[];
  /** What the identifiers in the address stand for. */
  readonly targets: Readonly<Record<string, string>>;
}

/** What the identifiers in addresses stand for. A new one has to be named here before it can be tried. */
const TARGETS: Readonly<Record<string, string>> = {
  customer_id: 'customer',
  token_id: 'token',
  date: 'day',
  id: 'checkout',
};
/** Of the connection or of HTTP itself, not of the interface. */
const HEADERS_OF_HTTP = ['connection', 'content-length', 'content-type', 'date', 'keep-alive'];
const targetOf = (template: string, name: string): string => {
  if (name === 'audit') return template.endsWith('/completion') ? 'preauthorisation' : 'purchase';
  if (template.includes('/schedules/')) return template.endsWith('/resume') ? 'paused' : 'schedule';
  const target = TARGETS[name];
  if (target === undefined) throw new Error(`${template}: what {${name}} stands for is not known`);
  return target;
};

export class ApiDocument {
  readonly #document: OpenApiDocument;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly operations: readonly Operation[];
  readonly templates: readonly string[];

  constructor(document: OpenApiDocument) {
    this.#document = document;
    addFormats.default(this.#ajv);
    // Clients must be ready for more than this gateway may answer today: new members, and new values.
    this.#ajv.addKeyword({
      keyword: 'x-extensible-enum',
      validate: (values: unknown[], value: unknown) => values.includes(value),
    });
    const closed = JSON.stringify(document).replaceAll(
      '"additionalProperties":true',
      '"additionalProperties":false',
    );
    this.#ajv.addSchema(JSON.parse(closed), 'openapi');
    this.operations = Object.entries(document.paths).flatMap(([template, methods]) =>
      Object.entries(methods).map(([method, operation]) => this.#operation(template, method, operation)),
    );
    this.templates = Object.keys(document.paths);
  }

  #operation(template: string, method: string, operation: OpenApiOperation): Operation {
    const body = operation.requestBody?.content['application/json'];
    return {
      id: operation.operationId,
      method: method.toUpperCase(),
      template,
      parameters: operation.parameters as readonly Parameter[],
      body: body && { schema: this.#whole(body.schema as Schema) },
      statuses: Object.keys(operation.responses),
      targets: Object.fromEntries(
        [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, targetOf(template, name)]),
      ),
    };
  }

  /** A schema with everything that it refers to; a `oneOf` becomes one object, with a choice of members. */
  #whole({ $ref, ...schema }: Schema): Schema {
    if ($ref !== undefined) {
      const name = $ref.slice($ref.lastIndexOf('/') + 1);
      return this.#whole(this.#document.components.schemas[name] as Schema);
    }
    if (schema.oneOf !== undefined) {
      const members = schema.oneOf.map((each) => this.#whole(each).properties);
      return { type: 'object', choice: true, properties: Object.assign({}, ...members) };
    }
    const properties = Object.entries(schema.properties ?? {});
    return {
      ...schema,
      ...(schema.items !== undefined && { items: this.#whole(schema.items) }),
      ...(properties.length > 0 && {
        properties: Object.fromEntries(properties.map(([name, member]) => [name, this.#whole(member)])),
      }),
    };
  }

  methodsOf(template: string): string[] {
    return Object.keys(this.#document.paths[template] ?? {}).map((method) => method.toUpperCase());
  }

  /** Why the document does not allow this answer, or undefined if it does. */
  objection(
    operationId: string | undefined,
    { status, headers, body }: Pick<HttpResponse, 'status' | 'headers' | 'body'>,
  ): string | undefined {
    const operation = this.operations.find(({ id }) => id === operationId);
    const errors = '/components/schemas/Errors';
    if (operation === undefined) return status >= 400 ? this.#unlike(errors, body) : undefined;
    const method = operation.method.toLowerCase();
    const documented = this.#document.paths[operation.template]?.[method]?.responses[status];
    if (documented === undefined) return `${status} is not documented`;
    const known = [...HEADERS_OF_HTTP, ...Object.keys(documented.headers ?? {})].map((name) =>
      name.toLowerCase(),
    );
    const foreign = Object.keys(headers).find((name) => !known.includes(name));
    if (foreign !== undefined) return `the header ${foreign} is not documented for ${status}`;
    if (documented.content === undefined) return body === '' ? undefined : 'a body where none is documented';
    if (!/^application\/json/.test(headers['content-type'] ?? '')) return 'the answer is not JSON';
    const at = [
      '',
      'paths',
      operation.template,
      method,
      'responses',
      status,
      'content',
      'application/json',
      'schema',
    ];
    const unlike = this.#unlike(at.map(escaped).join('/'), body);
    if (unlike !== undefined || status < 400) return unlike;
    const { errors: told } = JSON.parse(body) as { errors: { error_code: string }[] };
    return told
      .map(({ error_code: code }) => code)
      .filter((code) => !documented.description.includes(`\`${code}\``))
      .map((code) => `${code} is not documented for ${status}`)[0];
  }

  #unlike(pointer: string, body: string): string | undefined {
    const validate = this.#ajv.getSchema(`openapi#${pointer}`);
    if (validate === undefined) return `there is no schema at ${pointer}`;
    try {
      return validate(JSON.parse(body)) ? undefined : this.#ajv.errorsText(validate.errors);
    } catch {
      return 'the body is not JSON';
    }
  }
}

function escaped(key: string | number): string {
  return encodeURIComponent(String(key).replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** Whether exactly one of the properties belongs there. */
export const isChoice = ({ choice }: Schema): boolean => choice === true;
