// Decides which schemas the reference page shows as objects of their own, and which in place.
import type { OpenApiDocument } from '../api/openapi/openapi.js';
import type { Objects, Schema } from './fields.js';

const PREFIX = '#/components/schemas/';

export class PageSchemas {
  readonly #schemas: Readonly<Record<string, Schema>>;
  readonly #names: Set<string>;
  /** The objects that answers, and lists in answers, consist of. */
  readonly objects: Objects;

  constructor({ paths, components }: OpenApiDocument) {
    this.#schemas = components.schemas as Record<string, Schema>;
    const answers = Object.values(paths)
      .flatMap((methods) => Object.values(methods).flatMap(({ responses }) => Object.entries(responses)))
      // Refusals last.
      .sort(([one], [other]) => Number(one >= '400') - Number(other >= '400'));
    const bodies = names(answers.map(([, { content }]) => content?.['application/json']?.schema as Schema));
    const listed = bodies.flatMap((name) =>
      names(Object.values(this.#schemas[name]?.properties ?? {}).map(({ items }) => items)),
    );
    const known = Object.keys(this.#schemas);
    this.#names = new Set([...bodies, ...listed].filter((name) => known.includes(name)));
    this.objects = [...this.#names].map((name) => ({
      name,
      schema: this.#inside(this.#schemas[name] as Schema),
    }));
  }

  /** The schema with all references resolved, except those to objects of their own. */
  whole(schema: Schema): Schema {
    const name = schema.$ref?.slice(PREFIX.length);
    const named = name === undefined || this.#names.has(name) ? undefined : this.#schemas[name];
    return named === undefined ? this.#inside(schema) : { ...this.#inside(named), title: name as string };
  }

  #inside(schema: Schema): Schema {
    const { properties, items, oneOf } = schema;
    return {
      ...schema,
      ...(properties !== undefined && {
        properties: Object.fromEntries(
          Object.entries(properties).map(([name, member]) => [name, this.whole(member)]),
        ),
      }),
      ...(items !== undefined && { items: this.whole(items) }),
      ...(oneOf !== undefined && { oneOf: oneOf.map((each) => this.whole(each)) }),
    };
  }
}

function names(schemas: readonly (Schema | undefined)[]): string[] {
  return schemas.flatMap((schema) => (schema?.$ref === undefined ? [] : [schema.$ref.slice(PREFIX.length)]));
}
