// Bytes on the socket that are no request, not a whole one, or one with another hidden in it.
import { paymentBody } from '../../testkit/bodies.js';
import type { Chance } from '../../testkit/chance.js';
import type { Secrets } from '../arena/secrets.js';
import type { RawCase } from './case.js';
import type { HostileGateway } from './gateway.js';

interface Framing {
  readonly headers: readonly string[];
  readonly payload: string;
}

/** `hiddenLength`: of what is hidden, once its placeholders are filled in. */
function misleadingFramings(hidden: string, hiddenLength: number): Framing[] {
  const chunked = 'Transfer-Encoding: chunked';
  const bad = (...headers: string[]) => ({ headers, payload: `0\r\n\r\n${hidden}` });
  const badChunk = (payload: string) => ({ headers: [chunked], payload: payload + hidden });
  return [
    bad('Content-Length: 5', chunked),
    bad(chunked, 'Content-Length: 5'),
    bad(`Content-Length: ${hiddenLength + 5}`, chunked),
    bad('Content-Length: 5', 'Transfer-Encoding: xchunked'),
    bad('Content-Length: 5', 'Transfer-Encoding: chunked, identity'),
    bad('Content-Length: 5', 'Transfer-Encoding: identity'),
    bad('Content-Length: 5', 'Transfer-Encoding:\tchunked'),
    bad('Content-Length: 5', 'Transfer-Encoding:', ' chunked'),
    bad('Content-Length: 5', 'Transfer-Encoding : chunked'),
    bad('Content-Length: 5', chunked, 'Transfer-Encoding: x'),
    bad('Transfer-Encoding: gzip'),
    bad('Content-Length: 5', 'Content-Length: 0'),
    bad('Content-Length: 5, 5'),
    bad('Content-Length: +5'),
    bad('Content-Length: 0x5'),
    bad('Content-Length: 5 5'),
    bad('Content-Length: -5'),
    bad('Content-Length: 99999999999999999999999'),
    bad('Content-Length:'),
    badChunk('0x5\r\nhello\r\n0\r\n\r\n'),
    badChunk('-5\r\nhello\r\n0\r\n\r\n'),
    badChunk('5 \r\nhello\r\n0\r\n\r\n'.replace('5 ', 'g')),
    badChunk('ffffffffffffffffff\r\n'),
    badChunk('5\r\nhelloXX0\r\n\r\n'),
    badChunk('5\r\nhello0\r\n\r\n'),
    badChunk('\r\n\r\n'),
    badChunk(`${'5'.repeat(400)}\r\n`),
  ];
}

const CRLF = '\r\n';
const head = (line: string, headers: readonly string[]) =>
  `${line}${CRLF}${headers.map((one) => one + CRLF).join('')}${CRLF}`;
const AUTHORIZATION = 'Authorization: <<authorization>>';

const KINDS = [
  'randomBytes',
  'beginningOfARequest',
  'otherProtocols',
  'otherVersions',
  'tunnel',
  'cutOff',
  'damagedHead',
  'largeHeads',
  'largeAddress',
  'announcedTooLarge',
  'otherForms',
  'pipelined',
  'flood',
  'hiddenInABody',
  'hiddenInABody',
  'hiddenByFraming',
  'hiddenByFraming',
] as const;

/** What a kind of bytes comes to, before it has a name. */
type Made = Omit<RawCase, 'what' | 'raw'>;

export class RawCases {
  readonly #chance: Chance;
  readonly #secrets: Secrets;
  readonly #grownBy: number;

  constructor(chance: Chance, secrets: Secrets, { authorization }: Pick<HostileGateway, 'authorization'>) {
    this.#chance = chance;
    this.#secrets = secrets;
    this.#grownBy = authorization.length - '<<authorization>>'.length;
  }

