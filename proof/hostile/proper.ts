// Proper values for the fields of a schema, made by chance.
import type { Json } from '../../testkit/bodies.js';
import type { Chance } from '../../testkit/chance.js';
import type { Secrets } from '../arena/secrets.js';
import { isChoice, type Schema } from './document.js';
import { matching } from './patterns.js';

/** Makes proper values. `wanted`: the keys of a field that must be among them, even if it is optional. */
export class Proper {
  readonly chance: Chance;
  readonly secrets: Secrets;
  /** One that is there. */
  customerId = 0;

  constructor(chance: Chance, secrets: Secrets) {
    this.chance = chance;
    this.secrets = secrets;
  }

  value(schema: Schema, wanted: readonly string[] = [], name = ''): Json {
    const { chance, secrets } = this;
    if (schema.enum) return chance.pick(schema.enum);
    switch (schema.type) {
      case 'object':
        return this.#object(schema, wanted);
      case 'array':
        return this.#array(schema, wanted);
      case 'integer':
        return name === 'customer_id' ? this.customerId : (schema.minimum ?? 0);
      case 'boolean':
        return chance.pick([true, false]);
      case 'string':
        if (schema.format === 'luhn-checked') return secrets.card();
        if (schema.format === 'card-expiry') return `1${chance.below(3)}${chance.between(30, 49)}`;
        if (name === 'cvv') return secrets.cvv();
        if (schema.format === 'web-address') return `https://shop.example/${chance.id()}`;
        // What is said by way of example fits the targets.
        if (schema.examples) return chance.pick(schema.examples);
        return matching(chance, schema.pattern ?? '', {
          least: 16,
          most: Math.min(schema.maxLength ?? 40, 40),
        });
      default:
        throw new Error(`the schema of ${name} is of a kind that is not known: ${JSON.stringify(schema)}`);
    }
  }

  #object(schema: Schema, [wantedHere, ...further]: readonly string[]): Json {
    const { chance } = this;
    const { properties = {}, required = [] } = schema;
    const names = Object.keys(properties);
    let chosen = names.filter(
      (name) =>
        required.includes(name) || name === wantedHere || name === 'expiry_date' || chance.below(2) === 0,
    );
    if (isChoice(schema)) chosen = [names.find((name) => name === wantedHere) ?? chance.pick(names)];
    const object: Json = Object.fromEntries(
      chosen.map((name) => [
        name,
        this.value(properties[name] ?? {}, name === wantedHere ? further : [], name),
      ]),
    );
    if (typeof schema.additionalProperties === 'object' && schema.propertyNames) {
      object[matching(chance, schema.propertyNames.pattern)] = this.value(schema.additionalProperties);
    }
    return object;
  }

  #array(
    { items = {}, minItems = 0, maxItems = 3 }: Schema,
    [wantedHere, ...further]: readonly string[],
  ): Json {
    const least = wantedHere === undefined ? minItems : Math.max(1, minItems);
    const length = this.chance.between(least, Math.max(least, maxItems));
    return Array.from({ length }, () => this.value(items, further));
  }
}
