// The schemas of the OpenAPI document: from what the gateway checks with to what generators of clients understand.
import { type TSchema, Type } from '../typebox.js';

/** Of an object in an answer: new members may come. Said aloud, since there are generators that take silence for a no. */
export const OPEN = { additionalProperties: true } as const;

/** A text with known values to which new ones may come: a closed list would break a client that was made before. */
export function openEnum<Value extends string>(values: readonly Value[], description: string) {
  return Type.Unsafe<Value>({ type: 'string', 'x-extensible-enum': values, description });
}

/**
 * Says that exactly one member of an object must be there, and what the object with that one member is called. The
 * operation checks it, since it can say where the problem is; the document has a `oneOf` of the named objects.
 */
export function alternatives(names: Readonly<Record<string, string>>) {
  return { alternatives: names };
}

/** As much of a schema as is changed on the way into the document. */
interface Described extends Readonly<Record<string, unknown>> {
  readonly title?: string;
  readonly alternatives?: Readonly<Record<string, string>>;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly items?: Described;
  readonly enum?: unknown;
}

/** Collects the schemas that have a name, so that they are written once. */
export class Components {
  readonly #schemas = new Map<string, unknown>();

  /** What stands in the document where this schema is used: a reference, if it has a name. */
  use(schema: TSchema): unknown {
    return this.#use(schema as unknown as Described);
  }

  get schemas(): Record<string, unknown> {
    return Object.fromEntries([...this.#schemas].sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  #use({ title, ...schema }: Described): unknown {
    const written = schema.alternatives === undefined ? this.#written(schema) : this.#oneOf(schema);
    return title === undefined ? written : this.#refer(title, written);
  }

  #written({ properties, items, ...rest }: Described): unknown {
    return {
      // Generators want to know the type of a value even where the list of values shows it.
      ...(rest.enum !== undefined && { type: 'string' }),
      ...rest,
      ...(properties !== undefined && {
        properties: Object.fromEntries(
          Object.entries(properties).map(([name, member]) => [name, this.#use(member)]),
        ),
      }),
      ...(items !== undefined && { items: this.#use(items) }),
    };
  }

  #oneOf({
    alternatives: names = {},
    properties = {},
    description,
    additionalProperties,
  }: Described): unknown {
    return {
      ...(description !== undefined && { description }),
      oneOf: Object.entries(properties).map(([name, member]) => {
        const alternative = {
          type: 'object',
          required: [name],
          properties: { [name]: this.#use(member) },
          ...(additionalProperties !== undefined && { additionalProperties }),
        };
        return this.#refer(names[name] as string, alternative);
      }),
    };
  }

  #refer(name: string, schema: unknown): { $ref: string } {
    const known = this.#schemas.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema))
      throw new Error(`two schemas are called ${name}`);
    this.#schemas.set(name, schema);
    return { $ref: `#/components/schemas/${name}` };
  }
}
