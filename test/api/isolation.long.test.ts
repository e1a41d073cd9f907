// What is another merchant's looks like what does not exist, byte for byte, on every route, and an attempt leaves
// nothing behind. Every request goes to two gateways: one where merchant 1 has the thing, and one where it has nothing.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../src/api/operations/operations.js';
import { type Answer, type Client, client } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { createCheckout } from '../../testkit/payer.js';
import { createSchedule } from '../../testkit/schedules.js';
import { rowsOf } from '../../testkit/secret-scan.js';
import { DECLINED_CARD } from '../../testkit/test-cards.js';
import { vaultOf } from '../../testkit/vault-client.js';
import { attemptsOf, NOBODY, namesMerchant, type Things } from './foreign-attempts.js';

let full: TestGateway;
let empty: TestGateway;
let things: Things;
const ownCustomers = new Map<string, number>();

interface Who {
  readonly name: string;
  readonly own: number;
  readonly others: readonly number[];
  /** May look merchant 1's things up, and is foreign only where a request names another merchant. */
  readonly mayLookUp?: boolean;
  as(gateway: TestGateway): Client;
}

const CALLERS: readonly Who[] = [
  {
    name: 'a colleague without a grant',
    own: 2,
    others: [1, 3, 4, NOBODY],
    as: (gateway) => gateway.as(gateway.colleague),
  },
  {
    name: 'a stranger of another organisation',
    own: 4,
    others: [1, 2, 3, NOBODY],
    as: (gateway) => gateway.as(gateway.stranger),
  },
  {
    name: 'the same user for another of its merchants',
    own: 2,
    others: [4, NOBODY],
    mayLookUp: true,
    as: (gateway) => gateway.api,
  },
];

beforeAll(async () => {
  const settings = { CHECKOUT_PORT: '0' };
  [full, empty] = await Promise.all([testGateway({ settings }), testGateway({ settings })]);
  for (const { name, own, as } of CALLERS) {
    const ids = await Promise.all([full, empty].map((gateway) => settleIn(as(gateway), own)));
    expect(ids[0]).toBe(ids[1]);
    ownCustomers.set(name, ids[0] as number);
  }
  things = await makeThings(full);
});
afterAll(() => Promise.all([full.close(), empty.close()]));

/** Something of one's own, the same in both gateways, with a token so that the merchant's key is there. */
async function settleIn(api: Client, merchant: number): Promise<number> {
  expect((await api.purchase({ merchant })).status).toBe(201);
  return (await vaultOf(api, merchant).newToken({ preferred_name: 'Own' })).customerId;
}

async function makeThings({ api }: TestGateway): Promise<Things> {
  const vault = vaultOf(api);
  // Some in front, so that nobody has one of these identifiers by chance.
  for (let index = 0; index < 5; index += 1) {
    await api.purchase();
    await vault.newCustomer();
  }
  const audit = async (made: Promise<Answer>): Promise<number> => {
    const { status, body } = await made;
    expect(status).toBe(201);
    return body.audit;
  };
  const correlationId = 'taken-by-merchant-1';
  const purchase = await audit(api.purchase({ correlationId }));
  const preauthorisation = await audit(api.preauthorise());
  const completed = await audit(api.preauthorise());
  const completion = await audit(api.complete(completed, 500));
  const refunded = await audit(api.purchase());
  const refund = await audit(api.refund(refunded, 10_000));
  const voided = await audit(api.purchase());
  const customer = (await vault.addCustomer({ name: 'Grace Hopper' })).body;
  const token = await vault.newToken({ preferred_name: 'Theirs' }, customer.id);
  const next: string = (await vault.searchCustomers({ limit: 2 })).body._links.next.href;
  const nextInHistory: string = (await api.get('/transactions/history?limit=2')).body._links.next.href;
  return {
    audits: {
      'a purchase': purchase,
      'a preauthorisation': preauthorisation,
      'a completed preauthorisation': completed,
      'a completion': completion,
      'a refunded purchase': refunded,
      'a refund': refund,
      'a void': await audit(api.void(voided)),
      'a voided purchase': voided,
      'a standalone refund': await audit(api.standaloneRefund()),
      'a declined purchase': await audit(api.purchase({ pan: DECLINED_CARD })),
    },
    customerId: token.customerId,
    tokenId: token.id,
    virtualPan: token.virtualPan,
    reference: customer.reference,
    name: customer.name,
    after: cursorIn(next),
    historyAfter: cursorIn(nextInHistory),
    correlationId,
    checkoutId: (await createCheckout(api)).body.id,
    scheduleId: (await createSchedule(api, token.virtualPan, { first_date: '2036-12-01' })).body.id,
  };
}

function cursorIn(address: string): string {
  return new URLSearchParams(address.split('?')[1]).get('after') as string;
}

/** Everything that a caller can tell two answers apart by. */
function seen({ status, text, headers }: Answer) {
  return { status, text, headers: [...headers].filter(([name]) => name !== 'date').sort() };
}

/**
 * Without the signs of life of the processes, the audits that they keep in stock, what searches have not found, when whose cards
 * are reviewed next, how much was sealed in all, how far the journal is chained, the
 * figures of each minute, and the day on which a user was last used, which is a user's last column.
 */
