// Turns: in which order requests of several tenants are begun.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Turns, whenReceived } from '../../src/http/admission.js';

const LONG_AGO = { epoch: 0, toldAbsent: 0, heard: 0 };

/** Longer than requests are begun for in one turn of the event loop. */
function work() {
  const endMs = performance.now() + 6;
  while (performance.now() < endMs);
}

function fakeExchange(contentLength = 0) {
  const request = { headers: { 'content-length': String(contentLength) } } as unknown as IncomingMessage;
  const response = { destroyed: false };
  return { request, response: response as unknown as ServerResponse & { destroyed: boolean } };
}

function takenBy(turns: Turns) {
  const begun: string[] = [];
  const take = (tenant: number, label: string, exchange = fakeExchange()) => {
    turns.take(tenant, exchange.request, exchange.response, () => {
      begun.push(label);
      work();
    });
    return exchange;
  };
  return { begun, take };
}

async function allBegun(begun: readonly string[], count: number): Promise<void> {
  while (begun.length < count) await nextTurn();
}

test('one tenant with many requests, another that comes later with one → the later one is next', async () => {
  const { begun, take } = takenBy(new Turns(() => LONG_AGO));
  for (const label of ['a1', 'a2', 'a3', 'a4']) take(1, label);
  take(2, 'b1');
  // There was time for the first.
  expect(begun).toEqual(['a1']);
  await allBegun(begun, 5);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'a4']);
});

test('a large body → counts as several turns', async () => {
  const { begun, take } = takenBy(new Turns(() => LONG_AGO));
  for (const label of ['a1', 'a2', 'a3']) take(1, label, fakeExchange(20_000));
  for (const label of ['b1', 'b2', 'b3', 'b4']) take(2, label);
  await allBegun(begun, 7);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2', 'b3', 'a3', 'b4']);
});

test('a request whose client has disconnected meanwhile → not begun', async () => {
  const { begun, take } = takenBy(new Turns(() => LONG_AGO));
  take(1, 'a1');
  take(1, 'a2').response.destroyed = true;
  take(1, 'a3');
  await allBegun(begun, 2);
  await nextTurn();
  expect(begun).toEqual(['a1', 'a3']);
});

test('a request that was queued → knows when it was received', async () => {
  let now = { epoch: 1, toldAbsent: 5, heard: 0 };
  const { begun, take } = takenBy(new Turns(() => now));
  const first = take(1, 'a1');
  const held = take(1, 'a2');
  now = { epoch: 2, toldAbsent: 6, heard: 0 };
  await allBegun(begun, 2);
  expect(whenReceived(first.request)).toBeUndefined();
  expect(whenReceived(held.request)).toEqual({ epoch: 1, toldAbsent: 5, heard: 0 });
});
