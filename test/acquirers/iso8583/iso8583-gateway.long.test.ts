// Payments over an ISO 8583 link, from HTTP to the host and back, resolved by any gateway.
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { unseenOrders } from '../../../src/acquirers/acquirer-tasks.js';
import { reconcileSettlement } from '../../../src/settlement/settlement-tasks.js';
import { type Answer, CARD } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { scrape } from '../../../testkit/scrape.js';
import { openDay } from '../../../testkit/settlement-days.js';
import { cardAnsweredWith } from '../../../testkit/test-cards.js';
import type { BookKeepingHost } from './book-keeping-host.js';
import { approved, GatewayAtHost, PATIENTLY, takenUp } from './gateway-at-host.js';
import { answering, type Heard, type Reply } from './scripted-host.js';

let at: GatewayAtHost;
let gateway: TestGateway;
let host: BookKeepingHost;
beforeAll(async () => {
  at = await GatewayAtHost.start();
  ({ gateway, host } = at);
});
afterAll(() => at.stop());
beforeEach(() => {
  host.script = (heard) => host.decide(heard);
});

const auditOf = ({ headers }: Answer) => Number(headers.get('location')?.split('/').at(-1));
const last = (type: string) => at.last(type);

test('a purchase → approved with the host’s text, found by a look-up', async () => {
  const audit = await approved(gateway.api.purchase({ pan: CARD, amount: 4_321 }));
  const { fields } = last('0200');
  expect([fields.get(4), fields.get(41)?.slice(0, 4), fields.get(18)]).toEqual([
    '000000004321',
    'TERM',
    '5999',
  ]);
  const { body } = await gateway.api.lookUp(audit);
  expect(body.status).toMatchObject({
    gateway_status_code: 0,
    transaction_status_code: 'approved',
    acquirer: {
      response_code: '00',
      response_message: 'Approved',
      authorisation_code: expect.stringMatching(/^\d{6}$/),
    },
  });
});

test.each([
  ['05', 'declined', 0],
  ['51', 'declined', 0],
  ['77', 'declined', 0],
  ['96', 'error', 3],
  ['08', 'approved', 0],
  ['10', 'declined', 0],
])('response code %s → %s', async (code, status, gatewayStatus) => {
  const reversals = host.messages('0420').length;
  const { body } = await gateway.api.purchase({ pan: cardAnsweredWith(code) });
  expect(body.status).toMatchObject({
    gateway_status_code: gatewayStatus,
    transaction_status_code: status,
    acquirer: { response_code: code },
  });
  expect(host.messages('0420').length - reversals).toBe(code === '10' ? 1 : 0);
});

test('preauthorisation, completion, refund of that, void of the refund → each refers to the one before', async () => {
  const held = await gateway.api.preauthorise({ pan: CARD, amount: 900 });
  expect(held.body.status.acquirer.preauthorisation_code).toBe(last('0100').fields.get(37));
  const completed = await approved(gateway.api.complete(held.body.audit, 800));
  const refunded = await approved(gateway.api.refund(completed, 700));
  await approved(gateway.api.void(refunded));
  const [preauthorisation, completion, refund, voiding] = ['0100', '0220', '0200', '0420'].map(last) as [
    Heard,
    Heard,
    Heard,
    Heard,
  ];
  for (const [message, original] of [
    [completion, preauthorisation],
    [refund, completion],
    [voiding, refund],
  ] as const) {
    expect(message.fields.get(90)?.slice(0, 10)).toBe(original.type + original.fields.get(11));
    expect(message.fields.get(37)).toBe(preauthorisation.fields.get(37));
    expect(message.fields.get(41)).toBe(preauthorisation.fields.get(41));
  }
});

