// Messages waiting to be sent or answered: `not_sent` only for messages that are never sent, whatever is answered in the meantime.
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { AS2805 } from '../../../src/acquirers/iso8583/dialects/as2805.js';
import { Codec, Message } from '../../../src/acquirers/iso8583/wire/codec.js';
import { Outbox } from '../../../src/acquirers/iso8583/wire/connection.js';
import { Frames } from '../../../src/acquirers/iso8583/wire/frames.js';
import { type Exchange, Outstanding } from '../../../src/acquirers/iso8583/wire/outstanding.js';

const TERMINAL = 'TERM0001';
const codec = new Codec(AS2805);

/** A socket whose buffers are full until `drain` is called. */
class FullSocket {
  readonly left: string[] = [];
  #drained: (() => void)[] = [];

  write(bytes: Buffer, drained: () => void): void {
    const received = codec.received();
    const frames = new Frames(AS2805, codec, (all, at, end) => {
      codec.read(all, at, end, received);
      this.left.push(`${received.type} ${Number(received.text(11))}`);
    });
    frames.push(Buffer.from(bytes));
    this.#drained.push(drained);
  }

  async drain(): Promise<void> {
    for (const drained of this.#drained.splice(0)) drained();
    await nextTurn();
  }
}

let socket: FullSocket;
let outbox: Outbox;
let outstanding: Outstanding;
beforeEach(() => {
  socket = new FullSocket();
  outbox = new Outbox(
    AS2805,
    codec,
    undefined,
    () => socket as unknown as Socket,
    (waiting) => outstanding.notSent(waiting),
  );
  outstanding = new Outstanding();
});

function messageOf(type: string, stan: number, code?: string): Message {
  const message = new Message();
  message.type = type;
  message.set(11, String(stan)).set(41, TERMINAL);
  return code === undefined ? message : message.set(39, code);
}

/** Sends, and says what came of it. */
function send(type: string, answerType: string, stan: number): { told?: Exchange } {
  const sent: { told?: Exchange } = {};
  const waiting = outstanding.add({ stan, terminal: TERMINAL }, answerType, outbox, 1_000);
  waiting.settle = (exchange) => {
    sent.told = exchange;
  };
  outbox.send(messageOf(type, stan), waiting);
  return sent;
}

function hear(type: string, stan: number): void {
  const into = Buffer.alloc(200);
  const end = codec.write(messageOf(type, stan, '00'), into, 0);
  const received = codec.received();
  codec.read(into, 0, end, received);
  outstanding.answered(received);
}

const expire = (nowMs: number) => outstanding.expire(nowMs, (waiting) => outbox.takeBack(waiting));

// catches(ISO 8583: what has not left cannot have been answered)
test('a repetition whose original is answered while it waits to be sent → a payment behind it that is reported as not sent is never sent', async () => {
  send('0200', '0210', 1);
  await nextTurn();
  // From here on nothing leaves. The answer to an earlier 0420 comes before the 0421 has left.
  send('0421', '0430', 2);
  hear('0430', 2);
  const payment = send('0200', '0210', 3);
  hear('0210', 1);
  expire(2_000);
  expect(payment.told).toEqual({ kind: 'not_sent' });
  await socket.drain();
  expect(socket.left).toEqual(['0200 1']);
});

// catches(ISO 8583: what has not left cannot have been answered)
test('an answer to a message that was not sent → ignored, and the message waits for its own answer', async () => {
  send('0200', '0210', 1);
  await nextTurn();
  const payment = send('0200', '0210', 2);
  hear('0210', 2);
  expect(payment.told).toBeUndefined();
  await socket.drain();
  hear('0210', 2);
  expect(payment.told).toMatchObject({ kind: 'answered' });
});

// catches(ISO 8583: what is still to be handed over is not mistaken for another)
test('the same numbers again while the first waits to be sent → the first is in doubt; the second, reported as not sent, is never sent', async () => {
  send('0200', '0210', 1);
  await nextTurn();
  const first = send('0220', '0230', 2);
  const repeated = send('0221', '0230', 2);
  hear('0210', 1);
  expire(2_000);
  expect([first.told, repeated.told]).toEqual([
    { kind: 'unknown', reason: 'unreadable' },
    { kind: 'not_sent' },
  ]);
  await socket.drain();
  expect(socket.left).toEqual(['0200 1', '0220 2']);
});
