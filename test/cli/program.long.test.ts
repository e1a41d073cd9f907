// How `bin/tollgate.js` loads the program: with what V8 made of it at the build, or without.
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { dataDirectory } from '../../testkit/gateway-process.js';
import { environmentWithoutSettings, PROJECT_ROOT } from '../../testkit/project.js';

const { version } = JSON.parse(await readFile(join(PROJECT_ROOT, 'package.json'), 'utf8'));

/** Another checkout, with the program that was built here or with none. */
async function checkout({ isBuilt }: { isBuilt: boolean }): Promise<string> {
  const folder = await dataDirectory();
  await cp(join(PROJECT_ROOT, 'bin'), join(folder, 'bin'), { recursive: true });
  await cp(join(PROJECT_ROOT, 'package.json'), join(folder, 'package.json'));
  await mkdir(join(folder, 'dist', 'program'), { recursive: true });
  const { main, names } = JSON.parse(await readFile(join(PROJECT_ROOT, 'dist/program/files.json'), 'utf8'));
  const built = isBuilt ? ['files.json', ...[main, ...names].flatMap((name) => [name, `${name}.v8`])] : [];
  for (const name of built)
    await cp(join(PROJECT_ROOT, 'dist/program', name), join(folder, 'dist/program', name));
  return folder;
}

function node(folder: string, ...args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(process.execPath, args, { cwd: folder, env: environmentWithoutSettings() });
}

test('the built program → V8 accepts the whole compiled cache', async () => {
  const look = `
    import vm from 'node:vm';
    import { syncBuiltinESMExports } from 'node:module';
    const taken = [];
    vm.Script = class extends vm.Script {
      constructor(...args) { super(...args); taken.push(!this.cachedDataRejected && args[1].cachedData !== undefined); }
    };
    syncBuiltinESMExports();
    const { loadProgram } = await import('./bin/program.js');
    loadProgram();
    process.stdout.write(JSON.stringify(taken));`;
  const taken = JSON.parse((await node(PROJECT_ROOT, '--input-type=module', '-e', look)).stdout);
  expect(taken.length).toBeGreaterThan(0);
  expect(taken).not.toContain(false);
});

test('the compiled cache is gone, cut short, or of another version → the program still runs', async () => {
  const folder = await checkout({ isBuilt: true });
  const program = join(folder, 'dist', 'program');
  const compiled = (await readdir(program)).filter((name) => name.endsWith('.v8'));
  expect(compiled.length).toBeGreaterThan(2);
  for (const [index, name] of compiled.entries()) {
    const content = await readFile(join(program, name));
    if (index % 3 === 0) await writeFile(join(program, name), '');
    else if (index % 3 === 1) await writeFile(join(program, name), content.subarray(0, content.length / 2));
    // The version stands in the first words.
    else await writeFile(join(program, name), content.fill(7, 0, 16));
  }
  expect(await node(folder, 'bin/tollgate.js', '--version')).toEqual({ stdout: `${version}\n`, stderr: '' });
});

test('modules that the program needs only sometimes → are required, since a cached script cannot import', async () => {
  const { names } = JSON.parse(await readFile(join(PROJECT_ROOT, 'dist/program/files.json'), 'utf8'));
  const chunks = await Promise.all(
    names.map((name: string) => readFile(join(PROJECT_ROOT, 'dist/program', name), 'utf8')),
  );
  expect(chunks.join('').match(/(await|return|=>|=) import\(.*/g)).toBeNull();
});

test('a checkout that was never built → one line says so', async () => {
  const folder = await checkout({ isBuilt: false });
  await expect(node(folder, 'bin/tollgate.js', '--version')).rejects.toMatchObject({
    code: 1,
    stderr: 'tollgate: not built yet. Run `npm ci` (or `npm run build`) first.\n',
  });
});
