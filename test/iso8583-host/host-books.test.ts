// What the test host books: by test cards, over the life of a payment, and what it complains of.
import { describe, expect, test } from 'vitest';
import { following, payment } from '../../testkit/iso8583-host/client.js';
import {
  cardAnsweredLaterWith,
  cardAnsweredWith,
  cardWithFaultLater,
  LOST_ANSWER_CARD,
} from '../../testkit/test-cards.js';
import { charged, codeOf, complaints, expectSilence, openBoth } from './open-host.js';

describe('test cards', () => {
  test('43: the payment is approved; refund, completion and void are answered with the code', async () => {
    const { host, client } = await openBoth();
    const card = { 2: cardAnsweredLaterWith('51') };
    const purchase = payment('0200', card);
    expect(codeOf(await client.ask(purchase))).toBe('00');
    expect(codeOf(await client.ask(following('0200', purchase, { 3: '200000', 22: '102', 25: '59' })))).toBe(
      '51',
    );
    expect(codeOf(await client.ask(following('0420', purchase)))).toBe('51');
    const preauthorisation = payment('0100', card);
    const authorisation = (await client.ask(preauthorisation))?.fields.get(38);
    expect(codeOf(await client.ask(following('0220', preauthorisation, { 38: authorisation })))).toBe('51');
    expect(charged(host)).toEqual(['1995 charged', '1995 held']);
    expect(complaints(host)).toEqual([]);
  });

  test('44 with a lost request: the completion is lost once, its repetition is booked', async () => {
    const { host, client } = await openBoth();
    const preauthorisation = payment('0100', { 2: cardWithFaultLater('02') });
    const authorisation = (await client.ask(preauthorisation))?.fields.get(38);
    const completion = following('0220', preauthorisation, { 38: authorisation });
    client.send(completion);
    await expectSilence(client);
    expect(charged(host)).toEqual(['1995 held']);
    expect(codeOf(await client.ask({ ...completion, mti: '0221' }))).toBe('00');
    expect(charged(host)).toEqual(['1995 charged']);
  });

  test('44 with a lost answer: the refund is booked, its reversal accepted', async () => {
    const { host, client } = await openBoth();
    const purchase = payment('0200', { 2: cardWithFaultLater('03') });
    await client.ask(purchase);
    const refund = following('0200', purchase, { 3: '200000', 4: '000000000500', 22: '102', 25: '59' });
    client.send(refund);
    await expectSilence(client);
    expect(charged(host)).toEqual(['1995 charged', '-500 charged']);
    expect(codeOf(await client.ask(following('0420', refund)))).toBe('00');
    expect(charged(host)).toEqual(['1995 charged']);
  });

  test('42 with a lost answer: the payment is booked, its reversal accepted', async () => {
    const { host, client } = await openBoth();
    const purchase = payment('0200', { 2: LOST_ANSWER_CARD });
    client.send(purchase);
    await expectSilence(client);
    expect(charged(host)).toEqual(['1995 charged']);
    expect(codeOf(await client.ask(following('0420', purchase)))).toBe('00');
    expect(charged(host)).toEqual([]);
  });

  test('10 approves half of the amount, and its reversal releases it', async () => {
    const { host, client } = await openBoth();
    const purchase = payment('0200', { 2: cardAnsweredWith('10') });
    const answer = await client.ask(purchase);
    expect([codeOf(answer), answer?.fields.get(4)]).toEqual(['10', '000000000998']);
    expect(charged(host)).toEqual(['998 charged']);
    expect(codeOf(await client.ask(following('0420', purchase)))).toBe('00');
    expect(charged(host)).toEqual([]);
  });
});

describe('books', () => {
  test('a payment with all that followed → charged, refunded and reversed, exact to the cent', async () => {
    const { host, client } = await openBoth();
    const preauthorisation = payment('0100');
    const authorisation = (await client.ask(preauthorisation))?.fields.get(38);
    const completion = following('0220', preauthorisation, { 4: '000000001500', 38: authorisation });
    await client.ask(completion);
    const refund = following('0200', completion, { 3: '200000', 4: '000000000400', 22: '102', 25: '59' });
    await client.ask(refund);
    const second = following('0200', completion, { 3: '200000', 4: '000000000100', 22: '102', 25: '59' });
    await client.ask(second);
    await client.ask(following('0420', second));
    const standalone = payment('0200', { 3: '200000', 4: '000000000077' });
    await client.ask(standalone);
    expect(host.books.payments()).toMatchObject([
      {
        operation: 'preauthorisation',
        chargedCents: 1500,
        heldCents: 0,
        refundedCents: 400,
        reversedCents: 100,
      },
      { operation: 'standalone_refund', chargedCents: 0, heldCents: 0, refundedCents: 77, reversedCents: 0 },
    ]);
    expect(complaints(host)).toEqual([]);
  });

  test('a voided completion gives its preauthorisation back', async () => {
    const { host, client } = await openBoth();
    const preauthorisation = payment('0100');
    const authorisation = (await client.ask(preauthorisation))?.fields.get(38);
    const completion = following('0220', preauthorisation, { 38: authorisation });
    await client.ask(completion);
    expect(codeOf(await client.ask(following('0420', completion)))).toBe('00');
    expect(charged(host)).toEqual(['1995 held']);
  });

  test('more refunded than was charged, a second completion, a void under a refund → refused and recorded', async () => {
    const { host, client } = await openBoth();
    const purchase = payment('0200');
    await client.ask(purchase);
    const refund = { 3: '200000', 22: '102', 25: '59' };
    expect(codeOf(await client.ask(following('0200', purchase, { ...refund, 4: '000000001996' })))).toBe(
      '12',
    );
    expect(codeOf(await client.ask(following('0200', purchase, { ...refund, 4: '000000000500' })))).toBe(
      '00',
    );
    expect(codeOf(await client.ask(following('0420', purchase)))).toBe('30');
    const preauthorisation = payment('0100');
    const authorisation = (await client.ask(preauthorisation))?.fields.get(38);
    const completion = () => client.ask(following('0220', preauthorisation, { 38: authorisation }));
    expect(codeOf(await completion())).toBe('00');
    expect(codeOf(await completion())).toBe('12');
    expect(complaints(host)).toEqual(['unlike its original', 'unlike its original', 'unlike its original']);
    expect(charged(host)).toEqual(['1995 charged', '-500 charged', '1995 charged']);
  });

  test('a missing field → 30, recorded', async () => {
    const { host, client } = await openBoth();
    expect(codeOf(await client.ask(payment('0200', { 22: undefined, 49: undefined })))).toBe('30');
    expect(host.books.complaints).toMatchObject([{ what: 'field missing', detail: '22, 49' }]);
  });

  test('an advice that its repetition has overtaken → acknowledged, no complaint', async () => {
    const { host, client } = await openBoth();
    const purchase = payment('0200');
    await client.ask(purchase);
    const reversal = following('0420', purchase);
    expect(codeOf(await client.ask({ ...reversal, mti: '0421' }))).toBe('00');
    expect(codeOf(await client.ask(reversal))).toBe('00');
    expect(complaints(host)).toEqual([]);
  });

  test('an advice sent again without the repeat MTI → acknowledged, recorded', async () => {
    const { host, client } = await openBoth();
    const purchase = payment('0200');
    await client.ask(purchase);
    const reversal = following('0420', purchase);
    expect(codeOf(await client.ask(reversal))).toBe('00');
    expect(codeOf(await client.ask(reversal))).toBe('00');
    expect(complaints(host)).toEqual(['repeated without saying so']);
    expect(codeOf(await client.ask(following('0420', purchase)))).toBe('21');
  });
});
