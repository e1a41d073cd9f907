// A host that floods, stalls, moves or answers where nobody expects it: nothing is taken for an answer that is none, and nothing grows.
import dns from 'node:dns';
import { createServer, type LookupFunction } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AS2805 } from '../../../src/acquirers/iso8583/as2805.js';
import { ASCII87 } from '../../../src/acquirers/iso8583/ascii87.js';
import type { Dialect } from '../../../src/acquirers/iso8583/dialect.js';
import { type ConnectionNews, Line, type LineParts } from '../../../src/acquirers/iso8583/line.js';
import { linePartsTo } from './link-under-test.js';
import { answering, type Heard, ScriptedHost, soon } from './scripted-host.js';

const TERMINAL = 'TERM0001';

describe.each([AS2805, ASCII87])('a hostile host, in $name', (dialect: Dialect) => {
  let host: ScriptedHost;
  let line: Line;
  let news: ConnectionNews[];
  beforeEach(async () => {
    host = await new ScriptedHost(dialect).listen();
    news = [];
    line = makeLine();
  });
  afterEach(async () => {
    await line.close();
    await host.stop();
  });

  function makeLine(change: Partial<LineParts> = {}): Line {
    const onNews = (each: ConnectionNews) => news.push(each);
    return new Line({ ...linePartsTo(host.port, dialect), connections: 1, onNews, ...change });
  }

  const exchange = (stan: number) =>
    line.exchange({ stan, terminal: TERMINAL }, '0210', (message) => {
      message.type = '0200';
      message.set(4, '1995').set(11, String(stan)).set(41, TERMINAL);
    });

  const ofHost = (wanted: string, stan: number) => ({
    type: '0800',
    fields: { 7: '1116020549', 11: String(stan).padStart(6, '0'), 70: wanted },
  });

  test('asks for echoes faster than they can be answered → closed, and connected anew', async () => {
    await line.open();
    const flood = Array.from({ length: 1_000 }, (_, stan) => host.bytesOf(ofHost('301', stan)));
    host.send(Buffer.concat(flood));
    await soon(() => host.sockets.length === 2);
    expect(news[0]).toMatchObject({ kind: 'lost', reason: 'the host does not read what it is answered' });
    await soon(() => line.status.signedOn === 1);
    expect(await exchange(1)).toMatchObject({ kind: 'answered' });
  });

  test('floods with answers that nobody asked for → passed over, and the right one still counts', async () => {
    host.script = (heard) => {
      const stray = Array.from({ length: 5_000 }, (_, stan) =>
        host.bytesOf(answering(heard, '05', { 11: String(stan + 100).padStart(6, '0') })),
      );
      host.send(Buffer.concat(stray));
      return answering(heard, '00');
    };
    await line.open();
    expect(await exchange(1)).toMatchObject({ kind: 'answered', response: { code: '00' } });
    expect(line.status.outstanding).toBe(0);
  });

  test('wants something that the gateway does not do, such as new keys → told so, and not that it was done', async () => {
    await line.open();
    host.send(ofHost('161', 7));
    host.send({ type: '0800', fields: { 11: '000008' } });
    host.send(ofHost('001', 9));
    const said = await host.until('0810', 3);
    expect(said.map(({ fields }) => [fields.get(11), fields.get(39)])).toEqual([
      ['000007', '12'],
      ['000008', '12'],
      ['000009', '00'],
    ]);
    expect(line.status.signedOn).toBe(1);
  });

  test('signs off in the same breath as it accepts the sign-on → not used', async () => {
    host.network = (heard) => {
      if (heard.type !== '0800') return undefined;
      host.send(
        Buffer.concat([host.bytesOf(answering(heard, '00')), host.bytesOf(ofHost('002', 1))]),
        heard.connection,
      );
      return undefined;
    };
    await expect(line.open()).rejects.toThrow('closed while it was opened');
    expect(await exchange(1)).toEqual({ kind: 'not_sent' });
  });

  test('sends half an answer, and then nothing more → unknown, and closed after two echoes without an answer', async () => {
    line = makeLine({
      deadlineMs: 60,
      timings: { connectMs: 2_000, networkAnswerMs: 30, echoAfterMs: 100 },
    });
    await line.open();
    host.network = (heard) => (heard.connection === 1 ? undefined : answering(heard, '00'));
    host.script = (heard) => {
      const bytes = host.bytesOf(answering(heard, '00'));
      host.send(bytes.subarray(0, bytes.length - 1), heard.connection);
      return undefined;
    };
    expect(await exchange(1)).toEqual({ kind: 'unknown', reason: 'timeout' });
    await soon(() => host.sockets.length >= 2);
    expect(news[0]).toMatchObject({ kind: 'lost', reason: '2 echoes were not answered' });
    expect(line.takeLate({ stan: 1, terminal: TERMINAL })).toBeUndefined();
  });

  test('answers after the connection was lost, over the next one → the late answer, once', async () => {
    host.script = (heard) => {
      host.sockets[heard.connection - 1]?.destroy();
      return undefined;
    };
    await line.open();
    expect(await exchange(1)).toEqual({ kind: 'unknown', reason: 'unreadable' });
    await soon(() => line.status.signedOn === 1);
    const [asked] = host.messages() as [Heard];
    // Not of another terminal, and not of another type.
    host.send(answering(asked, '05', { 41: 'TERM0002' }));
    host.send({ ...answering(asked, '05'), type: '0230' });
    host.send(answering(asked, '00', { 38: 'LATE01' }));
    host.send(answering(asked, '05', { 38: 'LATER1' }));
    let late: unknown;
    await soon(() => {
      late ??= line.takeLate({ stan: 1, terminal: TERMINAL });
      return late !== undefined;
    });
    expect(late).toMatchObject({ code: '00', authorisationCode: 'LATE01' });
  });

  test('moves to another address under the same name → found there', async () => {
    const moved = new ScriptedHost(dialect);
    await moved.listen(host.port, '127.0.0.9');
    let address = '127.0.0.1';
    const looking = vi.spyOn(dns, 'lookup').mockImplementation(((_, options, found) => {
      const found4 = { address, family: 4 };
      if (options.all) found(null, [found4]);
      else found(null, address, 4);
    }) as LookupFunction as typeof dns.lookup);
    try {
      line = makeLine({ host: { host: 'host.bank.example', port: host.port, tls: false } });
      await line.open();
      expect(await exchange(1)).toMatchObject({ kind: 'answered' });
      address = '127.0.0.9';
      await host.stop();
      await soon(() => line.status.signedOn === 1 && moved.sockets.length === 1);
      expect(await exchange(2)).toMatchObject({ kind: 'answered' });
      expect(moved.messages()).toHaveLength(1);
    } finally {
      looking.mockRestore();
      await line.close();
      await moved.stop();
    }
  });
});

test('a host that takes connections and never answers the TLS handshake → given up after a while, and nothing is sent', async () => {
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
