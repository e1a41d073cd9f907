// Bytes on the socket that are no request, not a whole one, or one with another hidden in it.

const CRLF = '\r\n';
const head = (line, headers) => `${line}${CRLF}${headers.map((one) => one + CRLF).join('')}${CRLF}`;
const AUTHORIZATION = 'Authorization: <<authorization>>';

export class RawCases {
  #grownBy;

  constructor(chance, secrets, { authorization }) {
    this.chance = chance;
    this.secrets = secrets;
    this.#grownBy = authorization.length - '<<authorization>>'.length;
  }

  /** When its placeholders are filled in; other placeholders than this one do not stand in bodies. */
  #lengthOf(text) {
    return text.length + this.#grownBy * (text.split('<<authorization>>').length - 1);
  }

  /** A whole purchase as bytes, which would be paid if it were read as a request. */
  #purchase(id, headers = []) {
    const body = JSON.stringify({
      merchant: { id: 1 },
      transaction: {
        reference: 'hidden',
        amount_details: { total_amount: '1995', currency: 'AUD' },
        payment_method: {
          creditcard: { pan: this.secrets.card(), expiry_date: '1239', cvv: this.secrets.cvv() },
        },
      },
    });
    const fields = [
      'Host: gateway',
      AUTHORIZATION,
      `X-Correlation-Id: ${id}`,
      'Content-Type: application/json',
    ];
    const length = `Content-Length: ${body.length}`;
    return { head: head('POST /v1/transactions/purchase HTTP/1.1', [...fields, length, ...headers]), body };
  }

  #lookUp(id, headers = []) {
    const fields = ['Host: gateway', AUTHORIZATION, `X-Correlation-Id: ${id}`];
    return head('GET /v1/transactions/<<purchase>> HTTP/1.1', [...fields, ...headers]);
  }

  next() {
    const kind = this.chance.one(KINDS);
    return { what: `raw: ${kind}`, raw: true, ...this[kind]() };
  }

  randomBytes() {
    return { parts: [this.chance.bytes(this.chance.between(1, 4_000))], expect: {} };
  }

  beginningOfARequest() {
    const line = this.chance.one([
      'GET ',
      'POST /v1/',
      'DELETE /v1/customers HTTP/1.1\r\n',
      'GET / HTTP/1.1\r\nHost:',
    ]);
    return { parts: [line + this.chance.bytes(this.chance.between(1, 400))], expect: {} };
  }

  otherProtocols() {
    const hello = '\u0016\u0003\u0001\u0000\u00c8\u0001\u0000\u0000\u00c4\u0003\u0003';
    const bytes = this.chance.one([
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      hello + this.chance.bytes(193),
      'SSH-2.0-OpenSSH_9.0\r\n',
      'EHLO gateway\r\n',
      '\u0000\u0000\u0000\u0008\u0004\u00d2\u0016/',
      'PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n',
      'BREW /v1/transactions HTTP/1.1\r\nHost: gateway\r\n\r\n',
      'GET /v1/transactions HTTP/9.9\r\nHost: gateway\r\n\r\n',
      'GET /v1/transactions\r\n',
    ]);
    return { parts: [bytes], expect: { statuses: [400] } };
  }

  tunnel() {
    const bytes = 'CONNECT gateway:443 HTTP/1.1\r\nHost: gateway\r\n\r\n';
    return { parts: [bytes], expect: { statuses: [405] } };
  }

  cutOff() {
    const id = this.chance.id();
    const { head: top, body } = this.#purchase(id);
    const whole = top + body;
    const parts = [whole.slice(0, this.chance.below(whole.length))];
    return { parts, reset: this.chance.below(2) === 0, expect: { unprocessed: [id] } };
  }

  damagedHead() {
    const request = this.#lookUp(this.chance.id(), ['Connection: close']);
    const at = this.chance.below(request.length);
    const foreign = this.chance.one([
      '\r',
      '\n',
      '\0',
      ' ',
      '\t',
      ':',
      '\r\n',
      '\r\n ',
      this.chance.bytes(1),
    ]);
    return { parts: [request.slice(0, at) + foreign + request.slice(at + this.chance.below(2))], expect: {} };
  }

  largeHeads() {
    const { chance } = this;
    const headers = chance.one([
      () => [`X-Long: ${'x'.repeat(chance.between(17_000, 200_000))}`],
      () => [`${'X'.repeat(20_000)}: 1`],
      () =>
        Array.from({ length: chance.between(1_500, 4_000) }, (_, index) => `X-${index}: ${chance.digits(9)}`),
      () => [`Cookie: ${'a=b; '.repeat(5_000)}`],
      () => [`Authorization: Basic ${'A'.repeat(30_000)}`],
    ])();
    return { parts: [this.#lookUp(chance.id(), headers)], expect: { statuses: [431] } };
  }

  largeAddress() {
    const line = `GET /v1/transactions/${'1'.repeat(this.chance.between(17_000, 60_000))} HTTP/1.1`;
    return { parts: [head(line, ['Host: gateway'])], expect: { statuses: [431] } };
  }

  announcedTooLarge() {
    const length = this.chance.one(['131073', '10000000000', '9007199254740991', '18446744073709551615']);
    const { head: top } = this.#purchase(this.chance.id());
    return {
      parts: [top.replace(/Content-Length: \d+/, `Content-Length: ${length}`)],
      expect: { statuses: [400, 413] },
    };
  }

  otherForms() {
    const { chance } = this;
    const id = chance.id();
    const close = ['Connection: close'];
    const parts = chance.one([
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

  pipelined() {
    const ids = Array.from({ length: this.chance.between(2, 12) }, () => this.chance.id());
    const requests = ids.map((id, index) => {
      const last = index === ids.length - 1 ? ['Connection: close'] : [];
      if (this.chance.below(3) > 0) return this.#lookUp(id, last);
      const { head: top, body } = this.#purchase(id, last);
      return top + body;
    });
    return { parts: this.#torn(requests.join('')), pauseMs: 1, hold: true, expect: { answered: ids } };
  }

  /** As many small requests as a packet holds, or a few too many. */
  flood() {
    const { chance } = this;
    const line = chance.one([
      'GET /livez',
      'GET /',
      'GET /v1/openapi.json',
      'GET /v1/transactions/1',
      'DELETE /v1/customers/1',
    ]);
    const request = `${line} HTTP/1.1\r\nHost:a\r\n\r\n`;
    // All are answered: with the document, a few hundred are tens of megabytes.
    const counts = line.endsWith('.json') ? [60, 70] : [60, 70, 300, 2_000];
    return { parts: [request.repeat(chance.one(counts))], expect: {} };
  }

  /** In pieces that end anywhere but in a placeholder. */
  #torn(text) {
    const placeholders = [...text.matchAll(/<<\w+>>/g)].map(({ 0: { length }, index }) => [
      index,
      index + length,
    ]);
    const cuts = Array.from({ length: this.chance.below(5) }, () => this.chance.below(text.length)).filter(
      (at) => !placeholders.some(([from, to]) => at > from && at < to),
    );
    const places = [0, ...cuts.toSorted((one, other) => one - other), text.length];
    return places.slice(1).map((end, index) => text.slice(places[index], end));
  }

  /** A request in the body of another one, which is refused before or after the body was read, or accepted. */
  hiddenInABody() {
    const { chance } = this;
    const [id, inner] = [chance.id(), chance.id()];
    const { head: top, body } = this.#purchase(inner);
    const hidden = top + body;
    const outer = chance.one([
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
    return { parts, pauseMs: chance.one([0, 2]), expect: { statuses, unprocessed: [inner], atMost: 1 } };
  }

  #chunks(text) {
    const extension = this.chance.one(['', ';a=b', ';a="\t"']);
    const pieces = this.#torn(text).filter((piece) => piece !== '');
    const trailer = this.chance.one(['', 'X-Trailer: a\r\n']);
    return `${pieces.map((piece) => `${this.#lengthOf(piece).toString(16)}${extension}\r\n${piece}\r\n`).join('')}0\r\n${trailer}\r\n`;
  }

  /** Two ways to say where the body ends, or one that is wrong: the connection must end before what follows. */
  hiddenByFraming() {
    const { chance } = this;
    const inner = chance.id();
    const { head: top, body } = this.#purchase(inner);
    const hidden = top + body;
    const chunked = 'Transfer-Encoding: chunked';
    const bad = (...headers) => ({ headers, payload: `0\r\n\r\n${hidden}` });
    const badChunk = (payload) => ({ headers: [chunked], payload: payload + hidden });
    const { headers, payload } = chance.one([
      bad('Content-Length: 5', chunked),
      bad(chunked, 'Content-Length: 5'),
      bad(`Content-Length: ${this.#lengthOf(hidden) + 5}`, chunked),
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
    ]);
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

const KINDS = [
  'randomBytes',
  'beginningOfARequest',
  'otherProtocols',
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
];