  /** When its placeholders are filled in; other placeholders than this one do not stand in bodies. */
  #lengthOf(text: string): number {
    return text.length + this.#grownBy * (text.split('<<authorization>>').length - 1);
  }

  /** A whole purchase as bytes, which would be paid if it were read as a request. */
  #purchase(id: string, headers: readonly string[] = []): { head: string; body: string } {
    const [pan, cvv] = [this.#secrets.card(), this.#secrets.cvv()];
    const body = JSON.stringify(paymentBody({ reference: 'hidden', amount: 1995, pan, cvv }));
    const fields = [
      'Host: gateway',
      AUTHORIZATION,
      `X-Correlation-Id: ${id}`,
      'Content-Type: application/json',
    ];
    const length = `Content-Length: ${body.length}`;
    return { head: head('POST /v1/transactions/purchase HTTP/1.1', [...fields, length, ...headers]), body };
  }

  #lookUp(id: string, headers: readonly string[] = []): string {
    const fields = ['Host: gateway', AUTHORIZATION, `X-Correlation-Id: ${id}`];
    return head('GET /v1/transactions/<<purchase>> HTTP/1.1', [...fields, ...headers]);
  }

  next(): RawCase {
    const kind = this.#chance.pick(KINDS);
    return { what: `raw: ${kind}`, raw: true, ...this[kind]() };
  }

  randomBytes(): Made {
    return { parts: [this.#chance.bytes(this.#chance.between(1, 4_000))], expect: {} };
  }

  beginningOfARequest(): Made {
    const line = this.#chance.pick([
      'GET ',
      'POST /v1/',
      'DELETE /v1/customers HTTP/1.1\r\n',
      'GET / HTTP/1.1\r\nHost:',
    ]);
    return { parts: [line + this.#chance.bytes(this.#chance.between(1, 400))], expect: {} };
  }

  otherProtocols(): Made {
    const hello = '\u0016\u0003\u0001\u0000\u00c8\u0001\u0000\u0000\u00c4\u0003\u0003';
    const bytes = this.#chance.pick([
      hello + this.#chance.bytes(193),
      'SSH-2.0-OpenSSH_9.0\r\n',
      'EHLO gateway\r\n',
      '\u0000\u0000\u0000\u0008\u0004\u00d2\u0016/',
      'PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n',
      'BREW /v1/transactions HTTP/1.1\r\nHost: gateway\r\n\r\n',
    ]);
    return { parts: [bytes], expect: { statuses: [400] } };
  }

  otherVersions(): Made {
    const bytes = this.#chance.pick([
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'GET /v1/transactions HTTP/2.0\r\nHost: gateway\r\n\r\n',
      'GET /v1/transactions HTTP/9.9\r\nHost: gateway\r\n\r\n',
      'GET /v1/transactions\r\n\r\n',
    ]);
    return { parts: [bytes], expect: { statuses: [505] } };
  }

  tunnel(): Made {
    const bytes = 'CONNECT gateway:443 HTTP/1.1\r\nHost: gateway\r\n\r\n';
    return { parts: [bytes], expect: { statuses: [405] } };
  }

  cutOff(): Made {
    const id = this.#chance.id();
    const { head: top, body } = this.#purchase(id);
    const whole = top + body;
    const parts = [whole.slice(0, this.#chance.below(whole.length))];
    return { parts, reset: this.#chance.below(2) === 0, expect: { unprocessed: [id] } };
  }

  damagedHead(): Made {
    const request = this.#lookUp(this.#chance.id(), ['Connection: close']);
    const at = this.#chance.below(request.length);
    const foreign = this.#chance.pick([
      '\r',
      '\n',
      '\0',
      ' ',
      '\t',
      ':',
      '\r\n',
      '\r\n ',
      this.#chance.bytes(1),
    ]);
    return {
      parts: [request.slice(0, at) + foreign + request.slice(at + this.#chance.below(2))],
      expect: {},
    };
  }

  largeHeads(): Made {
    const chance = this.#chance;
    const headers = chance.pick([
      () => [`X-Long: ${'x'.repeat(chance.between(17_000, 200_000))}`],
      () => [`${'X'.repeat(20_000)}: 1`],
      () =>
        Array.from({ length: chance.between(1_500, 4_000) }, (_, index) => `X-${index}: ${chance.digits(9)}`),
      () => [`Cookie: ${'a=b; '.repeat(5_000)}`],
      () => [`Authorization: Basic ${'A'.repeat(30_000)}`],
    ])();
    return { parts: [this.#lookUp(chance.id(), headers)], expect: { statuses: [431] } };
  }

  largeAddress(): Made {
    const line = `GET /v1/transactions/${'1'.repeat(this.#chance.between(17_000, 60_000))} HTTP/1.1`;
    return { parts: [head(line, ['Host: gateway'])], expect: { statuses: [431] } };
  }

  announcedTooLarge(): Made {
    const length = this.#chance.pick(['131073', '10000000000', '9007199254740991', '18446744073709551615']);
    const { head: top } = this.#purchase(this.#chance.id());
    return {
      parts: [top.replace(/Content-Length: \d+/, `Content-Length: ${length}`)],
      expect: { statuses: [400, 413] },
    };
  }

  otherForms(): Made {
    const chance = this.#chance;
    const id = chance.id();
    const close = ['Connection: close'];
    const parts = chance.pick([
      [this.#lookUp(id, close).replace('GET /', 'GET http://elsewhere.example/')],
      [this.#lookUp(id, close).replace('HTTP/1.1', 'HTTP/1.0')],
      [this.#lookUp(id, close).replace('Host: gateway\r\n', '')],
      [this.#lookUp(id, close).replace('Host: gateway', 'Host: a\r\nHost: b')],
      [this.#lookUp(id, close).replace('GET /v1', 'OPTIONS *')],
      [this.#lookUp(id, ['Upgrade: h2c', 'Connection: Upgrade, HTTP2-Settings', 'HTTP2-Settings: AAMAAABk'])],
      [this.#lookUp(id, ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Key: AAAA'])],
      [this.#lookUp(id, ['Expect: something', ...close])],
      [this.#lookUp(id, ['X-Folded: a', ' b', ...close])],
      [this.#lookUp(id, ['X-Spaced : a', ...close])],
      [this.#lookUp(id, close).replaceAll('\r\n', '\n')],
      [this.#lookUp(id, close).replaceAll('\r\n', '\r')],
      [`\r\n\r\n${this.#lookUp(id, close)}`],
    ]);
    return { parts, expect: {} };
  }

  pipelined(): Made {
    const ids = Array.from({ length: this.#chance.between(2, 12) }, () => this.#chance.id());
    const requests = ids.map((id, index) => {
      const last = index === ids.length - 1 ? ['Connection: close'] : [];
      if (this.#chance.below(3) > 0) return this.#lookUp(id, last);
      const { head: top, body } = this.#purchase(id, last);
      return top + body;
    });
    return { parts: this.#torn(requests.join('')), pauseMs: 1, hold: true, expect: { answered: ids } };
  }

  /** As many small requests as a packet holds, or a few too many. */
  flood(): Made {
    const chance = this.#chance;
    const line = chance.pick([
      'GET /livez',
      'GET /',
      'GET /v1/openapi.json',
      'GET /v1/transactions/1',
      'DELETE /v1/customers/1',
    ]);
    const request = `${line} HTTP/1.1\r\nHost:a\r\n\r\n`;
    // All are answered: with the document, a few hundred are tens of megabytes.
    const counts = line.endsWith('.json') ? [60, 70] : [60, 70, 300, 2_000];
    return { parts: [request.repeat(chance.pick(counts))], expect: {} };
  }

  /** In pieces that end anywhere but in a placeholder. */
  #torn(text: string): string[] {
    const placeholders = [...text.matchAll(/<<\w+>>/g)].map(
      ({ 0: { length }, index }) => [index, index + length] as const,
    );
    const cuts = Array.from({ length: this.#chance.below(5) }, () => this.#chance.below(text.length)).filter(
      (at) => !placeholders.some(([from, to]) => at > from && at < to),
    );
    const places = [0, ...cuts.toSorted((one, other) => one - other), text.length];
    return places.slice(1).map((end, index) => text.slice(places[index], end));
  }

  /** A request in the body of another one, which is refused before or after the body was read, or accepted. */
  hiddenInABody(): Made {
    const chance = this.#chance;
    const [id, inner] = [chance.id(), chance.id()];
    const { head: top, body } = this.#purchase(inner);
    const hidden = top + body;
    const outer = chance.pick<[string, string[], number[] | undefined]>([
      ['POST /v1/transactions/purchase HTTP/1.1', [AUTHORIZATION, 'Content-Type: application/json'], [400]],
      ['POST /v1/transactions/purchase HTTP/1.1', [AUTHORIZATION, 'Content-Type: text/plain'], [415]],
      ['POST /v1/transactions/purchase HTTP/1.1', ['Content-Type: application/json'], [401]],
      ['POST /v1/nowhere HTTP/1.1', [AUTHORIZATION, 'Content-Type: application/json'], [404]],
      ['PUT /v1/transactions/purchase HTTP/1.1', [AUTHORIZATION, 'Content-Type: application/json'], [405]],
      ['GET /v1/transactions/<<purchase>> HTTP/1.1', [AUTHORIZATION], [200]],
      ['GET /v1/transactions/abc%zz HTTP/1.1', [AUTHORIZATION], [400]],
      ['DELETE /v1/customers/2147483647 HTTP/1.1', [AUTHORIZATION], [404, 415]],
      ['HEAD /livez HTTP/1.1', [], [200]],
      ['GET /livez HTTP/1.1', ['Upgrade: websocket', 'Connection: Upgrade'], undefined],
    ]);
    const [line, headers, statuses] = outer;
    const common = ['Host: gateway', `X-Correlation-Id: ${id}`, ...headers];
    if (chance.below(4) === 0) common.push('Expect: 100-continue');
    const chunked = chance.below(2) === 0;
    const payload = chunked ? this.#chunks(hidden) : hidden;
    const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${this.#lengthOf(hidden)}`;
    const parts = [head(line, [...common, framing]), ...this.#torn(payload)];
    // What may come back first; nothing may come for what is hidden.
    return { parts, pauseMs: chance.pick([0, 2]), expect: { statuses, unprocessed: [inner], atMost: 1 } };
  }

  #chunks(text: string): string {
    const extension = this.#chance.pick(['', ';a=b', ';a="\t"']);
    const pieces = this.#torn(text).filter((piece) => piece !== '');
    const trailer = this.#chance.pick(['', 'X-Trailer: a\r\n']);
    return `${pieces.map((piece) => `${this.#lengthOf(piece).toString(16)}${extension}\r\n${piece}\r\n`).join('')}0\r\n${trailer}\r\n`;
  }

  /** Two ways to say where the body ends, or one that is wrong: the connection must end before what follows. */
  hiddenByFraming(): Made {
    const chance = this.#chance;
    const inner = chance.id();
    const { head: top, body } = this.#purchase(inner);
    const hidden = top + body;
    const { headers, payload } = chance.pick(misleadingFramings(hidden, this.#lengthOf(hidden)));
    const common = [
      'Host: gateway',
      AUTHORIZATION,
      `X-Correlation-Id: ${chance.id()}`,
      'Content-Type: application/json',
    ];
    const parts = [head('POST /v1/transactions/purchase HTTP/1.1', [...common, ...headers]) + payload];
    return { parts, expect: { unprocessed: [inner], atMost: 1 } };
  }
}
