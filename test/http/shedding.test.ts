// Shedding: when those that there is no room for are answered. Without a gateway.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Shedding, Turns } from '../../src/http/admission.js';

// Time goes on only where the test says so: how much is answered does not depend on the machine.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(async () => {
  // No request is left unanswered when the test is over.
  for (const response of responses.splice(0)) response.destroyed = true;
  await pass(1_000);
  vi.useRealTimers();
});

const responses: { destroyed: boolean }[] = [];

/** What an answer takes. */
const ANSWER_MS = 0.5;
/** More than are answered with the time that was saved up. */
const MANY = 200;

function shed() {
  const shedding = new Shedding(pino({ enabled: false }));
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
    responses.push(response);
    shedding.take(tenant, { headers: {} } as IncomingMessage, response as unknown as ServerResponse);
    return response;
  };
  return { answered, take, shedding };
}

/** Lets time pass, and runs the timers that are due. */
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  // The pauses of a millisecond in between are real.
  await sleep(20);
}

test('shed while many accepted requests wait for their turn → answered before those are begun', async () => {
  const turns = new Turns(() => ({ epoch: 0, toldAbsent: 0, heard: 0 }));
  const { answered, take } = shed();
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
  // Begun later, they would take the time of the next test.
  while (begun.length < 3) await sleep(1);
});

test('more than their share of the time → the rest waits, in turns over tenants, and all are answered', async () => {
  const { answered, take } = shed();
  for (let one = 1; one <= MANY; one += 1) take(1, `a${one}`);
  take(2, 'b1');
  const atOnce = answered.length;
  expect(atOnce).toBeGreaterThan(1);
  expect(atOnce).toBeLessThan(MANY);
  // No time has gone by but what the answers took themselves.
  await pass(0);
  expect(answered.length).toBeLessThan(atOnce + 5);
  await pass(100);
  expect(answered.slice(atOnce, atOnce + 3)).toContain('503 b1');
  while (answered.length < MANY + 1) await pass(100);
  expect(new Set(answered).size).toBe(MANY + 1);
  await pass(100);
  take(1, 'a later one');
  expect(answered.at(-1)).toBe('503 a later one');
});

test('another tenant is active → less time for shed requests than for a tenant that is alone', async () => {
  const answeredWithin = async (ms: number, others: readonly number[]) => {
    const { answered, take, shedding } = shed();
    for (const tenant of [1, ...others]) shedding.noteRequest(tenant);
    // Long enough for the other tenants to count as absent.
    vi.advanceTimersByTime(5_000);
    for (const tenant of [...others, 1]) shedding.noteRequest(tenant);
    for (let one = 1; one <= MANY; one += 1) take(1, `a${one}`);
    const atOnce = answered.length;
    await pass(ms);
    return answered.length - atOnce;
  };
  expect(await answeredWithin(20, [2])).toBeLessThan(await answeredWithin(20, []));
});

test('a shed request whose client has disconnected → not answered, the next one is', async () => {
  const { answered, take } = shed();
  for (let one = 1; one <= MANY; one += 1) take(1, `a${one}`);
  take(1, 'gone').destroyed = true;
  take(1, 'still there');
  while (answered.length < MANY + 1) await pass(100);
  expect(answered.at(-1)).toBe('503 still there');
  expect(answered).not.toContain('503 gone');
});
