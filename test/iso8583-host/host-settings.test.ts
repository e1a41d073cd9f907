// What a test can set at the test host: sign-on, echo, delays, settlement dates, rules, TLS.
import { describe, expect, onTestFinished, test } from 'vitest';
import { IsoClient, networkMessage, payment } from '../../testkit/iso8583-host/client.js';
import { cardAnsweredWith } from '../../testkit/test-cards.js';
import { CERTIFICATE, CERTIFICATE_KEY } from '../webhooks/certificate.js';
import { charged, codeOf, expectSilence, openBoth, openHost, signedOn, stanOf } from './open-host.js';

describe('settings', () => {
  test.each([
    ['refused', '05'],
    ['unanswered', undefined],
    ['closed', undefined],
  ] as const)('sign-on %s → no payments on that connection', async (signOn, code) => {
    const { host } = await openBoth();
    host.set({ signOn });
    const client = await IsoClient.connect({ port: host.port });
    onTestFinished(() => client.close());
    client.send(networkMessage('001'));
    if (signOn === 'refused') expect(codeOf(await client.next())).toBe(code);
    if (signOn === 'closed') expect(await client.next()).toBeUndefined();
    client.send(payment('0200'));
    await client.closed;
    expect(charged(host)).toEqual([]);
  });

  test('an unanswered echo, then an answered one', async () => {
    const { host, client } = await openBoth();
    host.set({ echo: 'unanswered' });
    client.send(networkMessage('301'));
    // Messages of a connection are taken in order: this one shows that the echo was read.
    expect(codeOf(await client.ask(payment('0200')))).toBe('00');
    host.set({ echo: 'answered' });
    await expectSilence(client);
  });

  test('an approval carries a settlement date', async () => {
    const { host, client } = await openBoth();
    host.set({ settlementDate: '1117' });
    expect((await client.ask(payment('0200')))?.fields.get(15)).toBe('1117');
    const declined = await client.ask(payment('0200', { 2: cardAnsweredWith('05') }));
    expect(declined?.fields.has(15)).toBe(false);
  });

  test('delayed answers → an echo overtakes them', async () => {
    const { host, client } = await openBoth();
    host.set({ answerDelayMs: 100 });
    const asked = payment('0200');
    client.send(asked);
    await expectSilence(client);
    expect(stanOf(await client.next())).toBe(stanOf(asked));
  });

  test('a late answer comes in the end', async () => {
    const { host, client } = await openBoth();
    host.set({ lateMs: 100 });
    host.rules.add({ fault: 'late answer', mti: '0200', times: 1 });
    const asked = payment('0200');
    client.send(asked);
    await expectSilence(client);
    expect(stanOf(await client.next())).toBe(stanOf(asked));
  });

  test('not listening → connections are refused, and later accepted again', async () => {
    const { host, client } = await openBoth();
    await host.stopListening();
    await client.closed;
    await expect(IsoClient.connect({ port: host.port })).rejects.toThrow('ECONNREFUSED');
    await host.listen();
    await signedOn({ port: host.port });
  });

  test('a rule names its MTI and its amount, and applies a limited number of times', async () => {
    const { host, client } = await openBoth();
    host.rules.add({ mti: '0100', code: '91' });
    host.rules.add({ amountCents: 2000, code: '96', times: 1 });
    expect(codeOf(await client.ask(payment('0200')))).toBe('00');
    expect(codeOf(await client.ask(payment('0200', { 4: '000000002000' })))).toBe('96');
    expect(codeOf(await client.ask(payment('0200', { 4: '000000002000' })))).toBe('00');
    expect(codeOf(await client.ask(payment('0100')))).toBe('91');
  });

  test('the list of seen messages shows no card number, no expiry date and no CVV', async () => {
    const { host, client } = await openBoth();
    await client.ask(payment('0200', { 47: 'CCV123\\' }));
    expect(host.seen.after(1)).toMatchObject([
      { mti: '0200', fields: { 2: '411111******1111', 14: '****', 22: '012', 47: 'CCV***\\' } },
    ]);
  });
});

test('over TLS: signed on, paid; without TLS no sign-on', async () => {
  const { port } = await openHost({ tls: { cert: CERTIFICATE, key: CERTIFICATE_KEY } });
  const client = await signedOn({ port, tls: { ca: CERTIFICATE, servername: 'receiver.example' } });
  expect(codeOf(await client.ask(payment('0200')))).toBe('00');
  const plain = await IsoClient.connect({ port });
  expect(await plain.ask(networkMessage('001'))).toBeUndefined();
});
