// Which program this is: its version, from the one place that names it.
import { existsSync, readFileSync } from 'node:fs';

/** What is compiled for proofs and benches lies a folder deeper than the sources and the program. */
const PLACES = ['../../package.json', '../../../package.json'].map((path) => new URL(path, import.meta.url));

/** As package.json has it. */
export const PROGRAM_VERSION: string = JSON.parse(
  readFileSync(PLACES.find((place) => existsSync(place)) as URL, 'utf8'),
).version;

/** How the program names itself to the servers that it calls. */
export const USER_AGENT = `tollgate/${PROGRAM_VERSION}`;
