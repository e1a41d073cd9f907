// The rules for files: their names, their length, how they begin, and that they are TypeScript.
import { readdirSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import { test } from 'vitest';
import { PROJECT_ROOT } from '../testkit/project.js';
import { expectNone, filesUnder, linesWith, read } from '../testkit/project-files.js';

const LONGEST_FILE_LINES = 600;

/** Where files of ours lie. What tools make, and where it lies, is none of ours. */
const CODE_FOLDERS = [
  'src',
  'client/src',
  'console/src',
  'examples',
  'reference',
  'test',
  'testkit',
  'proof',
  'bench',
];
const MADE = ['.git', 'build', 'coverage', 'data', 'dist', 'node_modules'];
/** The entry and what loads the program, which must run before anything is compiled, and what tools read. */
const JAVASCRIPT = /^(bin\/(tollgate|program)\.js|(console\/)?\w+\.config\.js)$/;
const CODE = CODE_FOLDERS.flatMap(filesUnder).filter((path) => /\.tsx?$/.test(path));

test('no file has a meaningless name', () => {
  expectNone(
    [...CODE_FOLDERS, 'bin'].flatMap(filesUnder).filter((path) => {
      return /(^|\/)(utils?|helpers?|misc|common|shared|stuff)(\/|\.|$)/i.test(path);
    }),
    'Name the file after what it is in charge of; if it is in charge of several things, make several files.',
  );
});

test('no merge has left a conflict in a file', () => {
  const places = [...CODE_FOLDERS, 'bin', 'deploy', 'docs', 'migrations', 'schema', '.ci'].flatMap(
    filesUnder,
  );
  const ofRoot = readdirSync(PROJECT_ROOT, { withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = [...places, ...ofRoot.map(({ name }) => name)];
  expectNone(
    paths.filter((path) => /^(<{7}|>{7})( |$)/m.test(read(path))),
    'Choose one side, and remove the lines of the merge.',
  );
});

/** Made by a program, and as long as the interface is wide. */
const MADE_FILES = ['client/src/wire.ts'];

test(`no file is longer than ${LONGEST_FILE_LINES} lines`, () => {
  expectNone(
    CODE.filter((path) => !MADE_FILES.includes(path))
      .map((path) => ({ path, lines: read(path).split('\n').length - 1 }))
      .filter(({ lines }) => lines > LONGEST_FILE_LINES)
      .map(({ path, lines }) => `${path}: ${lines} lines`),
    'Split it along what its parts are in charge of.',
  );
});

test('every file begins with a sentence on what it is in charge of', () => {
  expectNone(
    CODE.filter((path) => !path.endsWith('.sql.ts')).filter(
      (path) => !/^\/\/ [A-Z`].*(\n\/\/ .*)*[.:)]\n/.test(read(path)),
    ),
    'Begin the file with `// ` and one sentence that ends in a full stop. Files of statements need none.',
  );
});

test('no two files of test/ have the same name', () => {
  const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);
  const names = filesUnder('test').map(nameOf);
  expectNone(
    filesUnder('test').filter((path) => names.indexOf(nameOf(path)) !== names.lastIndexOf(nameOf(path))),
    'A failure is reported by its name: say in it which of them it is.',
  );
});

test('there is no JavaScript except the entry and the configuration of tools', () => {
  const ours = readdirSync(PROJECT_ROOT, { withFileTypes: true }).filter(({ name }) => !MADE.includes(name));
  expectNone(
    ours
      .flatMap((entry) => (entry.isDirectory() ? filesUnder(entry.name) : [entry.name]))
      .filter((path) => !/^client\/(dist|node_modules)\//.test(path))
      .filter((path) => /\.[cm]?js$/.test(path) && !JAVASCRIPT.test(path)),
    'Write TypeScript: proof/, bench/ and testkit/ are compiled by `npm run build:programs`.',
  );
});

interface Node {
  readonly type?: string;
  readonly [member: string]: unknown;
}

function callsIn(tree: unknown): Node[] {
  const calls: Node[] = [];
  const left = [tree];
  while (left.length > 0) {
    const node = left.pop() as Node;
    if (typeof node !== 'object' || node === null) continue;
    if (node.type === 'CallExpression') calls.push(node);
    left.push(...Object.values(node));
  }
  return calls;
}

test('no test uses `vi` to wait with the short default timeout of vitest', () => {
  const isWait = ({ callee, arguments: given }: Node, text: string) => {
    const { start, end } = callee as { start: number; end: number };
    return /^vi\s*\.wait(For|Until)$/.test(text.slice(start, end)) && (given as unknown[]).length < 2;
  };
  expectNone(
    [...filesUnder('test'), ...filesUnder('testkit')]
      .filter((path) => /\.ts$/.test(path) && /vi\s*\.wait/.test(read(path)))
      .filter((path) =>
        callsIn(parseAst(read(path), { lang: 'ts' })).some((call) => isWait(call, read(path))),
      ),
    'A second is not enough where others work, too: give it { timeout: 300_000 }.',
  );
});

test('no test ends a wait, or itself, before others on the machine have had their turn', () => {
  const files = [...filesUnder('test'), ...filesUnder('testkit')].filter((path) => path.endsWith('.ts'));
  // What is waited for a while on purpose has six seconds or less.
  const impatient = /\btimeout: (?:[7-9]|[1-9]\d|[12]\d\d)_000\b|^\s*\}, (?:\d{1,2}|[12]\d\d)_000\);$/;
  expectNone(
    files.flatMap((path) => linesWith(read(path), impatient).map((line) => `${path}:${line}`)),
    'Leave it out where there is a default; give waits of `vi` { timeout: 300_000 }.',
  );
});

test('no two migrations have the same number', () => {
  const numberOf = (path: string) => /\/(\d{4})_/.exec(path)?.[1];
  const numbers = filesUnder('migrations').map(numberOf);
  expectNone(
    filesUnder('migrations').filter(
      (path) => numbers.filter((number) => number === numberOf(path)).length > 1,
    ),
    'Take the next free number.',
  );
});

test('decimals of amounts are counted in src/values/money.ts only', () => {
  const files = [...filesUnder('src'), ...filesUnder('console/src'), ...filesUnder('reference')];
  const counting = /[cC]ents\)?\s*[/*]\s*10|toFixed\(2\)|maximumFractionDigits: \d/;
  expectNone(
    files
      .filter((path) => /\.tsx?$/.test(path) && path !== 'src/values/money.ts')
      .flatMap((path) => linesWith(read(path), counting).map((line) => `${path}:${line}`)),
    'Currencies have different numbers of decimals: use amountText, moneyText and centsIn of src/values/money.ts.',
  );
});
