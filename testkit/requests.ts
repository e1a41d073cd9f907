// Requests for the tests of this folder: bodies with one thing changed, and the operations that take them.
import { expect } from 'vitest';
import { type Answer, type Json, paymentBody } from './client.js';
import type { TestGateway } from './gateway.js';

/** Given as a value, takes the member out. */
export const ABSENT = Symbol('absent');

/** The body of a purchase with the member at `path` (`transaction.reference`, …) changed. */
export function bodyWith(path: string, value: unknown, body: Json = paymentBody()): Json {
  const keys = path.split('.');
  const last = keys.pop() as string;
  let at = body;
  for (const key of keys) at = at[key] ??= {};
  if (value === ABSENT) delete at[last];
  else at[last] = value;
  return body;
}

export const PAYMENTS = ['purchase', 'preauthorisation', 'refund'] as const;
export const TARGETED = ['completion', 'refund', 'void'] as const;

export const CREATING_PATHS: readonly string[] = [
  ...PAYMENTS.map((operation) => `/transactions/${operation}`),
  ...TARGETED.map((operation) => `/transactions/1/${operation}`),
];

/** A body that every creating operation accepts: each ignores unknown members. */
export const ANY_BODY: Json = paymentBody();

/** How many transactions are stored, of all organisations. */
export async function storedRows({ sql }: TestGateway): Promise<number> {
  const [row] = await sql<{ count: string }>('SELECT count(*) FROM transaction');
  return Number(row?.count);
}

/** What the gateway logged, one object a line. */
export function logLines({ logged }: TestGateway): Json[] {
  return logged()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** What it logged for requests. */
export function requestLines(gateway: TestGateway): Json[] {
  return logLines(gateway).filter(({ msg }) => msg === 'request');
}

/** Without random and time values: any four digits, a CVV too, can occur there. */
export function withoutChance(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID')
    .replaceAll(/"time":("[0-9TZ:.-]+"|[0-9.]+)/g, '"time":0')
    .replaceAll(/\b(\w+(?:Ms|_ms)|port)("?: ?)[0-9.]+/g, '$1$2-')
    .replaceAll(/\b((?:pre)?authorisation_?[cC]ode)("?: ?)(['"])[0-9A-Z]+\3/g, '$1$2$3$3')
    .replaceAll(/(127\.0\.0\.1|localhost):[0-9]+/g, '$1');
}

/** Expects that a request is refused with exactly these errors, and that nothing of it is stored. */
export async function refusedWithoutTrace(
  gateway: TestGateway,
  ask: () => Promise<Answer>,
  errors: readonly string[],
): Promise<void> {
  const before = await storedRows(gateway);
  const answer = await ask();
  expect({ status: answer.status, errors: answer.errors }).toEqual({ status: 422, errors });
  expect(await storedRows(gateway)).toBe(before);
}
