// The packages of a release as npm makes them: their tarballs, and what is in them.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT_ROOT } from './project.js';

// Windows' npm is a script of its shell.
const shell = process.platform === 'win32';

/** By the folder that each stands in. */
export type PackageFolder = '.' | 'client';

export interface Packed {
  readonly tarball: string;
  /** What is in it. */
  readonly files: readonly string[];
}

/** Makes the tarball in `destination`. What was built is there already; the scripts would build it again, under tests that use it. */
export async function packed(folder: PackageFolder, destination: string): Promise<Packed> {
  const args = ['pack', '--ignore-scripts', '--offline', '--json', '--pack-destination', destination];
  const { stdout } = await promisify(execFile)('npm', args, {
    cwd: join(PROJECT_ROOT, folder),
    shell,
    maxBuffer: 16 * 1024 * 1024,
  });
  // npm 11 says it by the name of the package, earlier ones as a list.
  const [made] = Object.values(JSON.parse(stdout)) as [{ filename: string; files: { path: string }[] }];
  return { tarball: join(destination, made.filename), files: made.files.map(({ path }) => path) };
}