test("an acquirer's settlement file with retrieval references → every line finds its transaction, and differences are reported", async () => {
  const { api } = gateway;
  const sold = await approved(api.purchase({ pan: CARD, amount: 7_000 }));
  const reference = last('0200').fields.get(37) as string;
  for (const cents of [100, 200, 100]) await approved(api.refund(sold, cents));
  const undone = await approved(api.purchase({ pan: CARD, amount: 7_100 }));
  await approved(api.void(undone));
  const undoing = last('0420').fields.get(37) as string;
  const date = await openDay(gateway);
  // What earlier tests have bought is there as well.
  const entries = await gateway.sql<Record<'reference' | 'type' | 'cents', string>>(`
    SELECT t.prepared ->> 'retrievalReference' AS reference, e.transaction_type AS type, abs(e.amount_cents) AS cents
    FROM settlement_entry e JOIN transaction t USING (organisation_id, audit) WHERE e.acquirer = 'bank' ORDER BY e.audit`);
  const all = entries.map((entry) => `${entry.reference},${entry.type},${entry.cents},AUD`);
  expect(all.filter((line) => line.startsWith(reference))).toEqual([
    `${reference},purchase,7000,AUD`,
    `${reference},refund,100,AUD`,
    `${reference},refund,200,AUD`,
    `${reference},refund,100,AUD`,
  ]);
  expect(all).toContain(`${undoing},void,7100,AUD`);
  const reconciled = async (lines: readonly string[]) => {
    const path = join(dirname(gateway.ledgerPath), randomUUID());
    await writeFile(path, ['reference,transaction_type,amount_cents,currency', ...lines, ''].join('\n'));
    return reconcileSettlement(at.database, { path, acquirer: 'bank', date });
  };
  const nothing = { missingHere: 0, missingThere: 0, different: 0, wrong: 0 };
  expect(await reconciled(all)).toMatchObject({ ...nothing, matched: all.length });
  expect(await reconciled(all.toReversed())).toMatchObject({ ...nothing, matched: all.length });
  // The first line of the three refunds differs, and the others still find theirs.
  const wrong = `${reference},refund,201,AUD`;
  const others = all.filter((line) => line !== `${reference},refund,200,AUD`);
  const different = await reconciled([wrong, ...others]);
  expect(different).toMatchObject({ ...nothing, different: 1, matched: others.length });
  expect(different.listed.different).toEqual([
    { line: 2, reference, there: 'refund 2.01 AUD', here: 'refund 2.00 AUD' },
  ]);
  const missing = await reconciled([...others, '999999999999,purchase,1,AUD']);
  expect(missing).toMatchObject({ ...nothing, missingHere: 1, missingThere: 1 });
  expect(missing.listed.missingThere).toMatchObject([
    { reference, transactionType: 'refund', amountCents: 200 },
  ]);
  const again = await reconciled([...all, `${reference},refund,100,AUD`]);
  expect(again.listed.wrong).toEqual([{ line: all.length + 2, reason: 'listed before' }]);
});

