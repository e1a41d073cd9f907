// How the test host misbehaves on the wire, in both dialects, with and without a MAC.
import { describe, expect, test } from 'vitest';
import type { Fault } from '../../testkit/iso8583-host/behaviour.js';
import { following, IsoClient, networkMessage, payment } from '../../testkit/iso8583-host/client.js';
import type { Message } from '../../testkit/iso8583-host/codec.js';
import { AS2805, ASCII87 } from '../../testkit/iso8583-host/dialects.js';
import type { Host } from '../../testkit/iso8583-host/host.js';
import { macKeys } from '../../testkit/iso8583-host/mac.js';
import { charged, codeOf, complaints, expectSilence, openBoth, signedOn, stanOf } from './open-host.js';

const KEYS = macKeys('0123456789ABCDEFFEDCBA9876543210:00112233445566778899AABBCCDDEEFF');

describe.each([AS2805, ASCII87])('faults in $name', (dialect) => {
  async function purchaseMeets(fault: Fault): Promise<{ host: Host; client: IsoClient; asked: Message }> {
    const { host, client } = await openBoth(dialect);
    host.rules.add({ fault, times: 1 });
    const asked = payment('0200');
    client.send(asked);
    return { host, client, asked };
  }

  test('lost request → no answer, nothing booked', async () => {
    const { host, client } = await purchaseMeets('lost request');
    await expectSilence(client);
    expect(charged(host)).toEqual([]);
  });

  test('lost answer → no answer, booked; the reversal takes it back', async () => {
    const { host, client, asked } = await purchaseMeets('lost answer');
    await expectSilence(client);
    expect(charged(host)).toEqual(['1995 charged']);
    const answer = await client.ask(following(dialect.reversal, asked));
    expect([answer?.mti, codeOf(answer)]).toEqual([dialect.name === 'as2805' ? '0430' : '0410', '00']);
    expect(charged(host)).toEqual([]);
    expect(complaints(host)).toEqual([]);
  });

  test('held answer → after the echo, when it is released', async () => {
    const { host, client, asked } = await purchaseMeets('held answer');
    await expectSilence(client);
    expect(host.release()).toBe(1);
    expect(stanOf(await client.next())).toBe(stanOf(asked));
  });

  test('answered twice → the same answer two times', async () => {
    const { client } = await purchaseMeets('answered twice');
    const first = await client.next();
    expect(await client.next()).toEqual(first);
  });

  test('out of order → the next purchase is answered first', async () => {
    const { client, asked } = await purchaseMeets('out of order');
    const second = payment('0200');
    expect(stanOf(await client.ask(second))).toBe(stanOf(second));
    expect(stanOf(await client.next())).toBe(stanOf(asked));
  });

  test('slow completion and slow void, repeated meanwhile → done once, no complaint', async () => {
    const { host, client } = await openBoth(dialect);
    const held = payment('0100');
    const authorisation = (await client.ask(held))?.fields.get(38);
    const bought = payment('0200');
    await client.ask(bought);
    host.set({ slowMs: 100 });
    for (const first of [
      following('0220', held, { 38: authorisation }),
      following(dialect.reversal, bought),
    ]) {
      host.rules.add({ fault: 'slow', times: 1 });
      client.send(first);
      const repeated = await client.ask({ ...first, mti: first.mti.replace(/0$/, '1') });
      expect([codeOf(repeated), codeOf(await client.next())]).toEqual(['00', '00']);
      client.send(first);
      await client.next();
      expect(complaints(host)).toEqual([expect.stringContaining('repeated without saying so')]);
      host.books.complaints.length = 0;
    }
    expect(charged(host)).toEqual(['1995 charged']);
  });

  test('stray answer → an answer to no request, then the right one', async () => {
    const { client, asked } = await purchaseMeets('stray answer');
    expect(stanOf(await client.next())).toBe('999999');
    expect(stanOf(await client.next())).toBe(stanOf(asked));
  });

  test('byte by byte → complete in the end, and what follows comes after it', async () => {
    const { client, asked } = await purchaseMeets('byte by byte');
    expect(stanOf(await client.next())).toBe(stanOf(asked));
    await expectSilence(client);
  });

  test.each(['unreadable answer', 'impossible length', 'cut answer', 'closes after approving'] as const)(
    '%s → booked, with an unreadable answer',
    async (fault) => {
      const { host, client } = await purchaseMeets(fault);
      expect(await client.next()).toBeUndefined();
      expect(charged(host)).toEqual(['1995 charged']);
    },
  );

  test('closed connection → nothing booked', async () => {
    const { host, client } = await purchaseMeets('closes');
    expect(await client.next()).toBeUndefined();
    expect(charged(host)).toEqual([]);
  });
});

describe('MAC', () => {
  test.each([AS2805, ASCII87])('$name: with keys, requests and answers carry valid MACs', async (dialect) => {
    const { host, client } = await openBoth(dialect, KEYS);
    const answer = await client.ask(payment('0200'));
    expect(answer?.fields.get(64)).toMatch(/^[0-9A-F]{16}$/);
    expect(codeOf(await client.ask(following(dialect.reversal, payment('0200'))))).toBe('25');
    expect(complaints(host)).toEqual([]);
  });

  test('a sign-on with another key → recorded, connection closed', async () => {
    const { host } = await openBoth(AS2805, KEYS);
    const stranger = await IsoClient.connect({
      port: host.port,
      macKeys: { send: KEYS.send, receive: KEYS.send },
    });
    expect(await stranger.ask(networkMessage('001'))).toBeUndefined();
    expect(complaints(host)).toEqual(['wrong MAC']);
  });

  test('a purchase without a MAC → recorded, connection closed, nothing booked', async () => {
    const { host } = await openBoth(AS2805, KEYS);
    const client = await signedOn({ port: host.port });
    expect(await client.ask(payment('0200'))).toBeUndefined();
    expect(complaints(host)).toEqual(['wrong MAC']);
    expect(charged(host)).toEqual([]);
  });

  test('wrong MAC → booked, and the client closes the connection', async () => {
    const { host, client } = await openBoth(AS2805, KEYS);
    host.rules.add({ fault: 'wrong MAC', times: 1 });
    expect(await client.ask(payment('0200'))).toBeUndefined();
    expect(charged(host)).toEqual(['1995 charged']);
  });
});
