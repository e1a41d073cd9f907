// The page of a checkout: what it shows before anybody pays, what it refuses, and what it lets nobody else do.
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { CARD, createCheckout, Payer } from '../../testkit/payer.js';

let gateway: TestGateway;
let api: Client;

beforeAll(async () => {
  gateway = await testGateway({ settings: { CHECKOUT_PORT: '0' } });
  api = gateway.api;
});
afterAll(() => gateway.close());

const pages = () => gateway.checkoutUrl as string;

describe('what it shows', () => {
  test('merchant, description, reference and amount, test mode, and fields that browsers can fill in', async () => {
    const wish = { description: 'Two <b>tickets</b>', reference: 'order-9' };
    const { url } = (await createCheckout(api, { ...wish, description: 'Two (2) tickets' })).body;
    const { text, status } = await new Payer(url).look();
    expect(status).toBe(200);
    for (const shown of ['Pay Ours', 'Two (2) tickets', 'order-9', '$19.95', 'Test: no money moves'])
      expect(text).toContain(shown);
    for (const name of ['cc-number', 'cc-exp', 'cc-csc']) expect(text).toContain(`autocomplete="${name}"`);
    expect(text).not.toContain('BSB');
  });

  // catches(checkout: a payer pays what the page has shown)
  test('a surcharge is shown before the payer agrees, by card where it differs, and what has changed is shown again', async () => {
    const { url } = (await createCheckout(api, {}, 2)).body;
    await gateway.sqlSealed(
      `INSERT INTO surcharge_rule (organisation_id, merchant_id, scope, thousandths) VALUES (1, 2, 'default', 1000), (1, 2, 'card:amex', 3000)`,
    );
    const payer = new Payer(url);
    await expect.poll(async () => (await payer.look()).text).toContain('+ $0.20');
    const page = await payer.look();
    expect(page.text).toContain('American Express</th><td>$20.55</td><td>+ $0.60');
    await gateway.sqlSealed(`UPDATE surcharge_rule SET thousandths = 2000 WHERE scope = 'default'`);
    await expect.poll(async () => (await payer.look()).text).toContain('$20.35');
    const changed = await payer.pay(CARD, page);
    expect([changed.status, changed.text.includes('What you would pay has changed')]).toEqual([422, true]);
    expect((await payer.pay(CARD, changed)).text).toContain('$20.35 to Ours');
  });

  test('what is wrong stands at its field, and no secret comes back', async () => {
    const { url } = (await createCheckout(api)).body;
    const wrong = await new Payer(url).pay({ number: '4111 1111 1111 1112', expiry: '13/30', cvv: '12' });
    expect(wrong.status).toBe(422);
    for (const field of ['number', 'expiry', 'cvv']) {
      expect(wrong.text).toContain(
        `aria-describedby="${field === 'number' ? '' : `${field}-hint `}${field}-problem"`,
      );
      expect(wrong.text).toContain(`href="#${field}"`);
    }
    expect(wrong.text).not.toMatch(/1112|value="12"/);
    const past = await new Payer(url).pay({ ...CARD, expiry: '1/20' });
    expect(past.text).toContain('This card has expired');
  });

  test.each(['12/39', '1239', '12-39', '12 / 2039', ' 12/39 '])(
    'an expiry date as people write it: %s',
    async (expiry) => {
      const { url } = (await createCheckout(api)).body;
      expect((await new Payer(url).pay({ ...CARD, number: '4111-1111 1111-1111', expiry })).text).toContain(
        'you have paid',
      );
    },
  );

  test('an amount is exact in every currency', async () => {
    for (const [currency, total_amount, shown] of [
      ['JPY', '999999999999', 'JPY 999,999,999,999'],
      ['KWD', '1250', '1.250'],
      ['AUD', '999999999999', '$9,999,999,999.99'],
    ] as const) {
      const { url } = (await createCheckout(api, { amount_details: { total_amount, currency } })).body;
      expect((await new Payer(url).look()).text.replaceAll('\u00a0', ' ')).toContain(shown);
    }
  });
});

