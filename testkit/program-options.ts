// The options of a proof or a bench. On `--help` or an unknown option, a program lists its options.
import { basename } from 'node:path';
import { parseArgs } from 'node:util';

/** By its default: a number, a text, or several; a flag; `undefined` for a text that may be left out. */
type Defaults = Readonly<Record<string, number | string | readonly string[] | false | undefined>>;

type Values<Given extends Defaults> = {
  readonly [Name in keyof Given]: Given[Name] extends number
    ? number
    : Given[Name] extends false
      ? boolean
      : Given[Name] extends readonly string[]
        ? readonly string[]
        : Given[Name] extends string
          ? string
          : string | undefined;
};

export function programOptions<Given extends Defaults>(defaults: Given): Values<Given> {
  if (process.argv.includes('--help')) {
    process.stdout.write(`${usage(defaults)}\n`);
    process.exit(0);
  }
  try {
    const options = Object.entries(defaults).map(([name, value]) => [
      name,
      { type: value === false ? 'boolean' : 'string', multiple: Array.isArray(value) } as const,
    ]);
    const { values } = parseArgs({ options: Object.fromEntries(options) });
    const given = Object.entries(values).map(([name, value]) => [
      name,
      typeof defaults[name] === 'number' ? numberOf(name, value) : value,
    ]);
    return { ...defaults, ...Object.fromEntries(given) };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage(defaults)}\n`);
    process.exit(2);
  }
}

function numberOf(name: string, value: unknown): number {
  const number = value === '' ? Number.NaN : Number(value);
  if (!Number.isFinite(number)) throw new Error(`--${name} takes a number, not ${value}`);
  return number;
}

function usage(defaults: Defaults): string {
  const lines = Object.entries(defaults).map(([name, value]) => {
    if (value === false) return `  --${name}`;
    if (Array.isArray(value)) return `  --${name} …  any number of times`;
    return `  --${name} …${value === undefined ? '' : `  (${value})`}`;
  });
  return [`usage: ${basename(process.argv[1] ?? '', '.js')} [options]`, ...lines].join('\n');
}
