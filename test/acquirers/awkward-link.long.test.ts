// A link that has no inquiry, answers late, refuses to open and throws: it keeps the contract, and the gateway copes with it.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Answer } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { storedAs } from '../../testkit/sealed-transactions.js';
import { cardAnsweredWith } from '../../testkit/test-cards.js';
import { AwkwardHost, AwkwardLink, type Message, type Numbers } from './awkward-link.js';
import { linkContract } from './contract-suite.js';

linkContract('an awkward link', { takes: 'card', inquiries: false, prepares: true }, async () => {
  const link = new AwkwardLink(new AwkwardHost());
  const breakDown = () => link.close();
  return { link, cardAnsweredWith, written: async () => '', breakDown, cleanUp: async () => {} };
});

const PATIENTLY = { timeout: 300_000 };
const PAN = '5555555555554444';

let gateway: TestGateway;
const host = new AwkwardHost();
const link = new AwkwardLink(host);
beforeAll(async () => {
  // Long enough for what is answered on a busy machine, and short enough to wait for what is not.
  gateway = await testGateway({ acquirers: [link], settings: { ACQUIRER_DEADLINE_MS: '5000' } });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'awkward'`);
  await vi.waitUntil(() => gateway.logged().includes('acquirer link open'), PATIENTLY);
});
afterAll(() => gateway.close());

const auditOf = ({ headers }: Answer) => Number(headers.get('location')?.split('/').at(-1));

async function preparedOf(audit: number): Promise<Numbers | null> {
  const [row] = await gateway.sql<{ prepared: Numbers | null }>(
    'SELECT prepared FROM transaction WHERE organisation_id = 1 AND audit = $1',
    [audit],
  );
  return row?.prepared ?? null;
}

const lastMessage = () => host.messages.at(-1) as Message;

/** What has arrived for an order since it was asked. */
function messagesOf({ trace }: { trace: number }): Message[] {
  return host.messages.filter((message) => message.trace === trace);
}

async function approved(answering: Promise<Answer>): Promise<number> {
  const { body } = await answering;
  expect(body.status.transaction_status_code).toBe('approved');
  return body.audit;
}

describe('a link that refuses to open', () => {
  // catches(links: one that is not open is asked nothing) slow
  test('the gateway starts and logs it; no payment is sent until the link opens', async () => {
    const closed = new AwkwardLink(new AwkwardHost());
    closed.refusals = Number.POSITIVE_INFINITY;
    const { api, sqlSealed, logged } = await testGateway({ acquirers: [closed] });
    await sqlSealed(`UPDATE merchant SET acquirer = 'awkward' WHERE id = 1`);
    expect(logged()).toContain('"link":"awkward","reason":"the line is engaged"');
    const { status, body } = await api.purchase();
    expect([status, body.status]).toMatchObject([
      201,
      { gateway_status_code: 1, transaction_status_code: 'error' },
    ]);
    expect((await api.purchase({ merchant: 2 })).body.status.transaction_status_code).toBe('approved');

    closed.refusals = 0;
    await vi.waitUntil(() => logged().includes('acquirer link open'), PATIENTLY);
    await approved(api.purchase());
  });
});

describe('what the link prepares', () => {
  // catches(prepared: stored by commit A, before the order is asked) slow
  test('purchase → its preparation is stored before it is sent, and given to the link', async () => {
    const before = host.messages.length;
    const release = host.holdNextAnswer();
    const paying = gateway.api.purchase({ pan: PAN, correlationId: 'prepared' });
    await vi.waitUntil(() => host.messages.length > before, PATIENTLY);
    const { audit } = (await gateway.api.search('prepared')).body.results[0];
    const { trace, terminal, retrievalReference, sentMs } = lastMessage();
    expect(await preparedOf(audit)).toEqual({ trace, terminal, retrievalReference, sentMs });
    release();
    await paying;
  });

  // catches(prepared: stored by commit A of operations on a target) slow
  test('completion, its refund and the void of that → each has the card, numbers and codes of its target', async () => {
    const held = await approved(gateway.api.preauthorise({ pan: PAN, amount: 900 }));
    const preauthorisation = lastMessage();
    const completed = await approved(gateway.api.complete(held, 800));
    const completion = lastMessage();
    const refunded = await approved(gateway.api.refund(completed, 700));
    const refund = lastMessage();
    await approved(gateway.api.void(refunded));
    const voiding = lastMessage();
    const { terminal, retrievalReference } = preauthorisation;
    const followed = [
      [completion, preauthorisation, 800],
      [refund, completion, 700],
      [voiding, refund, 700],
    ] as const;
    for (const [message, original, amountCents] of followed) {
      expect(message).toMatchObject({ pan: PAN, amountCents, terminal, retrievalReference });
      expect(message.original).toBe(original.trace);
      expect(message.authorisationCode).toBe(String(original.trace).padStart(6, '0'));
    }
  });

  test('the link cannot prepare → 503, nothing stored or sent, and the correlation ID is free', async () => {
    const prepare = vi.spyOn(link, 'prepare').mockImplementation(() => {
      throw new Error('no numbers left');
    });
    const before = host.messages.length;
    const refused = await gateway.api.purchase({ correlationId: 'unprepared' });
    expect([refused.status, refused.code]).toEqual([503, 'not_processed']);
    prepare.mockRestore();
    expect((await gateway.api.search('unprepared')).body.results).toEqual([]);
    expect(host.messages).toHaveLength(before);
    await approved(gateway.api.purchase({ correlationId: 'unprepared' }));
  });

  // catches(prepared: what was not prepared was not sent) slow
  test('in doubt with nothing prepared → it cannot have been sent: error with 1', async () => {
    const { audit } = (await gateway.api.purchase()).body;
    const before = host.messages.length;
    await storedAs(
      gateway,
      `status = 'unknown', gateway_status_code = -99, prepared = NULL`,
      `organisation_id = 1 AND audit = ${audit}`,
    );
    await gateway.sql(`UPDATE transaction SET resolve_at = now() WHERE organisation_id = 1 AND audit = $1`, [
      audit,
    ]);
    expect((await gateway.api.decided(audit)).status).toMatchObject({ gateway_status_code: 1 });
    expect(host.messages).toHaveLength(before);
  });
});

describe('no answer in time', () => {
  test.each(['purchase', 'preauthorise', 'standaloneRefund'] as const)(
    '%s → reversed under its numbers, with its amount and card; error with 2',
    async (operation) => {
      host.loseNextAnswers(1);
      const answer = await gateway.api[operation]({ pan: PAN, amount: 321 });
      expect(answer.status).toBe(504);
      const { status } = await gateway.api.decided(auditOf(answer));
      expect(status).toMatchObject({ gateway_status_code: 2, transaction_status_code: 'error' });
      const [request, reversal, ...more] = messagesOf((await preparedOf(auditOf(answer))) as Numbers);
      expect([request?.kind, reversal?.kind, more]).toEqual(['request', 'reversal', []]);
      expect(reversal).toMatchObject({ pan: PAN, amountCents: 321, sentMs: request?.sentMs });
    },
  );

  test('refund → reversed with the card of its payment; the amount can be refunded again', async () => {
    const audit = await approved(gateway.api.purchase({ pan: PAN, amount: 500 }));
    host.loseNextAnswers(1);
    const answer = await gateway.api.refund(audit, 500);
    expect(answer.status).toBe(504);
    await gateway.api.decided(auditOf(answer));
    expect(lastMessage()).toMatchObject({ kind: 'reversal', pan: PAN, amountCents: 500 });
    await approved(gateway.api.refund(audit, 500));
  });

  test.each(['completion', 'void'] as const)(
    '%s → repeated until it is acknowledged, and never reversed',
    async (operation) => {
      const audit = await approved(gateway.api.preauthorise({ pan: PAN, amount: 500 }));
      host.loseNextAnswers(2);
      const answer = await (operation === 'void'
        ? gateway.api.void(audit)
        : gateway.api.complete(audit, 400));
      expect(answer.status).toBe(504);
      const { status } = await gateway.api.decided(auditOf(answer));
      expect(status.transaction_status_code).toBe('approved');
      const sent = messagesOf((await preparedOf(auditOf(answer))) as Numbers);
      expect(sent.map(({ kind }) => kind)).toEqual(['advice', 'advice', 'advice']);
    },
  );

  test('the connection is down → 502, and reversed once it is up', async () => {
    await link.close();
    const answer = await gateway.api.purchase({ pan: PAN });
    expect([answer.status, answer.code]).toEqual([502, 'acquirer_answer_unreadable']);
    await link.open();
    expect((await gateway.api.decided(auditOf(answer))).status).toMatchObject({ gateway_status_code: 2 });
  });
});

test('every message sent → valid for the acquirer', () => {
  expect(host.complaints).toEqual([]);
});
