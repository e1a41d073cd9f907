// One round: a request under a correlation ID, in whatever pieces, and searches for that ID at both gateways around it.
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Json, paymentBody, targetedBody } from '../../testkit/bodies.js';
import { type Caller, call, Unanswered } from '../../testkit/caller.js';
import type { Chance } from '../../testkit/chance.js';
import type { AttackedGateway, Installation } from '../../testkit/installation.js';
import { SLOW_CARD } from '../../testkit/test-cards.js';

const ANSWER_LIMIT_MS = 20_000;
const TARGET_OF: Readonly<Record<string, string | undefined>> = {
  refund: 'purchase',
  void: 'purchase',
  completion: 'preauthorisation',
};
const KINDS = ['purchase', 'purchase', 'purchase', 'preauthorisation', 'refund', 'void', 'completion'];

/** What a round remembers of a request: when it had been sent wholly, and what came back. */
export interface Request {
  readonly id: string;
  readonly reference: string;
  sentMs: number | undefined;
  status: number | undefined;
  answeredMs: number | undefined;
}

/** And of a search: before it was sent, the ledger had so many bytes. */
export interface Search {
  readonly id: string;
  readonly sentMs: number;
  readonly ledgerBytes: number;
  found: 'nothing' | 'something' | 'no answer';
}

export interface RoundOptions {
  readonly installation: Installation;
  /** Or what stands before them. */
  readonly gateways: readonly Pick<AttackedGateway, 'baseUrl'>[];
  readonly random: Chance;
  readonly name: string;
}

export class Round {
  #targetAudit: number | undefined;

  readonly requests: Request[] = [];
  readonly searches: Search[] = [];

  constructor(private readonly options: RoundOptions) {}

  async run(): Promise<void> {
    const random = this.options.random;
    const kind = random.pick(KINDS);
    if (!(await this.#makeTarget(TARGET_OF[kind]))) return;
    const ids = [this.options.name];
    // Now and then two requests of one round stand one behind the other.
    if (random.percent(20)) ids.push(`${this.options.name}-too`);
    const searching = ids.flatMap((id) =>
      Array.from({ length: random.between(1, 3) }, async () => {
        await sleep(random.between(0, random.pick([30, 300, 1_500])));
        const nothing = await this.#search(id);
        if (nothing && random.percent(30)) await this.#sendAgain(kind, id);
      }),
    );
    await Promise.all([this.#send(kind, ids), ...searching]);
    await this.#search(this.options.name);
  }

  async #makeTarget(kind: string | undefined): Promise<boolean> {
    if (kind === undefined) return true;
    try {
      const made = await call(this.#caller(), 'POST', `/transactions/${kind}`, {
        correlationId: `${this.options.name}-target`,
        body: this.#body(kind, `${this.options.name}-target`),
      });
      this.#targetAudit = made.audit;
      return made.status === 201;
    } catch (error) {
      if (error instanceof Unanswered) return false;
      throw error;
    }
  }

  /** In pieces with pauses between them, perhaps behind others, perhaps by somebody who hangs up. */
  async #send(kind: string, ids: readonly string[]): Promise<void> {
    const random = this.options.random;
    const requests = ids.map((id) => this.#remember(id, `${id}-first`));
    const ahead = random.percent(35) ? this.#somethingAhead() : '';
    const texts = requests.map(({ id, reference }) => this.#text(kind, id, reference));
    const whole = ahead + texts.join('');
    const cuts = Array.from({ length: random.between(0, 4) }, () => random.below(whole.length));
    const ends = [...new Set([...cuts, whole.length])].sort((one, other) => one - other);
    // Some never send the last bytes.
    if (random.percent(10)) ends.pop();

    const socket = await this.#open();
    if (socket === undefined) return;
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
      for (const request of requests) this.#noteAnswer(request, received);
      if (requests.every(({ status }) => status !== undefined)) socket.destroy();
    });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    let from = 0;
    for (const end of ends) {
      if (socket.destroyed) break;
      const piece = whole.slice(from, end);
      await new Promise<unknown>((resolve) => socket.write(piece, resolve));
      let at = ahead.length;
      for (const [index, request] of requests.entries()) {
        at += texts[index]?.length ?? 0;
        if (from < at && at <= end) request.sentMs = performance.now();
      }
      from = end;
      if (end < whole.length) await sleep(random.between(0, random.pick([5, 50, 400])));
    }
    if (random.percent(25)) {
      await sleep(random.between(0, 60));
      if (random.percent(50)) socket.resetAndDestroy();
      else socket.destroy();
    }
    await Promise.race([
      closed,
      sleep(from < whole.length ? 2_000 : ANSWER_LIMIT_MS, undefined, { ref: false }),
    ]);
    socket.destroy();
  }

  /** Served before it on the same connection: quick, or slow. */
  #somethingAhead(): string {
    const random = this.options.random;
    if (random.percent(40)) return this.#head('GET', '/transactions/1', `${this.options.name}-look-up`);
    if (random.percent(40))
      return this.#head('GET', this.#searchPath(this.options.name), `${this.options.name}-search`);
    const { reference } = this.#remember(`${this.options.name}-ahead`, `${this.options.name}-ahead`);
    return this.#text('purchase', reference, reference, random.percent(30) ? SLOW_CARD : undefined);
  }

