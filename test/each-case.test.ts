// Tables of cases: a failure names each case that failed, and a table without cases fails.
import { expect, test } from 'vitest';
import { expectEach } from '../testkit/each-case.js';

test('some cases fail → all are run, and the failed ones are named', async () => {
  const tried: number[] = [];
  const failing = expectEach([1, 2, 3, 4], async (number) => {
    tried.push(number);
    expect(number % 2).toBe(1);
  });
  await expect(failing).rejects.toThrow(
    /^2 of 4 cases failed\n2: expected \+?0 to be 1.*\n4: expected \+?0 to be 1/,
  );
  expect(tried).toEqual([1, 2, 3, 4]);
});

test('no case fails → passes; no cases → fails', async () => {
  await expectEach([['a', 1]], ([letter, number]) => expect([letter, number]).toEqual(['a', 1]));
  await expect(expectEach([], () => {})).rejects.toThrow('there are no cases');
});
