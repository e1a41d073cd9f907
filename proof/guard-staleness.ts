// Whether an entry of the list of guards still means what it says: a guard that is looked for in the wrong place guards nothing.
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../testkit/project.js';
import { editsOf, escaped, type Guard } from './guard.js';

const MIGRATIONS = 'migrations/';
const FUNCTION = /\bCREATE (?:OR REPLACE )?FUNCTION (\w+)/g;

/** By name, the migration that wrote it last. */
const lastWritten = new Map<string, string>();
for (const name of readdirSync(join(PROJECT_ROOT, MIGRATIONS)).sort()) {
  const text = readFileSync(join(PROJECT_ROOT, MIGRATIONS, name), 'utf8');
  for (const written of functionsIn(text)) lastWritten.set(written, `${MIGRATIONS}${name}`);
}

function functionsIn(text: string): string[] {
  return [...text.matchAll(FUNCTION)].map(([, name = '']) => name);
}

/** What is wrong with an entry: its text must be found exactly once, in force, and its tests must be there. */
export async function staleness(guard: Guard): Promise<string | undefined> {
  for (const { file, find } of editsOf(guard)) {
    const text = await readFile(join(PROJECT_ROOT, file), 'utf8').catch(() => undefined);
    if (text === undefined) return `there is no ${file}`;
    const times = text.split(find).length - 1;
    if (times !== 1) return `its text stands ${times} times in ${file}`;
    const later = rewrittenBy(file, text, find);
    if (later !== undefined) return `it stands in a function that ${later} has written anew`;
  }
  for (const [file, name] of guard.tests) {
    const found = await readFile(join(PROJECT_ROOT, file), 'utf8').catch(() => undefined);
    if (found === undefined) return `there is no ${file}`;
    if (!new RegExp(`['"\`].*${escaped(name)}`).test(found)) return `${file} has no test “${name}”`;
  }
  return undefined;
}

function rewrittenBy(file: string, text: string, find: string): string | undefined {
  if (!file.startsWith(MIGRATIONS)) return undefined;
  const before = text.slice(0, text.indexOf(find));
  const around = functionsIn(before).at(-1);
  // Its body is between two of these marks.
  const isInside = before.split('$$').length % 2 === 0;
  const later = around !== undefined && isInside ? lastWritten.get(around) : undefined;
  return later === file ? undefined : later;
}
