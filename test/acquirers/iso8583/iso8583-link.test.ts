// The ISO 8583 link: what it sends for each order, what it makes of each answer, and what it leaves to other processes.
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Order } from '../../../src/acquirers/contract.js';
import { AS2805 } from '../../../src/acquirers/iso8583/dialects/as2805.js';
import { ASCII87 } from '../../../src/acquirers/iso8583/dialects/ascii87.js';
import type { Dialect } from '../../../src/acquirers/iso8583/dialects/dialect.js';
import type { Numbers } from '../../../src/acquirers/iso8583/numbers.js';
import { CARD } from '../../../testkit/client.js';
import { cardAnsweredWith } from '../../../testkit/test-cards.js';
import { cardPayment, onTarget, type PaymentOrder, prepare, stored } from '../orders.js';
import { LinkAtHost } from './link-at-host.js';
import { linkTo } from './link-under-test.js';
import { answering } from './scripted-host.js';

describe.each([AS2805, ASCII87])('ISO 8583 in $name', (dialect: Dialect) => {
  let at: LinkAtHost;
  let host: LinkAtHost['host'];
  let common: LinkAtHost['common'];
  let link: LinkAtHost['link'];
  beforeEach(async () => {
    at = await LinkAtHost.open(dialect);
    ({ host, common, link } = at);
  });
  afterEach(() => at.close());

  const { sent: reversal, repeat: repeatedReversal } = dialect.types.reversal;
  const money = (field: number, type: string) => at.last(type)?.get(field);
  const cvvOf = ({ method }: PaymentOrder) => (method.kind === 'card' ? method.card.cvv : undefined);
  const withoutRepetition = (type: string) => JSON.stringify([...(at.last(type) ?? [])]);

  test('a purchase → every field is right', async () => {
    const { prepared } = await at.ask(cardPayment(CARD, { amountCents: '1995' }));
    const fields = Object.fromEntries([...(at.last('0200') ?? [])].filter(([field]) => field !== 1));
    const stan = String(prepared.stan).padStart(6, '0');
    expect(fields).toEqual({
      2: CARD,
      3: '000000',
      4: '000000001995',
      7: expect.stringMatching(/^(0[1-9]|1[0-2])\d{8}$/),
      11: stan,
      12: expect.stringMatching(/^\d{6}$/),
      13: expect.stringMatching(/^\d{4}$/),
      14: '3912',
      18: '5999',
      22: '012',
      25: '59',
      32: '560279',
      37: prepared.retrievalReference,
      41: prepared.terminal,
      42: 'MERCHANT0000001',
      [dialect.cvv.field]: `${dialect.cvv.before}7391${dialect.cvv.after}`,
      49: '036',
    });
    expect(prepared.retrievalReference).toMatch(new RegExp(`^\\d{6}${stan}$`));
  });

  test('a purchase by a stored card, and its refund → marked as such; by a card number → not marked', async () => {
    const card = cardPayment(CARD);
    const method = { ...card.method, stored: true } as PaymentOrder['method'];
    const paid = await at.ask({ ...card, method });
    expect(money(22, '0200')).toBe(dialect.constants.storedCredential);
    await at.ask(onTarget('refund', paid.order, paid));
    expect(money(22, '0200')).toBe(dialect.constants.storedCredential);
    await at.ask(cardPayment(CARD));
    expect(money(22, '0200')).toBe('012');
  });

  // catches(ISO 8583: the CVV is erased)
  test('the CVV → erased as soon as it is sent, before any answer', async () => {
    for (const pan of [CARD, cardAnsweredWith('05')]) {
      const order = cardPayment(pan);
      const erased: unknown[] = [];
      host.script = (heard) => {
        erased.push(cvvOf(order)?.erased);
        return host.decide(heard);
      };
      await at.ask(order);
      expect(erased).toEqual([true]);
      expect(() => cvvOf(order)?.reveal()).toThrow('erased');
    }
  });

  test('the CVV of a message that could not be sent → kept for another link', async () => {
    const order = cardPayment(CARD);
    const prepared = await prepare(link, order);
    await link.close();
    expect(await link.ask(order, prepared, () => true)).toEqual({ kind: 'not_sent' });
    expect(cvvOf(order)?.erased).toBe(false);
  });

  test('the CVV of a payment that fits no message → kept for another link', async () => {
    const order = cardPayment(CARD, { currency: 'XYZ' });
    expect((await at.ask(order)).answer).toEqual({ kind: 'not_sent' });
    expect(cvvOf(order)?.erased).toBe(false);
  });

  test('a refund → carries the retrieval reference and the original data of its payment', async () => {
    const paid = await at.ask(cardPayment(CARD));
    const refunded = await at.ask(onTarget('refund', paid.order, paid));
    expect(refunded.answer.kind).toBe('approved');
    expect(money(3, '0200')).toBe('200000');
    expect(money(37, '0200')).toBe(paid.prepared.retrievalReference);
    expect(money(41, '0200')).toBe(paid.prepared.terminal);
    const stan = String(paid.prepared.stan).padStart(6, '0');
    expect(money(90, '0200')).toMatch(new RegExp(`^0200${stan}\\d{10}00000560279${'0'.repeat(11)}$`));
  });

  test('a completion → an advice with the code of its preauthorisation', async () => {
    const held = await at.ask(cardPayment(CARD, { operation: 'preauthorisation' }));
    const { answer } = await at.ask(onTarget('completion', held.order, held));
    expect(answer.kind).toBe('approved');
    const { authorisationCode } = held.answer as { authorisationCode?: string };
    expect(money(38, '0220')).toBe(authorisationCode);
    expect(money(90, '0220')?.slice(0, 4)).toBe('0100');
  });

  test('a void → a reversal under a STAN of its own, with the fields that reversals have', async () => {
    const paid = await at.ask(cardPayment(CARD));
    const { answer, prepared } = await at.ask(onTarget('void', paid.order, paid));
    expect(answer).toMatchObject({ kind: 'approved', responseCode: '00' });
    const fields = [...(at.last(reversal)?.keys() ?? [])].filter((field) => field !== 1);
    expect(fields).toEqual([2, 3, 4, 11, 37, 38, 41, 42, 49, 90]);
    expect(prepared.stan).not.toBe(paid.prepared.stan);
  });

  test('a completion or a void without an answer → in doubt, and repeated unchanged by another process until acknowledged', async () => {
    const held = await at.ask(cardPayment(CARD, { operation: 'preauthorisation' }));
    const paid = await at.ask(cardPayment(CARD));
    for (const [order, first, repeated] of [
      [onTarget('completion', held.order, held), '0220', '0221'],
      [onTarget('void', paid.order, paid), reversal, repeatedReversal],
    ] as const) {
      const decide = host.script;
      host.script = () => undefined;
      const quick = linkTo(host.port, dialect, common, { deadlineMs: 100 });
      await quick.open();
      const prepared = await prepare(quick, order);
      expect((await quick.ask(order, prepared, () => true)).kind).toBe('unknown');
      host.script = (heard) => answering(heard, '91');
      expect(await quick.inquire(order, prepared)).toEqual({ kind: 'no_answer' });
      await quick.close();
      host.script = decide;
      expect(await at.elsewhere((other) => other.inquire(order, prepared))).toMatchObject({
        kind: 'approved',
      });
      expect(host.messages(first)).toHaveLength(1);
      expect(host.messages(repeated)).toHaveLength(2);
      expect(withoutRepetition(repeated)).toBe(withoutRepetition(first));
    }
  });

  // catches(ISO 8583: a completion approved in part is reversed)
  test('every response code to a completion → approved, repeated or final, as the dialect lists it', async () => {
    const again: string[] = [];
    const approving: string[] = [];
    for (let number = 0; number < 100; number += 1) {
      const code = String(number).padStart(2, '0');
      host.script = (heard) => host.decide(heard);
      const held = await at.ask(cardPayment(CARD, { operation: 'preauthorisation' }));
      const completion = onTarget('completion', held.order, held);
      host.script = (heard) => answering(heard, heard.type === '0220' ? code : '00', { 38: '654321' });
      const { answer } = await at.ask(completion);
      if (answer.kind === 'unknown') again.push(code);
      else expect(answer).toHaveProperty('responseCode', code);
      if (answer.kind === 'approved') approving.push(code);
    }
    expect(again).toEqual(dialect.responseCodes.again);
    expect(approving).toEqual(dialect.responseCodes.approvals);
    expect(common.alarms).toEqual([expect.objectContaining({ kind: 'duplicate STAN' })]);
    // The partial approval, and nothing else.
    expect(host.messages(reversal)).toHaveLength(1);
    expect(money(90, reversal)?.slice(0, 4)).toBe('0220');
  });

  test('a completion approved in part whose reversal is not acknowledged → the reversal is repeated over another connection, the completion is not', async () => {
    const held = await at.ask(cardPayment(CARD, { operation: 'preauthorisation' }));
    const completion = onTarget('completion', held.order, held);
    host.script = (heard) => answering(heard, heard.type === '0220' ? '10' : '96', { 38: 'PART01' });
    const { answer, prepared } = await at.ask(completion);
    expect(answer.kind).toBe('unknown');
    host.script = (heard) => answering(heard, '00');
    const found = await at.elsewhere((other) => other.inquire(completion, prepared));
    expect(found).toMatchObject({ kind: 'declined', responseCode: '10' });
    expect(host.messages('0221')).toEqual([]);
    expect(host.messages(repeatedReversal)).toHaveLength(1);
    expect(common.reversals.acknowledgements).toEqual([completion.reference]);
  });

  // catches(ISO 8583: a completion that was taken back is not repeated)
  test('a completion approved for another amount → in doubt, and reversed in the end; after that it is not repeated', async () => {
    const held = await at.ask(cardPayment(CARD, { operation: 'preauthorisation' }));
    const completion = onTarget('completion', held.order, held);
    const otherwise = (code: string) => {
      host.script = (heard) =>
        heard.type.startsWith('02')
          ? answering(heard, '00', { 4: '000000000001', 38: '654321' })
          : answering(heard, code);
    };
    otherwise('96');
    const { answer, prepared } = await at.ask(completion);
    expect(answer).toEqual({ kind: 'unknown', reason: 'unreadable' });
    const inquired = () => at.elsewhere((other) => other.inquire(completion, prepared));
    const reversed = () => at.elsewhere((other) => other.reverse(completion, prepared));
    expect([await inquired(), await reversed()]).toEqual([{ kind: 'not_seen' }, 'no_answer']);
    const repeated = host.messages('0221').length;
    otherwise('00');
    expect([await inquired(), await reversed()]).toEqual([{ kind: 'not_seen' }, 'reversed']);
    expect(host.messages('0221')).toHaveLength(repeated);
    expect(money(90, reversal)?.slice(0, 4)).toBe('0220');
  });

  // catches(ISO 8583: a reversal is stored before it is sent)
  test('no answer to a payment → not seen; reversed under one STAN, and the reversal repeated unchanged by another process', async () => {
    const decide = host.script;
    host.script = (heard) => void decide(heard, host) as undefined;
    const quick = linkTo(host.port, dialect, common, { deadlineMs: 100 });
    await quick.open();
    const order = cardPayment(CARD);
    const prepared = await prepare(quick, order);
    expect(await quick.ask(order, prepared, () => true)).toEqual({ kind: 'unknown', reason: 'timeout' });
    expect(await quick.inquire(stored(order), prepared)).toEqual({ kind: 'not_seen' });
    expect(await quick.reverse(stored(order), prepared)).toBe('no_answer');
    await quick.close();
    host.script = decide;
    expect(await at.elsewhere((other) => other.reverse(stored(order), prepared))).toBe('reversed');
    expect([host.messages(reversal).length, host.messages(repeatedReversal).length]).toEqual([1, 1]);
    expect(withoutRepetition(repeatedReversal)).toBe(withoutRepetition(reversal));
    expect(common.reversals.acknowledgements).toEqual([order.reference]);
  });

  // catches(ISO 8583: a reversal that two processes begin at once is sent as new by one of them)
  test('a reversal that two processes begin at once → sent as new by one, and repeated by the other', async () => {
    const order = cardPayment(CARD);
    const { prepared } = await at.ask(order);
    const reversed = await at.elsewhere((other) =>
      Promise.all([link, other].map((one) => one.reverse(stored(order), prepared))),
    );
    expect(reversed).toEqual(['reversed', 'reversed']);
    expect([host.messages(reversal).length, host.messages(repeatedReversal).length]).toEqual([1, 1]);
  });

  // catches(ISO 8583: an answer that comes after the reversal is ignored)
  test('a late answer → found by an inquiry before any reversal, ignored after it', async () => {
    const held: (() => void)[] = [];
    host.script = (heard) => {
      const answer = host.decide(heard);
      if (heard.type !== '0200') return answer;
      held.push(() => answer && host.send(answer, heard.connection));
      return undefined;
    };
    const quick = linkTo(host.port, dialect, common, { deadlineMs: 1_000 });
    await quick.open();
    const [decided, reversed] = [cardPayment(CARD), cardPayment(CARD)];
    const numbers = [await prepare(quick, decided), await prepare(quick, reversed)];
    await Promise.all([
      quick.ask(decided, numbers[0], () => true),
      quick.ask(reversed, numbers[1], () => true),
    ]);
    expect(await quick.reverse(stored(reversed), numbers[1])).toBe('reversed');
    for (const release of held) release();
    await expect
      .poll(() => quick.inquire(stored(decided), numbers[0]))
      .toMatchObject({ kind: 'approved', responseCode: '00' });
    expect(await quick.inquire(stored(reversed), numbers[1])).toEqual({ kind: 'not_seen' });
    await quick.close();
  });

  // catches(ISO 8583: a process that stood still sends nothing)
  test('asked by a process that stood still past the time for sending → not sent', async () => {
    const paid = await at.ask(cardPayment(CARD));
    const held = await at.ask(cardPayment(CARD, { operation: 'preauthorisation' }));
    const before = host.messages().length;
    const orders = [
      cardPayment(CARD),
      onTarget('refund', paid.order, paid),
      onTarget('void', paid.order, paid),
      onTarget('completion', held.order, held),
    ];
    for (const order of orders) {
      const answer = await link.ask(order as Order, await prepare(link, order), () => false);
      expect([order.operation, answer]).toEqual([order.operation, { kind: 'not_sent' }]);
    }
    expect(host.messages()).toHaveLength(before);
  });

  // catches(ISO 8583: an answer that names another retrieval reference is not believed)
  test('an approval with another retrieval reference → ignored, and the right one counts', async () => {
    host.script = (heard) => {
      const answer = host.decide(heard);
      if (answer === undefined || heard.type !== '0200') return answer;
      host.send({ ...answer, fields: { ...answer.fields, 37: '000000000000' } }, heard.connection);
      return answering(heard, '05');
    };
    expect((await at.ask(cardPayment(CARD))).answer).toMatchObject({ kind: 'declined', responseCode: '05' });
  });

  test('a refund whose target or card cannot be read → not sent', async () => {
    const paid = await at.ask(cardPayment(CARD));
    const refund = onTarget('refund', paid.order, paid);
    const prepared = await prepare(link, refund);
    const broken = { ...refund, openCard: () => Promise.reject(new Error('the key is away')) };
    expect(await link.ask(broken as Order, prepared, () => true)).toEqual({ kind: 'not_sent' });
  });

  test('terminals → used in turn', async () => {
    const numbers = await Promise.all(Array.from({ length: 4 }, () => prepare(link, cardPayment(CARD))));
    expect(new Set(numbers.map((each) => (each as Numbers).terminal))).toEqual(
      new Set(['TERM0001', 'TERM0002']),
    );
  });

  test('what the link keeps after a payment → no card number and no CVV', async () => {
    await Promise.all(Array.from({ length: 5 }, () => at.ask(cardPayment(CARD))));
    const held = inspect(link, { depth: 20, showHidden: true, maxArrayLength: null, maxStringLength: null });
    expect(held).not.toContain(CARD);
    // As a value of its own: by chance its digits stand in a time, a fraction or a port.
    expect(held).not.toMatch(/(?<![\w.])7391(?!\w)/);
  });
});
