// What docs/ARCHITECTURE.md says of files: they are there, and the way of a purchase is as short as it says.
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const PAGE = readFileSync('docs/ARCHITECTURE.md', 'utf8');
const MOST_FILES = 20;

test('every file that the page names is there', () => {
  const named = [
    ...PAGE.matchAll(/`((?:src|test|testkit|proof|bench|schema|migrations)\/[\w./-]+\.(?:ts|sql))`/g),
  ];
  expect(named.length).toBeGreaterThan(MOST_FILES);
  expect(named.map(([, path]) => path as string).filter((path) => !existsSync(path))).toEqual([]);
});

test('the way of a purchase → at most twenty files, each once, from the socket to the links', () => {
  const [, section = ''] = /### The files of a purchase, in order\n([\s\S]*?)\n### /.exec(PAGE) ?? [];
  const files = [...section.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, path]) => path as string);
  expect(files[0]).toBe('src/http/connection-queue.ts');
  expect(files.at(-1)).toBe('src/api/operations/hal.ts');
  expect(files.length).toBeLessThanOrEqual(MOST_FILES);
  expect(new Set(files).size).toBe(files.length);
});
