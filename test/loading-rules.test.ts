// How the program loads what it does not need at its start: the built one is no module, and has no way to import() what lies elsewhere.
import { test } from 'vitest';
import { expectNone, filesUnder, linesWith, read } from '../testkit/project-files.js';

test('only files of src/ are loaded by import()', () => {
  expectNone(
    filesUnder('src')
      .filter((path) => path.endsWith('.ts'))
      .flatMap((path) => linesWith(read(path), /\bimport\(\s*['"][^.]/).map((line) => `${path}:${line}`)),
    'What is Node’s comes from process.getBuiltinModule(); import anything else at the top of the file.',
  );
});
