// Loads the program that the build has put together, with what V8 made of it when it was built: to compile it anew would be a third of
// what a start takes. Node 20 keeps such things for nobody.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

const FOLDER = fileURLToPath(new URL('../dist/program/', import.meta.url));
const requireOther = createRequire(join(FOLDER, 'program.cjs'));

/** By the name of its file, which has a hash of its content in it. */
const loaded = new Map();

/** What the first file of the program exports; undefined before it is built. */
export function loadProgram() {
  const files = read('files.json');
  return files && load(JSON.parse(files).main);
}

/** For the next starts with this version of Node: another one's V8 does not take what is kept here, and compiles. */
export function rememberCompiled() {
  for (const name of JSON.parse(read('files.json')).names) load(name);
  for (const [name, { script }] of loaded) {
    const compiled = join(FOLDER, `${name}.v8`);
    writeFileSync(`${compiled}.${process.pid}`, script.createCachedData());
    renameSync(`${compiled}.${process.pid}`, compiled);
  }
}

function load(name) {
  const known = loaded.get(name);
  if (known) return known.module.exports;
  const filename = join(FOLDER, name);
  const cachedData = read(`${name}.v8`);
  const wrapped = `(function (exports, require, module, __filename, __dirname) {${readFileSync(filename, 'utf8')}\n})`;
  const script = new Script(wrapped, { filename, cachedData });
  const module = { exports: {} };
  loaded.set(name, { script, module });
  const requireHere = (id) => (id.startsWith('./') ? load(id.slice('./'.length)) : requireOther(id));
  script.runInThisContext()(module.exports, requireHere, module, filename, dirname(filename));
  return module.exports;
}

function read(name) {
  try {
    return readFileSync(join(FOLDER, name));
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}
