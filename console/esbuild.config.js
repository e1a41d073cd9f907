// Builds the operators' page into dist/console: files whose names carry the hash of what is in them, each beside its compressed forms.
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'esbuild';
import { keepLibraries } from '../libraries.config.js';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const PAGE = join(HERE, '..', 'dist', 'console');
const ASSETS = join(PAGE, 'assets');
/** Operators' browsers: all of them renew themselves. */
const TARGET = 'es2022';

const OPTIONS = {
  absWorkingDir: HERE,
  outdir: ASSETS,
  bundle: true,
  minify: true,
  write: false,
  target: TARGET,
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  legalComments: 'none',
  logLevel: 'warning',
  jsx: 'automatic',
  define: { 'process.env.NODE_ENV': '"production"' },
};

const COMPRESSED = {
  gz: (content) => promisify(gzip)(content, { level: 9 }),
  br: (content) => promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
};

/** In place at one go: whoever reads meanwhile finds the whole file. */
async function put(path, content) {
  const made = `${path}.${process.pid}`;
  await writeFile(made, content);
  await rename(made, path);
}

/** What is there already under a name with a hash is the same. */
async function putOnce(path, content) {
  if (
    await stat(path).then(
      () => true,
      () => false,
    )
  )
    return;
  await Promise.all(
    Object.entries(COMPRESSED).map(async ([form, compress]) =>
      put(`${path}.${form}`, await compress(content)),
    ),
  );
  await put(path, content);
}

const [page, scheme] = await Promise.all([
  build({ ...OPTIONS, entryPoints: ['src/main.tsx'], format: 'esm', splitting: true, metafile: true }),
  // Runs before the first paint, so it is no module.
  build({ ...OPTIONS, entryPoints: ['src/colour-scheme.ts'], format: 'iife' }),
]);
const files = [...page.outputFiles, ...scheme.outputFiles];
await mkdir(ASSETS, { recursive: true });
await Promise.all(files.map(({ path, contents }) => putOnce(path, contents)));

keepLibraries(
  PAGE,
  Object.keys(page.metafile.inputs).map((path) => join(HERE, path)),
);

const names = files.map(({ path }) => basename(path));
const nameOf = (pattern) => names.find((name) => pattern.test(name));
// What the page begins with is fetched at once, not when whatever needs it has come.
const { outputs } = page.metafile;
const [, entry] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === 'src/main.tsx');
const preloads = entry.imports
  .filter(({ kind }) => kind === 'import-statement')
  .map(({ path }) => `<link rel="modulepreload" href="/assets/${basename(path)}">`);
const template = await readFile(join(HERE, 'src', 'index.html'), 'utf8');
const html = template
  .replace('<!-- preloads -->', preloads.join('\n    '))
  .replace('colour-scheme.js', nameOf(/^colour-scheme-.*\.js$/))
  .replace('main.css', nameOf(/^main-.*\.css$/))
  .replace('main.js', nameOf(/^main-.*\.js$/));
await put(join(PAGE, 'index.html'), html);

const kept = new Set(
  names.flatMap((name) => [name, ...Object.keys(COMPRESSED).map((form) => `${name}.${form}`)]),
);
const left = (await readdir(ASSETS)).filter((name) => !kept.has(name));
await Promise.all(left.map((name) => rm(join(ASSETS, name), { force: true })));
