// Operations that compete for one target, sent at the same time to two processes of one gateway.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import type { Answer, Client } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { UNREADABLE_ANSWER_CARD } from '../../testkit/test-cards.js';

let one: TestGateway;
let other: TestGateway;
beforeAll(async () => {
  one = await testGateway();
  other = await testGateway({ shareWith: one });
});
afterAll(async () => {
  await other.close();
  await one.close();
});

/** The long form is `npm run proof races`. */
const ROUNDS = 40;
const AT_ONCE = 40;

/** Plays the rounds, several at once, and counts their outcomes. */
async function tally(round: (number: number) => Promise<string>): Promise<Record<string, number>> {
  const results: Record<string, number> = {};
  for (let first = 0; first < ROUNDS; first += AT_ONCE) {
    const numbers = Array.from({ length: AT_ONCE }, (_, index) => first + index);
    for (const result of await Promise.all(numbers.map(round))) results[result] = (results[result] ?? 0) + 1;
  }
  return results;
}

/** Which attempts were accepted, and how the others were refused; in any order. */
async function outcomes(...attempts: Promise<Answer>[]): Promise<string> {
  const answers = await Promise.all(attempts);
  return answers
    .map(({ status, body, code }) => `${status} ${code ?? body.status.transaction_status_code}`)
    .sort()
    .join(', ');
}

async function purchased(api: Client): Promise<number> {
  return (await api.purchase({ amount: 100 })).body.audit;
}

async function preauthorised(api: Client): Promise<number> {
  return (await api.preauthorise({ amount: 100 })).body.audit;
}

test('two refunds of 60 of a purchase of 100 → exactly one, every time', async () => {
  const results = await tally(async () => {
    const audit = await purchased(one.api);
    return outcomes(one.api.refund(audit, 60), other.api.refund(audit, 60));
  });
  expect(results).toEqual({ '201 approved, 422 refund_exceeds_original': ROUNDS });
});

test('three refunds of 40 of a purchase of 100, two of them to the same process → exactly two, every time', async () => {
  const results = await tally(async () => {
    const audit = await purchased(other.api);
    return outcomes(one.api.refund(audit, 40), other.api.refund(audit, 40), one.api.refund(audit, 40));
  });
  expect(results).toEqual({ '201 approved, 201 approved, 422 refund_exceeds_original': ROUNDS });
});

test('a refund against a void → exactly one, every time', async () => {
  const results = await tally(async (number) => {
    const audit = await purchased(one.api);
    const [first, second] = number % 2 ? [one, other] : [other, one];
    return outcomes(first.api.refund(audit, 1), second.api.void(audit));
  });
  const { '201 approved, 422 target_not_refundable': voids = 0, ...rest } = results;
  const { '201 approved, 422 target_not_voidable': refunds = 0, ...others } = rest;
  expect(others).toEqual({});
  expect(voids + refunds).toBe(ROUNDS);
});

test('a completion against a void → exactly one, every time', async () => {
  const results = await tally(async (number) => {
    const audit = await preauthorised(one.api);
    const [first, second] = number % 2 ? [one, other] : [other, one];
    return outcomes(first.api.complete(audit, 100), second.api.void(audit));
  });
  const { '201 approved, 422 target_not_completable': voids = 0, ...rest } = results;
  const { '201 approved, 422 target_not_voidable': completions = 0, ...others } = rest;
  expect(others).toEqual({});
  expect(voids + completions).toBe(ROUNDS);
});

test('two completions → exactly one, every time', async () => {
  const results = await tally(async () => {
    const audit = await preauthorised(other.api);
    return outcomes(one.api.complete(audit, 10), other.api.complete(audit, 90));
  });
  expect(results).toEqual({ '201 approved, 422 target_not_completable': ROUNDS });
});

test('two voids → exactly one, every time', async () => {
  const results = await tally(async () => {
    const audit = await purchased(one.api);
    return outcomes(one.api.void(audit), other.api.void(audit));
  });
  expect(results).toEqual({ '201 approved, 422 target_not_voidable': ROUNDS });
});

test('one correlation ID for two refunds that would both fit → exactly one, every time', async () => {
  const results = await tally(async (number) => {
    const audit = await purchased(one.api);
    const correlationId = `twice-${number}`;
    return outcomes(
      one.api.refund(audit, 10, { correlationId }),
      other.api.refund(audit, 10, { correlationId }),
    );
  });
  expect(results).toEqual({ '201 approved, 409 correlation_id_already_used': ROUNDS });
});

test('many refunds, voids of them and voids, some without a readable answer → never more than the amount, and never a 500', async () => {
  let seed = 20_240_422;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const statuses = new Set<number>();
  const settled = (answer: Answer) => {
    statuses.add(answer.status);
    return Number(answer.headers.get('location')?.split('/').at(-1) ?? 0);
  };
  await Promise.all(
    Array.from({ length: 60 }, async (_, number) => {
      const pan = number % 3 === 0 ? { pan: UNREADABLE_ANSWER_CARD } : {};
      const target = settled(await one.api.purchase({ amount: 100, ...pan }));
      await one.api.decided(target);
      const refunds: number[] = [];
      for (let wave = 0; wave < 3; wave += 1) {
        await Promise.all(
          Array.from({ length: 4 }, async () => {
            const { api } = random(2) ? one : other;
            const earlier = refunds[random(refunds.length + 1)];
            if (earlier !== undefined) return settled(await api.void(earlier));
            if (random(5) === 0) return settled(await api.void(target));
            const refund = settled(await api.refund(target, 10 + random(50)));
            return refund > 0 && refunds.push(refund);
          }),
        );
      }
    }),
  );
  expect([...statuses].sort()).toEqual([201, 422, 502]);
});

test('after all races → the acquirer has the same books', () => expectBooksToAgree(one));
