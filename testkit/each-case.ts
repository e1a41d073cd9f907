// Cases that differ only in their data, as one test: every case is tried, and the failure names those that failed.
import { inspect } from 'node:util';

const LONGEST_NAME = 200;

/** Fails with the name of each failing case, and why. A table without cases proves nothing, and fails. */
export function expectEach<Row extends readonly unknown[] | readonly [unknown]>(
  cases: readonly Row[],
  check: (one: Row) => unknown,
): Promise<void>;
export function expectEach<Case>(cases: readonly Case[], check: (one: Case) => unknown): Promise<void>;
export async function expectEach(cases: readonly unknown[], check: (one: unknown) => unknown): Promise<void> {
  const failures: { readonly line: string; readonly error: unknown }[] = [];
  for (const one of cases) {
    try {
      await check(one);
    } catch (error) {
      const name = inspect(one, { breakLength: Number.POSITIVE_INFINITY }).slice(0, LONGEST_NAME);
      failures.push({ line: `${name}: ${error instanceof Error ? error.message : error}`, error });
    }
  }
  if (cases.length === 0) throw new Error('there are no cases');
  if (failures.length === 0) return;
  const lines = failures.map(({ line }) => line).join('\n');
  // The first error has the difference and the place.
  throw new Error(`${failures.length} of ${cases.length} cases failed\n${lines}`, {
    cause: failures[0]?.error,
  });
}
