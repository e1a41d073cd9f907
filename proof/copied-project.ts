// A copy of the project in which something can be changed and tried.
import { cp, mkdtemp, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../testkit/project.js';

const COPIED = [
  'README.md',
  'bin',
  'build',
  'client',
  'console',
  'dist',
  'docs',
  'migrations',
  'schema',
  'proof',
  'reference',
  'src',
  'test',
  'testkit',
  'libraries.config.js',
  'package.json',
  'rolldown.config.js',
  'tsconfig.json',
  'tsconfig.build.json',
];

/** Returns where it is. Its libraries are those of the project. */
export async function copyProject(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'tollgate-guards-'));
  for (const name of COPIED) await cp(join(PROJECT_ROOT, name), join(copy, name), { recursive: true });
  await cp(join(PROJECT_ROOT, 'vitest.config.ts'), join(copy, 'vitest.config.ts'));
  await symlink(join(PROJECT_ROOT, 'node_modules'), join(copy, 'node_modules'), 'junction');
  return copy;
}
