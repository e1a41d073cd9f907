// After the compiler: the program and all that it is made of becomes a few files. To find, read and link the several hundred that
// they are in the sources and in node_modules took most of the time in which a command starts.
import { mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

const PROGRAM = 'dist/program';

/** Puts each file into its place at one go, the first one last: whoever starts meanwhile has a whole program, old or new. */
const inPlace = {
  name: 'in-place',
  writeBundle({ dir }, files) {
    mkdirSync(PROGRAM, { recursive: true });
    const main = Object.values(files).find(({ isEntry }) => isEntry).fileName;
    const parts = Object.keys(files).filter((name) => name !== main);
    for (const name of [...parts, main]) renameSync(join(dir, name), join(PROGRAM, name));
    rmdirSync(dir);
  },
};

export default [
  {
    input: 'dist/cli/main.js',
    output: { dir: `${PROGRAM}-${process.pid}` },
    platform: 'node',
    plugins: [inPlace],
  },
  // The script of the reference page: one file that runs before the page is shown.
  {
    input: 'reference/main.ts',
    output: { file: 'dist/reference/script.js', format: 'iife', minify: true },
    platform: 'browser',
  },
];
