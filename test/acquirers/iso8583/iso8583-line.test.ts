// The connections of a link: signed on before anything is sent, mended without end, and certain about what was not sent.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AS2805 } from '../../../src/acquirers/iso8583/as2805.js';
import { ASCII87 } from '../../../src/acquirers/iso8583/ascii87.js';
import type { TraceLine } from '../../../src/acquirers/iso8583/connection.js';
import type { Dialect } from '../../../src/acquirers/iso8583/dialect.js';
import { type ConnectionNews, Line, type LineParts } from '../../../src/acquirers/iso8583/line.js';
import { RetailMac } from '../../../src/acquirers/iso8583/mac.js';
import { MAC_KEY } from './corpus.js';
import { answering, type Heard, ScriptedHost, soon } from './scripted-host.js';

const MAC = new RetailMac(Buffer.from(MAC_KEY, 'hex'));
const TERMINAL = 'TERM0001';

describe.each([AS2805, ASCII87])('the line, in $name', (dialect: Dialect) => {
  let host: ScriptedHost;
  let line: Line;
  let news: ConnectionNews[];
  let traced: TraceLine[];
  beforeEach(async () => {
    host = await new ScriptedHost(dialect).listen();
    news = [];
    traced = [];
    line = makeLine();
  });
  afterEach(async () => {
    await line.close();
    await host.stop();
  });

  function makeLine(change: Partial<LineParts> = {}): Line {
    return new Line({
      dialect,
      host: { host: '127.0.0.1', port: host.port, tls: false },
      connections: 1,
      institution: '560279',
      macs: undefined,
      deadlineMs: 2_000,
      timings: { connectMs: 2_000, networkAnswerMs: 2_000, echoAfterMs: 30_000 },
      firstPauseMs: 5,
      longestPauseMs: 20,
      onNews: (each) => news.push(each),
      onTrace: (each) => traced.push(each),
      ...change,
    });
  }

  async function another(change: Partial<LineParts>): Promise<void> {
    await line.close();
    line = makeLine(change);
  }

  const exchange = (stan: number, terminal = TERMINAL, more?: string) =>
    line.exchange({ stan, terminal }, '0210', (message) => {
      message.type = '0200';
      message.set(2, '4111111111111111').set(4, '1995').set(11, String(stan)).set(41, terminal);
      if (more !== undefined) message.set(48, more);
    });

  const stanOf = ({ fields }: Heard) => Number(fields.get(11));

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
    expect(host.messages().map(stanOf)).toEqual([2]);
  });

  test('nobody there → not opened, and not sent', async () => {
    await host.stop();
    await expect(line.open()).rejects.toThrow('ECONNREFUSED');
    expect(await exchange(1)).toEqual({ kind: 'not_sent' });
  });

  test('many at once, answered in another order → each its own answer', async () => {
    const waiting: Heard[] = [];
    host.script = (heard) => {
      waiting.push(heard);
      if (waiting.length === 200) {
        for (const each of waiting.reverse())
          host.send(answering(each, '00', { 38: each.fields.get(11) ?? '' }));
      }
      return undefined;
    };
    await line.open();
    // The same STANs from two terminals: only both together tell them apart.
    const asked = Array.from({ length: 100 }, (_, stan) => [
      exchange(stan + 1, 'TERM0001'),
      exchange(stan + 1, 'TERM0002'),
    ]).flat();
    for (const [index, each] of (await Promise.all(asked)).entries()) {
      const authorisationCode = String(Math.floor(index / 2) + 1).padStart(6, '0');
      expect(each).toMatchObject({ kind: 'answered', response: { code: '00', authorisationCode } });
    }
  });

  test('an answer that comes twice, for another terminal or of another type → only the right one counts', async () => {
    host.script = (heard) => {
      host.send({ ...answering(heard, '05'), type: '0230' });
      host.send(answering(heard, '05', { 41: 'TERM0009' }));
      host.send(answering(heard, '05', { 11: '000099' }));
      host.send(answering(heard, '00'));
      return answering(heard, '05');
    };
    await line.open();
    expect(await exchange(1)).toMatchObject({ response: { code: '00' } });
    expect(await exchange(2)).toMatchObject({ response: { code: '00' } });
  });

  test('no answer → unknown after the deadline, and the late one can be taken once', async () => {
    await another({ deadlineMs: 100 });
    host.script = () => undefined;
    await line.open();
    expect(await exchange(7)).toEqual({ kind: 'unknown', reason: 'timeout' });
    expect(line.takeLate({ stan: 7, terminal: TERMINAL })).toBeUndefined();
    host.send(answering(host.messages()[0] as Heard, '00', { 38: 'LATE01' }));
    let late: unknown;
    await soon(() => {
      late ??= line.takeLate({ stan: 7, terminal: TERMINAL });
      return late !== undefined;
    });
    expect(late).toMatchObject({ code: '00', authorisationCode: 'LATE01' });
    expect(line.takeLate({ stan: 7, terminal: TERMINAL })).toBeUndefined();
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

  test('a host that reads nothing any more → what was not handed over is not sent, and never arrives', async () => {
    await another({ deadlineMs: 300 });
    await line.open();
    host.script = () => undefined;
    const [socket] = host.sockets;
    socket?.pause();
    // Buffers of the system take some megabytes. What comes after that stays here.
    const sent: Promise<{ kind: string }>[] = [];
    for (let batch = 0; batch < 20; batch += 1) {
      for (let each = 0; each < 500; each += 1)
        sent.push(exchange(batch * 500 + each + 1, TERMINAL, 'x'.repeat(990)));
      await sleep(1);
    }
    const kinds = (await Promise.all(sent)).map(({ kind }) => kind);
    const unsent = new Set(
      [...kinds.keys()].filter((index) => kinds[index] === 'not_sent').map((index) => index + 1),
    );
    expect(unsent.size).toBeGreaterThan(0);
    socket?.resume();
    await soon(() => host.messages().length === kinds.length - unsent.size);
    await sleep(50);
    expect(
      host
        .messages()
        .map(stanOf)
        .filter((stan) => unsent.has(stan)),
    ).toEqual([]);
    expect(host.messages()).toHaveLength(kinds.length - unsent.size);
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

  test('with a key → MACs both ways; a wrong one → unknown, and the connection is closed', async () => {
    await host.stop();
    host = await new ScriptedHost(dialect, MAC).listen();
    await another({
      macs: { sending: MAC, receiving: MAC },
      host: { host: '127.0.0.1', port: host.port, tls: false },
    });
    await line.open();
    expect(await exchange(1)).toMatchObject({ response: { code: '00' } });
    host.script = (heard) => {
      const bytes = host.bytesOf(answering(heard, '00'));
      bytes[bytes.length - 1] = bytes.at(-1) === 48 ? 49 : 48;
      host.send(bytes);
      return undefined;
    };
    expect(await exchange(2)).toEqual({ kind: 'unknown', reason: 'unreadable' });
    expect(news[0]).toMatchObject({ kind: 'lost', reason: 'an unreadable message: a wrong MAC' });
  });

  test('what is traced → type, STAN, terminal and response code, and nothing else', async () => {
    await line.open();
    await exchange(17);
    const [sent, received] = traced.filter(({ type }) => type.startsWith('02'));
    expect(sent).toEqual({
      direction: 'sent',
      type: '0200',
      stan: '17',
      terminal: TERMINAL,
      responseCode: undefined,
    });
    expect(received).toEqual({
      direction: 'received',
      type: '0210',
      stan: '000017',
      terminal: TERMINAL,
      responseCode: '00',
    });
    expect(JSON.stringify(traced)).not.toContain('4111');
  });

  test('what fits no message → not sent', async () => {
    await line.open();
    const unfit = line.exchange({ stan: 1, terminal: TERMINAL }, '0210', (message) => {
      message.type = '0200';
      message.set(4, '1234567890123');
    });
    expect(await unfit).toEqual({ kind: 'not_sent' });
    expect(line.status.outstanding).toBe(0);
  });

  test('closed while a message waits → its answer is waited for, and nothing more is sent', async () => {
    host.script = () => undefined;
    await line.open();
    const asked = exchange(1);
    const [heard] = await host.until('0200');
    const closing = line.close();
    expect(await exchange(2)).toEqual({ kind: 'not_sent' });
    host.send(answering(heard as Heard, '00'));
    expect(await asked).toMatchObject({ kind: 'answered' });
    await closing;
    expect(host.heard.at(-1)?.fields.get(70)).toBe('002');
  });

  test('closed while a message waits in vain → unknown after the deadline', async () => {
    await another({ deadlineMs: 100 });
    host.script = () => undefined;
    await line.open();
    const asked = exchange(1);
    await line.close();
    expect(await asked).toEqual({ kind: 'unknown', reason: 'timeout' });
  });
});
