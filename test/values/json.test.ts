// A member that stands twice in one object: found wherever it stands, and never where none does.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson } from '../../src/values/json.js';

/** A value as it is written, and whether a member stands twice in it. */
interface Written {
  readonly text: string;
  readonly doubled: boolean;
}

/** Few names, so that many stand twice; with what could be taken for the end of a string or for a member. */
const NAMES = ['', 'a', '"', '\\', '\\"', ':', '{', '},"a":', '__proto__', '0', '1', 'é', '\u2028', '😀'];

const escaped = (text: string) =>
  `"${[...Array(text.length).keys()].map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;
const name = fc
  .tuple(fc.constantFrom(...NAMES), fc.boolean())
  .map(([said, inEscapes]) => ({ said, text: inEscapes ? escaped(said) : JSON.stringify(said) }));
const space = fc.constantFrom('', '', ' ', '\n\t');

const { value } = fc.letrec<{ value: Written }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc
      .oneof(
        fc.constantFrom('null', 'true', '-1.5e3'),
        name.map(({ text }) => text),
      )
      .map((text) => ({
        text,
        doubled: false,
      })),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => ({
      text: `[${items.map(({ text }) => text).join(',')}]`,
      doubled: items.some(({ doubled }) => doubled),
    })),
    fc.array(fc.tuple(name, space, tie('value')), { maxLength: 5 }).map((members) => ({
      text: `{${members.map(([{ text }, gap, below]) => `${gap}${text}${gap}:${gap}${below.text}`).join(',')}}`,
      doubled:
        new Set(members.map(([{ said }]) => said)).size < members.length ||
        members.some(([, , { doubled }]) => doubled),
    })),
  ),
}));

test('any JSON text: refused exactly if a member appears twice, otherwise read as JSON.parse reads it', () => {
  const seen = { doubled: 0, single: 0 };
  fc.assert(
    fc.property(value, ({ text, doubled }) => {
      seen[doubled ? 'doubled' : 'single'] += 1;
      if (doubled) expect(() => parseJson(text)).toThrow(SyntaxError);
      else expect(parseJson(text)).toEqual(JSON.parse(text));
    }),
    { numRuns: 5_000, seed: 7 },
  );
  expect(Math.min(seen.doubled, seen.single)).toBeGreaterThan(500);
});

test.each(['', '{', '{"a":1,}', '"', '{"a":1}x'])('not JSON: %j → refused', (text) => {
  expect(() => parseJson(text)).toThrow(SyntaxError);
});

test('nested deeper than the stack → read', () => {
  const levels = 60_000;
  expect(() => parseJson('{"a":'.repeat(levels) + 1 + '}'.repeat(levels))).not.toThrow();
});
