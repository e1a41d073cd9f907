// What a run of the tests that a guard names says about the guard.
import type { Guard, NamedTest } from './marks.js';

/** A test that was run to its end. */
export interface RanTest {
  readonly file: string;
  readonly name: string;
  readonly failed: boolean;
  readonly message: string;
}

export type Verdict =
  | { readonly kind: 'caught'; readonly by: RanTest }
  | { readonly kind: 'not caught' }
  /** A test that did not run has shown nothing, whatever the others have. */
  | { readonly kind: 'not run'; readonly tests: readonly NamedTest[] };

const belongsTo = ([file, name]: NamedTest) => {
  return (test: RanTest) => test.file === file && test.name.includes(name);
};

/** The tests of this name that were run: several where it is parametrised. */
export function ranAs(named: NamedTest, ran: readonly RanTest[]): RanTest[] {
  return ran.filter(belongsTo(named));
}

export function notRun(tests: readonly NamedTest[], ran: readonly RanTest[]): NamedTest[] {
  return tests.filter((named) => ranAs(named, ran).length === 0);
}

export const nameOf = (test: NamedTest) => test.join(': ');

export interface Failure {
  readonly test: NamedTest;
  readonly words: string;
}

/** What is wrong with each of them, by its name, where something is. */
export function failuresOf(tests: readonly NamedTest[], ran: readonly RanTest[]): Map<string, Failure> {
  const failures = new Map(notRun(tests, ran).map((test) => [nameOf(test), { test, words: 'did not run' }]));
  for (const test of tests) {
    const failed = ranAs(test, ran).find((one) => one.failed);
    if (failed === undefined) continue;
    failures.set(nameOf(test), { test, words: `fails: ${failed.message.split('\n')[0]}` });
  }
  return failures;
}

/** With the guard removed. */
export function verdictOn({ tests }: Pick<Guard, 'tests'>, ran: readonly RanTest[]): Verdict {
  const missing = notRun(tests, ran);
  if (missing.length > 0) return { kind: 'not run', tests: missing };
  const by = tests.flatMap((named) => ranAs(named, ran)).find(({ failed }) => failed);
  return by === undefined ? { kind: 'not caught' } : { kind: 'caught', by };
}
