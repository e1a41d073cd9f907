// Traces: the trace ID of a request in its lines of the log, and spans as a collector gets them.
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Json, paymentBody } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { logLines } from '../../testkit/requests.js';
import { scrape } from '../../testkit/scrape.js';
import { cardWithFault } from '../../testkit/test-cards.js';

const PATIENTLY = { timeout: 300_000 };
const posts: { path: string | undefined; headers: IncomingHttpHeaders; body: Json }[] = [];
/** What the collector answers. */
let answers = 200;
let collector: Server;
let gateway: TestGateway;

beforeAll(async () => {
  collector = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = JSON.parse(Buffer.concat(pieces).toString('utf8'));
    posts.push({ path: request.url, headers: request.headers, body });
    response.writeHead(answers, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = collector.address() as AddressInfo;
  gateway = await testGateway({
    settings: { OTLP_ENDPOINT: `http://127.0.0.1:${port}/otel/`, OTLP_HEADERS: 'x-key=one=1, x-team=pay' },
  });
});
afterAll(async () => {
  await gateway.close();
  collector.closeAllConnections();
  collector.close();
});

const newId = (bytes: number) => `a${randomBytes(bytes).toString('hex').slice(1)}`;

async function purchaseWith(traceparent: string, change: Json = {}): Promise<Json> {
  return gateway.api.call('/transactions/purchase', {
    method: 'POST',
    headers: { traceparent },
    body: paymentBody(change),
  });
}

const linesOf = (traceId: string) => logLines(gateway).filter((line) => line.trace_id === traceId);
const received = (): Json[] =>
  posts.flatMap(({ body }) => body.resourceSpans[0].scopeSpans[0].spans as Json[]);

async function spansOf(traceId: string, count: number): Promise<Json[]> {
  return vi.waitUntil(() => {
    const found = received().filter((span) => span.traceId === traceId);
    return found.length === count && found;
  }, PATIENTLY);
}

describe('the log', () => {
  test('traceparent → its trace ID is in the line of the request, and in that of a failed answer', async () => {
    const traceId = newId(16);
    await purchaseWith(`00-${traceId}-${newId(8)}-00`);
    expect(linesOf(traceId)).toMatchObject([{ msg: 'request', status: 201 }]);
    const failing = newId(16);
    await purchaseWith(`00-${failing}-${newId(8)}-00`, { pan: cardWithFault('05') });
    await vi.waitUntil(() => linesOf(failing).some(({ msg }) => msg === 'failed answers'), PATIENTLY);
  });

  test.each([
    [
      'of a later version, with more behind it',
      (trace: string, span: string) => `cc-${trace}-${span}-01-what-ever`,
      true,
    ],
    ['of version ff', (trace: string, span: string) => `ff-${trace}-${span}-01`, false],
    ['with more behind it', (trace: string, span: string) => `00-${trace}-${span}-01-more`, false],
    ['in capitals', (trace: string, span: string) => `00-${trace.toUpperCase()}-${span}-01`, false],
    ['with a parent of zeros', (trace: string) => `00-${trace}-${'0'.repeat(16)}-01`, false],
    ['cut short', (trace: string) => `00-${trace}`, false],
    ['twice', (trace: string, span: string) => `00-${trace}-${span}-01, 00-${trace}-${span}-01`, false],
    // catches(traces: a malformed header is ignored)
  ])('traceparent %s → accepted: %s', async (_, header, taken) => {
    const traceId = newId(16);
    expect((await purchaseWith(header(traceId, newId(8)))).status).toBe(201);
    expect(linesOf(traceId).length).toBe(taken ? 1 : 0);
  });

  // catches(traces: no card number comes into the log as a trace ID)
  test('a trace ID of zeros, or of digits alone, as a card number would be → ignored', async () => {
    for (const traceId of ['0'.repeat(32), `4111111111111111${'0'.repeat(16)}`]) {
      expect((await purchaseWith(`00-${traceId}-${newId(8)}-01`)).status).toBe(201);
      expect(linesOf(traceId)).toEqual([]);
    }
    expect(gateway.logged()).not.toContain('4111111111111111');
  });

  test('without traceparent → no trace ID', async () => {
    await gateway.api.purchase({ reference: 'untraced' });
    expect(
      logLines(gateway)
        .filter((line) => line.msg === 'request')
        .at(-1),
    ).not.toHaveProperty('trace_id');
  });
});

describe('spans', () => {
  test('a sampled purchase → the request span under its parent, with claim, acquirer and record inside, in the format of the protocol', async () => {
    const [traceId, parentId] = [newId(16), newId(8)];
    await purchaseWith(`00-${traceId}-${parentId}-01`);
    const spans = await spansOf(traceId, 4);
    const [request, ...steps] = spans;
    expect(request).toEqual({
      traceId,
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      parentSpanId: parentId,
      name: 'POST /v1/transactions/purchase',
      kind: 2,
      startTimeUnixNano: expect.stringMatching(/^\d{19}$/),
      endTimeUnixNano: expect.stringMatching(/^\d{19}$/),
      attributes: [
        { key: 'http.request.method', value: { stringValue: 'POST' } },
        { key: 'http.route', value: { stringValue: '/v1/transactions/purchase' } },
        { key: 'http.response.status_code', value: { intValue: '201' } },
      ],
      status: {},
    });
    expect(steps.map(({ name, kind }) => [name, kind])).toEqual([
      ['claim', 1],
      ['acquirer', 3],
      ['record', 1],
    ]);
    expect(steps.map(({ parentSpanId }) => parentSpanId)).toEqual(new Array(3).fill(request.spanId));
    expect(steps[1].attributes).toEqual([{ key: 'tollgate.link', value: { stringValue: 'simulator' } }]);
    // In order, and within the request.
    const times = [
      request.startTimeUnixNano,
      ...steps.map((step) => step.startTimeUnixNano),
      request.endTimeUnixNano,
    ];
    expect(times.map(BigInt)).toEqual([...times.map(BigInt)].sort((one, other) => (one < other ? -1 : 1)));
    for (const { startTimeUnixNano, endTimeUnixNano } of spans)
      expect(BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano)).toBe(true);
    expect(Math.abs(Number(BigInt(request.endTimeUnixNano) / 1_000_000n) - Date.now())).toBeLessThan(60_000);
    const post = posts.find(({ body }) => JSON.stringify(body).includes(traceId));
    expect(post).toMatchObject({
      path: '/otel/v1/traces',
      headers: { 'content-type': 'application/json', 'x-key': 'one=1', 'x-team': 'pay' },
    });
    const attributes = post?.body.resourceSpans[0].resource.attributes;
    expect(attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'tollgate' } });
  });

  // catches(traces: only requests whose client wants it are sent)
  test('a failed request is an error; a look-up is one span; an unsampled request has none; no span has a card number', async () => {
    const [failing, looking, unsampled] = [newId(16), newId(16), newId(16)];
    await purchaseWith(`00-${unsampled}-${newId(8)}-00`);
    const pan = cardWithFault('05');
    await purchaseWith(`00-${failing}-${newId(8)}-01`, { pan, reference: 'a secret' });
    await gateway.api.call('/transactions/999', { headers: { traceparent: `00-${looking}-${newId(8)}-03` } });
    expect((await spansOf(failing, 4))[0]).toMatchObject({ status: { code: 2 } });
    expect((await spansOf(looking, 1))[0]).toMatchObject({ name: 'GET /v1/transactions/:audit', status: {} });
    expect(received().filter(({ traceId }) => traceId === unsampled)).toEqual([]);
    expect(JSON.stringify(posts)).not.toContain(pan);
    // IDs are made by chance: some have as many digits as a card.
    const withoutIds = JSON.stringify(posts, (name, value) => (/Id$/.test(name) ? '' : value));
    expect(withoutIds).not.toMatch(/\d{13,16}(?!\d)(?<!\d{19})|a secret|owner|merchant/);
  });

  // catches(traces: a malformed header is ignored)
  test('a collector that refuses or is away → spans are dropped and counted, logged once; payments go on; back → sent again, logged once', async () => {
    const said = (msg: string) => logLines(gateway).filter((line) => line.msg === msg).length;
    const dropped = async () => (await scrape(gateway.operatorsUrl)).sum('tollgate_spans_dropped_total') ?? 0;
    answers = 503;
    for (const before of [0, 4]) {
      expect((await purchaseWith(`00-${newId(16)}-${newId(8)}-01`)).status).toBe(201);
      await vi.waitUntil(async () => (await dropped()) > before, PATIENTLY);
    }
    expect(said('the collector does not take spans')).toBe(1);
    answers = 200;
    const traceId = newId(16);
    await purchaseWith(`00-${traceId}-${newId(8)}-01`);
    await spansOf(traceId, 4);
    await vi.waitUntil(() => said('the collector takes spans again') === 1, PATIENTLY);
    expect((await scrape(gateway.operatorsUrl)).sum('tollgate_spans_exported_total')).toBeGreaterThan(0);
  });
});
