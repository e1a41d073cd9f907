// Turns values into the form that operators' programs read: members named as in the API (`preauthorisation_days`), times as texts.

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${SnakeCase<Rest>}`
    : `_${Lowercase<First>}${SnakeCase<Rest>}`
  : Name;

/** The type of a value after `outward` and JSON. An ID is a number. */
export type Outward<Value> = Value extends number
  ? number
  : Value extends string | boolean | null | undefined
    ? Value
    : Value extends Date
      ? string
      : Value extends readonly (infer Item)[]
        ? Outward<Item>[]
        : Value extends object
          ? { [Name in keyof Value as Name extends string ? SnakeCase<Name> : never]: Outward<Value[Name]> }
          : Value;

/** At every depth. Keys chosen by a client must not be member names here, because they would be renamed too. */
export function outward<Value extends object>(value: Value): Outward<Value> {
  return renamed(value) as Outward<Value>;
}

function renamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamed);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [snakeCase(name), renamed(member)]),
  );
}

export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
