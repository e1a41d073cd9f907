// A host that floods, stalls, moves or answers unexpectedly: no wrong message counts as an answer, and memory does not grow.
import dns from 'node:dns';
import { createServer, type LookupFunction } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AS2805 } from '../../../src/acquirers/iso8583/dialects/as2805.js';
import { ASCII87 } from '../../../src/acquirers/iso8583/dialects/ascii87.js';
import type { Dialect } from '../../../src/acquirers/iso8583/dialects/dialect.js';
import { Line } from '../../../src/acquirers/iso8583/wire/line.js';
import { LineAtHost, TERMINAL } from './line-at-host.js';
import { linePartsTo } from './link-under-test.js';
import { answering, type Heard, ScriptedHost, soon } from './scripted-host.js';

describe.each([AS2805, ASCII87])('a hostile host, in $name', (dialect: Dialect) => {
  let at: LineAtHost;
  beforeEach(async () => {
    at = await LineAtHost.start(dialect);
  });
  afterEach(() => at.stop());

  const ofHost = (wanted: string, stan: number) => ({
    type: '0800',
    fields: { 7: '1116020549', 11: String(stan).padStart(6, '0'), 70: wanted },
  });

  // catches(ISO 8583: a host that does not read fills no memory)
  test('sends echo requests faster than they can be answered → disconnected, and connected again', async () => {
    await at.line.open();
    const flood = Array.from({ length: 1_000 }, (_, stan) => at.host.bytesOf(ofHost('301', stan)));
    at.host.send(Buffer.concat(flood));
    await soon(() => at.host.sockets.length === 2);
    expect(at.news[0]).toMatchObject({ kind: 'lost', reason: 'the host does not read the answers' });
    await soon(() => at.line.status.signedOn === 1);
    expect(await at.exchange(1)).toMatchObject({ kind: 'answered' });
  });

  test('sends some unsolicited answers → ignored, and the right answer still counts', async () => {
    at.host.script = (heard) => {
      const stray = Array.from({ length: 400 }, (_, stan) =>
        at.host.bytesOf(answering(heard, '05', { 11: String(stan + 100).padStart(6, '0') })),
      );
      at.host.send(Buffer.concat(stray));
      return answering(heard, '00');
    };
    // To read them all takes a busy machine a while.
    await at.another({ deadlineMs: 60_000 });
    await at.line.open();
    expect(await at.exchange(1)).toMatchObject({ kind: 'answered', response: { code: '00' } });
    expect(at.line.status.outstanding).toBe(0);
  });

  // catches(ISO 8583: a host that sends what nobody asked for is left)
  test('floods with answers that nobody asked for → closed, counted, said once a minute, and connected again after growing pauses', async () => {
    await at.another({ firstPauseMs: 20 });
    await at.line.open();
    const stray = (count: number) =>
      Buffer.concat(
        Array.from({ length: count }, (_, stan) =>
          at.host.bytesOf({
            type: '0210',
            fields: { 11: String(stan + 100).padStart(6, '0'), 39: '00', 41: TERMINAL },
          }),
        ),
      );
    for (let floods = 1; floods <= 3; floods += 1) {
      at.host.send(stray(5_000));
      await soon(() => at.host.sockets.length === floods + 1 && at.line.status.signedOn === 1);
    }
    expect(at.news.filter(({ kind }) => kind === 'lost')).toMatchObject(
      Array.from({ length: 3 }, () => ({ reason: 'the host sends too much that nothing asked for' })),
    );
    // Nothing behind the bound was read.
    expect(at.line.status.unasked).toBeGreaterThan(1_400);
    expect(at.line.status.unasked).toBeLessThan(3_000);
    await soon(() => at.lineNews.some(({ kind }) => kind === 'unasked answers'));
    expect(at.lineNews.filter(({ kind }) => kind === 'unasked answers')).toHaveLength(1);
    at.host.script = (heard) => answering(heard, '00');
    expect(await at.exchange(1)).toMatchObject({ kind: 'answered', response: { code: '00' } });
  });

  test('answers every message twice → nothing is closed', async () => {
    at.host.script = (heard) => {
      at.host.send(
        Buffer.concat([at.host.bytesOf(answering(heard, '00')), at.host.bytesOf(answering(heard, '00'))]),
      );
      return undefined;
    };
    await at.line.open();
    for (let stan = 1; stan <= 600; stan += 1) expect((await at.exchange(stan)).kind).toBe('answered');
    expect([at.line.status.unasked >= 599, at.line.status.lost]).toEqual([true, 0]);
  });

  test('requests something that the gateway does not support, such as new keys → answered as unsupported, not as done', async () => {
    await at.line.open();
    at.host.send(ofHost('161', 7));
    at.host.send({ type: '0800', fields: { 11: '000008' } });
    at.host.send(ofHost('001', 9));
    const said = await at.host.until('0810', 3);
    expect(said.map(({ fields }) => [fields.get(11), fields.get(39)])).toEqual([
      ['000007', '12'],
      ['000008', '12'],
      ['000009', '00'],
    ]);
    expect(at.line.status.signedOn).toBe(1);
  });

  test('accepts the sign-on and signs off at once → not used', async () => {
    at.host.network = (heard) => {
      if (heard.type !== '0800') return undefined;
      at.host.send(
        Buffer.concat([at.host.bytesOf(answering(heard, '00')), at.host.bytesOf(ofHost('002', 1))]),
        heard.connection,
      );
      return undefined;
    };
    await expect(at.line.open()).rejects.toThrow('closed while opening');
    expect(await at.exchange(1)).toEqual({ kind: 'not_sent' });
  });

  test('sends half an answer and nothing more → unknown, and closed after two unanswered echoes', async () => {
    await at.another({
      deadlineMs: 60,
      // Long enough for a busy machine to sign on in, short enough to wait for twice.
      timings: { connectMs: 5_000, networkAnswerMs: 1_000, echoAfterMs: 100 },
    });
    await at.line.open();
    at.host.network = (heard) => (heard.connection === 1 ? undefined : answering(heard, '00'));
    at.host.script = (heard) => {
      const bytes = at.host.bytesOf(answering(heard, '00'));
      at.host.send(bytes.subarray(0, bytes.length - 1), heard.connection);
      return undefined;
    };
    expect(await at.exchange(1)).toEqual({ kind: 'unknown', reason: 'timeout' });
    await soon(() => at.host.sockets.length >= 2);
    expect(at.news[0]).toMatchObject({ kind: 'lost', reason: '2 echoes were not answered' });
    expect(at.line.takeLate({ stan: 1, terminal: TERMINAL })).toBeUndefined();
  });

  test('answers over the next connection after the first was lost → the late answer counts, once', async () => {
    at.host.script = (heard) => {
      at.host.sockets[heard.connection - 1]?.destroy();
      return undefined;
    };
    await at.line.open();
    expect(await at.exchange(1)).toEqual({ kind: 'unknown', reason: 'unreadable' });
    await soon(() => at.line.status.signedOn === 1);
    const [asked] = at.host.messages() as [Heard];
    // Not of another terminal, and not of another type.
    at.host.send(answering(asked, '05', { 41: 'TERM0002' }));
    at.host.send({ ...answering(asked, '05'), type: '0230' });
    at.host.send(answering(asked, '00', { 38: 'LATE01' }));
    at.host.send(answering(asked, '05', { 38: 'LATER1' }));
    let late: unknown;
    await soon(() => {
      late ??= at.line.takeLate({ stan: 1, terminal: TERMINAL });
      return late !== undefined;
    });
    expect(late).toMatchObject({ code: '00', authorisationCode: 'LATE01' });
  });

  test('moves to another address under the same host name → found there', async () => {
    const moved = new ScriptedHost(dialect);
    await moved.listen(at.host.port, '127.0.0.9');
    let address = '127.0.0.1';
    const looking = vi.spyOn(dns, 'lookup').mockImplementation(((_, options, found) => {
      const found4 = { address, family: 4 };
      if (options.all) found(null, [found4]);
      else found(null, address, 4);
    }) as LookupFunction as typeof dns.lookup);
    try {
      await at.another({ host: { host: 'host.bank.example', port: at.host.port, tls: false } });
      await at.line.open();
      expect(await at.exchange(1)).toMatchObject({ kind: 'answered' });
      address = '127.0.0.9';
      await at.host.stop();
      await soon(() => at.line.status.signedOn === 1 && moved.sockets.length === 1);
      expect(await at.exchange(2)).toMatchObject({ kind: 'answered' });
      expect(moved.messages()).toHaveLength(1);
    } finally {
      looking.mockRestore();
      await at.line.close();
      await moved.stop();
    }
  });
});

test('a host that accepts connections and never answers the TLS handshake → given up after a while, and nothing is sent', async () => {
  const heard: Buffer[] = [];
  const silent = createServer((socket) => socket.on('data', (piece) => heard.push(piece)));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as { port: number };
  const line = new Line({
    ...linePartsTo(port, AS2805),
    host: { host: '127.0.0.1', port, tls: true },
    timings: { connectMs: 100, networkAnswerMs: 100, echoAfterMs: 1_000 },
  });
  await expect(line.open()).rejects.toThrow('no connection within 100 ms');
  // A handshake was begun, and nothing else: the first byte says so.
  for (const piece of heard) expect(piece[0]).toBe(0x16);
  await new Promise((resolve) => silent.close(resolve));
});
