// One attempt to deliver: resolves the name, judges every address, and calls one of them. It follows no redirect and uses no
// proxy. Of the answer it keeps only the status and a few bytes.
import { Resolver } from 'node:dns/promises';
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { containsCardNumber } from '../../values/card.js';
import { isLocalhost, judge, loopbackIn, type Network } from '../addresses.js';
import { type Destination, readDestination } from '../destination.js';

export interface SenderOptions {
  readonly networks: readonly Network[];
  /** For everything: name, connection, answer. */
  readonly timeoutMs: number;
  /** Name servers instead of the machine's. */
  readonly nameServers?: readonly string[];
  /** Certificates to trust instead of Node's. */
  readonly certificates?: string;
  /** A certificate of its own and its key, in PEM, for those who ask for one. */
  readonly identity?: { readonly cert: string; readonly key: string };
  /** Of an answer; otherwise only its excerpt is read. */
  readonly mostBytes?: number;
}

export interface Message {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type FailureReason =
  | 'url_forbidden'
  | 'address_forbidden'
  | 'https_needed'
  | 'name_unknown'
  | 'not_connected'
  | 'certificate_refused'
  | 'no_answer'
  | 'timed_out';

export type Attempt = { readonly durationMs: number } & (
  | {
      readonly kind: 'answered';
      readonly httpStatus: number;
      /** The beginning of the body. */
      readonly excerpt: string;
      /** As much of it as was read. */
      readonly body: Buffer;
      readonly retryAfter: string | undefined;
    }
  | { readonly kind: 'failed'; readonly reason: FailureReason }
);

type Outcome = Attempt extends infer Each ? (Each extends Attempt ? Omit<Each, 'durationMs'> : never) : never;

interface Exchange {
  readonly destination: Destination;
  readonly address: string;
  readonly message: Message;
  readonly deadlineMs: number;
}

export const EXCERPT_BYTES = 256;
const QUERY_TIMEOUT_MS = 2_000;
const QUERY_TRIES = 2;
/** More than any honest name has. */
const MOST_ADDRESSES = 32;
const MOST_ADDRESSES_TRIED = 3;
const MOST_HEADER_BYTES = 16_384;
/** How long a connection is kept for the next attempt, and how many for each address. */
const KEPT_MS = 4_000;
const KEPT_CONNECTIONS = 4;

interface Protocol {
  readonly request: (options: RequestOptions) => ClientRequest;
  readonly agent: Agent;
}

export class Sender {
  /**
   * Asks the DNS directly, without the thread pool that files and keys need: a silent name server delays nobody else.
   */
  readonly #resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
  #plain: Protocol | undefined;
  #secure: Protocol | undefined;
  #closed = false;

  constructor(private readonly options: SenderOptions) {
    if (options.nameServers !== undefined) this.#resolver.setServers(options.nameServers);
  }

  async post(message: Message): Promise<Attempt> {
    const beganMs = performance.now();
    const outcome = await this.#attempt(message, beganMs + this.options.timeoutMs);
    return { ...outcome, durationMs: Math.round(performance.now() - beganMs) } as Attempt;
  }

  /** Closes connections and DNS queries; attempts under way fail. */
  close(): void {
    this.#closed = true;
    this.#resolver.cancel();
    this.#plain?.agent.destroy();
    this.#secure?.agent.destroy();
  }

  async #attempt(message: Message, deadlineMs: number): Promise<Outcome> {
    const destination = readDestination(message.url, this.options.networks);
    if (typeof destination === 'string') return failed('url_forbidden');
    const addresses = await this.#addressesOf(destination, deadlineMs);
    if (addresses === undefined) return failed('timed_out');
    if (addresses.length === 0) return failed('name_unknown');
    const verdicts = addresses.map((address) => judge(address, this.options.networks));
    // One forbidden address is enough: a name that resolves to it cannot be trusted with the others.
    // guard(webhooks: every address of a name is judged at each attempt): if (verdicts.includes('forbidden')) return failed('address_forbidden'); ⇒
    if (verdicts.includes('forbidden')) return failed('address_forbidden');
    if (!destination.secure && verdicts.includes('public')) return failed('https_needed');
    let outcome: Outcome = failed('not_connected');
    for (const address of addresses.slice(0, MOST_ADDRESSES_TRIED)) {
      outcome = await this.#exchange({ destination, address, message, deadlineMs });
      if (outcome.kind !== 'failed' || outcome.reason !== 'not_connected') return outcome;
    }
    return outcome;
  }

