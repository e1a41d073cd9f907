// What the TypeScript client does without a gateway: settings, webhooks, and answers of gateways that are not written yet.
import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  outcomeOf,
  Tollgate,
  type TollgateOptions,
  type TransactionStatus,
  transactionTypeOf,
  verifyWebhook,
} from '../../client/src/index.js';
import { makeSigningSecret, signatureHeaders } from '../../src/webhooks/signature.js';
import { paymentBody } from '../../testkit/bodies.js';

afterEach(() => vi.unstubAllGlobals());

const WHO = { username: 'shop', password: 'secret' };

function answering(
  answer: (url: string, init: RequestInit) => Response,
  more: Partial<TollgateOptions> = {},
) {
  return new Tollgate({
    baseUrl: 'https://payments.example/v1/',
    ...WHO,
    fetch: async (url, init) => answer(String(url), init as RequestInit),
    firstPauseMs: 1,
    longestPauseMs: 2,
    ...more,
  });
}

function lookedUp(status: Partial<TransactionStatus>, transaction_type = 'purchase') {
  return {
    audit: 17,
    gateway_timestamp: '2026-11-15T11:07:18.123+11:00',
    merchant: { id: 1 },
    kvps: {},
    transaction: {
      reference: 'order-1',
      transaction_type,
      amount_details: { total_amount: '10000', currency: 'AUD' },
    },
    status: { gateway_status_code: 0, transaction_status_code: 'approved', acquirer: {}, ...status },
    _links: { self: { href: '/v1/transactions/17' } },
    'a member of tomorrow': true,
  };
}

describe('the client itself', () => {
  test('printed, inspected or converted to JSON → no password', async () => {
    const password = 'not-to-be-shown';
    const client = answering(() => new Response('{}'), { password });
    const encoded = Buffer.from(`shop:${password}`).toString('base64');
    const parts = [client, client.customers, client.tokens, client.history(), client.events()];
    for (const part of parts) {
      const shown = [
        JSON.stringify(part),
        JSON.stringify({ ...part }),
        String(part),
        inspect(part, { depth: null, showHidden: true, getters: true }),
        inspect({ part }, { depth: null, compact: false }),
      ];
      for (const text of shown) {
        expect(text).not.toContain(password);
        expect(text).not.toContain(encoded);
      }
    }
  });
});

describe('open enums', () => {
  test.each([
    ['approved', 'approved'],
    ['reversed', 'voided'],
    ['Unknown', 'unknown'],
    ['frozen', 'unknown'],
    ['constructor', 'unknown'],
  ])('transaction_status_code %s → %s', (transaction_status_code, outcome) => {
    expect(outcomeOf({ ...(lookedUp({}).status as TransactionStatus), transaction_status_code })).toBe(
      outcome,
    );
  });

  test('unknown transaction_type, gateway_status_code and members → read as the specification says', async () => {
    const client = answering(() => Response.json(lookedUp({ gateway_status_code: 7 }, 'reverse')));
    const transaction = await client.transaction(17);
    expect(transaction).toMatchObject({ type: 'void', gatewayStatus: -99, outcome: 'approved' });
    expect(transaction).toHaveProperty('a member of tomorrow');
    expect(transactionTypeOf({ ...transaction.transaction, transaction_type: 'gift' })).toBe('unknown');
  });

  test('a payment with an unknown status → looked up; if it stays unknown, OutcomeUnknown and not a failure', async () => {
    const asked: string[] = [];
    const client = answering(
      (url, { method }) => {
        asked.push(`${method} ${new URL(url).pathname}`);
        return Response.json(lookedUp({ transaction_status_code: 'frozen' }), {
          status: method === 'POST' ? 201 : 200,
        });
      },
      { outcomeTimeoutMs: 1_500 },
    );
    await expect(client.purchase(paymentBody())).rejects.toMatchObject({
      name: 'OutcomeUnknown',
      audit: 17,
      last: 'unknown',
    });
    expect(new Set(asked)).toEqual(new Set(['POST /v1/transactions/purchase', 'GET /v1/transactions/17']));
  });
});

