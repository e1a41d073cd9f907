// Paths of the project, for programs compiled into build/ as well as for tests, which are not.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

function root(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}

export const PROJECT_ROOT = root();

/** The command `tollgate`. */
export const TOLLGATE = join(PROJECT_ROOT, 'bin', 'tollgate.js');

/** A program of proof/, bench/ or testkit/ as `npm run build:programs` compiles it, for example `proof/crash`. */
export function compiledProgram(name: string): string {
  return join(PROJECT_ROOT, 'build', `${name}.js`);
}

/** The environment of this process without a gateway's settings. */
export function environmentWithoutSettings(): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      // Node would read all the certificates of the second anew for each process, which takes it longer than to start.
      ([name]) => !/^(DATABASE_URL$|NODE_EXTRA_CA_CERTS$|TOLLGATE_)/.test(name),
    ),
  );
}

/** Settings without their prefix become environment variables. */
export function asEnvironment(settings: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [`TOLLGATE_${name}`, value]));
}
