// After the compiler: the program and all that it is made of becomes a few files. To find, read and link the several hundred that
// they are in the sources and in node_modules took most of the time in which a command starts.
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keepLibraries } from './libraries.config.js';

const PROGRAM = 'dist/program';

/** Puts each file into its place at one go, what names the first one last: whoever starts meanwhile has a whole program, old or new. */
const inPlace = {
  name: 'in-place',
  writeBundle({ dir }, files) {
    mkdirSync(PROGRAM, { recursive: true });
    const names = Object.keys(files);
    const main = Object.values(files).find(({ isEntry }) => isEntry).fileName;
    writeFileSync(join(dir, 'files.json'), JSON.stringify({ main, names }));
    for (const name of [...names, 'files.json']) renameSync(join(dir, name), join(PROGRAM, name));
    rmdirSync(dir);
    keepLibraries(
      PROGRAM,
      Object.values(files).flatMap(({ moduleIds = [] }) => moduleIds),
    );
    const remember = "import('./bin/program.js').then((it) => it.rememberCompiled())";
    execFileSync(process.execPath, ['-e', remember], { stdio: 'inherit' });
  },
};

/** A script that V8 kept cannot import: what is needed only sometimes, such as Node's client for HTTPS, is required. */
const requiring = {
  name: 'requiring',
  renderChunk: (code) => code.replaceAll(/\bimport\("(node:[\w/]+)"\)/g, 'Promise.resolve(require("$1"))'),
};

export default [
  {
    input: 'dist/cli/main.js',
    // As scripts, since of modules Node 20 cannot keep what it has compiled (bin/program.js). A name stands for one content only.
    output: {
      dir: `${PROGRAM}-${process.pid}`,
      format: 'cjs',
      entryFileNames: '[name]-[hash].cjs',
      chunkFileNames: '[name]-[hash].cjs',
    },
    platform: 'node',
    plugins: [requiring, inPlace],
  },
  // The script of the reference page: one file that runs before the page is shown.
  {
    input: 'reference/main.ts',
    output: { file: 'dist/reference/script.js', format: 'iife', minify: true },
    platform: 'browser',
  },
  // The scripts of payers' pages, and of the pages of shops that frame them.
  ...['page', 'checkout-1'].map((name) => ({
    input: `checkout/${name}.ts`,
    output: { file: `dist/payers/${name}.js`, format: 'iife', minify: true },
    platform: 'browser',
  })),
];
