// The marks of guards: each guard stands below its mark and has its test, and what is said of one that was removed.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type NamedTest, readGuards, withoutGuard } from '../../proof/guards/marks.js';
import { failuresOf, nameOf, type RanTest, verdictOn } from '../../proof/guards/verdict.js';

describe('a removed guard', () => {
  const FILE = 'test/payments/pipeline/refund.test.ts';
  const MORE: NamedTest = [FILE, 'more than is left'];
  const OTHERS: NamedTest = [FILE, 'of another merchant'];
  const ran = (name: string, failed: boolean, file = FILE): RanTest => ({ file, name, failed, message: '' });

  test('its test fails → caught by that test', () => {
    const by = ran('refund of more than is left → 422', true);
    const tests = [ran('refund of another merchant → 404', false), by];
    expect(verdictOn({ tests: [MORE, OTHERS] }, tests)).toEqual({ kind: 'caught', by });
  });

  test('one of several cases of its test fails → caught by that case', () => {
    const by = ran('void of more than is left → 422', true);
    expect(verdictOn({ tests: [MORE] }, [ran('refund of more than is left → 422', false), by])).toEqual({
      kind: 'caught',
      by,
    });
  });

  test('its tests pass, others fail → not caught', () => {
    const tests = [
      ran('refund of more than is left → 422', false),
      ran('refund → 201', true),
      ran('refund of more than is left → 422', true, 'test/payments/pipeline/void.test.ts'),
    ];
    expect(verdictOn({ tests: [MORE] }, tests)).toEqual({ kind: 'not caught' });
  });

  test('its test did not run → not shown, even if another fails', () => {
    expect(verdictOn({ tests: [MORE] }, [])).toEqual({ kind: 'not run', tests: [MORE] });
    const failed = [ran('refund of more than is left → 422', true)];
    expect(verdictOn({ tests: [MORE, OTHERS] }, failed)).toEqual({ kind: 'not run', tests: [OTHERS] });
  });

  test('untouched sources, one test fails and one does not run → both are named', () => {
    const failures = failuresOf([MORE, MORE, OTHERS], [ran('refund of more than is left → 422', true)]);
    expect([...failures.keys()].toSorted()).toEqual([nameOf(MORE), nameOf(OTHERS)].toSorted());
    expect(failures.get(nameOf(OTHERS))?.words).toBe('did not run');
    expect(failuresOf([MORE], [ran('refund of more than is left → 422', false)]).size).toBe(0);
  });
});

describe('marks', () => {
  /** A project of two files. */
  async function project(source: string, tests: string): Promise<ReturnType<typeof readGuards>> {
    const root = await mkdtemp(join(tmpdir(), 'tollgate-marks-'));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    for (const [folder, text] of Object.entries({ src: source, schema: '', test: tests })) {
      await mkdir(join(root, folder));
      await writeFile(join(root, folder, 'one.ts'), text.replaceAll('@', '//'));
    }
    return readGuards(root);
  }

  /** With another sign for a comment: these are no marks of this project. */
  const SOURCE = `
const rule = [
  @ guard(one): isOpen(), ⇒
  @ guard(two): isOpen(), ⏎ isPaid() ⇒ isPaid() ⏎ && true
  isOpen(),
  isPaid(),
  isOpen(),
];
`;
  const CAUGHT = `
test.each([
  @ catches(one) slow
  ['an open one', 1],
  @ catches(two)
])('%s → refused', () => {});
`;

  test('a guard and its test → where it is, the text without it, and the name of the test', async () => {
    const { guards, wrong } = await project(SOURCE, CAUGHT);
    expect(wrong).toEqual([]);
    expect(guards.map(({ name, tests, slow }) => [name, tests, slow])).toEqual([
      ['one', [['test/one.ts', 'an open one']], true],
      ['two', [['test/one.ts', ' → refused']], false],
    ]);
    const [one, two] = guards.map((guard) => withoutGuard(guard).get('src/one.ts')?.split('\n').slice(4));
    expect(one).toEqual(['  ', '  isPaid(),', '  isOpen(),', '];', '']);
    expect(two).toEqual(['  isPaid()', '&& true,', '  isOpen(),', '];', '']);
  });

  test('the same guard in two places → both are removed', async () => {
    const { guards } = await project(`@ guard(one): a ⇒ b\na a\n@ guard(one): a ⇒ c\na\n`, '');
    expect(withoutGuard(guards[0] as (typeof guards)[0]).get('src/one.ts')).toMatch(/\nb a\n.*\nc\n$/);
  });

  test('the text, or a name, after an empty line → not below the mark', async () => {
    const { wrong } = await project('@ guard(one): a ⇒ b\nc\n\na\n', "@ catches(one)\n\ntest('later')\n");
    expect(wrong).toEqual([
      '“one”: its text does not stand below its mark',
      '“one”: no test stands below its mark',
    ]);
  });

  test('a guard without its text, a guard without a test, or a test without its guard → reported', async () => {
    const { wrong } = await project(
      SOURCE.replaceAll('isPaid(),', ''),
      CAUGHT.replace('catches(one)', 'catches(three)'),
    );
    expect(wrong).toEqual([
      'no test catches “one”',
      'nothing is marked as “three”',
      '“two”: its text does not stand below its mark',
    ]);
  });
});

test('every guard stands below its mark, and has a test that catches it', () => {
  expect(readGuards().wrong).toEqual([]);
});
