// A gateway that kills itself at each named point of the path, and what its successor does.
import { beforeAll, describe, expect, test } from 'vitest';
import { POINTS, type Point } from '../../src/payments/pipeline/create.js';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import { CARD, type Client } from '../../testkit/client.js';
import { type Installation, installation, outcomeOf } from '../../testkit/cloned-installation.js';
import {
  type Attempt,
  expectRepetitionRefused,
  expectTargetToShow,
  OPERATIONS,
  type OperationName,
  prepare,
  send,
} from '../../testkit/operations.js';

let shared: Installation;
let api: Client;
const attempts = new Map<string, Attempt>();

function attemptOf(operation: OperationName, point: Point): Attempt {
  return attempts.get(`${operation} ${point}`) as Attempt;
}

beforeAll(async () => {
  shared = await installation();
  const first = await shared.start();
  for (const point of POINTS) {
    for (const operation of OPERATIONS) {
      attempts.set(`${operation} ${point}`, await prepare(first.api, operation, CARD));
    }
  }
  expect((await first.stop()).code).toBe(0);

  const crashOneAfterTheOther = async (point: Point) => {
    for (const operation of OPERATIONS) {
      // They leave their remains to the last one, which is not killed.
      const doomed = await shared.start({ CRASH_AT: point, PROCESS_TIMEOUT_MS: '600000' });
      await expect(send(doomed.api, attemptOf(operation, point))).rejects.toThrow();
      expect((await doomed.ended).signal).toBe('SIGKILL');
    }
  };
  await Promise.all(POINTS.map(crashOneAfterTheOther));
  await shared.sql(`UPDATE process SET seen_at = now() - interval '11 minutes'`);
  api = (await shared.start()).api;
});

describe.each(OPERATIONS)('%s', (operation) => {
  test('killed when received → not found, and can be sent again under its correlation ID', async () => {
    const attempt = attemptOf(operation, 'received');
    expect(await outcomeOf(api, attempt.correlationId)).toBeUndefined();
    await expectTargetToShow(api, attempt, false);
    const again = await send(api, attempt);
    expect(again.status).toBe(201);
    expect(again.body.status.transaction_status_code).toBe('approved');
    await expectTargetToShow(api, attempt, true);
  });

  test('killed when claimed, before the acquirer is asked → error 2, nothing charged, the target is free again', async () => {
    const attempt = attemptOf(operation, 'claimed');
    const outcome = await outcomeOf(api, attempt.correlationId);
    expect(outcome.status).toMatchObject({ gateway_status_code: 2, transaction_status_code: 'error' });
    expect((await shared.ledgerOf(outcome.audit)).map((entry) => entry.operation)).toEqual(['reversal']);
    await expectTargetToShow(api, attempt, false);
    await expectRepetitionRefused(api, attempt, outcome.audit);
    expect((await send(api, { ...attempt, correlationId: `${attempt.correlationId}.2` })).status).toBe(201);
    await expectTargetToShow(api, attempt, true);
  });

  test.each(['answered', 'recorded'] as const)(
    'killed when %s → approved, as in the acquirer’s ledger, and charged once',
    async (point) => {
      const attempt = attemptOf(operation, point);
      const outcome = await outcomeOf(api, attempt.correlationId);
      expect(outcome.status).toMatchObject({ gateway_status_code: 0, transaction_status_code: 'approved' });
      expect(outcome.transaction.transaction_type).toBe(operation);
      expect((await shared.ledgerOf(outcome.audit)).map((entry) => entry.operation)).toEqual([operation]);
      await expectTargetToShow(api, attempt, true);
      await expectRepetitionRefused(api, attempt, outcome.audit);
    },
  );
});

test('after all crashes and repetitions → the gateway’s books and the acquirer’s agree', () =>
  expectBooksToAgree(shared));
