// The gateway's own OpenAPI document: its operations, proper values for them, and whether an answer is documented.
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** What the identifiers in addresses stand for. A new one has to be named here before it can be tried. */
const TARGETS = { customer_id: 'customer', token_id: 'token' };
/** Of the connection or of HTTP itself, not of the interface. */
const HEADERS_OF_HTTP = ['connection', 'content-length', 'content-type', 'date', 'keep-alive'];
const targetOf = (template, name) => {
  if (name === 'audit') return template.endsWith('/completion') ? 'preauthorisation' : 'purchase';
  if (TARGETS[name] === undefined) throw new Error(`${template}: what {${name}} stands for is not known`);
  return TARGETS[name];
};

export class ApiDocument {
  #document;
  #ajv = new Ajv2020({ strict: false, allErrors: true });

  constructor(document) {
    this.#document = document;
    addFormats.default(this.#ajv);
    // Clients must be ready for more than this gateway may answer today: new members, and new values.
    this.#ajv.addKeyword({
      keyword: 'x-extensible-enum',
      validate: (values, value) => values.includes(value),
    });
    const closed = JSON.stringify(document).replaceAll(
      '"additionalProperties":true',
      '"additionalProperties":false',
    );
    this.#ajv.addSchema(JSON.parse(closed), 'openapi');
    this.base = document.servers[0].url;
    this.operations = Object.entries(document.paths).flatMap(([template, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        id: operation.operationId,
        method: method.toUpperCase(),
        template,
        parameters: operation.parameters,
        body: operation.requestBody && {
          schema: this.#whole(operation.requestBody.content['application/json'].schema),
        },
        statuses: Object.keys(operation.responses),
        targets: Object.fromEntries(
          [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, targetOf(template, name)]),
        ),
      })),
    );
    this.templates = Object.keys(document.paths);
  }

  /** A schema with everything that it refers to; a `oneOf` becomes one object, with a choice of members. */
  #whole({ $ref, ...schema }) {
    if ($ref !== undefined) return this.#whole(this.#document.components.schemas[$ref.split('/').at(-1)]);
    if (schema.oneOf !== undefined) {
      const members = schema.oneOf.map((each) => this.#whole(each).properties);
      return { type: 'object', choice: true, properties: Object.assign({}, ...members) };
    }
    const properties = Object.entries(schema.properties ?? {});
    return {
      ...schema,
      ...(properties.length > 0 && {
        properties: Object.fromEntries(properties.map(([name, member]) => [name, this.#whole(member)])),
      }),
    };
  }

  methodsOf(template) {
    return Object.keys(this.#document.paths[template]).map((method) => method.toUpperCase());
  }

  /** Why the document does not allow this answer, or undefined if it does. */
  objection(operationId, { status, headers, body }) {
    const operation = this.operations.find(({ id }) => id === operationId);
    const errors = '/components/schemas/Errors';
    if (operation === undefined) return status >= 400 ? this.#unlike(errors, body) : undefined;
    const method = operation.method.toLowerCase();
    const documented = this.#document.paths[operation.template][method].responses[status];
    if (documented === undefined) return `${status} is not documented`;
    const known = [...HEADERS_OF_HTTP, ...Object.keys(documented.headers)].map((name) => name.toLowerCase());
    const foreign = Object.keys(headers).find((name) => !known.includes(name));
    if (foreign !== undefined) return `the header ${foreign} is not documented for ${status}`;
    if (documented.content === undefined) return body === '' ? undefined : 'a body where none is documented';
    if (!/^application\/json/.test(headers['content-type'])) return 'the answer is not JSON';
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
    return JSON.parse(body)
      .errors.map(({ error_code: code }) => code)
      .filter((code) => !documented.description.includes(`\`${code}\``))
      .map((code) => `${code} is not documented for ${status}`)[0];
  }

  #unlike(pointer, body) {
    const validate = this.#ajv.getSchema(`openapi#${pointer}`);
    try {
      return validate(JSON.parse(body)) ? undefined : this.#ajv.errorsText(validate.errors);
    } catch {
      return 'the body is not JSON';
    }
  }
}

function escaped(key) {
  return encodeURIComponent(String(key).replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** Whether exactly one of the properties belongs there. */
export const isChoice = ({ choice }) => choice === true;

/** Makes proper values. `wanted`: the keys of a field that must be among them, even if it is optional. */
export class Proper {
  constructor(chance, secrets) {
    this.chance = chance;
    this.secrets = secrets;
  }

  value(schema, wanted = [], name = '') {
    const { chance, secrets } = this;
    if (schema.enum) return chance.one(schema.enum);
    switch (schema.type) {
      case 'object':
        return this.#object(schema, wanted);
      case 'integer':
        return schema.minimum ?? 0;
      case 'boolean':
        return chance.one([true, false]);
      case 'string':
        if (schema.format === 'luhn-checked') return secrets.card();
        if (schema.format === 'card-expiry') return `1${chance.below(3)}${chance.between(30, 49)}`;
        if (name === 'cvv') return secrets.cvv();
        // What is said by way of example fits the targets.
        if (schema.examples) return chance.one(schema.examples);
        return chance.matching(schema.pattern, { least: 16, most: Math.min(schema.maxLength, 40) });
      default:
        throw new Error(`the schema of ${name} is of a kind that is not known: ${JSON.stringify(schema)}`);
    }
  }

  #object(schema, [wantedHere, ...further]) {
    const { chance } = this;
    const { properties = {}, required = [] } = schema;
    const names = Object.keys(properties);
    let chosen = names.filter(
      (name) =>
        required.includes(name) || name === wantedHere || name === 'expiry_date' || chance.below(2) === 0,
    );
    if (isChoice(schema)) chosen = [names.includes(wantedHere) ? wantedHere : chance.one(names)];
    const object = Object.fromEntries(
      chosen.map((name) => [name, this.value(properties[name], name === wantedHere ? further : [], name)]),
    );
    if (schema.additionalProperties && schema.propertyNames) {
      object[chance.matching(schema.propertyNames.pattern)] = this.value(schema.additionalProperties, [], '');
    }
    return object;
  }
}
