// Payers who pay by a wallet at the page of a checkout, in a real browser. Wallets cannot be reached from tests: in place of the browser's
// own sheet stands one of the test, which hands out tokens as a wallet makes them.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mistakesInBothSchemes } from '../../testkit/accessibility.js';
import { AppleHost, SESSION, SESSION_ADDRESS } from '../../testkit/apple-host.js';
import { inBrowser, newPerson, openPage, startBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { CARD, createCheckout, letManyPay } from '../../testkit/payer.js';
import { DECLINED_CARD } from '../../testkit/test-cards.js';
import {
  type AppleShop,
  appleIdentity,
  appleShop,
  type GoogleShop,
  googleShop,
} from '../../testkit/wallets.js';

/** In the place of the browser's own: the payer agrees, unless `sheet` says what happens instead. */
const SHEET = `(() => {
  window.shown = [];
  window.completed = [];
  window.PaymentRequest = class extends EventTarget {
    constructor([method], details) { super(); Object.assign(this, { method, details }); }
    async canMakePayment() { return this.method.supportedMethods.startsWith('https://'); }
    async show() {
      const isApple = this.method.supportedMethods === 'https://apple.com/apple-pay';
      if (isApple)
        await new Promise((resolve, reject) => this.dispatchEvent(Object.assign(new Event('merchantvalidation'), {
          validationURL: '${SESSION_ADDRESS}',
          complete: (session) => session.then((it) => resolve(window.session = it), () => reject(new DOMException('', 'OperationError'))),
        })));
      shown.push(this.details.total.amount.value);
      const wish = window.sheet;
      if (wish === 'waits') await new Promise((resolve) => { window.agree = resolve; });
      else if (wish !== undefined) throw new DOMException('', wish);
      const token = await newToken(isApple);
      const details = isApple ? { token: { paymentData: JSON.parse(token) } } : { paymentMethodData: { tokenizationData: { token } } };
      return { details, complete: async (how) => { completed.push(how); } };
    }
  };
})()`;

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('a wallet on the page of a checkout'), () => {
  let gateway: TestGateway;
  let browser: Browser;
  let google: GoogleShop;
  let apple: AppleShop;
  let appleHost: AppleHost;
  const pans: string[] = [];

  beforeAll(async () => {
    [gateway, browser] = await Promise.all([
      testGateway({ settings: { CHECKOUT_PORT: '0' } }),
      startBrowser(),
    ]);
    [google, apple, appleHost] = await Promise.all([
      googleShop(gateway),
      appleShop(gateway, 2),
      AppleHost.start(),
    ]);
    await appleIdentity(gateway, 2);
    await letManyPay(gateway, [1, 2]);
  });
  afterAll(async () => {
    await browser?.close();
    await appleHost?.close();
    await gateway?.close();
  });

  async function payer({ person, hasWallet = true }: { person?: BrowserContext; hasWallet?: boolean } = {}) {
    const context = person ?? (await newPerson(browser));
    if (hasWallet) {
      await context.exposeFunction('newToken', (isApple: boolean) =>
        JSON.stringify(isApple ? apple.token() : google.token({ pan: pans.shift() ?? CARD.number })),
      );
      await context.addInitScript(SHEET);
    }
    return { person: context, ...(await openPage(context)) };
  }

  const button = (page: Page) => page.getByRole('button', { name: 'Pay $19.95 with Google Pay' });
  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
  const attemptsOf = async (id: string) => (await gateway.api.get(`/checkouts/${id}`)).body.attempts;

  test('declined, then approved: by keyboard, with what the sheet shows being what is paid', async () => {
    const { person, page, complaints } = await payer();
    const { id, url } = (await createCheckout(gateway.api)).body;
    await page.goto(url);
    pans.push(DECLINED_CARD);
    await button(page).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Your bank did not approve this card').waitFor();
    await button(page).click();
    await heading(page, 'Thank you: you have paid');
    expect(await attemptsOf(id)).toHaveLength(2);
    await page.goBack();
    await heading(page, 'Thank you: you have paid');
    expect(complaints).toEqual([]);
    await person.close();
  });

  test('a second click opens no second sheet; closed, or failed, nothing is sent, and the card still pays', async () => {
    const { person, page, complaints } = await payer();
    const { id, url } = (await createCheckout(gateway.api)).body;
    await page.goto(url);
    await button(page).waitFor();
    await page.evaluate(`window.sheet = 'AbortError'`);
    await button(page).click();
    await page.evaluate(`window.sheet = 'NotSupportedError'`);
    await button(page).click();
    await page.getByText('Please enter your details below').waitFor();
    await page.evaluate(`window.sheet = 'waits'`);
    await button(page).dblclick();
    await expect.poll(() => page.evaluate('shown')).toEqual(['19.95', '19.95', '19.95']);
    expect(await page.locator('.wallets [role="alert"]').textContent()).toBe('');
    expect(await attemptsOf(id)).toEqual([]);
    // While the sheet is open.
    await page.getByLabel('Card number').fill(CARD.number);
    await page.getByLabel('Expiry date').fill('1239');
    await page.getByLabel('Security code').fill('123');
    await page.getByRole('button', { name: 'Pay $19.95', exact: true }).click();
    await heading(page, 'Thank you: you have paid');
    expect(await attemptsOf(id)).toHaveLength(1);
    expect(complaints).toEqual([]);
    await person.close();
  });

  test('Apple Pay: the page gets the merchant’s session for the sheet, and pays; without one nothing is sent', async () => {
    const { person, page, complaints } = await payer();
    const { id, url } = (await createCheckout(gateway.api, {}, 2)).body;
    await page.goto(url);
    const paying = page.getByRole('button', { name: 'Pay $19.95 with Apple Pay' });
    await paying.waitFor();
    appleHost.next = { status: 417, text: '{}' };
    await paying.click();
    await page.getByText('Please enter your details below').waitFor();
    expect(await page.evaluate('shown')).toEqual([]);
    expect(await attemptsOf(id)).toEqual([]);
    await page.evaluate(`window.sheet = 'waits'`);
    await paying.click();
    await expect.poll(() => page.evaluate('shown')).toEqual(['19.95']);
    expect(await page.evaluate('session')).toEqual(SESSION);
    expect(await mistakesInBothSchemes(page)).toEqual([]);
    await page.evaluate('agree()');
    await heading(page, 'Thank you: you have paid');
    expect(await attemptsOf(id)).toHaveLength(1);
    expect(complaints).toEqual([]);
    await person.close();
  });

  test('in two tabs whose payers agree at once → one payment', async () => {
    const { person, page } = await payer();
    const { id, url } = (await createCheckout(gateway.api)).body;
    const other = await person.newPage();
    for (const tab of [page, other]) {
      await tab.goto(url);
      await button(tab).waitFor();
      await tab.evaluate(`window.sheet = 'waits'`);
      await button(tab).click();
    }
    await Promise.all([page, other].map((tab) => tab.evaluate('agree()')));
    for (const tab of [page, other]) await heading(tab, 'Thank you: you have paid');
    expect(await attemptsOf(id)).toHaveLength(1);
    await person.close();
  });

  test('is accessible in both schemes, and fits a narrow screen', async () => {
    const { person, page, complaints } = await payer();
    const { url } = (await createCheckout(gateway.api, { payment_methods: ['creditcard', 'bankaccount'] }))
      .body;
    await page.goto(url);
    await button(page).waitFor();
    const look = async () => {
      for (const width of [320, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await mistakesInBothSchemes(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(
          0,
        );
      }
    };
    await look();
    await page.evaluate(`window.sheet = 'NotSupportedError'`);
    await button(page).click();
    await page.getByText('Please enter your details below').waitFor();
    await look();
    expect(complaints).toEqual([]);
    await person.close();
  });

  test.each([true, false])(
    'where the browser has no wallet, with script: %s → the page is as before',
    async (javaScriptEnabled) => {
      const { person, page, complaints } = await payer({
        person: await browser.newContext({ javaScriptEnabled }),
        hasWallet: false,
      });
      const { url } = (await createCheckout(gateway.api)).body;
      await page.goto(url);
      await page.getByLabel('Card number').waitFor();
      // The policy of the page lets a browser that has one ask for it.
      if (javaScriptEnabled)
        await page.evaluate(
          `void new PaymentRequest(...JSON.parse(document.querySelector('.wallets button').dataset.request))`,
        );
      expect(await page.getByRole('button').count()).toBe(1);
      expect(await page.getByText('Google Pay').isVisible()).toBe(false);
      expect(complaints).toEqual([]);
      await person.close();
    },
  );

  describe('in a frame', () => {
    let shop: Server;
    let origin: string;
    let shopPage = '';
    beforeAll(async () => {
      shop = createServer((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html>${shopPage}`);
      });
      await new Promise<void>((resolve) => shop.listen(0, resolve));
      origin = `http://localhost:${(shop.address() as AddressInfo).port}`;
    });
    afterAll(() => new Promise((resolve) => shop.close(resolve)));

    test('of the gateway’s script the page may ask for a payment, and pays; in a frame without allow it may not', async () => {
      const { person, page, complaints } = await payer();
      const { url } = (await createCheckout(gateway.api, { frame_origins: [origin] })).body;
      const mayPay = () => page.frames()[1]?.evaluate(`document.featurePolicy.allowsFeature('payment')`);
      shopPage = `<iframe src="${url}"></iframe>`;
      await page.goto(origin);
      await page.frameLocator('iframe').getByLabel('Card number').waitFor();
      expect(await mayPay()).toBe(false);
      shopPage = `<script src="${gateway.checkoutUrl}/checkout-1.js"></script><div data-tollgate-checkout="${url}"></div>`;
      await page.goto(origin);
      const frame = page.frameLocator('iframe');
      await frame.getByLabel('Card number').waitFor();
      expect(await mayPay()).toBe(true);
      await frame.getByRole('button', { name: 'Google Pay' }).click();
      await frame.getByRole('heading', { name: 'Thank you: you have paid' }).waitFor();
      expect(complaints).toEqual([]);
      await person.close();
    });
  });
});
