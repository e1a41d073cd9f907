// The types of an OpenAPI document in TypeScript, as the client has them: one for each component, and one for each query that it names.

export interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly (Member & { readonly in: string })[];
}

/** As much of a schema as types can say. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly 'x-extensible-enum'?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
}

interface Member {
  readonly name: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

/** `queries`: what the query of an operation is called. */
export function typesOf({ components, paths }: Document, queries: Readonly<Record<string, string>>): string {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  return [
    ...Object.entries(components.schemas).map(([name, schema]) => declared(name, schema)),
    ...Object.entries(queries).map(([operation, name]) => {
      const { parameters = [] } = operations.find(({ operationId }) => operationId === operation) ?? {};
      return interfaceOf(
        name,
        parameters.filter((parameter) => parameter.in === 'query'),
      );
    }),
  ].join('\n');
}

function declared(name: string, schema: Schema): string {
  const { properties, required = [] } = schema;
  if (properties === undefined) return `${comment(schema)}export type ${name} = ${typeOf(schema)};\n`;
  const members = Object.entries(properties).map(([member, type]) => {
    return { name: member, required: required.includes(member), schema: type };
  });
  return comment(schema) + interfaceOf(name, members);
}

function interfaceOf(name: string, members: readonly Member[]): string {
  const lines = members.map(({ name: member, required, description, schema }) => {
    const key = /^\w+$/.test(member) ? member : `'${member}'`;
    const about = comment({ description: description ?? schema.description }, '  ');
    return `${about}  readonly ${key}${required ? '' : '?'}: ${typeOf(schema)};\n`;
  });
  return `export interface ${name} {\n${lines.join('')}}\n`;
}

function comment({ description }: { readonly description?: string | undefined }, indent = ''): string {
  return description === undefined ? '' : `${indent}/** ${description} */\n`;
}

function typeOf(schema: Schema): string {
  const { $ref, type, oneOf, items, additionalProperties } = schema;
  if ($ref !== undefined) return $ref.split('/').at(-1) as string;
  if (oneOf !== undefined) return oneOf.map(typeOf).join(' | ');
  const open = schema['x-extensible-enum'];
  if (open !== undefined) return `OpenEnum<${literals(open)}>`;
  if (schema.enum !== undefined) return literals(schema.enum);
  if (type === 'integer') return 'number';
  if (type === 'array' && items !== undefined) {
    const each = typeOf(items);
    return `readonly ${each.includes(' | ') ? `(${each})` : each}[]`;
  }
  if (type === 'object' && typeof additionalProperties === 'object')
    return `Readonly<Record<string, ${typeOf(additionalProperties)}>>`;
  if (type === 'object' && additionalProperties === true) return 'Readonly<Record<string, unknown>>';
  if (type === 'string' || type === 'boolean' || type === 'number') return type;
  throw new Error(`no type is known for ${JSON.stringify(schema)}`);
}

function literals(values: readonly string[]): string {
  return values.map((value) => `'${value}'`).join(' | ');
}
