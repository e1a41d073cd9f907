// Hostile pages of shops around the page of a checkout, in a real browser: one that may not frame it, and one that may and wants the card.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { inBrowser, newPerson, openPage, startBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { CARD, createCheckout, Payer } from '../../testkit/payer.js';

/** Everything that the page of the shop hears. */
const LISTENS = `<script>
window.heard = [];
for (const name of ['keydown', 'keyup', 'input', 'change', 'paste', 'submit', 'message', 'tollgate:complete', 'tollgate:cancelled'])
  addEventListener(name, (event) => {
    heard.push(name === 'message' ? JSON.stringify(event.data) : [name, event.key, event.target.value].join(' '));
  }, true);
</script>`;

const FORGED = [
  { tollgate: 1, type: 'complete' },
  { tollgate: 1, type: 'cancelled' },
  { tollgate: 1, type: 'height', height: 3_000 },
];

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('a hostile page of a shop'), () => {
  let gateway: TestGateway;
  let browser: Browser;
  let server: Server;
  /** The pages of whoever is hostile, by their path: from an origin that checkouts name, and from another one. */
  const pages = new Map<string, string>();
  let allowed: string;
  let foreign: string;

  beforeAll(async () => {
    server = createServer(({ url = '/' }, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html>${pages.get(url) ?? ''}`);
    });
    await new Promise<void>((resolve) => server.listen(0, resolve));
    const { port } = server.address() as AddressInfo;
    [allowed, foreign] = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
    [gateway, browser] = await Promise.all([
      testGateway({ settings: { CHECKOUT_PORT: '0' } }),
      startBrowser(),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
    await new Promise((resolve) => server.close(resolve));
  });
  beforeEach(() => pages.clear());

  async function checkout() {
    return (await createCheckout(gateway.api, { frame_origins: [allowed], cancel_url: `${allowed}/basket` }))
      .body;
  }

  async function visit(url: string) {
    const person = await newPerson(browser);
    const { page, complaints } = await openPage(person);
    await page.goto(url);
    return { person, page, complaints };
  }

  /** The shop's page with the script of the gateway, as it should be. */
  async function embedding(url: string, more = ''): Promise<void> {
    const script = `<script src="${gateway.checkoutUrl}/checkout-1.js"></script>`;
    pages.set('/', `${LISTENS}${script}<div id="here" data-tollgate-checkout="${url}"></div>${more}`);
  }
  const heard = (page: Page) => page.evaluate<string[]>('heard');
  const heightOf = (page: Page) =>
    page
      .locator('iframe')
      .first()
      .evaluate((it) => it.getBoundingClientRect().height);
  const attemptsOf = async (id: string) => (await gateway.api.get(`/checkouts/${id}`)).body.attempts;

  test('of another origin: it gets no frame, not around a page that may either, and no window', async () => {
    const { url } = await checkout();
    pages.set('/frame', `<iframe src="${url}"></iframe>`);
    pages.set('/around', `<iframe src="${allowed}/frame"></iframe>`);
    for (const path of ['/frame', '/around']) {
      const { person, page, complaints } = await visit(foreign + path);
      await expect.poll(() => complaints.join()).toContain('frame-ancestors');
      for (const frame of page.frames()) expect(await frame.getByLabel('Card number').count()).toBe(0);
      await person.close();
    }
    // Opened as a window of its own the payer sees it, and the page that has opened it has lost it.
    pages.set('/opens', `<button onclick="window.opened = window.open('${url}')">Pay</button>`);
    const { person, page } = await visit(`${foreign}/opens`);
    const [popup] = await Promise.all([person.waitForEvent('page'), page.getByRole('button').click()]);
    await popup.getByLabel('Card number').waitFor();
    await expect.poll(() => page.evaluate('opened.closed')).toBe(true);
    expect(await popup.evaluate('window.opener')).toBeNull();
    await person.close();
  });

  test('of an origin that is named: it reads nothing, hears no key, and what it sends into the frame does nothing', async () => {
    const { id, url } = await checkout();
    await embedding(url);
    const { person, page, complaints } = await visit(allowed);
    const frame = page.frameLocator('iframe');
    await frame.getByLabel('Card number').pressSequentially(CARD.number);
    const readings = [
      'frames[0].document.body.innerHTML',
      'frames[0].location.href',
      'frames[0].number.value',
      "document.querySelector('iframe').contentDocument.body",
      `fetch('${url}').then((it) => it.text())`,
      `fetch('${url}/status').then((it) => it.text())`,
    ];
    for (const reading of readings)
      await expect(page.evaluate(`(async () => ${reading})()`), reading).rejects.toThrow();
    await page.evaluate(`
      for (const data of [...${JSON.stringify(FORGED)}, 'complete', null, 7, { tollgate: 1, type: 'number' },
        { tollgate: 1, type: 'submit', number: '4111' }, { type: 'eval', code: 'document.body.remove()' }, 'x'.repeat(1e6)])
        frames[0].postMessage(data, '*');
      frames[0].focus(); frames[0].blur();
    `);
    expect(await frame.getByLabel('Card number').inputValue()).toBe('4111 1111 1111 1111');
    await frame.getByLabel('Expiry date').pressSequentially('1239');
    await frame.getByLabel('Security code').pressSequentially('987');
    expect(await attemptsOf(id)).toEqual([]);
    await frame.getByRole('button').click();
    await frame.getByRole('heading', { name: 'Thank you: you have paid' }).waitFor();
    await expect.poll(async () => (await heard(page)).join()).toContain('tollgate:complete');
    for (const each of await heard(page))
      expect(each).toMatch(
        /^(\{"tollgate":1,"type":("height","height":\d+|"complete")\}|tollgate:complete {2})$/,
      );
    // What it was refused is in the console, and nothing else.
    expect(complaints.filter((each) => !/blocked by CORS policy/.test(each))).toEqual([]);
    await person.close();
  });

  test('it posts a form of its own into the frame, and by fetch → nothing is tried', async () => {
    const { id, url } = await checkout();
    const { hidden = {} } = await new Payer(url).look();
    const fields = Object.entries({ ...hidden, ...CARD })
      .map(([name, value]) => `<input name="${name}" value="${value}">`)
      .join('');
    pages.set(
      '/',
      `<iframe name="victim" src="${url}"></iframe><form method="post" action="${url}" target="victim">${fields}</form>`,
    );
    const { person, page } = await visit(allowed);
    const frame = page.frameLocator('iframe');
    await frame.getByLabel('Card number').waitFor();
    const [answered] = await Promise.all([
      page.waitForResponse((response) => response.request().method() === 'POST'),
      page.evaluate('document.forms[0].submit()'),
    ]);
    expect([answered.url(), answered.status()]).toEqual([url, 303]);
    await frame.getByLabel('Card number').waitFor();
    await page.evaluate(
      `fetch('${url}', { method: 'POST', mode: 'no-cors', body: new URLSearchParams(new FormData(document.forms[0])) }).catch(() => {})`,
    );
    expect(await attemptsOf(id)).toEqual([]);
    await person.close();
  });

  test('other frames and windows forge messages, also a page to which it leads the frame → the shop’s page is told nothing', async () => {
    const { url } = await checkout();
    const forges = `<script>
      setInterval(() => {
        for (const data of ${JSON.stringify(FORGED)})
          for (const target of [top, top[0], top[1]]) target?.postMessage(data, '*');
      }, 10);
    </script>`;
    pages.set('/forges', forges);
    await embedding(url, `<iframe id="other" src="${foreign}/forges"></iframe>`);
    const { person, page } = await visit(allowed);
    await page.frameLocator('iframe >> nth=0').getByLabel('Card number').waitFor();
    const told = async () => (await heard(page)).filter((each) => /^tollgate:/.test(each));
    const forged = async () => (await heard(page)).filter((each) => /"complete"/.test(each)).length;
    await expect.poll(forged).toBeGreaterThan(5);
    await page.evaluate(`for (const data of ${JSON.stringify(FORGED)}) postMessage(data, '*')`);
    const height = await heightOf(page);
    expect(height).not.toBe(3_000);
    // The frame itself, led to a page of the same shop or of somebody else: not the gateway's any more.
    for (const origin of [allowed, foreign]) {
      await page.evaluate(`frames[0].location = '${origin}/forges'`);
      const before = await forged();
      await expect.poll(forged).toBeGreaterThan(before + 20);
      expect([await told(), await heightOf(page)]).toEqual([[], height]);
    }
    await person.close();
  });

  test('heights without bounds, and what is none, from the page itself → at most 5,000 pixels', async () => {
    const { url } = await checkout();
    await embedding(url);
    const person = await newPerson(browser);
    const { page, complaints } = await openPage(person);
    // As if the page had been changed on its way.
    const tells = (data: string) => `<script>parent.postMessage(${data}, '*')</script>`;
    const heights = ['1e308', 'Infinity', 'NaN', '-5', '"9px;position:fixed;top:0"', '{}', '[4]', 'null'];
    await page.route(url, (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: [
          ...heights.map((height) => tells(`{ tollgate: 1, type: 'height', height: ${height} }`)),
          ...[
            "{ tollgate: 1, type: 'paid' }",
            "{ tollgate: 1, type: '__proto__' }",
            'null',
            '{}',
            '"complete"',
          ].map(tells),
          tells("{ tollgate: 1, type: 'height', height: 1e9 }"),
        ].join(''),
      }),
    );
    await page.goto(allowed);
    await expect.poll(() => heightOf(page)).toBe(5_000);
    const position = await page.evaluate("getComputedStyle(document.querySelector('iframe')).position");
    expect(position).toBe('static');
    expect((await heard(page)).filter((each) => /^tollgate:/.test(each))).toEqual([]);
    expect(complaints).toEqual([]);
    await person.close();
  });

  test('an address that is no page of anybody → the script shows nothing, and runs nothing', async () => {
    for (const address of [
      'javascript:parent.ran=1',
      'data:text/html,<script>parent.ran=1</script>',
      'blob:x',
    ]) {
      await embedding(address);
      const { person, page } = await visit(allowed);
      await page.locator('#here').waitFor({ state: 'attached' });
      expect(await page.evaluate('[window.ran, frames.length]')).toEqual([undefined, 0]);
      await person.close();
    }
  });
});
