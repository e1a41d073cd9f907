// Proper values for the fields of a schema, made by chance.
import type { Json } from '../../testkit/bodies.js';
import type { Chance } from '../../testkit/chance.js';
import type { Secrets } from '../arena/secrets.js';
import { isChoice, type Schema } from './document.js';
import { matching } from './patterns.js';

/** Days that have not come yet. */
export const LATER: Readonly<Record<string, string | undefined>> = {
  first_date: '2031-01-31',
  next_date: '2031-03-31',
  until: '2032-01-31',
};

/** Fields of which there has to be exactly one. */
const ONE_OF: readonly (readonly string[])[] = [
  ['days', 'weeks', 'months'],
  ['count', 'until'],
];

/** Makes proper values. `wanted`: the keys of a field that must be among them, even if it is optional. */
export class Proper {
  readonly chance: Chance;
  readonly secrets: Secrets;
  /** One that is there. */
  customerId = 0;
  virtualPan = '';

  constructor(chance: Chance, secrets: Secrets) {
    this.chance = chance;
    this.secrets = secrets;
  }

  value(schema: Schema, wanted: readonly string[] = [], name = ''): Json {
    const { chance, secrets } = this;
    // By a merchant itself there would be no CVV; other results of a check are refused.
    if (name === 'initiator') return 'customer';
    if (schema.enum) return chance.pick(schema.examples ?? schema.enum);
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
        if (name === 'virtual_pan') return this.virtualPan;
        if (LATER[name] !== undefined) return LATER[name];
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
    // A wallet's token is made by a payer's device: whatever stands here is refused.
    const names = Object.keys(properties).filter((name) => name !== 'wallet' || name === wantedHere);
    let chosen = names.filter(
      (name) =>
        required.includes(name) || name === wantedHere || name === 'expiry_date' || chance.below(2) === 0,
    );
    for (const others of ONE_OF.filter((each) => each.every((name) => names.includes(name)))) {
      const one = others.find((name) => name === wantedHere) ?? chance.pick(others);
      chosen = [...chosen.filter((name) => !others.includes(name)), one];
    }
    if (isChoice(schema) && names.length > 0)
      chosen = [names.find((name) => name === wantedHere) ?? chance.pick(names)];
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
