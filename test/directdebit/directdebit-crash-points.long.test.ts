// A gateway that ends itself with SIGKILL in the middle of a direct debit, a refund of one and a void of one: its
// successor finishes each, and each goes to the bank once.
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { advanceClock } from '../../src/clock/clock-tasks.js';
import { POINTS, type Point } from '../../src/payments/pipeline/create.js';
import { Database } from '../../src/postgres/database.js';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import type { Answer, Client, Json } from '../../testkit/client.js';
import { type Installation, installation, outcomeOf } from '../../testkit/cloned-installation.js';

const DAYS_MS = 12 * 86_400_000;
const OPERATIONS = ['purchase', 'refund', 'void'] as const;
type Operation = (typeof OPERATIONS)[number];

interface Attempt {
  readonly operation: Operation;
  readonly correlationId: string;
  readonly target: number;
}

let shared: Installation;
let api: Client;
const attempts = new Map<string, Attempt>();
/** What became of each, at once and after the days of the bank. */
const found = new Map<string, Json>();
const ended = new Map<string, Json>();
const targets = new Map<string, Json>();
const resent = new Map<Operation, Answer>();

function send(to: Client, { operation, correlationId, target }: Attempt): Promise<Answer> {
  switch (operation) {
    case 'purchase':
      return to.purchase({ bankAccount: {}, amount: 700, correlationId });
    case 'refund':
      return to.refund(target, 4_000, { correlationId });
    case 'void':
      return to.void(target, { correlationId });
  }
}

async function daysPass(): Promise<void> {
  const database = new Database(shared.databaseUrl, { maxConnections: 1 });
  await advanceClock(database, 'operator:test', DAYS_MS).finally(() => database.close());
}

beforeAll(async () => {
  shared = await installation();
  const first = await shared.start();
  const made = new Map<string, number>();
  const cases = POINTS.flatMap((point) => OPERATIONS.map((operation) => ({ point, operation })));
  const make = async () => (await first.api.purchase({ bankAccount: {} })).body.audit as number;
  for (const { point, operation } of cases) {
    if (operation === 'refund') made.set(`${operation} ${point}`, await make());
  }
  await daysPass();
  for (const { point, operation } of cases) {
    const name = `${operation} ${point}`;
    if (operation === 'void') made.set(name, await make());
    attempts.set(name, { operation, correlationId: randomUUID(), target: made.get(name) ?? 0 });
  }
  expect((await first.stop()).code).toBe(0);

  const crashOneAfterTheOther = async (point: Point) => {
    for (const operation of OPERATIONS) {
      // They leave each other's remains to the last one, which is not killed.
      const doomed = await shared.start({ CRASH_AT: point, PROCESS_TIMEOUT_MS: '600000' });
      await expect(send(doomed.api, attempts.get(`${operation} ${point}`) as Attempt)).rejects.toThrow();
      expect((await doomed.ended).signal).toBe('SIGKILL');
    }
  };
  await Promise.all(POINTS.map(crashOneAfterTheOther));
  await shared.sql(`UPDATE process SET seen_at = now() - interval '11 minutes'`);
  api = (await shared.start()).api;
  for (const [name, attempt] of attempts) {
    found.set(name, await outcomeOf(api, attempt.correlationId));
    if (attempt.target > 0) targets.set(name, (await api.lookUp(attempt.target)).body);
  }
  for (const operation of OPERATIONS) {
    resent.set(operation, await send(api, attempts.get(`${operation} received`) as Attempt));
  }
});

const statusOf = (body: Json) => body.status.transaction_status_code;

describe('killed when received', () => {
  test.each(OPERATIONS)('%s → not found, and can be sent again under its correlation ID', (operation) => {
    expect(found.get(`${operation} received`)).toBeUndefined();
    const { status, body } = resent.get(operation) as Answer;
    expect([status, statusOf(body)]).toEqual([201, operation === 'void' ? 'approved' : 'pending']);
  });
});

describe.each(['claimed', 'answered', 'recorded'] as const)('killed when %s', (point) => {
  test('purchase → pending, once', () => {
    expect(found.get(`purchase ${point}`).status).toMatchObject({
      gateway_status_code: 0,
      transaction_status_code: 'pending',
    });
  });

  test('refund → pending, and its amount is reserved', () => {
    expect(statusOf(found.get(`refund ${point}`))).toBe('pending');
    expect(targets.get(`refund ${point}`).kvps['GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT']).toBe('6000');
  });

  test('void → approved, and its target is voided', () => {
    expect(statusOf(found.get(`void ${point}`))).toBe('approved');
    expect(statusOf(targets.get(`void ${point}`))).toBe('voided');
  });

  test.each(OPERATIONS)('%s, sent again → 409, with a link to the first', async (operation) => {
    const name = `${operation} ${point}`;
    const repeated = await send(api, attempts.get(name) as Attempt);
    expect([repeated.status, repeated.code]).toEqual([409, 'correlation_id_already_used']);
    expect(repeated.body._links.transaction.href).toBe(`/v1/transactions/${found.get(name).audit}`);
  });
});

test('the clearing days pass → each is approved, was in one file, and the books agree', async () => {
  const waiting = `SELECT i.audit FROM directdebit_item i WHERE i.state = 'waiting'`;
  await daysPass();
  expect(await shared.sql(waiting)).toEqual([]);
  for (const [name, before] of found) {
    if (before !== undefined) ended.set(name, (await api.lookUp(before.audit)).body);
  }
  expect([...ended.values()].map(statusOf)).toEqual(Array(9).fill('approved'));
  const [row] = await shared.sql<{ items: number; audits: number }>(
    'SELECT count(*) AS items, count(DISTINCT audit) AS audits FROM directdebit_item WHERE file_number IS NOT NULL',
  );
  // Four targets of refunds, four purchases, four refunds; the targets of voids are in no file.
  expect(row).toEqual({ items: 12, audits: 12 });
  expect(await shared.ledger()).toHaveLength(12);
  await expectBooksToAgree(shared);
});
