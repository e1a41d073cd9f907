// Which program this is: its version, from the one place that names it.
import { readFileSync } from 'node:fs';

/** As package.json has it. */
export const PROGRAM_VERSION: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version;

/** How the program names itself to the servers that it calls. */
export const USER_AGENT = `tollgate/${PROGRAM_VERSION}`;
