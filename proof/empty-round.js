// One round: a request under a correlation ID, in whatever pieces, and searches for that ID at both gateways around it.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, Unanswered } from './client.js';
import { paymentBody, targetedBody } from './installation.js';

const ANSWER_LIMIT_MS = 20_000;
const SLOW_CARD = '4200000000000067';
const TARGET_OF = { refund: 'purchase', void: 'purchase', completion: 'preauthorisation' };
const KINDS = ['purchase', 'purchase', 'purchase', 'preauthorisation', 'refund', 'void', 'completion'];

/** What a round remembers of a request: when it had been sent wholly, and what came back. */
/** @typedef {{ id: string, reference: string, sentMs: number | undefined, status: number | undefined, answeredMs: number | undefined }} Request */
/** And of a search: before it was sent, the ledger had so many bytes. */
/** @typedef {{ id: string, sentMs: number, ledgerBytes: number, found: 'nothing' | 'something' | 'no answer' }} Search */

export class Round {
  #installation;
  #gateways;
  #random;
  #name;
  #targetAudit;

  /** @type {Request[]} */
  requests = [];
  /** @type {Search[]} */
  searches = [];

  constructor({ installation, gateways, random, name }) {
    this.#installation = installation;
    this.#gateways = gateways;
    this.#random = random;
    this.#name = name;
  }

  async run() {
    const random = this.#random;
    const kind = random.pick(KINDS);
    if (!(await this.#makeTarget(TARGET_OF[kind]))) return;
    const ids = [this.#name];
    // Now and then two requests of one round stand one behind the other.
    if (random.chance(20)) ids.push(`${this.#name}-too`);
    const searching = ids.flatMap((id) =>
      Array.from({ length: random.between(1, 3) }, async () => {
        await sleep(random.between(0, random.pick([30, 300, 1_500])));
        const nothing = await this.#search(id);
        if (nothing && random.chance(30)) await this.#sendAgain(kind, id);
      }),
    );
    await Promise.all([this.#send(kind, ids), ...searching]);
    await this.#search(this.#name);
  }

  async #makeTarget(kind) {
    if (kind === undefined) return true;
    try {
      const made = await call(this.#caller(), 'POST', `/transactions/${kind}`, {
        correlationId: `${this.#name}-target`,
        body: this.#body(kind, `${this.#name}-target`),
      });
      this.#targetAudit = made.audit;
      return made.status === 201;
    } catch (error) {
      if (error instanceof Unanswered) return false;
      throw error;
    }
  }

  /** In pieces with pauses between them, perhaps behind others, perhaps by somebody who hangs up. */
  async #send(kind, ids) {
    const random = this.#random;
    const requests = ids.map((id) => this.#remember(id, `${id}-first`));
    const ahead = random.chance(35) ? this.#somethingAhead() : '';
    const texts = requests.map(({ id, reference }) => this.#text(kind, id, reference));
    const whole = ahead + texts.join('');
    const cuts = Array.from({ length: random.between(0, 4) }, () => random.below(whole.length));
    const ends = [...new Set([...cuts, whole.length])].sort((one, other) => one - other);
    // Some never send the last bytes.
    if (random.chance(10)) ends.pop();

    const socket = await this.#open();
    if (socket === undefined) return;
    let received = '';
    socket.setEncoding('latin1').on('data', (text) => {
      received += text;
      for (const request of requests) this.#noteAnswer(request, received);
      if (requests.every(({ status }) => status !== undefined)) socket.destroy();
    });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    let from = 0;
    for (const end of ends) {
      if (socket.destroyed) break;
      await new Promise((resolve) => socket.write(whole.slice(from, end), resolve));
      let at = ahead.length;
      for (const [index, text] of texts.entries()) {
        at += text.length;
        if (from < at && at <= end) requests[index].sentMs = performance.now();
      }
      from = end;
      if (end < whole.length) await sleep(random.between(0, random.pick([5, 50, 400])));
    }
    if (random.chance(25)) {
      await sleep(random.between(0, 60));
      if (random.chance(50)) socket.resetAndDestroy();
      else socket.destroy();
    }
    await Promise.race([
      closed,
      sleep(from < whole.length ? 2_000 : ANSWER_LIMIT_MS, undefined, { ref: false }),
    ]);
    socket.destroy();
  }

  /** Served before it on the same connection: quick, or slow. */
  #somethingAhead() {
    const random = this.#random;
    if (random.chance(40)) return this.#head('GET', '/transactions/1', `${this.#name}-look-up`);
    if (random.chance(40)) return this.#head('GET', this.#searchPath(this.#name), `${this.#name}-search`);
    const { reference } = this.#remember(`${this.#name}-ahead`, `${this.#name}-ahead`);
    return this.#text('purchase', reference, reference, random.chance(30) ? SLOW_CARD : undefined);
  }

  /** As after an empty answer, by somebody who does not take another correlation ID. */
  async #sendAgain(kind, id) {
    const request = this.#remember(id, `${id}-again-${this.requests.length}`);
    const socket = await this.#open();
    if (socket === undefined) return;
    let received = '';
    socket.setEncoding('latin1').on('data', (text) => {
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
  async #search(id) {
    const search = { id, ledgerBytes: await this.#installation.ledgerBytes(), sentMs: performance.now() };
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

  #remember(id, reference) {
    const request = { id, reference, sentMs: undefined, status: undefined, answeredMs: undefined };
    this.requests.push(request);
    return request;
  }

  #noteAnswer(request, received) {
    if (request.status !== undefined) return;
    const header = `x-correlation-id: ${request.id}\r\n`;
    const answer = received
      .split('HTTP/1.1 ')
      .find((part) => part.includes(header) && part.includes('\r\n\r\n'));
    if (answer === undefined) return;
    request.status = Number(answer.slice(0, 3));
    request.answeredMs = performance.now();
  }

  #caller() {
    return {
      baseUrl: this.#random.pick(this.#gateways).baseUrl,
      authorization: this.#installation.authorization,
    };
  }

  async #open() {
    const { hostname, port } = new URL(this.#random.pick(this.#gateways).baseUrl);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    return new Promise((resolve) => {
      socket.on('error', () => resolve(undefined)).once('connect', () => resolve(socket));
    });
  }

  #searchPath(id) {
    return `/transactions?merchant_id=${this.#installation.merchantId}&correlation_id_lookup=${id}`;
  }

  #body(kind, reference, pan) {
    const common = { merchantId: this.#installation.merchantId, reference };
    if (kind === 'void') return targetedBody(common);
    const amountCents = TARGET_OF[kind] === undefined ? 1_000 : 300;
    return TARGET_OF[kind] === undefined
      ? paymentBody({ ...common, amountCents, ...(pan !== undefined && { pan }) })
      : targetedBody({ ...common, amountCents });
  }

  #text(kind, id, reference, pan) {
    const target = TARGET_OF[kind] === undefined ? '' : `${this.#targetAudit}/`;
    const body = JSON.stringify(this.#body(kind, reference, pan));
    return this.#head('POST', `/transactions/${target}${kind}`, id, body);
  }

  #head(method, path, id, body = '') {
    const about =
      body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
    return (
      `${method} /v1${path} HTTP/1.1\r\nHost: gateway\r\nAuthorization: ${this.#installation.authorization}\r\n` +
      `X-Correlation-Id: ${id}\r\n${about}\r\n${body}`
    );
  }
}
