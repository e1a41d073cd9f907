// The short form of `npm run test:guards`: every guard of the list is still where the list says, and two of them are really removed.
import { describe, expect, inject, test } from 'vitest';
import type { NamedTest } from '../../proof/guard.js';
import { staleness } from '../../proof/guard-staleness.js';
import { failuresOf, nameOf, type RanTest, verdictOn } from '../../proof/guard-verdict.js';
import { runProof } from './program.js';

describe('a guard is removed', () => {
  const FILE = 'test/transactions/refund.test.ts';
  const MORE: NamedTest = [FILE, 'more than is left'];
  const OTHERS: NamedTest = [FILE, 'of another merchant'];
  const ran = (name: string, failed: boolean, file = FILE): RanTest => ({ file, name, failed, message: '' });

  test('a test that it names fails → caught by it', () => {
    const by = ran('refund of more than is left → 422', true);
    const tests = [ran('refund of another merchant → 404', false), by];
    expect(verdictOn({ tests: [MORE, OTHERS] }, tests)).toEqual({ kind: 'caught', by });
  });

  test('one of several cases of the test that it names fails → caught by that one', () => {
    const by = ran('void of more than is left → 422', true);
    expect(verdictOn({ tests: [MORE] }, [ran('refund of more than is left → 422', false), by])).toEqual({
      kind: 'caught',
      by,
    });
  });

  test('all that it names pass, others fail → not caught', () => {
    const tests = [
      ran('refund of more than is left → 422', false),
      ran('refund → 201', true),
      ran('refund of more than is left → 422', true, 'test/transactions/void.test.ts'),
    ];
    expect(verdictOn({ tests: [MORE] }, tests)).toEqual({ kind: 'not caught' });
  });

  test('a test that it names did not run → not shown, even if another fails', () => {
    expect(verdictOn({ tests: [MORE] }, [])).toEqual({ kind: 'not run', tests: [MORE] });
    const failed = [ran('refund of more than is left → 422', true)];
    expect(verdictOn({ tests: [MORE, OTHERS] }, failed)).toEqual({ kind: 'not run', tests: [OTHERS] });
  });

  test('untouched, one fails and one does not run → both are told, by their names', () => {
    const failures = failuresOf([MORE, MORE, OTHERS], [ran('refund of more than is left → 422', true)]);
    expect([...failures.keys()].toSorted()).toEqual([nameOf(MORE), nameOf(OTHERS)].toSorted());
    expect(failures.get(nameOf(OTHERS))?.words).toBe('did not run');
    expect(failuresOf([MORE], [ran('refund of more than is left → 422', false)]).size).toBe(0);
  });
});

describe('a guard that stands in a migration', () => {
  const guard = (file: string, find: string) => ({ name: 'gate', file, find, replace: '', tests: [] });
  const LOCK = "pg_advisory_xact_lock_shared(hashtext('tollgate settlement'))";

  test('in a function as it was written last → looked for there', async () => {
    expect(await staleness(guard('migrations/0041_quick_gates.sql', LOCK))).toBeUndefined();
  });

  test('in a function that was written anew since → stale, and where it is now', async () => {
    expect(await staleness(guard('migrations/0019_settlement_gate.sql', LOCK))).toBe(
      'it stands in a function that migrations/0041_quick_gates.sql has written anew',
    );
  });

  test('behind such a function → not stale', async () => {
    const constraint = 'ADD CONSTRAINT sound CHECK (transaction_is_sound(';
    expect(await staleness(guard('migrations/0018_sound_transactions.sql', constraint))).toBeUndefined();
  });
});

test('a guard of the money, removed → a test notices it; all are where the list says', async () => {
  const args = ['--sample', '1', '--seed', '7', '--trust-untouched'];
  // On the server of this test run; its databases have names of their own.
  const { code, output } = await runProof('guards', args, { DATABASE_URL: inject('adminUrl') });
  expect({ code, output }).toEqual({
    code: 0,
    output: expect.stringMatching(/1 guards: 1 caught, 0 not caught, 0 stale/),
  });
}, 180_000);
