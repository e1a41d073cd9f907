// The project's files, as the tests of the house rules read them.
import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { expect } from 'vitest';
import { PROJECT_ROOT } from './project.js';

/** From the root, with slashes: `src/http/server.ts`. */
export function filesUnder(folder: string): string[] {
  return readdirSync(join(PROJECT_ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(PROJECT_ROOT.length + 1)
        .replaceAll(sep, '/'),
    )
    .sort();
}

export function read(path: string): string {
  return readFileSync(join(PROJECT_ROOT, path), 'utf8');
}

/** The lines of a file that hold something that they should not. */
export function linesWith(text: string, unwanted: RegExp): string[] {
  return text
    .split('\n')
    .flatMap((line, index) => (unwanted.test(line) ? [`${index + 1}: ${line.trim()}`] : []));
}

export function expectNone(violations: readonly string[], whatToDo: string): void {
  expect(violations, whatToDo).toEqual([]);
}
