// The connections of a link: signed on before anything is sent, echoing when it is quiet, and mended without end.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AS2805 } from '../../../src/acquirers/iso8583/dialects/as2805.js';
import { ASCII87 } from '../../../src/acquirers/iso8583/dialects/ascii87.js';
import type { Dialect } from '../../../src/acquirers/iso8583/dialects/dialect.js';
import { Line } from '../../../src/acquirers/iso8583/wire/line.js';
import { RetailMac } from '../../../src/acquirers/iso8583/wire/mac.js';
import { CERTIFICATE, CERTIFICATE_KEY } from '../../webhooks/certificate.js';
import { MAC_KEY } from './corpus.js';
import { LineAtHost, TERMINAL } from './line-at-host.js';
import { linePartsTo } from './link-under-test.js';
import { answering, type Heard, ScriptedHost, soon } from './scripted-host.js';

describe.each([AS2805, ASCII87])('connections, in $name', (dialect: Dialect) => {
  let at: LineAtHost;
  beforeEach(async () => {
    at = await LineAtHost.start(dialect);
  });
  afterEach(() => at.stop());

  test('opened → signs on with the institution; closed → signs off', async () => {
    await at.line.open();
    expect(at.line.status).toMatchObject({ connections: 1, signedOn: 1 });
    await at.line.close();
    const [signOn, signOff] = at.host.heard;
    expect(signOn).toMatchObject({ type: '0800' });
    expect([...(signOn as Heard).fields.keys()].filter((field) => field > 1)).toEqual([7, 11, 32, 70]);
    expect(signOn?.fields.get(70)).toBe('001');
    expect(signOn?.fields.get(32)).toBe('560279');
    expect(signOff?.fields.get(70)).toBe('002');
  });

  test('a refused sign-on → not opened, with the code, and nothing is sent', async () => {
    at.host.network = (heard) => answering(heard, '91');
    await expect(at.line.open()).rejects.toThrow('91');
    expect(await at.exchange(1)).toEqual({ kind: 'not_sent' });
    expect(at.host.messages()).toEqual([]);
  });

  // catches(ISO 8583: nothing is sent before the sign-on is answered)
  test('before the sign-on is answered → no payment is sent', async () => {
    at.host.network = () => undefined;
    const opening = at.line.open();
    await at.host.until('0800');
    expect(await at.exchange(1)).toEqual({ kind: 'not_sent' });
    at.host.send(answering(at.host.heard[0] as Heard, '00'));
    await opening;
    expect(await at.exchange(2)).toMatchObject({ kind: 'answered' });
    expect(at.host.messages().map(({ fields }) => fields.get(11))).toEqual(['000002']);
  });

  test('no host → not opened, and nothing is sent', async () => {
    await at.host.stop();
    await expect(at.line.open()).rejects.toThrow('ECONNREFUSED');
    expect(await at.exchange(1)).toEqual({ kind: 'not_sent' });
  });

  // catches(ISO 8583: what was handed to the socket may have left)
  test('cut off after the message → unknown; connected again, logged once each, and used again', async () => {
    at.host.script = (_, { sockets }) => {
      sockets.at(-1)?.destroy();
      return undefined;
    };
    await at.line.open();
    expect(await at.exchange(1)).toEqual({ kind: 'unknown', reason: 'unreadable' });
    at.host.script = (heard) => answering(heard, '00');
    await soon(() => at.line.status.signedOn === 1);
    expect(await at.exchange(2)).toMatchObject({ kind: 'answered' });
    expect(at.news).toEqual([
      { kind: 'lost', connection: 1, reason: expect.stringMatching(/./) },
      { kind: 'back', connection: 1, attempts: 1 },
    ]);
  });

  test('a host that is away for many attempts → logged once; back → logged once', async () => {
    await at.line.open();
    const { port } = at.host;
    await at.host.stop();
    await soon(() => at.news.length === 1);
    expect(await at.exchange(1)).toEqual({ kind: 'not_sent' });
    // As long as many attempts take: none of them is reported.
    await sleep(150);
    at.host = await new ScriptedHost(dialect).listen(port);
    await soon(() => at.line.status.signedOn === 1);
    await soon(() => at.news.length === 2);
    expect(at.news.map(({ kind }) => kind)).toEqual(['lost', 'back']);
    expect(await at.exchange(2)).toMatchObject({ kind: 'answered' });
  });

  test.each([
    ['cut anywhere', (bytes: Buffer, place: number) => bytes.subarray(0, place)],
    [
      'with a byte changed to none that can be',
      (bytes: Buffer, place: number) => {
        const bent = Buffer.from(bytes);
        bent[place] = 0xff;
        return bent;
      },
    ],
  ])('an answer %s, then the connection ends → unknown, never an answer', async (_, spoil) => {
    const sample = at.host.bytesOf({ type: '0210', fields: { 11: '000001', 39: '00', 41: TERMINAL } });
    await at.line.open();
    for (let place = 0; place < sample.length; place += 1) {
      at.host.script = (heard, { sockets }) => {
        const fields = { 11: heard.fields.get(11) ?? '', 39: '00', 41: TERMINAL };
        sockets.at(-1)?.end(spoil(at.host.bytesOf({ type: '0210', fields }), place));
        return undefined;
      };
      expect(await at.exchange(place + 1)).toEqual({ kind: 'unknown', reason: 'unreadable' });
      await soon(() => at.line.status.signedOn === 1);
    }
  });

  test('idle → sends an echo; two without an answer → disconnected, and connected again', async () => {
    await at.another({ timings: { connectMs: 5_000, networkAnswerMs: 1_000, echoAfterMs: 40 } });
    await at.line.open();
    const echoes = () => at.host.heard.filter(({ fields }) => fields.get(70) === '301');
    await soon(() => echoes().length >= 3);
    expect(at.host.sockets).toHaveLength(1);
    at.host.network = (heard) => (heard.fields.get(70) === '301' ? undefined : answering(heard, '00'));
    await soon(() => at.host.sockets.length >= 2);
    expect(at.news[0]).toMatchObject({ kind: 'lost', reason: '2 echoes were not answered' });
    const unanswered = echoes().filter(({ connection }) => connection === 1);
    expect(unanswered.length).toBeGreaterThanOrEqual(5);
  });

  test('several connections → all are used, and the loss of one does no harm', async () => {
    await at.another({ connections: 3, firstPauseMs: 60_000, longestPauseMs: 60_000 });
    await at.line.open();
    await soon(() => at.line.status.signedOn === 3);
    for (let stan = 1; stan < 10; stan += 1) await at.exchange(stan);
    expect(new Set(at.host.messages().map(({ connection }) => connection)).size).toBe(3);
    at.host.sockets[1]?.destroy();
    await soon(() => at.line.status.signedOn === 2);
    for (let stan = 10; stan < 20; stan += 1)
      expect(await at.exchange(stan)).toMatchObject({ kind: 'answered' });
  });

  test('the last connection is lost, and the first is back → logged once each, however many there are', async () => {
    await at.another({ connections: 3 });
    await at.line.open();
    await soon(() => at.line.status.signedOn === 3);
    expect(at.lineNews).toEqual([{ kind: 'signed on', afterSeconds: undefined }]);
    at.host.sockets[1]?.destroy();
    await soon(() => at.news.length === 2);
    expect(at.lineNews).toHaveLength(1);
    const { port } = at.host;
    await at.host.stop();
    await soon(() => at.news.length === 5);
    at.host = await new ScriptedHost(dialect).listen(port);
    await soon(() => at.line.status.signedOn === 3);
    expect(at.lineNews.slice(1)).toEqual([
      { kind: 'down', reason: expect.stringMatching(/./) },
      { kind: 'signed on', afterSeconds: expect.any(Number) },
    ]);
  });

  test('the host sends an echo → answered; signs off → answered, and the connection is no longer used', async () => {
    await at.another({ firstPauseMs: 60_000, longestPauseMs: 60_000 });
    await at.line.open();
    at.host.send({ type: '0800', fields: { 7: '1116020549', 11: '000321', 70: '301' } });
    const [echoed] = await at.host.until('0810');
    expect(echoed?.fields.get(11)).toBe('000321');
    expect(echoed?.fields.get(39)).toBe('00');
    at.host.send({ type: '0800', fields: { 7: '1116020549', 11: '000322', 70: '002' } });
    await at.host.until('0810', 2);
    expect(await at.exchange(1)).toEqual({ kind: 'not_sent' });
  });
});

test('with a key, a host whose sign-ons and echoes have no MAC → signed on; with a wrong MAC → refused', async () => {
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
