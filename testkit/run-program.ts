// Runs a proof or a bench by its name, and lists them without one: `npm run proof NAME`, `npm run bench NAME`. Each is a file in a folder
// of the same name (proof/crash/crash.ts), or a single file (bench/vault.ts). The first sentence of that file says what it shows.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, parse } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compiledProgram, PROJECT_ROOT } from './project.js';
import { say } from './report.js';

const [kind = 'proof', name, ...options] = process.argv.slice(2);

/** By its name, where the file of each program is, without its ending. */
const programs = new Map(
  readdirSync(join(PROJECT_ROOT, kind)).flatMap((entry) => {
    const { name: program, ext } = parse(entry);
    const path = `${kind}/${program}${ext === '.ts' ? '' : `/${program}`}`;
    return existsSync(sourceOf(path)) ? [[program, path]] : [];
  }),
);
const path = programs.get(name ?? '');

if (name === undefined) {
  const width = Math.max(...[...programs.keys()].map(({ length }) => length));
  for (const [program, each] of programs) say(`${program.padEnd(width)}  ${firstSentence(each)}`);
  say(`\nnpm run ${kind} NAME [-- OPTIONS]; npm run ${kind} NAME -- --help lists the options.`);
} else if (path === undefined) {
  process.stderr.write(
    `There is no ${kind} named "${name}". There are: ${[...programs.keys()].join(', ')}.\n`,
  );
  process.exitCode = 1;
} else {
  // As if it had been called itself.
  process.argv.splice(1, process.argv.length, compiledProgram(path), ...options);
  await import(pathToFileURL(compiledProgram(path)).href);
}

function sourceOf(program: string): string {
  return join(PROJECT_ROOT, `${program}.ts`);
}

/** Of the comment that the file begins with. */
function firstSentence(program: string): string {
  const [comment = ''] = /^(\/\/ .*\n)+/.exec(readFileSync(sourceOf(program), 'utf8')) ?? [];
  const [sentence = ''] =
    /^.*?\.(?= |$)/.exec(comment.replaceAll(/^\/\/ /gm, '').replaceAll('\n', ' ')) ?? [];
  return sentence;
}
