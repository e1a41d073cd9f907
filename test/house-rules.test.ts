// The rules of the house, so that nobody has to remember them. Each failure says what to do.
import { dirname, join, normalize, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectNone, filesUnder, linesWith, read } from '../testkit/project-files.js';
import { TABLE_OWNERS } from './table-owners.js';

/** From the ground up: a folder imports itself and folders before it. Folders inside of one count with it. */
const FOLDERS = [
  'values',
  'postgres',
  'embedded-postgres',
  'tasks',
  'journal',
  'events',
  'plugins',
  'vault',
  'acquirers',
  'clock',
  'organisations',
  'operators',
  'wallets',
  'payments',
  'directdebit',
  'settlement',
  'webhooks',
  'checkout',
  'schedules',
  'figures',
  'installation',
  'demo',
  'api',
  'http',
  'reference',
  'console',
  'gateway',
  'cli',
];

/** Which folders alone may know a package. */
const PACKAGE_HOMES: Readonly<Record<string, string | readonly string[]>> = {
  pg: 'postgres',
  fastify: 'console',
  '@fastify/cookie': 'console',
  'temporal-polyfill': 'values',
  'ipaddr.js': 'webhooks',
  uqr: 'checkout',
  '@simplewebauthn/server': 'operators',
  'openid-client': 'operators',
  'age-encryption': 'vault',
  marked: 'reference',
  '@aws-sdk/client-kms': 'vault',
};

interface Source {
  /** From the root, with slashes: `src/http/server.ts`. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly string[];
}

/** What a file imports or exports from elsewhere, types included, and what it loads only when it is needed. */
function importsOf(text: string): string[] {
  const lasting = /^(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?['"]([^'"]+)['"]/gm;
  const later = /\b(?:import|createRequire\([^)]*\))\(\s*['"]([^'"]+)['"]\s*\)/g;
  return [lasting, later].flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, specifier]) => specifier as string),
  );
}

const SOURCES: readonly Source[] = filesUnder('src')
  .filter((path) => path.endsWith('.ts'))
  .map((path) => {
    const text = read(path);
    return { path, text, imports: importsOf(text) };
  });
const BY_PATH = new Map(SOURCES.map((source) => [source.path, source]));

function folderOf(path: string): string {
  return path.split('/')[1] as string;
}

/** The files of this project that a file imports. */
function neighboursOf({ path, imports }: Source): string[] {
  return imports
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => normalize(join(dirname(path), specifier)).replaceAll(sep, '/'))
    .map((target) => target.replace(/\.js$/, '.ts'));
}

function packagesOf({ imports }: Source): string[] {
  return imports
    .filter((specifier) => !specifier.startsWith('.') && !specifier.startsWith('node:'))
    .map((specifier) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'));
}

describe('layers', () => {
  test('every file of src/ lies in a known folder', () => {
    expectNone(
      SOURCES.map(({ path }) => path).filter((path) => !FOLDERS.includes(folderOf(path))),
      'Put the file into one of the folders, or give a new folder its place in FOLDERS and in docs/ARCHITECTURE.md.',
    );
  });

  test('an import names a file that exists', () => {
    expectNone(
      SOURCES.flatMap((source) =>
        neighboursOf(source)
          .filter((target) => !BY_PATH.has(target) && target.startsWith('src/'))
          .map((target) => `${source.path} imports ${target}`),
      ),
      'The rules below follow the imports: correct the path, or teach importsOf() to read it.',
    );
  });

  test('a folder imports itself and earlier folders only', () => {
    expectNone(
      SOURCES.flatMap((source) =>
        neighboursOf(source)
          .filter((target) => FOLDERS.indexOf(folderOf(target)) > FOLDERS.indexOf(folderOf(source.path)))
          .map((target) => `${source.path} imports ${target}`),
      ),
      `The order is ${FOLDERS.join(', ')}. Pass in from above what the lower folder needs, or move it down.`,
    );
  });

  test('no import runs in a circle', () => {
    expectNone(
      circles(),
      'Move what both files need into a third one, or pass it in as a parameter. Types count too.',
    );
  });

  test.each(Object.entries(PACKAGE_HOMES))('the package %s is imported in src/%s only', (name, home) => {
    expectNone(
      SOURCES.filter(
        (source) => packagesOf(source).includes(name) && ![home].flat().includes(folderOf(source.path)),
      ).map(({ path }) => path),
      `Only src/${home} knows ${name}. Use what that folder offers, or add to it what is missing.`,
    );
  });

  test('the console’s page imports from src/ only the types of its interface and how amounts are written', () => {
    const taken = /^(import(?: type)?)\s[^;]*?from '((?:\.\.\/)+src\/[^']+)'/gm;
    expectNone(
      filesUnder('console/src').flatMap((path) =>
        [...read(path).matchAll(taken)]
          .map(([, kind, from]) => `${path}: ${kind} from ${from}`)
          .filter((line) => !/type from .*\/console\/interface\.js$|\/values\/money\.js$/.test(line)),
      ),
      'Export the type from src/console/interface.ts, and import it with `import type`.',
    );
  });

  test('every file of src/ can be reached from the command line', () => {
    const reached = new Set<string>();
    const visit = (path: string) => {
      const source = BY_PATH.get(path);
      if (source === undefined || reached.has(path)) return;
      reached.add(path);
      for (const target of neighboursOf(source)) visit(target);
    };
    visit('src/cli/main.ts');
    expectNone(
      SOURCES.map(({ path }) => path).filter((path) => !reached.has(path)),
      'Nothing that runs imports it: remove the file, or use it. What only tests use belongs in test/.',
    );
  });
});

