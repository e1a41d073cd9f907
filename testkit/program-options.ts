// The options of a proof or a bench. On `--help` or an unknown option, a program lists its options.
import { basename } from 'node:path';
import { type ParseArgsConfig, parseArgs } from 'node:util';

type ProgramOptions = NonNullable<ParseArgsConfig['options']>;

export function programOptions<const Options extends ProgramOptions>(options: Options) {
  if (process.argv.includes('--help')) {
    process.stdout.write(`${usage(options)}\n`);
    process.exit(0);
  }
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage(options)}\n`);
    process.exit(2);
  }
}

function usage(options: ProgramOptions): string {
  const lines = Object.entries(options).map(([name, option]) => {
    const value = option.type === 'string' ? ' …' : '';
    const unless = option.type === 'string' && option.default !== undefined ? `  (${option.default})` : '';
    return `  --${name}${value}${unless}${option.multiple ? '  any number of times' : ''}`;
  });
  return [`usage: ${basename(process.argv[1] ?? '', '.js')} [options]`, ...lines].join('\n');
}
