// Circuit breakers, without a gateway: when a link is taken out, who still tries it, and when it is back.
import { describe, expect, test } from 'vitest';
import {
  type BreakerChange,
  Breakers,
  FAILURES_IN_A_ROW,
  MOST_WITHOUT_ANOTHER_WAY,
} from '../../src/acquirers/links.js';
import type { OrganisationId } from '../../src/values/ids.js';

const OURS = 1 as OrganisationId;
const THEIRS = 2 as OrganisationId;

function breakers() {
  const news: string[] = [];
  const clock = { ms: 0 };
  const made = new Breakers(
    ({ kind, organisationId }: BreakerChange) => news.push(`${kind} ${organisationId}`),
    () => clock.ms,
  );
  const fail = (times: number, organisationId = OURS) => {
    for (let one = 0; one < times; one += 1) made.end('bank', organisationId, 'failed', undefined);
  };
  const begin = (hasAnotherWay: boolean, organisationId = OURS) =>
    made.begin('bank', organisationId, hasAnotherWay);
  return { made, news, clock, fail, begin };
}

describe('a link that fails', () => {
  test('often enough in a row → taken out, logged once; with an answer in between → kept', () => {
    const { made, news, fail, begin } = breakers();
    fail(FAILURES_IN_A_ROW - 1);
    made.end('bank', OURS, 'answered', undefined);
    fail(FAILURES_IN_A_ROW - 1);
    expect([begin(true), news]).toEqual([expect.anything(), []]);
    fail(3);
    expect([begin(true), made.isWorthTrying('bank', OURS), news]).toEqual(['refused', false, ['out 1']]);
    expect([...made.out]).toEqual([['bank', { organisations: 1, sinceMs: expect.any(Number) }]]);
  });

  test('failures that say nothing about the link → do not count', () => {
    const { made, news } = breakers();
    for (let one = 0; one < 20; one += 1) made.end('bank', OURS, 'neutral', undefined);
    expect([news, made.isWorthTrying('bank', OURS)]).toEqual([[], true]);
  });

  // catches(breakers: what fails for one organisation is no reason for another)
  test('for one organisation only → other organisations and other links are not affected', () => {
    const { made, fail, begin } = breakers();
    fail(100);
    expect([begin(true, THEIRS), made.isWorthTrying('bank', THEIRS)]).toEqual([undefined, true]);
    expect(made.isWorthTrying('other', OURS)).toBe(true);
  });
});

describe('a link that was taken out', () => {
  test('after a pause → one payment tries it; an answer → back in use, logged once', () => {
    const { made, news, clock, fail, begin } = breakers();
    fail(FAILURES_IN_A_ROW);
    clock.ms = 1_999;
    expect(begin(true)).toBe('refused');
    clock.ms = 2_000;
    const attempt = begin(true);
    expect(begin(true)).toBe('refused');
    if (attempt === 'refused') throw new Error('it was to try');
    made.end('bank', OURS, 'answered', attempt);
    expect([begin(true), news, [...made.out]]).toEqual([undefined, ['out 1', 'in 1'], []]);
  });

  test('that fails again when tried → taken out for longer each time, up to 15 s', () => {
    const { made, news, clock, fail, begin } = breakers();
    fail(FAILURES_IN_A_ROW);
    const pauses = [2_000, 4_000, 8_000, 15_000, 15_000];
    for (const pauseMs of pauses) {
      clock.ms += pauseMs - 1;
      expect(begin(true)).toBe('refused');
      clock.ms += 1;
      const attempt = begin(true);
      if (attempt === 'refused') throw new Error('it was to try');
      made.end('bank', OURS, 'failed', attempt);
    }
    expect(news).toEqual(['out 1']);
  });

  test('that is the only link → a few payments at a time still try it, the next when one of them has ended', () => {
    const { made, fail, begin } = breakers();
    fail(FAILURES_IN_A_ROW);
    const attempts = Array.from({ length: MOST_WITHOUT_ANOTHER_WAY }, () => begin(false));
    expect(attempts).not.toContain('refused');
    expect(begin(false)).toBe('refused');
    made.end('bank', OURS, 'failed', attempts[0] as Exclude<(typeof attempts)[0], 'refused'>);
    expect(begin(false)).not.toBe('refused');
    expect(begin(false)).toBe('refused');
  });
});