function circles(): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, way: readonly string[]) => {
    if (way.includes(path)) {
      found.push([...way.slice(way.indexOf(path)), path].join(' → '));
      return;
    }
    const source = BY_PATH.get(path);
    if (source === undefined || done.has(path)) return;
    for (const target of neighboursOf(source)) visit(target, [...way, path]);
    done.add(path);
  };
  for (const { path } of SOURCES) visit(path, []);
  return found;
}

describe('edges', () => {
  const INTERFACE = ['api', 'http', 'reference', 'console'];
  const domain = SOURCES.filter(({ path }) => !INTERFACE.includes(folderOf(path)));

  test('only the interface names places in a request', () => {
    expectNone(
      domain.flatMap(({ path, text }) =>
        linesWith(text, /\[\s*'(header|path|query|body)'/).map((line) => `${path}:${line}`),
      ),
      'Name what it is about (Subject in src/values/faults.ts); src/api/problems.ts knows where that stands.',
    );
  });

  test('only the interface knows HTTP statuses', () => {
    expectNone(
      domain.flatMap(({ path, text }) =>
        linesWith(text, /\bstatus(Code)?\b[^'"\d]{1,5}[1-5]\d\d\b/i).map((line) => `${path}:${line}`),
      ),
      'Throw a fault (src/values/faults.ts); src/api/problems.ts has its status.',
    );
  });
});

describe('sources', () => {
  test('nothing in src/ uses console to print', () => {
    expectNone(
      SOURCES.flatMap(({ path, text }) =>
        linesWith(text, /\bconsole\.\w+\(/).map((line) => `${path}:${line}`),
      ),
      'Log through the logger, or print a command’s result through src/cli/output.ts.',
    );
  });

  test('only the edges name commands and their options', () => {
    const domain = FOLDERS.slice(FOLDERS.indexOf('journal'), FOLDERS.indexOf('api')).concat('values');
    expectNone(
      // What is declared as tasks says how it is written on a command line.
      SOURCES.filter(({ path, text }) => domain.includes(folderOf(path)) && !/\btask\(\{/.test(text)).flatMap(
        ({ path, text }) =>
          linesWith(text, /(?:['"`; ]--[a-z]|`tollgate [a-z])/).map((line) => `${path}:${line}`),
      ),
      'A page refuses the same things: refuse with a code (src/values/refusal.ts), and word it in src/cli/errors.ts.',
    );
  });
});

describe('SQL', () => {
  // A string that begins with a statement. BEGIN, COMMIT and ROLLBACK frame statements and are none.
  const statement = /['"`]\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|CREATE|ALTER|DROP|TRUNCATE)\s/;

  test('statements stand in files called *.sql.ts', () => {
    expectNone(
      SOURCES.filter(({ path }) => !path.endsWith('.sql.ts')).flatMap(({ path, text }) =>
        linesWith(text, statement).map((line) => `${path}:${line}`),
      ),
      'Move the statement into the *.sql.ts file beside this one, and import it by name.',
    );
  });

  test('a table is written by the folder that owns it', () => {
    const writes = /\b(?:INSERT\s+INTO|UPDATE(?!\s+(?:OF|SET|SKIP)\b)|DELETE\s+FROM|TRUNCATE)\s+([a-z_]+)/g;
    expectNone(
      // A move brings whole rows of every table, as their owner has written them in another cell.
      SOURCES.filter(
        ({ path }) => path.endsWith('.sql.ts') && !path.startsWith('src/installation/moving/'),
      ).flatMap(({ path, text }) =>
        [...withoutComments(text).matchAll(writes)]
          .filter(([, table = '']) => ![TABLE_OWNERS[table]].flat().includes(folderOf(path)))
          .map(([written]) => `${path}: ${written}`),
      ),
      'Let the owner export the part of the statement that writes, and put it together here; or give a new table its owner in test/table-owners.ts.',
    );
  });

  test('every table has an owner, and every owner is a folder', () => {
    const made = filesUnder('schema').flatMap((path) => [
      ...read(path).matchAll(/^CREATE TABLE ([a-z_]+)/gm),
    ]);
    const tables = made.map(([, table]) => table as string);
    expect(Object.keys(TABLE_OWNERS).sort()).toEqual([...tables, 'schema_migration'].sort());
    expectNone(
      Object.values(TABLE_OWNERS)
        .flat()
        .filter((folder) => !FOLDERS.includes(folder)),
      'Name a folder of src/.',
    );
  });

  test('the status of a transaction is set in src/payments/status.sql.ts only, where its event is written', () => {
    const home = 'src/payments/status.sql.ts';
    const setting = /UPDATE transaction\b[^`]*?\bSET\b(?:(?!\b(?:FROM|WHERE)\b)[^`])*?\bstatus = /;
    expect(setting.test(read(home))).toBe(true);
    expectNone(
      SOURCES.filter(({ path, text }) => path !== home && setting.test(text)).map(({ path }) => path),
      `Add a fragment to ${home}, which also writes the event, and use it in your statement.`,
    );
  });

  test('files called *.sql.ts hold only statements', () => {
    const text = '`(?:[^`\\\\]|\\\\.)*`';
    const spread = `(?: spread: ${text},?)?`;
    const value = `(?:${text}|\\{ name: '[a-z-]*', text: (?:${text}|[A-Z_]+),?${spread} \\})`;
    const column = String.raw`[a-z_]+: [a-z]+\(\([^)]*\) => [^;]*?\)`;
    const columns = String.raw`columns<[^()]+>\( ?'[a-z_]+', \{ (?:${column},? )+\}(?:, \{ after: [\w.]+ \},? ?)?\)`;
    // One at a time: a pattern for all of them would try every way to part them before it says no.
    const one = new RegExp(
      `import (?:type )?\\{[^}]*\\} from '[^']+'; ?|(?:export )?const [A-Z_]+(?:: Statement)? = (?:${value}|${columns}); ?`,
      'y',
    );
    const isWhole = (source: string) => {
      for (one.lastIndex = 0; one.lastIndex < source.length; ) if (!one.test(source)) return false;
      return true;
    };
    expectNone(
      SOURCES.filter(({ path }) => path.endsWith('.sql.ts'))
        .filter(({ text: source }) => !isWhole(withoutComments(source).replaceAll(/\s+/g, ' ').trim()))
        .map(({ path }) => path),
      'Only constants with a name and a text (or a text alone), and the columns of their batches, belong there; code goes into the file that uses them.',
    );
  });
});

/** Comments of files that hold statements: those of TypeScript only, since SQL's stand inside the texts. */
function withoutComments(source: string): string {
  return source.replaceAll(/^\s*\/\*\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}
