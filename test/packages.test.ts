// The packages that the project uses: exact versions, and a lock file that works everywhere.
import { describe, test } from 'vitest';
import { expectNone, read } from '../testkit/project-files.js';

describe('packages', () => {
  interface Locked {
    readonly resolved?: string;
    readonly dependencies?: Record<string, string>;
    readonly optionalDependencies?: Record<string, string>;
  }
  const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };

  test('package.json names exact versions', () => {
    const { dependencies, devDependencies, optionalDependencies, overrides } = JSON.parse(
      read('package.json'),
    ) as Record<string, Record<string, string>>;
    const versions = { ...dependencies, ...devDependencies, ...optionalDependencies, ...overrides };
    expectNone(
      Object.entries(versions)
        .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
        .map(([name, version]) => `${name}: ${version}`),
      'Pin the version without ^ or ~: npm install --save-exact does.',
    );
  });

  test('package-lock.json names no download address', () => {
    expectNone(
      Object.entries(lock.packages)
        .filter(([, { resolved }]) => resolved !== undefined)
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
