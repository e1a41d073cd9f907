// A name server on loopback that answers as the test says at that moment.
import { createSocket } from 'node:dgram';
import type { AddressInfo } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface NameServer {
  /** For a resolver: `127.0.0.1:PORT`. */
  readonly address: string;
  /** Every name that was asked for, for IPv4 (`A`) or IPv6 (`AAAA`). */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/** The addresses of a name; undefined where the question gets no answer at all. */
export type Answers = (name: string, timesAsked: number) => readonly string[] | undefined;

const TYPES: Readonly<Record<number, 'ipv4' | 'ipv6'>> = { 1: 'ipv4', 28: 'ipv6' };
const ANSWER_FLAGS = 0x8180;

export async function startNameServer(answers: Answers): Promise<NameServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (question, from) => {
    const { name, end, type } = readQuestion(question);
    const kind = TYPES[type];
    asked.push(`${kind === 'ipv4' ? 'A' : 'AAAA'} ${name}`);
    const times = asked.filter((each) => each === asked.at(-1)).length;
    const found = answers(name, times);
    if (found === undefined) return;
    const records = found.map((text) => ipaddr.parse(text)).filter((address) => address.kind() === kind);
    const head = Buffer.from(question.subarray(0, 12));
    head.writeUInt16BE(ANSWER_FLAGS, 2);
    head.writeUInt16BE(records.length, 6);
    head.writeUInt16BE(0, 8);
    head.writeUInt16BE(0, 10);
    const body = records.map((address) => record(type, Buffer.from(address.toByteArray())));
    socket.send(Buffer.concat([head, question.subarray(12, end), ...body]), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const { port } = socket.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    asked,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function readQuestion(message: Buffer): { name: string; end: number; type: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 5, type: message.readUInt16BE(at + 1) };
}

/** Points back to the name of the question, is of the internet, and is valid for no time at all. */
function record(type: number, address: Buffer): Buffer {
  const head = Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 0, 0, address.length]);
  return Buffer.concat([head, address]);
}
