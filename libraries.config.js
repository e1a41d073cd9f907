// What of others is inside of what the build puts together: its licences, which must come along, and the list of a release (SBOM). Who
// installs the package gets it from the bundles alone, so the list comes from the bundlers and not from package.json.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const BUNDLES = ['dist/program', 'dist/console'];
const LIST = 'libraries.json';
const LICENCES = 'LICENCES.txt';
const LICENCE = /^(licen[cs]e|copying|notice)([.-].*)?$/i;

/** The folder of the package that a file belongs to; none for a file of ours. */
const PACKAGE = /^.*[\\/]node_modules[\\/](@[^\\/]+[\\/])?[^\\/]+/;

/** Leaves, beside a bundle, which packages the files come from that were put into it. */
export function keepLibraries(bundle, files) {
  const folders = [...new Set(files.flatMap((file) => PACKAGE.exec(resolve(file))?.[0] ?? []))];
  // One that stands in several places counts once.
  const byName = new Map(
    folders.map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      return [`${name}@${version}`, { name, version, license, folder }];
    }),
  );
  const libraries = [...byName.keys()].sort().map((name) => byName.get(name));
  mkdirSync(bundle, { recursive: true });
  const list = libraries.map(({ folder, ...named }) => named);
  put(join(bundle, LIST), `${JSON.stringify(list, undefined, 1)}\n`);
  put(join(bundle, LICENCES), libraries.map(licenceOf).join('\n'));
}

function licenceOf({ name, version, license, folder }) {
  const texts = readdirSync(folder)
    .filter((file) => LICENCE.test(file))
    .map((file) => `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`);
  return [`${'='.repeat(80)}\n${name} ${version}: ${license}\n`, ...texts].join('');
}

/** In place at one go: whoever reads meanwhile finds the whole file. */
function put(path, content) {
  writeFileSync(`${path}.${process.pid}`, content);
  renameSync(`${path}.${process.pid}`, path);
}

/** The list of a release (CycloneDX): what npm says of all packages of the project, as far as it is bundled or comes with the program. */
export function printSbom() {
  const bundled = BUNDLES.flatMap((bundle) => JSON.parse(readFileSync(join(bundle, LIST), 'utf8')));
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  const installed = Object.entries({ ...dependencies, ...optionalDependencies });
  const kept = new Set([
    ...bundled.map(({ name, version }) => `${name}@${version}`),
    ...installed.map(([name, version]) => `${name}@${version}`),
  ]);
  // Windows' npm is a script of its shell.
  const shell = process.platform === 'win32';
  const command = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const all = JSON.parse(execFileSync('npm', command, { shell, maxBuffer: 64 * 1024 * 1024 }));
  const root = all.metadata.component['bom-ref'];
  const components = all.components.filter((component) => kept.has(component['bom-ref']));
  const found = new Set(components.map((component) => component['bom-ref']));
  const missing = [...kept].filter((reference) => !found.has(reference));
  if (missing.length > 0) throw new Error(`not in package-lock.json: ${missing.join(', ')}`);
  const edges = all.dependencies
    .filter(({ ref }) => ref === root || found.has(ref))
    .map(({ ref, dependsOn }) => ({
      ref,
      dependsOn: ref === root ? [...found] : dependsOn.filter((one) => found.has(one)),
    }));
  process.stdout.write(`${JSON.stringify({ ...all, components, dependencies: edges }, undefined, 2)}\n`);
}
