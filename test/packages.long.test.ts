// The packages that the project uses: exact versions, a lock file that works everywhere, and an installation that can be started.
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { PROJECT_ROOT } from '../testkit/project.js';
import { expectNone, read } from '../testkit/project-files.js';

describe('packages', () => {
  interface Locked {
    readonly resolved?: string;
    /** To a workspace, by its folder. */
    readonly link?: boolean;
    readonly dependencies?: Record<string, string>;
    readonly optionalDependencies?: Record<string, string>;
  }
  const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };

  test('package.json names exact versions', () => {
    const versions = ['package.json', 'client/package.json', 'console/package.json'].flatMap((path) => {
      const { dependencies, devDependencies, optionalDependencies, overrides } = JSON.parse(
        read(path),
      ) as Record<string, Record<string, string>>;
      return [dependencies, devDependencies, optionalDependencies, overrides].flatMap((named) =>
        Object.entries(named ?? {}),
      );
    });
    expectNone(
      versions
        .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
        .map(([name, version]) => `${name}: ${version}`),
      'Pin the version without ^ or ~: npm install --save-exact does.',
    );
  });

  test('package-lock.json names no download address', () => {
    expectNone(
      Object.entries(lock.packages)
        .filter(([, { resolved, link }]) => resolved !== undefined && link !== true)
        .map(([name]) => name),
      'Write the lock file with omit-lockfile-registry-resolved=true, as .npmrc says, so that any registry will do.',
    );
  });

  test('package-lock.json holds the packages of every platform', () => {
    const isLocked = (dependent: string, name: string) => {
      for (let at = dependent; ; at = at.slice(0, Math.max(at.lastIndexOf('/node_modules/'), 0))) {
        if (`${at && `${at}/`}node_modules/${name}` in lock.packages) return true;
        if (at === '') return false;
      }
    };
    expectNone(
      Object.entries(lock.packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
        Object.keys({ ...dependencies, ...optionalDependencies })
          .filter((name) => !isLocked(path, name))
          .map((name) => `${name}, of ${path}`),
      ),
      '`npm ci` refuses a lock file with gaps. Remove node_modules and package-lock.json, and run npm install anew with versions that the registry has for every platform.',
    );
  });
});

describe('an installation', () => {
  /** A project with one tool that only the build needs, and with this project's settings of npm. */
  async function projectWithATool(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-packages-'));
    await mkdir(join(folder, 'tool'));
    await mkdir(join(folder, 'project'));
    const write = (path: string, content: object) => writeFile(join(folder, path), JSON.stringify(content));
    await write('tool/package.json', { name: 'tool', version: '1.0.0', bin: { compile: 'compile.js' } });
    await writeFile(
      join(folder, 'tool', 'compile.js'),
      `#!/usr/bin/env node\nrequire('node:fs').writeFileSync('made', '')`,
    );
    const devDependencies = { tool: 'file:../tool' };
    const { scripts } = JSON.parse(read('package.json'));
    const project = { name: 'project', version: '1.0.0', devDependencies };
    await write('project/package.json', {
      ...project,
      scripts: { prepare: scripts.prepare, build: 'compile' },
    });
    await write('project/package-lock.json', {
      ...project,
      lockfileVersion: 3,
      packages: {
        '': project,
        '../tool': { version: '1.0.0', dev: true, bin: { compile: 'compile.js' } },
        'node_modules/tool': { resolved: '../tool', link: true },
      },
    });
    await copyFile(join(PROJECT_ROOT, '.npmrc'), join(folder, 'project', '.npmrc'));
    return folder;
  }

  async function npm(args: readonly string[], folder: string, environment: NodeJS.ProcessEnv = {}) {
    const cwd = join(folder, 'project');
    // Windows' npm is a script of its shell.
    const shell = process.platform === 'win32';
    await promisify(execFile)('npm', [...args, '--offline'], {
      cwd,
      shell,
      env: { ...process.env, NODE_ENV: '', ...environment },
    });
    return readdir(cwd);
  }

  test('npm ci with NODE_ENV=production → installs the compilers, and the build works; what the image omits is removed', async () => {
    const folder = await projectWithATool();
    try {
      const installed = await npm(['ci'], folder, { NODE_ENV: 'production' });
      expect(installed).toContain('made');
      const [, prune = ''] = /&& npm (prune [^&]*?) &&/.exec(read('deploy/docker/Dockerfile')) ?? [];
      await npm(prune.split(' '), folder);
      const left = await readdir(join(folder, 'project', 'node_modules')).catch(() => []);
      expect(left).not.toContain('tool');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('the scripts of package.json also work in Windows’ shell', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    // Words of a POSIX shell, what begins with a variable, and what stands between apostrophes, but for those inside of quotation marks.
    const posix = /(^|&& )(exec|export|cp|rm|mv|mkdir|cat|test|\[|[A-Z_]+=\S*) |\$[({A-Z]|;|'/;
    expectNone(
      Object.entries(scripts)
        .filter(([, script]) => posix.test(script.replaceAll(/"[^"]*"/g, '""')))
        .map(([name, script]) => `${name}: ${script}`),
      'Let Node do it: `node -e "…"`, or a program.',
    );
  });
});