  async #addressesOf({ literal, hostname }: Destination, deadlineMs: number): Promise<string[] | undefined> {
    if (literal) return [hostname];
    if (isLocalhost(hostname)) return loopbackIn(this.options.networks);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, deadlineMs - performance.now(), undefined);
    });
    return Promise.race([this.#resolve(hostname), late]).finally(() => clearTimeout(timer));
  }

  /** IPv4 addresses first. None if the name is unknown or no server answers. */
  async #resolve(name: string): Promise<string[]> {
    const [four, six] = await Promise.all([
      this.#resolver.resolve4(name).catch(() => []),
      this.#resolver.resolve6(name).catch(() => []),
    ]);
    return [...four, ...six].slice(0, MOST_ADDRESSES);
  }

  /** The receiver may just have closed a kept connection: then once more, on a new one. */
  async #exchange(exchange: Exchange): Promise<Outcome> {
    for (;;) {
      const { outcome, stale } = await this.#once(exchange);
      if (!stale) return outcome;
    }
  }

  async #once({
    destination,
    address,
    message,
    deadlineMs,
  }: Exchange): Promise<{ outcome: Outcome; stale: boolean }> {
    const { secure, hostname, literal, port, path, host } = destination;
    const { request, agent } = this.#protocol(secure);
    return new Promise((resolve) => {
      const asked = request({
        agent,
        // The judged address itself: a name could mean another address by now.
        // guard(webhooks: the judged address is called, and not its name): address ⇒ hostname
        host: address,
        port,
        path,
        method: 'POST',
        maxHeaderSize: MOST_HEADER_BYTES,
        headers: { ...message.headers, host, 'content-length': String(Buffer.byteLength(message.body)) },
        ...(secure && { servername: literal ? '' : hostname }),
      });
      let timedOut = false;
      let answered: (Outcome & { kind: 'answered' }) | undefined;
      let problem: NodeJS.ErrnoException | undefined;
      let connected = false;
      const timer = setTimeout(
        () => {
          timedOut = true;
          asked.destroy();
        },
        Math.max(deadlineMs - performance.now(), 1),
      );
      asked.on('socket', (socket) => {
        if (asked.reusedSocket) {
          connected = true;
          return;
        }
        socket.once(secure ? 'secureConnect' : 'connect', () => {
          connected = true;
        });
      });
      asked.on('error', (error) => {
        problem = error;
      });
      asked.on('response', (response) => {
        answered = answerOf(response, Buffer.alloc(0));
        readBeginning(response, this.options.mostBytes ?? EXCERPT_BYTES, (beginning) => {
          answered = answerOf(response, beginning);
        });
      });
      asked.on('close', () => {
        clearTimeout(timer);
        const closedThere = asked.reusedSocket && problem?.code === 'ECONNRESET' && !this.#closed;
        const stale = answered === undefined && !timedOut && closedThere;
        const outcome = answered ?? failed(timedOut ? 'timed_out' : reasonOf(connected, problem));
        resolve({ outcome, stale });
      });
      asked.end(message.body);
    });
  }

  /** Loaded with the first webhook: a gateway without webhooks does not need them. The built program cannot use `import()`. */
  #protocol(secure: boolean): Protocol {
    const kept = { keepAlive: true, timeout: KEPT_MS, maxFreeSockets: KEPT_CONNECTIONS };
    if (secure) {
      const https = process.getBuiltinModule('node:https');
      const { certificates, identity } = this.options;
      const trusted = certificates === undefined ? {} : { ca: certificates };
      this.#secure ??= {
        request: https.request,
        agent: new https.Agent({ ...kept, ...trusted, ...identity }),
      };
      return this.#secure;
    }
    const http = process.getBuiltinModule('node:http');
    this.#plain ??= { request: http.request, agent: new http.Agent(kept) };
    return this.#plain;
  }
}

function failed(reason: FailureReason): Outcome & { kind: 'failed' } {
  return { kind: 'failed', reason };
}

function answerOf(response: IncomingMessage, body: Buffer): Outcome & { kind: 'answered' } {
  return {
    kind: 'answered',
    httpStatus: response.statusCode as number,
    excerpt: readable(body.subarray(0, EXCERPT_BYTES)),
    body,
    retryAfter: response.headers['retry-after'],
  };
}

/** A longer answer is not read to its end: its connection is closed. */
function readBeginning(response: IncomingMessage, most: number, done: (beginning: Buffer) => void): void {
  let beginning = Buffer.alloc(0);
  response.on('data', (chunk: Buffer) => {
    beginning = Buffer.concat([beginning, chunk.subarray(0, most - beginning.length)]);
    done(beginning);
    if (beginning.length === most) response.destroy();
  });
  response.on('error', () => {});
}

/** Fit for a log and a terminal. */
function readable(excerpt: Buffer): string {
  const text = excerpt.toString('utf8').replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ');
  return containsCardNumber(text) ? 'left out: it seems to hold a card number' : text;
}

function reasonOf(connected: boolean, problem: NodeJS.ErrnoException | undefined): FailureReason {
  if (/CERT|SELF_SIGNED|ALTNAME|ISSUER/.test(problem?.code ?? '')) return 'certificate_refused';
  return connected ? 'no_answer' : 'not_connected';
}
