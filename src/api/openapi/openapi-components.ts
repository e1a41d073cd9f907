// Turns the schemas that the gateway validates with into schemas that client generators understand.
import { type TSchema, Type } from '../typebox.js';

/** Objects in answers may get new members. Said explicitly, because some generators assume the opposite. */
export const OPEN = { additionalProperties: true } as const;

/** A text with known values that may get new ones: a closed list would break older clients. */
export function openEnum<Value extends string>(values: readonly Value[], description: string) {
  return Type.Unsafe<Value>({ type: 'string', 'x-extensible-enum': values, description });
}

/**
 * An object that must have exactly one of these members, and the name of the object for each. The operation checks this, because it can
 * locate the problem; the document has a `oneOf` of the named objects.
 */
export function alternatives(names: Readonly<Record<string, string>>) {
  return { alternatives: names };
}

/** The parts of a schema that change on the way into the document. */
interface Described extends Readonly<Record<string, unknown>> {
  readonly title?: string;
  readonly alternatives?: Readonly<Record<string, string>>;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly items?: Described;
  readonly enum?: unknown;
}

/** Collects named schemas, so that each is written once. */
export class Components {
  readonly #schemas = new Map<string, unknown>();

  /** The schema as the document uses it: a reference if it has a name. */
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
      // Generators need the type even if the list of values shows it.
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
      throw new Error(`two schemas have the name ${name}`);
    this.#schemas.set(name, schema);
    return { $ref: `#/components/schemas/${name}` };
  }
}