describe('no answer', () => {
  /** Takes everything, and answers only the third of what is about one amount. */
  function silentTwice(): void {
    const heardOf = new Map<string, number>();
    host.script = (heard) => {
      const answer = host.decide(heard);
      const amount = heard.fields.get(4) ?? '';
      heardOf.set(amount, (heardOf.get(amount) ?? 0) + 1);
      return (heardOf.get(amount) as number) > 2 ? answer : undefined;
    };
  }

  const about = (cents: number) =>
    host
      .messages()
      .filter(({ fields }) => Number(fields.get(4)) === cents)
      .map(({ type }) => type);

  test('payments that the host books → 504, then reversed, repeated until acknowledged; error with 2', async () => {
    silentTwice();
    const { api } = gateway;
    const answers = await Promise.all([
      takenUp(() => api.purchase({ pan: CARD, amount: 32_101 })),
      takenUp(() => api.preauthorise({ pan: CARD, amount: 32_102 })),
      takenUp(() => api.standaloneRefund({ pan: CARD, amount: 32_103 })),
    ]);
    expect(answers.map(({ status, code }) => [status, code])).toEqual(
      Array.from({ length: 3 }, () => [504, 'acquirer_timeout']),
    );
    for (const answer of answers) {
      const { status } = await api.decided(auditOf(answer));
      expect(status).toMatchObject({ gateway_status_code: 2, transaction_status_code: 'error' });
    }
    expect([about(32_101), about(32_102), about(32_103)]).toEqual([
      ['0200', '0420', '0421'],
      ['0100', '0420', '0421'],
      ['0200', '0420', '0421'],
    ]);
    const open = await gateway.sql('SELECT reference FROM acquirer_reversal WHERE acknowledged_at IS NULL');
    expect(open).toEqual([]);
  });

  test('a completion and a void → repeated until acknowledged, never reversed', async () => {
    const { api } = gateway;
    const held = await approved(api.preauthorise({ pan: CARD, amount: 50_001 }));
    const paid = await approved(api.purchase({ pan: CARD, amount: 50_002 }));
    silentTwice();
    const answers = await Promise.all([
      takenUp(() => api.complete(held, 40_001)),
      takenUp(() => api.void(paid)),
    ]);
    for (const answer of answers) {
      expect(answer.status).toBe(504);
      const { status } = await api.decided(auditOf(answer));
      expect(status.transaction_status_code).toBe('approved');
    }
    expect([about(40_001), about(50_002)]).toEqual([
      ['0220', '0221', '0221'],
      ['0200', '0420', '0421', '0421'],
    ]);
  });

  // catches(ISO 8583: 25 is no answer to the reversal of what the host has approved)
  // catches(ISO 8583: an approval after the reversal is reversed again)
  // catches(card: kept for a day of what was reversed by messages)
  test('a payment that the host charges although it answered 25 to its reversal → reversed again, until a code other than 25 confirms it', async () => {
    const charge: (() => void)[] = [];
    // By reversal, not by message: on a slow machine any of them may be repeated before its answer is read.
    const codes = [['25'], ['25'], ['30', '00']];
    const reversals = new Map<string, string[]>();
    host.script = (heard) => {
      const answer = host.decide(heard);
      if (answer === undefined || Number(heard.fields.get(4)) !== 32_104) return answer;
      if (heard.type.startsWith('042')) {
        const stan = heard.fields.get(11) as string;
        const own = reversals.get(stan) ?? codes[reversals.size] ?? ['00'];
        reversals.set(stan, own);
        return answering(heard, (own.length > 1 ? own.shift() : own[0]) as string);
      }
      charge.push(() => host.send(answer, heard.connection));
      return undefined;
    };
    const answer = await takenUp(() => gateway.api.purchase({ pan: CARD, amount: 32_104 }));
    expect(answer.status).toBe(504);
    const audit = auditOf(answer);
    const decided = await gateway.api.decided(audit);
    expect(decided.status).toMatchObject({ gateway_status_code: 2, transaction_status_code: 'error' });
    const unseen = async () =>
      (await unseenOrders(at.database, 'bank')).find((order) => order.audit === audit);
    expect(await unseen()).toMatchObject({ state: 'never seen', amountCents: 32_104, currency: 'AUD' });
    // Only now the host reads it, over the connection that it was sent over.
    for (const approve of charge) approve();
    await vi.waitUntil(async () => (await unseen())?.state === 'reversed again', PATIENTLY);
    // A further reversal each time, since a host may answer a repeated one as before; one that is to be repeated is.
    expect(reversals.size).toBe(3);
    expect(about(32_104).filter((type) => type !== '0421')).toEqual(['0200', '0420', '0420', '0420']);
    expect(about(32_104).at(-1)).toBe('0421');
    // What was decided stays so.
    expect(await gateway.api.lookUp(audit)).toMatchObject({ body: decided });
    const journalled = await gateway.sql(
      'SELECT action FROM journal WHERE organisation_id = 1 AND audit = $1 ORDER BY id',
      [audit],
    );
    expect(journalled.map(({ action }) => action)).toEqual([
      'transaction.reversal_begun',
      'transaction.resolved',
      'transaction.approved_after_reversal',
      'transaction.reversed_again',
    ]);
    expect(gateway.logged()).toContain(
      'acquirer approved a payment after its reversal; it is reversed again',
    );
  });

  test('several are charged late at once, and one cannot be recorded → the others are reversed again', async () => {
    const amounts = [32_121, 32_122, 32_123];
    const approvals: (() => void)[] = [];
    const seen = new Set<number>();
    host.script = (heard) => {
      const answer = host.decide(heard);
      const amount = Number(heard.fields.get(4));
      if (answer === undefined || !amounts.includes(amount)) return answer;
      if (heard.type.startsWith('042')) return answering(heard, seen.has(amount) ? '00' : '25');
      approvals.push(() => {
        seen.add(amount);
        host.send(answer, heard.connection);
      });
      return undefined;
    };
    const audits = await Promise.all(
      amounts.map(async (amount) => {
        const audit = auditOf(await takenUp(() => gateway.api.purchase({ pan: CARD, amount })));
        await gateway.api.decided(audit);
        return audit;
      }),
    );
    const [bad, ...others] = audits as [number, ...number[]];
    await gateway.sql(`
      CREATE FUNCTION refuse_note() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF NEW.approved_at IS NOT NULL AND NEW.reference LIKE '%-${bad}' THEN RAISE 'no'; END IF; RETURN NEW; END $$`);
    await gateway.sql(
      'CREATE TRIGGER refuse_note BEFORE UPDATE ON acquirer_reversal FOR EACH ROW EXECUTE FUNCTION refuse_note()',
    );
    for (const approve of approvals) approve();
    const stateOf = async (audit: number) =>
      (await unseenOrders(at.database, 'bank')).find((order) => order.audit === audit)?.state;
    for (const audit of others)
      await vi.waitUntil(async () => (await stateOf(audit)) === 'reversed again', PATIENTLY);
    expect(await stateOf(bad)).toBe('never seen');
    await gateway.sql('DROP FUNCTION refuse_note CASCADE');
  });

  test('an approval that arrives before its reversal is answered with 25 → does not count', async () => {
    const codes = ['25', '00'];
    const held: Reply[] = [];
    host.script = (heard) => {
      const answer = host.decide(heard);
      if (answer === undefined || Number(heard.fields.get(4)) !== 32_105) return answer;
      if (!heard.type.startsWith('042')) return void held.push(answer) as undefined;
      for (const approval of held.splice(0)) if (approval) host.send(approval, heard.connection);
      return answering(heard, codes.shift() ?? '00');
    };
    const audit = auditOf(await takenUp(() => gateway.api.purchase({ pan: CARD, amount: 32_105 })));
    expect((await gateway.api.decided(audit)).status).toMatchObject({ gateway_status_code: 2 });
    await vi.waitUntil(() => codes.length === 0, PATIENTLY);
    expect(about(32_105).slice(0, 3)).toEqual(['0200', '0420', '0420']);
  });

  // catches(ISO 8583: a reversal goes over the connection of its payment)
  test('reversed by the process that sent it → over the same connection', async () => {
    silentTwice();
    const amounts = [32_110, 32_111, 32_112, 32_113];
    await Promise.all(amounts.map((amount) => takenUp(() => gateway.api.purchase({ pan: CARD, amount }))));
    await vi.waitUntil(() => amounts.every((amount) => about(amount).length >= 3), PATIENTLY);
    for (const amount of amounts) {
      const messages = host.messages().filter(({ fields }) => Number(fields.get(4)) === amount);
      expect([amount, new Set(messages.map(({ connection }) => connection)).size]).toEqual([amount, 1]);
    }
  });

  test('cut off in the middle of the answer → 502, and reversed over a new connection', async () => {
    host.script = (heard) => {
      const answer = host.decide(heard);
      if (heard.type !== '0200' || answer === undefined) return answer;
      host.sockets[heard.connection - 1]?.end(host.bytesOf(answer).subarray(0, 20));
      return undefined;
    };
    const answer = await takenUp(() => gateway.api.purchase({ pan: CARD }));
    expect([answer.status, answer.code]).toEqual([502, 'acquirer_answer_unreadable']);
    expect((await gateway.api.decided(auditOf(answer))).status).toMatchObject({ gateway_status_code: 2 });
    expect(gateway.logged()).toContain('connection to acquirer lost');
  });

  test('a partial approval whose reversal is lost → in doubt, and in the end declined with 10', async () => {
    host.script = (heard) => {
      const answer = host.decide(heard);
      return heard.type === '0420' ? undefined : answer;
    };
    const answer = await takenUp(() => gateway.api.purchase({ pan: cardAnsweredWith('10') }));
    expect([502, 504]).toContain(answer.status);
    const { status } = await gateway.api.decided(auditOf(answer));
    expect(status).toMatchObject({ transaction_status_code: 'declined', acquirer: { response_code: '10' } });
  });

  test('a partial approval whose reversals are all lost → its card is kept for the next one, and destroyed when one is acknowledged', async () => {
    host.script = (heard) => {
      const answer = host.decide(heard);
      return heard.type === '0420' || heard.type === '0421' ? undefined : answer;
    };
    const before = host.messages('0421').length;
    const answer = await takenUp(() => gateway.api.purchase({ pan: cardAnsweredWith('10') }));
    const audit = auditOf(answer);
    const stored = () =>
      gateway.sql(
        `SELECT status, payment_details_sealed IS NOT NULL AS card FROM transaction WHERE organisation_id = 1 AND audit = ${audit}`,
      );
    await vi.waitUntil(() => host.messages('0421').length > before, PATIENTLY);
    expect(await stored()).toEqual([{ status: 'unknown', card: true }]);
    host.script = (heard) => host.decide(heard);
    await gateway.api.decided(audit);
    expect(await stored()).toEqual([{ status: 'declined', card: false }]);
  });

  test('another process, after the first was killed → repeats its reversal', async () => {
    const second = await testGateway({ shareWith: gateway, settings: { ACQUIRER_DEADLINE_MS: '600' } });
    host.script = (heard) => void host.decide(heard) as undefined;
    const answer = await takenUp(() => second.api.purchase({ pan: CARD }));
    expect(answer.status).toBe(504);
    await vi.waitUntil(() => host.messages('0420').length > 0, PATIENTLY);
    await second.close();
    host.script = (heard) => host.decide(heard);
    expect((await gateway.api.decided(auditOf(answer))).status).toMatchObject({ gateway_status_code: 2 });
  });
});