describe('where requests go', () => {
  test('http to another machine → refused unless allowed; no password, a wrong address or timeout → refused', () => {
    const client = (options: Partial<TollgateOptions>) => () =>
      new Tollgate({ baseUrl: 'https://payments.example/v1', ...WHO, ...options });
    expect(client({ baseUrl: 'http://payments.example/v1' })).toThrow(/https/);
    expect(client({ baseUrl: 'http://payments.example/v1', allowPlainHttp: true })).not.toThrow();
    for (const host of ['localhost', '127.0.0.1', '[::1]']) {
      expect(client({ baseUrl: `http://${host}:8080/v1` })).not.toThrow();
    }
    expect(client({ baseUrl: 'http://127.0.0.1.example/v1' })).toThrow(/https/);
    expect(client({ baseUrl: 'ftp://payments.example' })).toThrow(TypeError);
    expect(client({ baseUrl: 'payments' })).toThrow('baseUrl is not an address');
    expect(client({ password: '' })).toThrow(TypeError);
    expect(client({ requestTimeoutMs: Number.NaN })).toThrow(/requestTimeoutMs/);
  });

  test('an active trace is sent along; an invalid or failing one is not, and stops nothing', async () => {
    const traceparents = ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'nonsense\n', undefined];
    const sent: (string | null)[] = [];
    const client = answering(
      (_url, { headers }) => {
        sent.push(new Headers(headers).get('traceparent'));
        return Response.json(lookedUp({}), { status: 201 });
      },
      {
        traceparent: () => {
          if (traceparents.length === 0) throw new Error('no tracer');
          return traceparents.shift();
        },
      },
    );
    for (let call = 0; call < 4; call += 1) await client.transaction(17);
    expect(sent).toEqual(['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', null, null, null]);
  });

  test('a link to the next page on another host → only its cursor is used', async () => {
    const asked: string[] = [];
    const client = answering((url) => {
      asked.push(url);
      const next = { href: 'https://elsewhere.example/v1/customers?after=Y3Vyc29y' };
      return Response.json({ results: [], _links: { first: next, ...(asked.length === 1 && { next }) } });
    });
    for await (const _page of client.customers.list({ limit: 5 }).pages());
    expect(asked).toEqual([
      'https://payments.example/v1/customers?limit=5',
      'https://payments.example/v1/customers?limit=5&after=Y3Vyc29y',
    ]);
  });

  test.each([
    ['Node', new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })],
    ['Bun', Object.assign(new TypeError('Unable to connect.'), { code: 'ConnectionRefused' })],
    [
      'Deno',
      new TypeError('fetch failed', {
        cause: new Error('error sending request: client error (Connect): tcp'),
      }),
    ],
  ])('no connection, as %s reports it → the same request again, and no search', async (_, error) => {
    const sent: string[] = [];
    const client = answering((_url, { method = '' }) => {
      sent.push(method);
      if (sent.length === 1) throw error;
      return Response.json(lookedUp({}), { status: 201 });
    });
    expect(await client.purchase(paymentBody())).toMatchObject({ outcome: 'approved', recovered: false });
    expect(sent).toEqual(['POST', 'POST']);
  });

  test('an invalid audit → refused by the client, and not sent', async () => {
    const client = answering(() => expect.fail('it was sent'));
    await expect(client.transaction('1/../../customers' as unknown as number)).rejects.toThrow(TypeError);
    await expect(client.purchase(paymentBody(), { correlationId: 'a b' })).rejects.toThrow(TypeError);
  });
});

describe('webhooks', () => {
  const secret = makeSigningSecret();
  const event = {
    id: `evt_${randomUUID()}`,
    type: 'transaction.approved',
    created: '2026-11-15T11:07:18.123+11:00',
    merchant: { id: 1 },
    version: 1,
    data: { _links: { self: { href: '/v1/transactions/17' } }, name: 'Zoë' },
  };
  const body = JSON.stringify(event);
  const nowSeconds = () => Math.floor(Date.now() / 1000);
  const signed = (secrets = [secret], timestampSeconds = nowSeconds(), text = body) =>
    signatureHeaders(secrets, { id: event.id, timestampSeconds, body: text });

  test('signed with the secret → the event; from a string, bytes, a Headers object, and while a secret is rotated', async () => {
    expect(await verifyWebhook({ body, headers: signed(), secret })).toEqual(event);
    const bytes = new TextEncoder().encode(body);
    expect(await verifyWebhook({ body: bytes, headers: new Headers(signed()), secret })).toEqual(event);
    const [newer, older] = [makeSigningSecret(), secret];
    expect(await verifyWebhook({ body, headers: signed([newer, older]), secret })).toEqual(event);
    expect(await verifyWebhook({ body, headers: signed(), secret: [newer, older] })).toEqual(event);
    const client = answering(() => expect.fail('it was sent'));
    expect(await client.verifyWebhook({ body, headers: signed(), secret })).toEqual(event);
  });

  test.each([
    ['forged', () => ({ headers: signed([makeSigningSecret()]) }), 'wrong_signature'],
    ['changed', () => ({ headers: signed(), body: body.replace('approved', 'declined') }), 'wrong_signature'],
    ['under another id', () => ({ headers: { ...signed(), 'webhook-id': 'evt_other' } }), 'wrong_signature'],
    ['old', () => ({ headers: signed([secret], nowSeconds() - 400) }), 'too_old'],
    ['from the future', () => ({ headers: signed([secret], nowSeconds() + 400) }), 'too_new'],
    ['without a signature', () => ({ headers: { ...signed(), 'webhook-signature': '' } }), 'header_missing'],
    ['without anything', () => ({ headers: {} }), 'header_missing'],
    [
      'with a signature of another version',
      () => ({
        headers: { ...signed(), 'webhook-signature': signed()['webhook-signature']?.replace('v1', 'v2') },
      }),
      'wrong_signature',
    ],
    [
      'with nonsense',
      () => ({ headers: { ...signed(), 'webhook-signature': 'v1,* v1 ,' } }),
      'wrong_signature',
    ],
    ['no event', () => ({ headers: signed([secret], nowSeconds(), '[]'), body: '[]' }), 'not_an_event'],
    ['no JSON', () => ({ headers: signed([secret], nowSeconds(), '{'), body: '{' }), 'not_an_event'],
  ])('%s → rejected', async (_name, make, reason) => {
    const given = { body, secret, ...make() };
    await expect(verifyWebhook(given)).rejects.toMatchObject({ name: 'WebhookRejected', reason });
  });

  test('an invalid secret → an error of the caller, not of the webhook', async () => {
    await expect(verifyWebhook({ body, headers: signed(), secret: '' })).rejects.toThrow(TypeError);
  });

  test('Node 18, which has no global crypto → the same', async () => {
    vi.stubGlobal('crypto', undefined);
    expect(await verifyWebhook({ body, headers: signed(), secret })).toEqual(event);
  });
});
