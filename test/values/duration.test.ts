// In charge of durations as settings and commands write them.

import { describe, expect, test } from 'vitest';
import { parseDuration } from '../../src/values/time.js';
import { expectEach } from '../../testkit/each-case.js';

describe('a duration', () => {
  test.each([
    ['3d', 259_200_000],
    ['12h', 43_200_000],
    ['30m', 1_800_000],
    ['45s', 45_000],
    ['250ms', 250],
  ])('%s is %i milliseconds', (text, durationMs) => {
    expect(parseDuration(text)).toBe(durationMs);
  });

  test('is not read from anything else', () =>
    expectEach(
      [
        '',
        '3',
        'd',
        '0d',
        '-1d',
        '1.5h',
        '3 d',
        '3D',
        '1d12h',
        '3w',
        ' 3d',
        '3d\n',
        '1e3s',
        `${'9'.repeat(20)}d`,
      ],
      (text) => {
        expect(parseDuration(text)).toBeUndefined();
      },
    ));
});
