// Guards are marked where they stand, and so are the tests that notice when one is gone:
//
//     // guard(NAME): FIND ⇒ REPLACE   FIND is looked for below the mark, up to an empty line; REPLACE is the same without the guard
//     // catches(NAME)                 above the name of a test, or catches(NAME): PART OF THE TEST’S NAME
//
// `⏎` stands for the end of a line. Behind `catches` may stand `slow` (left out of the short form) and `processes` (compiled first).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../testkit/project.js';

/** A test, by its file and a part of its name. */
export type NamedTest = readonly [file: string, name: string];

export interface Guard {
  readonly name: string;
  /** Where it stands, once or more. */
  readonly marks: readonly Mark[];
  /** At least one of them has to notice. */
  readonly tests: readonly NamedTest[];
  /** Is not picked for the short form. */
  readonly slow: boolean;
  /** Its tests run processes, which are compiled. */
  readonly processes: boolean;
}

interface Mark {
  readonly name: string;
  /** From the root of the project. */
  readonly file: string;
  /** Of the file. */
  readonly text: string;
  /** Where the mark ends in it. */
  readonly at: number;
  readonly find: RegExp;
  readonly replace: string;
}

interface Catching {
  readonly name: string;
  readonly test: NamedTest;
  readonly flags: readonly string[];
}

const GUARDED = ['src', 'schema'];
const TESTS = 'test';
const GUARD = /^[ \t]*(?:\/\/|--) guard\(([^)]+)\): (.+?) ⇒(.*)$/gm;
const CATCHES = /^[ \t]*\/\/ catches\(([^)]+)\)([a-z, ]*)(?:: (.+))?$/gm;
const ANY_MARK = /^[ \t]*(?:\/\/|--) (?:guard|catches)\(.*$/gm;
const EMPTY_LINE = /\n[ \t]*\n/;
const LITERAL = /(['"`])((?:\\.|(?!\1)[^\\])*)\1/;
/** What the parameters of a test fill in. */
const FILLED_IN = /%[a-zA-Z]|\$\{[^}]*\}|\$[\w.]+|\\./;

/** For a pattern. */
export const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Every guard that is marked, and what is wrong with the marks. */
export function readGuards(root = PROJECT_ROOT): {
  readonly guards: readonly Guard[];
  readonly wrong: readonly string[];
} {
  const guarded = GUARDED.flatMap((folder) => filesUnder(root, folder));
  const marks = byName(guarded.flatMap(marksIn));
  const caught = byName(filesUnder(root, TESTS).flatMap(catchingIn));
  const guards = [...marks].map(([name, found]) => {
    const catching = caught.get(name) ?? [];
    const has = (flag: string) => catching.some(({ flags }) => flags.includes(flag));
    const tests = catching.map(({ test }) => test);
    return { name, marks: found, tests, slow: has('slow'), processes: has('processes') };
  });
  const wrong = [
    ...guards.filter(({ tests }) => tests.length === 0).map(({ name }) => `no test catches “${name}”`),
    ...[...caught.keys()].filter((name) => !marks.has(name)).map((name) => `nothing is marked as “${name}”`),
    ...guards.flatMap(({ name, marks: own }) =>
      own.flatMap((mark) => (placeOf(mark) ? [] : [`“${name}”: its text does not stand below its mark`])),
    ),
    ...[...caught.values()].flatMap((own) =>
      own.flatMap(({ name, test }) => (test[1] === '' ? [`“${name}”: no test stands below its mark`] : [])),
    ),
  ];
  return { guards, wrong };
}

/** The files in which it stands, as they would be without it. */
export function withoutGuard({ marks }: Guard): Map<string, string> {
  const changed = new Map<string, string>();
  // From the end, so that the places of the others stay what they are.
  for (const mark of marks.toSorted((one, other) => other.at - one.at)) {
    const text = changed.get(mark.file) ?? mark.text;
    const place = placeOf(mark);
    if (place === undefined) throw new Error(`the text of “${mark.name}” does not stand below its mark`);
    changed.set(mark.file, text.slice(0, place.from) + mark.replace + text.slice(place.until));
  }
  return changed;
}

interface TextFile {
  readonly file: string;
  readonly text: string;
}

function filesUnder(root: string, folder: string): TextFile[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|sql)$/.test(name))
    .toSorted()
    .map((name) => join(folder, name).replaceAll('\\', '/'))
    .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
}

function marksIn({ file, text }: TextFile): Mark[] {
  return [...text.matchAll(GUARD)].map(({ 0: mark, 1: name = '', 2: find = '', 3: replace = '', index }) => ({
    name,
    file,
    text,
    at: index + mark.length,
    find: patternOf(find),
    replace: replace.trim().replaceAll(/ *⏎ */g, '\n'),
  }));
}

function patternOf(find: string): RegExp {
  const lines = find.split('⏎').map((line) => escaped(line.trim()));
  return new RegExp(lines.join('\\s*\\n\\s*'));
}

function placeOf({ text, at, find }: Mark): { readonly from: number; readonly until: number } | undefined {
  const found = find.exec(belowMark(text, at));
  return found ? { from: at + found.index, until: at + found.index + found[0].length } : undefined;
}

function catchingIn({ file, text }: TextFile): Catching[] {
  return [...text.matchAll(CATCHES)].map(({ 0: mark, 1: name = '', 2: flags = '', 3: named, index }) => {
    const [, , title = ''] = LITERAL.exec(belowMark(text, index + mark.length)) ?? [];
    const part = (named ?? title)
      .split(FILLED_IN)
      .reduce((one, other) => (other.length > one.length ? other : one));
    return { name, test: [file, part], flags: flags.split(/[ ,]+/) };
  });
}

/**
 * Up to the next empty line: a mark that has lost its line must not find the same text elsewhere. With nothing in place of the marks that
 * follow: a text is not looked for in them.
 */
function belowMark(text: string, at: number): string {
  const [below = ''] = text.slice(at).split(EMPTY_LINE, 1);
  return below.replaceAll(ANY_MARK, (mark) => ' '.repeat(mark.length));
}

function byName<One extends { readonly name: string }>(all: readonly One[]): Map<string, One[]> {
  const found = new Map<string, One[]>();
  for (const one of all) found.set(one.name, [...(found.get(one.name) ?? []), one]);
  return found;
}