async function kept(gateway: TestGateway) {
  // Whatever has happened by now has its place in the feed.
  await gateway.api.get('/events');
  const rows = await rowsOf(gateway);
  // Failed log-ins of a minute are journalled when it is over, in whatever test that is.
  const lasting = rows.filter(
    (row) =>
      !/^journal .*user\.log_ins_failed/.test(row) &&
      !/^(process|audit_lease|organisation|gateway|absence|sweep|event_sequencer|card_review|data_key_use|journal_block|journal_chain|journal_gap|figures_\w+) /.test(
        row,
      ),
  );
  const rowsThatLast = lasting.map((row) =>
    row.replace(/^(gateway_user .*,)[\d-]*(,[^,]*,[^,]*\))$/, '$1$2'),
  );
  return { rows: rowsThatLast.sort(), acquirer: await gateway.ledger() };
}

type Kept = Awaited<ReturnType<typeof kept>>;
/** What was kept when it was last looked at, where nothing was done since: to read it all takes longer than what is tried. */
let lastKept: Kept | undefined;

async function keptBefore(): Promise<Kept> {
  const before = lastKept ?? (await kept(full));
  lastKept = undefined;
  return before;
}

async function expectKept(before: Kept): Promise<void> {
  const after = await kept(full);
  expect(after).toEqual(before);
  lastKept = after;
}

const foreignFor = (who: Who) =>
  OPERATIONS.filter((operation) => !who.mayLookUp || namesMerchant(operation)).map(
    (operation) => [operation.id, operation] as const,
  );

describe.each(CALLERS)('$name', (who) => {
  test('any operation → as if the transaction did not exist, and nothing is stored', () =>
    expectEach(foreignFor(who), async ([_, operation]) => {
      const attempts = attemptsOf(operation, things, { ...who, ownCustomer: ownCustomers.get(who.name) });
      expect(
        attempts.length,
        'teach foreign-attempts.ts what can be foreign in this operation',
      ).toBeGreaterThan(0);
      const before = await keptBefore();
      const refused = new Map<string, ReturnType<typeof seen>>();
      for (const { what, method, path, body, status, error } of attempts) {
        // Also under an ID that merchant 1 has won: that it is taken is merchant 1's business.
        for (const correlationId of [`foreign-${randomUUID()}`, things.correlationId]) {
          const request = { method, body, correlationId };
          const [there, nowhere] = [
            await who.as(full).call(path, request),
            await who.as(empty).call(path, request),
          ];
          expect(seen(there), what).toEqual(seen(nowhere));
          expect([there.status, ...there.errors], what).toEqual(
            error === undefined ? [status] : [status, error],
          );
          if (error === undefined) expect(there.body.results, what).toEqual([]);
          // Of one kind of refusal there is one form, whichever thing or merchant was meant.
          else {
            const known = refused.get(error + correlationId.slice(0, 7)) ?? withoutId(seen(there));
            refused.set(error + correlationId.slice(0, 7), known);
            expect(withoutId(seen(there)), what).toEqual(known);
          }
        }
      }
      await expectKept(before);
    }));
});

/** The correlation ID repeats the request. */
function withoutId({ headers, ...rest }: ReturnType<typeof seen>): ReturnType<typeof seen> {
  return { ...rest, headers: headers.filter(([name]) => name !== 'x-correlation-id') };
}

describe('without valid credentials', () => {
  const anybodys = OPERATIONS.map((operation) => [operation.id, operation] as const);
  test('any operation without or with wrong credentials → always the same 401', () =>
    expectEach(anybodys, async ([_, operation]) => {
      const before = await keptBefore();
      const attempts = attemptsOf(operation, things, { own: 1, ownCustomer: undefined, others: [1, NOBODY] });
      const answers: Answer[] = [];
      for (const gateway of [full, empty]) {
        for (const credentials of [
          undefined,
          { username: 'nobody', password: 'x' },
          { username: gateway.owner.username, password: gateway.stranger.password },
          { username: gateway.stranger.username, password: gateway.owner.password },
        ]) {
          for (const { method, path, body } of attempts) {
            const request = { method, body, correlationId: things.correlationId };
            answers.push(await client(gateway.baseUrl, credentials).call(path, request));
          }
        }
      }
      expect(answers[0]?.errors).toEqual(['unauthenticated header/Authorization']);
      for (const answer of answers) expect(seen(answer)).toEqual(seen(answers[0] as Answer));
      await expectKept(before);
    }));
});

describe('correlation IDs', () => {
  beforeEach(() => {
    lastKept = undefined;
  });

  const creating = OPERATIONS.filter(({ creates }) => creates).map(
    (operation) => [operation.id, operation] as const,
  );
  test('any operation refused for another merchant → uses up no correlation ID', () =>
    expectEach(creating, async ([_, operation]) => {
      for (const who of CALLERS) {
        const attempts = attemptsOf(operation, things, { ...who, ownCustomer: undefined });
        const correlationId = randomUUID();
        for (const { method, path, body, status } of attempts) {
          expect((await who.as(full).call(path, { method, body, correlationId })).status).toBe(status);
        }
        expect((await full.api.search(correlationId, 1)).body.results).toEqual([]);
        expect((await who.as(full).search(correlationId, who.own)).body.results).toEqual([]);
        expect((await who.as(full).purchase({ merchant: who.own, correlationId })).status).toBe(201);
        expect((await full.api.purchase({ correlationId })).status).toBe(201);
      }
    }));

  test('an invalid request for a foreign merchant under an ID that is used there → 422, without a hint of that', async () => {
    for (const { as } of CALLERS.filter(({ mayLookUp }) => !mayLookUp)) {
      const request = { body: { merchant: { id: 1 } }, correlationId: things.correlationId };
      const [there, nowhere] = [
        await as(full).call('/transactions/purchase', request),
        await as(empty).call('/transactions/purchase', request),
      ];
      expect([there.status, there.errors]).toEqual([422, ['field_missing body/transaction']]);
      expect(seen(there)).toEqual(seen(nowhere));
    }
  });
});
