// The connections of a link: signed on before anything is sent, echoing when it is quiet, and mended without end.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AS2805 } from '../../../src/acquirers/iso8583/as2805.js';
import { ASCII87 } from '../../../src/acquirers/iso8583/ascii87.js';
import type { TraceLine } from '../../../src/acquirers/iso8583/connection.js';
import type { Dialect } from '../../../src/acquirers/iso8583/dialect.js';
import {
  type ConnectionNews,
  Line,
  type LineNews,
  type LineParts,
} from '../../../src/acquirers/iso8583/line.js';
import { RetailMac } from '../../../src/acquirers/iso8583/mac.js';
import { CERTIFICATE, CERTIFICATE_KEY } from '../../webhooks/certificate.js';
import { MAC_KEY } from './corpus.js';
import { linePartsTo } from './link-under-test.js';
import { answering, type Heard, ScriptedHost, soon } from './scripted-host.js';

const TERMINAL = 'TERM0001';

describe.each([AS2805, ASCII87])('connections, in $name', (dialect: Dialect) => {
  let host: ScriptedHost;
  let line: Line;
  let news: ConnectionNews[];
  let lineNews: LineNews[];
  let traced: TraceLine[];
  beforeEach(async () => {
    host = await new ScriptedHost(dialect).listen();
    news = [];
    lineNews = [];
    traced = [];
    line = makeLine();
  });
  afterEach(async () => {
    await line.close();
    await host.stop();
  });

  function makeLine(change: Partial<LineParts> = {}): Line {
    const told = {
      onNews: (each: ConnectionNews) => news.push(each),
      onLineNews: (each: LineNews) => lineNews.push(each),
      onTrace: (each: TraceLine) => traced.push(each),
    };
    return new Line({ ...linePartsTo(host.port, dialect), connections: 1, ...told, ...change });
  }

  async function another(change: Partial<LineParts>): Promise<void> {
    await line.close();
    line = makeLine(change);
  }

  const exchange = (stan: number) =>
    line.exchange({ stan, terminal: TERMINAL }, '0210', (message) => {
      message.type = '0200';
      message.set(4, '1995').set(11, String(stan)).set(41, TERMINAL);
    });

  test('opened → signed on with the institution, and closed → signed off', async () => {
    await line.open();
    expect(line.status).toMatchObject({ connections: 1, signedOn: 1 });
    await line.close();
    const [signOn, signOff] = host.heard;
    expect(signOn).toMatchObject({ type: '0800' });
    expect([...(signOn as Heard).fields.keys()].filter((field) => field > 1)).toEqual([7, 11, 32, 70]);
    expect(signOn?.fields.get(70)).toBe('001');
    expect(signOn?.fields.get(32)).toBe('560279');
    expect(signOff?.fields.get(70)).toBe('002');
  });

  test('a sign-on that is refused → not opened, with the code, and nothing is sent', async () => {
    host.network = (heard) => answering(heard, '91');
    await expect(line.open()).rejects.toThrow('91');
    expect(await exchange(1)).toEqual({ kind: 'not_sent' });
    expect(host.messages()).toEqual([]);
  });

  test('before the sign-on is answered → not sent', async () => {
    host.network = () => undefined;
    const opening = line.open();
    await host.until('0800');
    expect(await exchange(1)).toEqual({ kind: 'not_sent' });
    host.send(answering(host.heard[0] as Heard, '00'));
    await opening;
    expect(await exchange(2)).toMatchObject({ kind: 'answered' });
    expect(host.messages().map(({ fields }) => fields.get(11))).toEqual(['000002']);
  });

  test('nobody there → not opened, and not sent', async () => {
    await host.stop();
    await expect(line.open()).rejects.toThrow('ECONNREFUSED');
    expect(await exchange(1)).toEqual({ kind: 'not_sent' });
  });

  test('cut off after the message → unknown; mended, told once each, and used again', async () => {
    host.script = (_, { sockets }) => {
      sockets.at(-1)?.destroy();
      return undefined;
    };
    await line.open();
    expect(await exchange(1)).toEqual({ kind: 'unknown', reason: 'unreadable' });
    host.script = (heard) => answering(heard, '00');
    await soon(() => line.status.signedOn === 1);
    expect(await exchange(2)).toMatchObject({ kind: 'answered' });
    expect(news).toEqual([
      { kind: 'lost', connection: 1, reason: expect.stringMatching(/./) },
      { kind: 'back', connection: 1, attempts: 1 },
    ]);
  });

  test('a host that is away for many attempts → told once; back → told once', async () => {
    await line.open();
    const { port } = host;
    await host.stop();
    await soon(() => news.length === 1);
    expect(await exchange(1)).toEqual({ kind: 'not_sent' });
    await sleep(150);
    host = await new ScriptedHost(dialect).listen(port);
    await soon(() => line.status.signedOn === 1);
    await soon(() => news.length === 2);
    expect(news.map(({ kind }) => kind)).toEqual(['lost', 'back']);
    expect(await exchange(2)).toMatchObject({ kind: 'answered' });
  });

  test.each([
    ['cut anywhere', (bytes: Buffer, at: number) => bytes.subarray(0, at)],
    [
      'with a byte changed to none that can be',
      (bytes: Buffer, at: number) => {
        const bent = Buffer.from(bytes);
        bent[at] = 0xff;
        return bent;
      },
    ],
  ])('an answer %s, and then the end → unknown, never an answer', async (_, spoil) => {
    const sample = host.bytesOf({ type: '0210', fields: { 11: '000001', 39: '00', 41: TERMINAL } });
    await line.open();
    for (let at = 0; at < sample.length; at += 1) {
      host.script = (heard, { sockets }) => {
        const fields = { 11: heard.fields.get(11) ?? '', 39: '00', 41: TERMINAL };
        sockets.at(-1)?.end(spoil(host.bytesOf({ type: '0210', fields }), at));
        return undefined;
      };
      expect(await exchange(at + 1)).toEqual({ kind: 'unknown', reason: 'unreadable' });
      await soon(() => line.status.signedOn === 1);
    }
  });

  test('quiet → an echo; two that are not answered → closed, and connected anew', async () => {
    await another({ timings: { connectMs: 2_000, networkAnswerMs: 50, echoAfterMs: 40 } });
    await line.open();
    const echoes = () => host.heard.filter(({ fields }) => fields.get(70) === '301');
    await soon(() => echoes().length >= 3);
    expect(host.sockets).toHaveLength(1);
    host.network = (heard) => (heard.fields.get(70) === '301' ? undefined : answering(heard, '00'));
    await soon(() => host.sockets.length >= 2);
    expect(news[0]).toMatchObject({ kind: 'lost', reason: '2 echoes were not answered' });
    const unanswered = echoes().filter(({ connection }) => connection === 1);
    expect(unanswered.length).toBeGreaterThanOrEqual(5);
  });

  test('several connections → all are used, and one that is lost is done without', async () => {
    await another({ connections: 3, firstPauseMs: 60_000, longestPauseMs: 60_000 });
    await line.open();
    await soon(() => line.status.signedOn === 3);
    await Promise.all(Array.from({ length: 9 }, (_, stan) => exchange(stan + 1)));
    expect(new Set(host.messages().map(({ connection }) => connection)).size).toBe(3);
    host.sockets[1]?.destroy();
    await soon(() => line.status.signedOn === 2);
    for (let stan = 10; stan < 20; stan += 1)
      expect(await exchange(stan)).toMatchObject({ kind: 'answered' });
  });

  test('the last connection is lost, and the first is back → told once each, however many there are', async () => {
    await another({ connections: 3 });
    await line.open();
    await soon(() => line.status.signedOn === 3);
    expect(lineNews).toEqual([{ kind: 'signed on', afterSeconds: undefined }]);
    host.sockets[1]?.destroy();
    await soon(() => news.length === 2);
    expect(lineNews).toHaveLength(1);
    const { port } = host;
    await host.stop();
    await soon(() => news.length === 5);
    host = await new ScriptedHost(dialect).listen(port);
    await soon(() => line.status.signedOn === 3);
    expect(lineNews.slice(1)).toEqual([
      { kind: 'down', reason: expect.stringMatching(/./) },
      { kind: 'signed on', afterSeconds: expect.any(Number) },
    ]);
  });

  test('the host asks for an echo → answered; signs off → answered, and the connection is not used any more', async () => {
    await another({ firstPauseMs: 60_000, longestPauseMs: 60_000 });
    await line.open();
    host.send({ type: '0800', fields: { 7: '1116020549', 11: '000321', 70: '301' } });
    const [echoed] = await host.until('0810');
    expect(echoed?.fields.get(11)).toBe('000321');
    expect(echoed?.fields.get(39)).toBe('00');
    host.send({ type: '0800', fields: { 7: '1116020549', 11: '000322', 70: '002' } });
    await host.until('0810', 2);
    expect(await exchange(1)).toEqual({ kind: 'not_sent' });
  });
});

