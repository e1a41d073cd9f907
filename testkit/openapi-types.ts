// The types of an OpenAPI document in TypeScript, one for each component and for the query of each operation, so that a compiler can hold
// them against types that somebody has written by hand.
import type { OpenApiOperation } from '../src/api/openapi/openapi.js';

export interface Document {
  readonly components: { readonly schemas: Record<string, unknown> };
  readonly paths: Record<string, Record<string, unknown>>;
}

/** As much of a schema as types can say. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly 'x-extensible-enum'?: readonly string[];
  readonly properties?: Record<string, Schema>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: Schema;
}

/** `export type NAME = …` for each component. */
export function typesOfComponents({ components }: Document): Map<string, string> {
  return new Map(
    Object.entries(components.schemas).map(([name, schema]) => [name, typeOf(schema as Schema)]),
  );
}

/** The query of an operation, by the operation's name. */
export function typesOfQueries({ paths }: Document): Map<string, string> {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const queries = operations.map((operation): [string, string] => {
    const { operationId, parameters = [] } = operation as Omit<OpenApiOperation, 'parameters'> & {
      operationId: string;
      parameters?: readonly Parameter[];
    };
    const members = parameters
      .filter((parameter) => parameter.in === 'query')
      .map(({ name, required, schema }) => member(name, required, schema));
    return [operationId, `{ ${members.join(' ')} }`];
  });
  return new Map(queries.filter(([, type]) => type !== '{  }'));
}

function typeOf(schema: Schema): string {
  const { $ref, type, oneOf, items, additionalProperties } = schema;
  if ($ref !== undefined) return $ref.split('/').at(-1) as string;
  if (oneOf !== undefined) return oneOf.map(typeOf).join(' | ');
  const open = schema['x-extensible-enum'];
  if (open !== undefined) return `${literals(open)} | (string & {})`;
  if (schema.enum !== undefined) return literals(schema.enum);
  switch (type) {
    case 'string':
    case 'boolean':
      return type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `readonly (${typeOf(items ?? {})})[]`;
    case 'object':
      if (schema.properties === undefined && typeof additionalProperties === 'object')
        return `Readonly<Record<string, ${typeOf(additionalProperties)}>>`;
      return objectOf(schema);
    default:
      throw new Error(`no type is known for ${JSON.stringify(schema)}`);
  }
}

function objectOf({ properties = {}, required = [] }: Schema): string {
  const members = Object.entries(properties).map(([name, schema]) =>
    member(name, required.includes(name), schema),
  );
  return `{ ${members.join(' ')} }`;
}

function member(name: string, isRequired: boolean, schema: Schema): string {
  return `readonly ${JSON.stringify(name)}${isRequired ? '' : '?'}: ${typeOf(schema)};`;
}

function literals(values: readonly string[]): string {
  return values.map((value) => JSON.stringify(value)).join(' | ');
}
