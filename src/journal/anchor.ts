// Anchors the journal outside of the database: signed checkpoints go to files, syslog or HTTP collectors, where nobody who can write to the
// database can take them back.
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { open } from 'node:fs/promises';
import { connect } from 'node:net';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import type { SignedCheckpoint } from './checkpoints.js';

export type Destination =
  | { readonly kind: 'file'; readonly path: string }
  /** Of this machine, by its program `logger`: Node cannot write to /dev/log. */
  | { readonly kind: 'logger' }
  | {
      readonly kind: 'syslog';
      readonly protocol: 'udp' | 'tcp';
      readonly host: string;
      readonly port: number;
    }
  | { readonly kind: 'http'; readonly url: string };

export interface AnchorReports {
  /** A destination begins to fail, and is tried again. */
  readonly onFailing: (destination: string, reason: unknown) => void;
  readonly onWorking: (destination: string) => void;
}

const SEND_WITHIN_MS = 10_000;
/** Facility 13 (log audit), severity 5 (notice). */
const PRIORITY = 13 * 8 + 5;
const SYSLOG_PORT = 514;

/** Undefined if the text is no destination. `isSafe`: whether an HTTP address may be used. */
export function readDestination(text: string, isSafe: (url: URL) => boolean): Destination | undefined {
  if (text === 'syslog') return { kind: 'logger' };
  if (text.startsWith('/')) return { kind: 'file', path: text };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return undefined;
  const [, protocol] = /^syslog\+(udp|tcp):$/.exec(url.protocol) ?? [];
  if (protocol !== undefined && url.hostname !== '')
    return {
      kind: 'syslog',
      protocol: protocol as 'udp' | 'tcp',
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port) || SYSLOG_PORT,
    };
  return isSafe(url) ? { kind: 'http', url: text } : undefined;
}

/** For the log. An address may hold a password. */
function nameOf(destination: Destination): string {
  switch (destination.kind) {
    case 'file':
      return destination.path;
    case 'logger':
      return 'syslog';
    case 'syslog':
      return `syslog+${destination.protocol}://${destination.host}:${destination.port}`;
    case 'http':
      return new URL(destination.url).origin;
  }
}

interface Target {
  readonly destination: Destination;
  /** The last block that it has taken. */
  number: number;
  hash: string;
  failing: boolean;
  /** Since when there is a block that it has not taken. */
  behindSinceMs: number | undefined;
}

export class JournalAnchor {
  readonly #targets: Target[];

  constructor(
    destinations: readonly Destination[],
    private readonly read: () => Promise<SignedCheckpoint>,
    private readonly reports: AnchorReports,
  ) {
    this.#targets = destinations.map((destination) => ({
      destination,
      number: 0,
      hash: '',
      failing: false,
      behindSinceMs: undefined,
    }));
  }

  /** For how long the end of the chain has not been anchored somewhere. */
  get behindMs(): number {
    const nowMs = performance.now();
    return Math.max(
      0,
      ...this.#targets.map(({ behindSinceMs }) => (behindSinceMs === undefined ? 0 : nowMs - behindSinceMs)),
    );
  }

  /** Sends the end of the chain to each destination that does not have it. */
  async run(): Promise<void> {
    const checkpoint = await this.read();
    await Promise.all(this.#targets.map((target) => this.#bring(target, checkpoint)));
  }

  async #bring(target: Target, checkpoint: SignedCheckpoint): Promise<void> {
    const { number, hash } = checkpoint;
    if (number === 0 || (target.number === number && target.hash === hash)) return;
    target.behindSinceMs ??= performance.now();
    const name = nameOf(target.destination);
    try {
      await send(target.destination, JSON.stringify(checkpoint));
    } catch (reason) {
      if (!target.failing) this.reports.onFailing(name, reason);
      target.failing = true;
      return;
    }
    if (target.failing) this.reports.onWorking(name);
    Object.assign(target, { number, hash, failing: false, behindSinceMs: undefined });
  }
}

async function send(destination: Destination, text: string): Promise<void> {
  switch (destination.kind) {
    case 'file':
      return appendDurably(destination.path, `${text}\n`);
    case 'logger': {
      const options = ['-p', 'authpriv.notice', '-t', 'tollgate', text];
      await promisify(execFile)('logger', options, { timeout: SEND_WITHIN_MS });
      return;
    }
    case 'syslog': {
      const line = `<${PRIORITY}>1 ${new Date().toISOString()} ${hostname()} tollgate ${process.pid} anchor - ${text}`;
      return destination.protocol === 'udp'
        ? sendDatagram(destination, line)
        : // Octet counting, RFC 6587.
          sendOverTcp(destination, `${Buffer.byteLength(line)} ${line}`);
    }
    case 'http': {
      const { ok, status } = await fetch(destination.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: text,
        redirect: 'error',
        signal: AbortSignal.timeout(SEND_WITHIN_MS),
      });
      if (!ok) throw new Error(`the collector answered ${status}`);
    }
  }
}

async function appendDurably(path: string, line: string): Promise<void> {
  const file = await open(path, 'a', 0o640);
  try {
    await file.write(line);
    await file.sync();
  } finally {
    await file.close();
  }
}

type Address = { readonly host: string; readonly port: number };

function sendDatagram({ host, port }: Address, line: string): Promise<void> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  return new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.send(line, port, host, (error) => (error === null ? resolve() : reject(error)));
  }).finally(() => socket.close());
}

function sendOverTcp({ host, port }: Address, line: string): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const socket = connect({ host, port });
    socket.setTimeout(SEND_WITHIN_MS, () => socket.destroy(new Error('timed out')));
    socket.once('error', reject).once('close', () => resolve());
    socket.resume().end(line);
  });
}

/** The files among the destinations, which are on this machine. */
export function anchorFiles(destinations: readonly Destination[]): string[] {
  return destinations.flatMap((each) => (each.kind === 'file' ? [each.path] : []));
}