test('with a key, a host whose sign-ons and echoes have no MAC → signed on; a wrong one → refused', async () => {
  const mac = new RetailMac(Buffer.from(MAC_KEY, 'hex'));
  const host = await new ScriptedHost(AS2805, mac).listen();
  const unsigned = new ScriptedHost(AS2805);
  const line = new Line({ ...linePartsTo(host.port, AS2805), macs: { sending: mac, receiving: mac } });
  try {
    host.network = (heard) => {
      host.send(unsigned.bytesOf(answering(heard, '00')), heard.connection);
      return undefined;
    };
    await line.open();
    await line.close();
    host.network = (heard) => {
      const bytes = host.bytesOf(answering(heard, '00'));
      bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1;
      host.send(bytes, heard.connection);
      return undefined;
    };
    await expect(line.open()).rejects.toThrow('a wrong MAC');
  } finally {
    await line.close();
    await host.stop();
  }
});

describe('connections with TLS', () => {
  test.each([
    ['a trusted certificate, of the address', '127.0.0.7', CERTIFICATE, undefined],
    ['a certificate that nobody trusts', '127.0.0.7', undefined, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['a trusted certificate, of another address', '127.0.0.8', CERTIFICATE, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ])('%s → signed on, or refused before anything is sent', async (_, address, trusted, refused) => {
    const host = new ScriptedHost(AS2805, undefined, { cert: CERTIFICATE, key: CERTIFICATE_KEY });
    await host.listen(0, address);
    const line = new Line({
      ...linePartsTo(host.port, AS2805),
      host: { host: address, port: host.port, tls: true, trusted },
    });
    try {
      if (refused === undefined) await line.open();
      else await expect(line.open()).rejects.toThrow(refused);
      expect(host.heard.length > 0).toBe(refused === undefined);
    } finally {
      await line.close();
      await host.stop();
    }
  });
});
