// The program's version and how it identifies itself.
import { existsSync, readFileSync } from 'node:fs';

/** Compiled proofs and benches lie one folder deeper than the sources and the program. */
const PLACES = ['../../package.json', '../../../package.json'].map((path) => new URL(path, import.meta.url));

/** From package.json. */
export const PROGRAM_VERSION: string = JSON.parse(
  readFileSync(PLACES.find((place) => existsSync(place)) as URL, 'utf8'),
).version;

/** For requests to other servers. */
export const USER_AGENT = `tollgate/${PROGRAM_VERSION}`;