// catches(ISO 8583: a host that sends what nobody asked for is left)
test('the host floods with answers that nobody asked for → left, logged and counted; payments over others and afterwards are approved', async () => {
  const unasked = async () =>
    (await scrape(gateway.operatorsUrl)).sum('tollgate_link_unasked_answers_total', { acquirer: 'bank' }) ??
    0;
  const stray = Array.from({ length: 5_000 }, (_, stan) =>
    host.bytesOf({
      type: '0210',
      fields: { 11: String(stan + 500_000).padStart(6, '0'), 39: '00', 41: 'TERM0001' },
    }),
  );
  const connections = host.sockets.length;
  // Over a connection of this gateway: those of one that has stopped may not be closed yet.
  await approved(gateway.api.purchase());
  host.send(Buffer.concat(stray), last('0200').connection);
  await approved(gateway.api.purchase({ merchant: 2 }));
  await vi.waitUntil(() => host.sockets.length > connections, PATIENTLY);
  await expect
    .poll(() => gateway.logged(), PATIENTLY)
    .toMatch(
      /"level":50,[^\n]*"link":"bank","connection":\d,"reason":"the host sends too much that nothing asked for"/,
    );
  await expect
    .poll(() => gateway.logged(), PATIENTLY)
    .toMatch(/"link":"bank","count":\d+,"msg":"acquirer sent answers that nothing had asked for"/);
  expect(await unasked()).toBeGreaterThan(100);
  await takenUp(() => gateway.api.purchase());
});

test('everything logged and stored → no card number', async () => {
  expect(gateway.logged()).toContain('"type":"0200"');
  expect(gateway.logged()).not.toContain(CARD);
  const rows = await gateway.sql('SELECT prepared::text FROM transaction WHERE prepared IS NOT NULL');
  expect(rows.length).toBeGreaterThan(5);
  expect(JSON.stringify(rows)).not.toContain(CARD);
});
