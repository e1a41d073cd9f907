// What the ISO 8583 link makes of each response code: approved, declined, reversed, or to be repeated.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AS2805 } from '../../../src/acquirers/iso8583/dialects/as2805.js';
import { ASCII87 } from '../../../src/acquirers/iso8583/dialects/ascii87.js';
import type { Dialect } from '../../../src/acquirers/iso8583/dialects/dialect.js';
import { CARD } from '../../../testkit/client.js';
import { cardAnsweredWith } from '../../../testkit/test-cards.js';
import { cardPayment, onTarget, stored } from '../orders.js';
import { LinkAtHost } from './link-at-host.js';
import { answering } from './scripted-host.js';

describe.each([AS2805, ASCII87])('response codes in $name', (dialect: Dialect) => {
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

  // catches(ISO 8583: a partial approval is reversed)
  test('a partial approval → reversed, and declined with its code', async () => {
    const { answer } = await at.ask(cardPayment(cardAnsweredWith('10')));
    expect(answer).toMatchObject({ kind: 'declined', responseCode: '10' });
    expect(host.messages(reversal)).toHaveLength(1);
    expect(common.reversals.acknowledgements).toHaveLength(1);
  });

  test('a partial approval whose reversal is not acknowledged → in doubt; reversed over another connection, then declined with its code', async () => {
    const decide = host.script;
    host.script = (heard) =>
      heard.type === '0200' ? answering(heard, '10', { 38: 'PART01' }) : answering(heard, '96');
    const order = cardPayment(CARD);
    const { answer, prepared } = await at.ask(order);
    expect(answer.kind).toBe('unknown');
    expect(await at.elsewhere((other) => other.inquire(stored(order), prepared))).toEqual({
      kind: 'no_answer',
    });
    host.script = (heard) => answering(heard, '25');
    const found = await at.elsewhere((other) => other.inquire(stored(order), prepared));
    expect(found).toMatchObject({ kind: 'declined', responseCode: '10' });
    expect(host.messages(repeatedReversal)).toHaveLength(2);
    expect(at.last(repeatedReversal)?.get(38)).toBe('PART01');
    host.script = decide;
  });

  // catches(ISO 8583: approved is what was asked for)
  test('approved for another amount than requested → in doubt, never approved', async () => {
    host.script = (heard) => answering(heard, '00', { 4: '000000000001', 38: '654321' });
    expect((await at.ask(cardPayment(CARD))).answer).toEqual({ kind: 'unknown', reason: 'unreadable' });
  });

  test.each(['00', '21', '25', '76', '94'])('a reversal answered with %s → reversed', async (code) => {
    const { order, prepared } = await at.ask(cardPayment(CARD));
    host.script = (heard) => answering(heard, code);
    expect(await link.reverse(stored(order), prepared)).toBe('reversed');
    expect(common.alarms).toEqual([]);
  });

  test.each(['30', '68', '91', '96', '05'])(
    'a reversal answered with %s → tried again later',
    async (code) => {
      const { order, prepared } = await at.ask(cardPayment(CARD));
      host.script = (heard) => answering(heard, code);
      expect(await link.reverse(stored(order), prepared)).toBe('no_answer');
      const refused = { kind: 'reversal refused', reference: order.reference, responseCode: '05' };
      expect(common.alarms).toEqual(code === '05' ? [refused] : []);
    },
  );

  test('every response code to a purchase → approved only for the codes that the dialect lists', async () => {
    const approving: string[] = [];
    for (let number = 0; number < 100; number += 1) {
      const code = String(number).padStart(2, '0');
      host.script = (heard) => answering(heard, heard.type.startsWith('04') ? '00' : code, { 38: '654321' });
      const { answer } = await at.ask(cardPayment(CARD));
      if (answer.kind === 'approved') approving.push(code);
      expect(answer).toHaveProperty('responseCode', code);
    }
    expect(approving).toEqual(dialect.responseCodes.approvals);
  });

  test('94 to a payment → declined, and an error is logged: a STAN was used twice', async () => {
    const { answer, prepared } = await at.ask(cardPayment(cardAnsweredWith('94')));
    expect(answer).toMatchObject({ kind: 'declined', responseCode: '94' });
    expect(common.alarms).toEqual([
      { kind: 'duplicate STAN', stan: prepared.stan, terminal: prepared.terminal },
    ]);
  });

  test('a settlement date without a year → in the year that makes it nearest to today', async () => {
    const { answer } = await at.ask(cardPayment(CARD));
    const today = new Date().toISOString().slice(0, 4);
    expect((answer as { settlementDate?: string }).settlementDate).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(
      Math.abs(Number((answer as { settlementDate: string }).settlementDate.slice(0, 4)) - Number(today)),
    ).toBeLessThan(2);
    host.script = (heard) => answering(heard, '00', { 15: '0230' });
    expect((await at.ask(cardPayment(CARD))).answer).not.toHaveProperty('settlementDate');
  });

  // catches(ISO 8583: a repetition that the host calls a duplicate is not declined)
  test('94 to a completion → declined, and an error is logged; 94 to its repetition → logged, and repeated, since the outcome of the first is unknown', async () => {
    const held = await at.ask(cardPayment(CARD, { operation: 'preauthorisation' }));
    host.script = (heard) => answering(heard, '94');
    const { answer, order, prepared } = await at.ask(onTarget('completion', held.order, held));
    expect(answer).toMatchObject({ kind: 'declined', responseCode: '94' });
    const twice = { kind: 'duplicate STAN', stan: prepared.stan, terminal: prepared.terminal };
    expect(common.alarms).toEqual([twice]);
    expect(await at.elsewhere((other) => other.inquire(stored(order), prepared))).toEqual({
      kind: 'no_answer',
    });
    const { reference } = order;
    const unclear = { kind: 'completion unclear', reference, responseCode: '94' };
    expect(common.alarms).toEqual([twice, unclear]);
    host.script = (heard) => answering(heard, '00');
    expect(await link.inquire(stored(order), prepared)).toMatchObject({ kind: 'approved' });
  });
});