describe('what it lets nobody do', () => {
  // catches(checkout: only named origins show the page in a frame)
  test('headers: no strangers’ scripts, no frame, no referrer, nothing kept', async () => {
    const framed = { frame_origins: ['https://shop.example'], return_url: 'https://back.example/x' };
    const plain = await new Payer((await createCheckout(api)).body.url).look();
    const policy = plain.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(plain.headers.get('x-frame-options')).toBe('DENY');
    expect(plain.headers.get('referrer-policy')).toBe('no-referrer');
    expect(plain.headers.get('cache-control')).toBe('no-store');
    expect(plain.headers.get('set-cookie')).toBeNull();
    expect(plain.text).not.toMatch(/<script(?![^>]*src="\/)|\sstyle=|\son\w+="/);
    const shown = await new Payer((await createCheckout(api, framed)).body.url).look();
    const open = shown.headers.get('content-security-policy') ?? '';
    expect(open).toContain('frame-ancestors https://shop.example');
    expect(open).toContain("form-action 'self' https://back.example");
    expect(shown.headers.get('x-frame-options')).toBeNull();
  });

  // catches(checkout: a page of somebody else does not post)
  test('a form that another site has posted, or that is none → nothing is paid', async () => {
    const { id, url } = (await createCheckout(api)).body;
    const page = await new Payer(url).look();
    await new Payer(url, { 'sec-fetch-site': 'cross-site' }).send(CARD, page);
    await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      body: JSON.stringify({ ...page.hidden, ...CARD }),
    });
    const huge = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ name: 'x'.repeat(20_000) }),
    });
    expect(huge.status).toBe(413);
    expect((await api.get(`/checkouts/${id}`)).body).toMatchObject({ status: 'open', attempts: [] });
  });

  test('the listener has nothing of the interface and nothing of the console', async () => {
    for (const path of [
      '/',
      '/v1/checkouts',
      '/v1/transactions',
      '/docs',
      '/metrics',
      '/livez',
      '/console',
      '/favicon.ico',
      '/co_x',
    ])
      expect((await fetch(pages() + path)).status, path).toBe(404);
    const { id } = (await createCheckout(api)).body;
    for (const method of ['PUT', 'DELETE', 'PATCH'])
      expect((await fetch(`${pages()}/${id}`, { method })).status).toBe(405);
    expect((await fetch(gateway.baseUrl.replace('/v1', `/${id}`))).status).toBe(404);
  });

  test('answers that are no page load nothing and stand in no frame; other sites read only what is made for them', async () => {
    const { id } = (await createCheckout(api, { frame_origins: ['https://shop.example'] })).body;
    const form = { method: 'POST', body: new URLSearchParams({ name: 'x'.repeat(20_000) }) };
    const answers: readonly (readonly [path: string, status: number, request?: RequestInit])[] = [
      ['/checkout-1.js', 200],
      ['/integrity', 200],
      [`/${id}/status`, 200],
      [`/${id}`, 405, { method: 'DELETE' }],
      [`/${id}`, 413, form],
      [`/${id}/status`, 405, { method: 'POST' }],
      ['/checkout-1.js', 405, { method: 'POST' }],
      ['/integrity', 405, { method: 'POST' }],
    ];
    for (const [path, status, init] of answers) {
      const answer = await fetch(pages() + path, init);
      const { headers } = answer;
      const seen = [answer.status, headers.get('content-security-policy'), headers.get('x-frame-options')];
      const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
      expect(seen, path).toEqual([status, policy, 'DENY']);
      const isForOthers = status === 200 && path === '/checkout-1.js';
      expect(headers.get('cross-origin-resource-policy'), path).toBe(
        isForOthers ? 'cross-origin' : 'same-origin',
      );
    }
  });

  test('what a client sends is never a 5XX', async () => {
    const { id } = (await createCheckout(api)).body;
    const paths = [
      `/${id}/`,
      `/${id}/other`,
      '/%',
      '/%00',
      `/${id}%00`,
      `//${id}`,
      `/${id}?a=%ff`,
      '/'.repeat(500),
    ];
    for (const path of paths) {
      const status = await new Promise<number>((resolve, reject) => {
        const { hostname, port } = new URL(pages());
        request({ hostname, port, path, method: 'GET' }, (answer) => {
          answer.resume();
          resolve(answer.statusCode ?? 0);
        })
          .on('error', reject)
          .end();
      });
      expect(status, path).toBeLessThan(500);
    }
  });

  test('no card number and no CVV in the log, and no ID of a checkout, by which anybody could pay', async () => {
    const { id, url } = (await createCheckout(api)).body;
    await new Payer(url).pay({ ...CARD, cvv: '9876' });
    const logged = gateway.logged();
    expect(logged).toContain('"route":"/{checkout}"');
    expect(logged).not.toContain('4111111111111111');
    expect(logged).not.toContain('9876');
    expect(logged).not.toContain(id);
  });
});

describe('its files', () => {
  test('small, kept by browsers, and their digests are where a monitor can read them', async () => {
    const { url } = (await createCheckout(api)).body;
    const { text } = await new Payer(url).look();
    const named = [...text.matchAll(/(?:src|href)="(\/[\w.-]+)"/g)].map(([, path]) => path as string);
    expect(named).toHaveLength(2);
    const { scripts, styles } = (await (await fetch(`${pages()}/integrity`)).json()) as Record<
      'scripts' | 'styles',
      { path: string; integrity: string }[]
    >;
    let bytes = text.length;
    for (const { path, integrity } of [...scripts, ...styles]) {
      const answer = await fetch(pages() + path);
      const content = Buffer.from(await answer.arrayBuffer());
      const digest = Buffer.from(await crypto.subtle.digest('SHA-384', content)).toString('base64');
      expect(integrity).toBe(`sha384-${digest}`);
      if (named.includes(path)) {
        bytes += content.length;
        expect(answer.headers.get('cache-control')).toContain('immutable');
      }
    }
    expect(scripts).toHaveLength(2);
    expect(bytes).toBeLessThan(30_000);
  });
});