  /** As after an empty answer, by somebody who does not take another correlation ID. */
  async #sendAgain(kind: string, id: string): Promise<void> {
    const request = this.#remember(id, `${id}-again-${this.requests.length}`);
    const socket = await this.#open();
    if (socket === undefined) return;
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
      this.#noteAnswer(request, received);
      if (request.status !== undefined) socket.destroy();
    });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(this.#text(kind, id, request.reference), () => {
      request.sentMs = performance.now();
    });
    await Promise.race([closed, sleep(ANSWER_LIMIT_MS, undefined, { ref: false })]);
    socket.destroy();
  }

  /** Whether the answer was that there is nothing. */
  async #search(id: string): Promise<boolean> {
    const ledgerBytes = await this.options.installation.ledgerBytes();
    const search: Search = { id, ledgerBytes, sentMs: performance.now(), found: 'no answer' };
    this.searches.push(search);
    try {
      const { status, body } = await call(this.#caller(), 'GET', this.#searchPath(id), {
        timeoutMs: ANSWER_LIMIT_MS * 3,
      });
      const found = body?.results?.length > 0 ? 'something' : 'nothing';
      search.found = status === 200 ? found : 'no answer';
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      search.found = 'no answer';
    }
    return search.found === 'nothing';
  }

  #remember(id: string, reference: string): Request {
    const request = { id, reference, sentMs: undefined, status: undefined, answeredMs: undefined };
    this.requests.push(request);
    return request;
  }

  #noteAnswer(request: Request, received: string): void {
    if (request.status !== undefined) return;
    const header = `x-correlation-id: ${request.id}\r\n`;
    const answer = received
      .split('HTTP/1.1 ')
      .find((part) => part.includes(header) && part.includes('\r\n\r\n'));
    if (answer === undefined) return;
    request.status = Number(answer.slice(0, 3));
    request.answeredMs = performance.now();
  }

  #caller(): Caller {
    return {
      baseUrl: this.options.random.pick(this.options.gateways).baseUrl,
      authorization: this.options.installation.authorization,
    };
  }

  async #open(): Promise<Socket | undefined> {
    const { hostname, port } = new URL(this.options.random.pick(this.options.gateways).baseUrl);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    return new Promise((resolve) => {
      socket.on('error', () => resolve(undefined)).once('connect', () => resolve(socket));
    });
  }

  #searchPath(id: string): string {
    return `/transactions?merchant_id=${this.options.installation.merchantId}&correlation_id_lookup=${id}`;
  }

  #body(kind: string, reference: string, pan?: string): Json {
    const common = { merchant: this.options.installation.merchantId, reference };
    if (kind === 'void') return targetedBody(common);
    const amount = TARGET_OF[kind] === undefined ? 1_000 : 300;
    return TARGET_OF[kind] === undefined
      ? paymentBody({ ...common, amount, ...(pan !== undefined && { pan }) })
      : targetedBody({ ...common, amount });
  }

  #text(kind: string, id: string, reference: string, pan?: string): string {
    const target = TARGET_OF[kind] === undefined ? '' : `${this.#targetAudit}/`;
    const body = JSON.stringify(this.#body(kind, reference, pan));
    return this.#head('POST', `/transactions/${target}${kind}`, id, body);
  }

  #head(method: string, path: string, id: string, body = ''): string {
    const about =
      body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
    return (
      `${method} /v1${path} HTTP/1.1\r\nHost: gateway\r\nAuthorization: ${this.options.installation.authorization}\r\n` +
      `X-Correlation-Id: ${id}\r\n${about}\r\n${body}`
    );
  }
}
