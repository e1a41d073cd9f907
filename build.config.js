// Builds what runs: `node build.config.js dist` the gateway (dist/, client/dist), `node build.config.js build` also the proofs and benches
// (build/). Whatever is built from the sources as they are now is not built again, unless `--anew` asks for it.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('.', import.meta.url)));

const TSC = 'node_modules/typescript/bin/tsc';

const DIST = {
  stamp: 'dist/.built-from',
  // The last of each step.
  made: [
    'client/dist/index.js',
    'dist/program/files.json',
    'dist/console/index.html',
    'dist/payers/page.css',
  ],
  sources: [
    ...['bin', 'checkout', 'client/src', 'console/src', 'reference', 'src'],
    // The reference page shows parts of them.
    ...['README.md', 'docs'],
    ...['package.json', 'package-lock.json', 'client/package.json', 'console/package.json'],
    ...['tsconfig.json', 'tsconfig.build.json', 'client/tsconfig.json', 'console/tsconfig.json'],
    ...['build.config.js', 'libraries.config.js', 'rolldown.config.js', 'console/esbuild.config.js'],
  ],
  steps() {
    node([TSC, '-p', 'client']);
    node([TSC, '-p', 'tsconfig.build.json']);
    // Its report is long, and its errors do not stand in it.
    node(['node_modules/rolldown/bin/cli.mjs', '--config'], 'ignore');
    cpSync('checkout/page.css', 'dist/payers/page.css');
    cpSync('src/reference/template', 'dist/reference/template', { recursive: true });
    node(['-e', "import('./dist/reference/compose.js').then((it) => it.writeDocuments())"]);
    node(['console/esbuild.config.js']);
  },
};

const PROGRAMS = {
  stamp: 'build/.built-from',
  made: [],
  sources: [DIST.stamp, 'bench', 'examples', 'proof', 'testkit', 'tsconfig.programs.json'],
  steps() {
    // `npm run typecheck` checks their types.
    node([TSC, '-p', 'tsconfig.programs.json', '--noCheck']);
  },
};

const [asked, ...options] = process.argv.slice(2);
const parts = { dist: [DIST], build: [DIST, PROGRAMS] }[asked];
if (parts === undefined) throw new Error('node build.config.js dist|build [--anew]');
for (const part of parts) build(part);

function build({ stamp, made, sources, steps }) {
  const digest = digestOf(sources);
  const isBuilt = [stamp, ...made].every(existsSync) && readFileSync(stamp, 'utf8') === digest;
  if (isBuilt && !options.includes('--anew')) return;
  // A build that fails half-way leaves no stamp.
  rmSync(stamp, { force: true });
  steps();
  writeFileSync(stamp, digest);
}

/** By content: a branch that is left and entered again, or a copy of the project, has other times and the same files. */
function digestOf(sources) {
  const hash = createHash('sha256');
  for (const path of sources.flatMap(filesOf))
    hash.update(`${path}\0`).update(readFileSync(path)).update('\0');
  return hash.digest('hex');
}

function filesOf(path) {
  if (!lstatSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesOf(join(path, name)));
}

function node(args, output = 'inherit') {
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', output, 'inherit'] });
  if (status !== 0) process.exit(1);
}
