// Shedding: when those that there is no room for are answered. Without a gateway.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pino from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Shedding } from '../../src/http/shedding.js';
import { Turns } from '../../src/http/turns.js';

// Time goes on only where the test says so: how much is done in a turn of the event loop does not depend on the machine.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** An answer takes half a millisecond, and a turn has five for them. */
const ANSWER_MS = 0.5;
const IN_A_TURN = 10;

function shedBy(turns: Turns) {
  const shedding = new Shedding(pino({ enabled: false }), turns);
  const answered: string[] = [];
  const take = (tenant: number, label: string) => {
    const response = {
      destroyed: false,
      writeHead: (status: number) => ({
        end: () => {
          answered.push(`${status} ${label}`);
          vi.advanceTimersByTime(ANSWER_MS);
        },
      }),
    };
    shedding.take(tenant, { headers: {} } as IncomingMessage, response as unknown as ServerResponse);
    return response;
  };
  return { answered, take };
}

test('shed while many that were accepted wait for their turn → answered before they are begun', async () => {
  const turns = new Turns(() => 0);
  const { answered, take } = shedBy(turns);
  const begun: string[] = [];
  for (const label of ['a1', 'a2', 'a3']) {
    const request = { headers: {} } as IncomingMessage;
    turns.take(1, request, { destroyed: false } as ServerResponse, () => {
      begun.push(label);
      // Longer than requests are begun for in one turn.
      vi.advanceTimersByTime(6);
    });
  }
  take(1, 'a4');
  expect({ begun, answered }).toEqual({ begun: ['a1'], answered: ['503 a4'] });
  while (begun.length < 3) await nextTurn();
});

test('more than are answered in one turn of the event loop → the rest in the next, in turns over tenants', async () => {
  const { answered, take } = shedBy(new Turns(() => 0));
  for (let one = 1; one <= 2 * IN_A_TURN + 4; one += 1) take(1, `a${one}`);
  take(2, 'b1');
  expect(answered.length).toBe(IN_A_TURN);
  await nextTurn();
  expect(answered.length).toBe(2 * IN_A_TURN);
  expect(answered.indexOf('503 b1')).toBe(IN_A_TURN + 1);
  await nextTurn();
  expect(answered.length).toBe(2 * IN_A_TURN + 5);
  await nextTurn();
  take(1, 'a later one');
  expect(answered.at(-1)).toBe('503 a later one');
});

test('one whose client has hung up meanwhile → is not answered, and the next one is', async () => {
  const { answered, take } = shedBy(new Turns(() => 0));
  for (let one = 1; one <= IN_A_TURN; one += 1) take(1, `a${one}`);
  take(1, 'gone').destroyed = true;
  take(1, 'still there');
  await nextTurn();
  expect(answered.slice(IN_A_TURN)).toEqual(['503 still there']);
});

test('a crowd of connections comes → only one is answered in each turn', async () => {
  const turns = new Turns(() => 0);
  const { answered, take } = shedBy(turns);
  turns.hurry();
  for (const label of ['a1', 'a2', 'a3']) take(1, label);
  const counts = [answered.length];
  for (let turn = 0; turn < 2; turn += 1) {
    await nextTurn();
    counts.push(answered.length);
  }
  expect(counts).toEqual([1, 2, 3]);
});
