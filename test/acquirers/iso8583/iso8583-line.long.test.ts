// Exchanges over the connections of a link: each message its own answer, and certainty about what was not sent.
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AS2805 } from '../../../src/acquirers/iso8583/dialects/as2805.js';
import { ASCII87 } from '../../../src/acquirers/iso8583/dialects/ascii87.js';
import type { Dialect } from '../../../src/acquirers/iso8583/dialects/dialect.js';
import { RetailMac } from '../../../src/acquirers/iso8583/wire/mac.js';
import { Cvv } from '../../../src/values/card.js';
import { MAC_KEY } from './corpus.js';
import { LineAtHost, TERMINAL } from './line-at-host.js';
import { answering, type Heard, ScriptedHost, soon } from './scripted-host.js';

const MAC = new RetailMac(Buffer.from(MAC_KEY, 'hex'));

describe.each([AS2805, ASCII87])('exchanges, in $name', (dialect: Dialect) => {
  let at: LineAtHost;
  beforeEach(async () => {
    at = await LineAtHost.start(dialect);
  });
  afterEach(() => at.stop());

  const stanOf = ({ fields }: Heard) => Number(fields.get(11));

  test('many at once, answered in another order → each gets its own answer', async () => {
    const waiting: Heard[] = [];
    at.host.script = (heard) => {
      waiting.push(heard);
      if (waiting.length === 200) {
        for (const each of waiting.reverse())
          at.host.send(answering(each, '00', { 38: each.fields.get(11) ?? '' }));
      }
      return undefined;
    };
    await at.line.open();
    // The same STANs from two terminals: only both together tell them apart.
    const asked = Array.from({ length: 100 }, (_, stan) => [
      at.exchange(stan + 1, 'TERM0001'),
      at.exchange(stan + 1, 'TERM0002'),
    ]).flat();
    for (const [index, each] of (await Promise.all(asked)).entries()) {
      const authorisationCode = String(Math.floor(index / 2) + 1).padStart(6, '0');
      expect(each).toMatchObject({ kind: 'answered', response: { code: '00', authorisationCode } });
    }
  });

  test('sent at the same time → over one connection; later messages → over the next', async () => {
    await at.another({ connections: 2 });
    await at.line.open();
    await soon(() => at.line.status.signedOn === 2);
    await Promise.all([at.exchange(1), at.exchange(2), at.exchange(3)]);
    await Promise.all([at.exchange(4), at.exchange(5)]);
    await at.exchange(6);
    const used = at.host.messages().map(({ connection }) => connection);
    const [first, , , second] = used;
    expect(used).toEqual([first, first, first, second, second, first]);
    expect(second).not.toBe(first);
  });

  // catches(ISO 8583: an answer is known by its type too)
  test('an answer that comes twice, for another terminal or with another type → only the right one counts', async () => {
    at.host.script = (heard) => {
      at.host.send({ ...answering(heard, '05'), type: '0230' });
      at.host.send(answering(heard, '05', { 41: 'TERM0009' }));
      at.host.send(answering(heard, '05', { 11: '000099' }));
      at.host.send(answering(heard, '00'));
      return answering(heard, '05');
    };
    await at.line.open();
    expect(await at.exchange(1)).toMatchObject({ response: { code: '00' } });
    expect(await at.exchange(2)).toMatchObject({ response: { code: '00' } });
  });

  // catches(ISO 8583: what was handed to the socket may have left)
  test('no answer → unknown after the deadline; the late answer can be used once', async () => {
    await at.another({ deadlineMs: 100 });
    at.host.script = () => undefined;
    await at.line.open();
    expect(await at.exchange(7)).toEqual({ kind: 'unknown', reason: 'timeout' });
    expect(at.line.takeLate({ stan: 7, terminal: TERMINAL })).toBeUndefined();
    at.host.send(answering(at.host.messages()[0] as Heard, '00', { 38: 'LATE01' }));
    let late: unknown;
    await soon(() => {
      late ??= at.line.takeLate({ stan: 7, terminal: TERMINAL });
      return late !== undefined;
    });
    expect(late).toMatchObject({ code: '00', authorisationCode: 'LATE01' });
    expect(at.line.takeLate({ stan: 7, terminal: TERMINAL })).toBeUndefined();
  });

  // catches(ISO 8583: what is not sent is taken back)
  test('a host that stops reading → messages not handed over are not sent and never arrive; the CVV is kept for another link', async () => {
    await at.another({ deadlineMs: 300 });
    await at.line.open();
    at.host.script = () => undefined;
    const [socket] = at.host.sockets;
    socket?.pause();
    // Buffers of the system take some megabytes. What comes after that stays here.
    const sent: Promise<{ kind: string }>[] = [];
    const cvvs: Cvv[] = [];
    for (let batch = 0; batch < 20; batch += 1) {
      for (let each = 0; each < 500; each += 1) {
        const cvv = new Cvv('739');
        cvvs.push(cvv);
        sent.push(at.exchange(batch * 500 + each + 1, TERMINAL, 'x'.repeat(990), cvv));
      }
      await turn();
    }
    const kinds = (await Promise.all(sent)).map(({ kind }) => kind);
    expect(cvvs.map(({ erased }) => erased)).toEqual(kinds.map((kind) => kind !== 'not_sent'));
    const unsent = new Set(
      [...kinds.keys()].filter((index) => kinds[index] === 'not_sent').map((index) => index + 1),
    );
    expect(unsent.size).toBeGreaterThan(0);
    socket?.resume();
    await soon(() => at.host.messages().length === kinds.length - unsent.size);
    // That no more arrives only time shows.
    await sleep(50);
    expect(
      at.host
        .messages()
        .map(stanOf)
        .filter((stan) => unsent.has(stan)),
    ).toEqual([]);
    expect(at.host.messages()).toHaveLength(kinds.length - unsent.size);
  });

  // catches(ISO 8583: what is reversed before it was sent is not sent any more)
  test('given up while the host reads nothing → not sent, and never arrives', async () => {
    await at.another({ deadlineMs: 60_000 });
    await at.line.open();
    at.host.script = () => undefined;
    const [socket] = at.host.sockets;
    socket?.pause();
    const sent: Promise<unknown>[] = [];
    for (let stan = 1; stan <= 10_000; stan += 1) {
      sent.push(at.exchange(stan, TERMINAL, 'x'.repeat(990)));
      if (stan % 500 === 0) await turn();
    }
    const last = { stan: 10_000, terminal: TERMINAL };
    at.line.giveUp(last);
    expect(await sent.at(-1)).toEqual({ kind: 'not_sent' });
    socket?.resume();
    await soon(() => at.host.messages().length === sent.length - 1);
    // That no more arrives only time shows.
    await sleep(50);
    expect(at.host.messages().map(stanOf)).not.toContain(last.stan);
    for (const heard of at.host.messages()) at.host.send(answering(heard, '00'));
    await Promise.all(sent);
  });

  // catches(ISO 8583: what cannot be read closes the connection)
  // catches(ISO 8583: a wrong MAC is unreadable)
  test('with a key → MACs both ways; with a wrong key → unknown, and the connection is closed', async () => {
    await at.host.stop();
    at.host = await new ScriptedHost(dialect, MAC).listen();
    await at.another({
      macs: { sending: MAC, receiving: MAC },
      host: { host: '127.0.0.1', port: at.host.port, tls: false },
    });
    await at.line.open();
    expect(await at.exchange(1)).toMatchObject({ response: { code: '00' } });
    at.host.script = (heard) => {
      const bytes = at.host.bytesOf(answering(heard, '00'));
      bytes[bytes.length - 1] = bytes.at(-1) === 48 ? 49 : 48;
      at.host.send(bytes);
      return undefined;
    };
    expect(await at.exchange(2)).toEqual({ kind: 'unknown', reason: 'unreadable' });
    expect(at.news[0]).toMatchObject({ kind: 'lost', reason: 'an unreadable message: a wrong MAC' });
  });

  test('a trace → type, STAN, terminal and response code, and nothing else', async () => {
    await at.line.open();
    await at.exchange(17);
    const [sent, received] = at.traced.filter(({ type }) => type.startsWith('02'));
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
    expect(JSON.stringify(at.traced)).not.toContain('4111');
  });

  test('a value that fits no message → not sent', async () => {
    await at.line.open();
    const unfit = at.line.exchange({ stan: 1, terminal: TERMINAL }, '0210', (message) => {
      message.type = '0200';
      message.set(4, '1234567890123');
    });
    expect(await unfit).toEqual({ kind: 'not_sent' });
    expect(at.line.status.outstanding).toBe(0);
  });

  test('closed while a message waits for its answer → the answer is awaited, and nothing more is sent', async () => {
    at.host.script = () => undefined;
    await at.line.open();
    const asked = at.exchange(1);
    const [heard] = await at.host.until('0200');
    const closing = at.line.close();
    expect(await at.exchange(2)).toEqual({ kind: 'not_sent' });
    at.host.send(answering(heard as Heard, '00'));
    expect(await asked).toMatchObject({ kind: 'answered' });
    await closing;
    expect(at.host.heard.at(-1)?.fields.get(70)).toBe('002');
  });

  // catches(ISO 8583: what was handed to the socket may have left)
  test('closed while a message waits and no answer comes → unknown after the deadline', async () => {
    await at.another({ deadlineMs: 100 });
    at.host.script = () => undefined;
    await at.line.open();
    const asked = at.exchange(1);
    await at.line.close();
    expect(await asked).toEqual({ kind: 'unknown', reason: 'timeout' });
  });
});
