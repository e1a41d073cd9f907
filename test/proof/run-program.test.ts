// `npm run proof` and `npm run bench`: the lists of what there is, and a name that nothing has.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join, parse } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compiledProgram, PROJECT_ROOT } from '../../testkit/project.js';

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [compiledProgram('testkit/run-program'), ...args],
    { encoding: 'utf8' },
  );
  return { status, stdout, stderr };
}

// What several of them use has a folder of its own.
describe.each([
  ['proof', 'arena'],
  ['bench', 'measuring'],
])('npm run %s', (kind, used) => {
  const names = readdirSync(join(PROJECT_ROOT, kind))
    .map((entry) => parse(entry).name)
    .filter((name) => name !== used);

  test('without a name → lists every program, with a sentence', () => {
    const { status, stdout } = run(kind);
    const lines = stdout.slice(0, stdout.indexOf('\n\n')).split('\n');
    expect(status).toBe(0);
    expect(lines.map((line) => line.split(' ')[0])).toEqual(names);
    expect(lines.filter((line) => !/^\S+ {2,}[A-Z].+\.$/.test(line))).toEqual([]);
  });

  test('an unknown name → exit code 1, and the existing names', () => {
    expect(run(kind, 'nonsense')).toEqual({
      status: 1,
      stdout: '',
      stderr: `There is no ${kind} named "nonsense". There are: ${names.join(', ')}.\n`,
    });
  });

  test('a name → runs that program, with its options', () => {
    const { status, stdout } = run(kind, 'cards', '--help');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^usage: cards \[options\]\n {2}--/);
  });
});
