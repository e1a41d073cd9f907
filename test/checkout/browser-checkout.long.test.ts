// Payers at the page of a checkout, in a real browser: with and without script, framed and not, narrow and wide, light and dark.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mistakesInBothSchemes } from '../../testkit/accessibility.js';
import { inBrowser, newPerson, openPage, startBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { ACCOUNT, CARD, createCheckout, letManyPay } from '../../testkit/payer.js';
import { ScriptedAcquirer } from '../../testkit/scripted-acquirer.js';
import { DECLINED_CARD } from '../../testkit/test-cards.js';
import { vaultOf } from '../../testkit/vault-client.js';

const SIZES = [
  { width: 320, height: 700 },
  { width: 1440, height: 900 },
];
const BOTH = ['creditcard', 'bankaccount'];

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('the page of a checkout'), () => {
  let gateway: TestGateway;
  let browser: Browser;
  const scripted = new ScriptedAcquirer();

  beforeAll(async () => {
    [gateway, browser] = await Promise.all([
      testGateway({ settings: { CHECKOUT_PORT: '0', ACQUIRER_DEADLINE_MS: '20000' }, acquirers: [scripted] }),
      startBrowser(),
    ]);
    await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted' WHERE id = 3`);
    await letManyPay(gateway, [1, 2, 3]);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
  });

  async function payer(options: { script?: boolean; width?: number; height?: number } = {}) {
    const { script = true, width = 1280, height = 900 } = options;
    const person = script
      ? await newPerson(browser, { width, height })
      : await browser.newContext({ javaScriptEnabled: false, viewport: { width, height } });
    return { person, ...(await openPage(person)) };
  }

  const fill = async (page: Page, { number = CARD.number, expiry = '1239', cvv = '123' } = {}) => {
    await page.getByLabel('Card number').fill(number);
    await page.getByLabel('Expiry date').fill(expiry);
    await page.getByLabel('Security code').fill(cvv);
  };
  const pay = (page: Page) => page.getByRole('button').click();
  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

  test.each([true, false])('pays, with script: %s; declined, then approved', async (script) => {
    const { person, page, complaints } = await payer({ script });
    const { url } = (await createCheckout(gateway.api)).body;
    await page.goto(url);
    await fill(page, { number: DECLINED_CARD });
    await pay(page);
    await page
      .getByText('Your bank did not approve this card. You have not been charged. Please use another card.')
      .waitFor();
    await fill(page);
    await pay(page);
    await heading(page, 'Thank you: you have paid');
    // Back, and once more: it stays paid.
    await page.goBack();
    await page.reload();
    await heading(page, 'Thank you: you have paid');
    expect(complaints).toEqual([]);
    await person.close();
  });

  test('what is typed is grouped, the card is known, and a second click sends nothing', async () => {
    const { person, page } = await payer();
    const { id, url } = (await createCheckout(gateway.api, {}, 3)).body;
    await page.goto(url);
    await page.getByLabel('Card number').pressSequentially('4111111111111111');
    expect(await page.getByLabel('Card number').inputValue()).toBe('4111 1111 1111 1111');
    expect(await page.locator('.creditcard').getAttribute('data-type')).toBe('visa');
    await page.getByLabel('Expiry date').pressSequentially('739');
    expect(await page.getByLabel('Expiry date').inputValue()).toBe('07/39');
    await page.getByLabel('Security code').fill('123');
    const posted: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') posted.push(request.url());
    });
    await page.getByRole('button').dblclick();
    await heading(page, 'Thank you: you have paid');
    expect(posted).toHaveLength(1);
    expect((await gateway.api.get(`/checkouts/${id}`)).body.attempts).toHaveLength(1);
    await person.close();
  });

  test('in doubt, and found out: the page shows it by itself; three tabs, one payment', async () => {
    const { person, page } = await payer();
    const { url } = (await createCheckout(gateway.api, {}, 3)).body;
    const tabs = await Promise.all([1, 2].map(() => person.newPage()));
    for (const tab of [page, ...tabs]) {
      await tab.goto(url);
      await fill(tab);
    }
    scripted.nextAnswers(() => ({ kind: 'unknown', reason: 'timeout' }));
    const finding = scripted.holdNextFinding();
    const asked = scripted.requests.length;
    await pay(page);
    await heading(page, 'Your payment is being checked');
    for (const tab of tabs) {
      await pay(tab);
      await heading(tab, 'Your payment is being checked');
    }
    finding.answer({ kind: 'approved', responseCode: '00', responseMessage: 'Approved' });
    for (const tab of [page, ...tabs]) await heading(tab, 'Thank you: you have paid');
    expect(scripted.requests.length - asked).toBe(1);
    await person.close();
  });

  test('by keyboard alone, from a bank account', async () => {
    const { person, page } = await payer();
    const { url } = (await createCheckout(gateway.api, { payment_methods: BOTH })).body;
    await page.goto(url);
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowDown');
    for (const field of [ACCOUNT.bsb, ACCOUNT.account_number, ACCOUNT.account_name]) {
      await page.keyboard.press('Tab');
      await page.keyboard.type(field);
    }
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.keyboard.press('Enter');
    await heading(page, 'Thank you: you have paid');
    await person.close();
  });

  test('by keyboard alone, by card, after a mistake: what a screen reader says leads there', async () => {
    const { person, page } = await payer();
    const { url } = (await createCheckout(gateway.api, { description: 'Two tickets' })).body;
    await page.goto(url);
    const said = (await page.locator('body').ariaSnapshot()).replace(/until .+ \(/, 'until … (');
    expect(said).toMatchInlineSnapshot(`
      "- main:
        - paragraph: "Test: no money moves. Pay with the card number 4111 1111 1111 1111, any later date, and any security code."
        - heading "Pay Ours" [level=1]
        - term: Description
        - definition: Two tickets
        - term: Reference
        - definition: order-1
        - term: Amount
        - definition: $19.95
        - group "Card":
          - text: Card Card number
          - textbox "Card number"
          - text: "Expiry date Month and year, as on the card: 12/30"
          - textbox "Expiry date":
            - /placeholder: MM/YY
          - text: Security code Three digits on the back, or four on the front
          - textbox "Security code"
        - button "Pay $19.95"
        - paragraph: Your details go to the payment service, and not to the shop.
        - paragraph: You can pay until … (Sydney)."
    `);
    for (const typed of ['4111111111111112', '1239', '123']) {
      await page.keyboard.press('Tab');
      await page.keyboard.type(typed);
    }
    await page.keyboard.press('Enter');
    // The alert has the focus, and its link leads to the field.
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').ariaSnapshot()).toMatchInlineSnapshot(`
      "- alert:
        - paragraph: Please correct what is marked. You have not been charged.
        - list:
          - listitem:
            - 'link "This is not a card number: check its digits."':
              - /url: "#number""
    `);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('number');
    expect(await page.getByLabel('Card number').evaluate((it) => it.getAttribute('aria-describedby'))).toBe(
      'number-problem',
    );
    // Neither the number nor the code has come back.
    for (const typed of [CARD.number, '1239', '123']) {
      await page.keyboard.type(typed);
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Space');
    await heading(page, 'Thank you: you have paid');
    await person.close();
  });

  test.each([true, false])(
    'its time is over while the payer types, with script: %s → nothing is charged, and the page says so',
    async (script) => {
      // Its clock can be moved, because every acquirer is simulated.
      const simulated = await testGateway({ settings: { CHECKOUT_PORT: '0' } });
      const { person, page, complaints } = await payer({ script });
      const { id, url } = (await createCheckout(simulated.api)).body;
      await page.goto(url);
      await fill(page);
      await simulated.advance('2d');
      await pay(page);
      await page.locator('[data-status="expired"]').waitFor();
      expect(await page.getByRole('status').textContent()).toContain('not been charged');
      expect(await page.getByLabel('Card number').count()).toBe(0);
      expect((await simulated.api.get(`/checkouts/${id}`)).body).toMatchObject({
        status: 'expired',
        attempts: [],
      });
      expect(complaints).toEqual([]);
      await person.close();
    },
  );

  test('every state is accessible, in both schemes, and fits a narrow screen', async () => {
    const { person, page, complaints } = await payer();
    const customer_id = await vaultOf(gateway.api).newCustomer();
    await gateway.sqlSealed(
      `INSERT INTO surcharge_rule (organisation_id, merchant_id, scope, thousandths) VALUES (1, 1, 'default', 1000), (1, 1, 'card:amex', 3000)`,
    );
    const wish = {
      payment_methods: BOTH,
      customer_id,
      description: 'Two tickets',
      cancel_url: 'https://shop.example/basket',
    };
    const { url } = (await createCheckout(gateway.api, wish)).body;
    const cancelled = (await createCheckout(gateway.api)).body;
    await gateway.api.call(`/checkouts/${cancelled.id}/cancel`, { method: 'POST' });
    const used = (await createCheckout(gateway.api, { attempts: 1 })).body;
    const doubtful = (await createCheckout(gateway.api, {}, 3)).body;
    await expect.poll(async () => (await (await fetch(url)).text()).includes('American Express')).toBe(true);
    const looked: Record<string, string[]> = {};
    const look = async (state: string) => {
      const mistakes: string[] = [];
      for (const size of SIZES) {
        await page.setViewportSize(size);
        mistakes.push(...(await mistakesInBothSchemes(page)));
        const tooWide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
        if (tooWide > 0) mistakes.push(`${size.width} px: ${tooWide} pixels too wide`);
      }
      looked[state] = mistakes;
    };
    await page.goto(url);
    await look('open');
    await page.getByLabel('Keep this card').check();
    await look('open, to keep the card');
    await pay(page);
    await page.getByRole('alert').waitFor();
    await look('wrong');
    await page.getByLabel('Bank account').check();
    await look('bank account');
    await page.getByLabel('Card', { exact: true }).check();
    await page.getByLabel('Keep this card').uncheck();
    await fill(page, { number: DECLINED_CARD });
    await pay(page);
    await page.getByRole('alert').waitFor();
    await look('declined');
    await fill(page);
    await pay(page);
    await heading(page, 'Thank you: you have paid');
    await look('complete');
    await page.goto(cancelled.url);
    await look('cancelled');
    await page.goto(used.url);
    await fill(page, { number: DECLINED_CARD });
    await pay(page);
    await heading(page, 'This did not work');
    await look('used up');
    scripted.nextAnswers(() => ({ kind: 'unknown', reason: 'timeout' }));
    const finding = scripted.holdNextFinding();
    await page.goto(doubtful.url);
    await fill(page);
    await pay(page);
    await heading(page, 'Your payment is being checked');
    await look('processing');
    // First: with the answer the page would lead on by itself, at the same time.
    await page.goto(`${gateway.checkoutUrl}/co_${'b'.repeat(28)}`);
    finding.answer({ kind: 'not_seen' });
    await look('unknown');
    expect(Object.fromEntries(Object.entries(looked).filter(([, mistakes]) => mistakes.length > 0))).toEqual(
      {},
    );
    expect(complaints).toEqual([]);
    await person.close();
  });

  test('a merchant’s own look → accessible in both schemes, and a logo opened by itself runs no script', async () => {
    const { person, page, complaints } = await payer();
    // No operator could set such a logo.
    const logo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><script>document.documentElement.id = 'ran'</script><rect width="8" height="8" onclick="document.documentElement.id = 'ran'"/></svg>`;
    await gateway.sqlSealed(
      `INSERT INTO merchant_brand (organisation_id, merchant_id, display_name, colour, logo)
       VALUES (1, 2, 'Harbour & Söhne', '#ffd400', convert_to($1, 'UTF8'))`,
      [logo],
    );
    const { url } = (await createCheckout(gateway.api, {}, 2)).body;
    await page.goto(url);
    await heading(page, 'Pay Harbour & Söhne');
    const shown = page.locator('img.logo');
    await expect
      .poll(() => page.evaluate(`document.querySelector('img.logo').naturalWidth`))
      .toBeGreaterThan(0);
    expect(await mistakesInBothSchemes(page)).toEqual([]);
    expect(complaints.splice(0)).toEqual([]);
    await page.goto(new URL((await shown.getAttribute('src')) ?? '', url).href);
    await page.locator('rect').click();
    expect(await page.evaluate('document.documentElement.id')).toBe('');
    await person.close();
  });

  describe('in a frame', () => {
    let shop: Server;
    let origin: string;
    let page = '';
    beforeAll(async () => {
      shop = createServer((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).end(page);
      });
      await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
      origin = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
    });
    afterAll(() => new Promise((resolve) => shop.close(resolve)));

    const shopPage = (url: string, integrity: string) => `<!doctype html><html lang="en"><title>Shop</title>
<script src="${gateway.checkoutUrl}/checkout-1.js" integrity="${integrity}" crossorigin="anonymous"></script>
<h1>Shop</h1><div id="here" data-tollgate-checkout="${url}"></div><p id="told"></p>
<script>
for (const name of ['complete', 'cancelled'])
  document.addEventListener('tollgate:' + name, () => { document.getElementById('told').textContent += name; });
addEventListener('message', ({ data }) => { (window.messages ??= []).push(JSON.stringify(data)); });
</script>`;

    test('the page grows with what it shows, pays, and tells the shop’s page nothing but its end', async () => {
      const { person, page: tab, complaints } = await payer();
      const wish = { frame_origins: [origin], return_url: `${origin}/paid`, cancel_url: `${origin}/basket` };
      const { url } = (await createCheckout(gateway.api, wish)).body;
      const { scripts } = (await (await fetch(`${gateway.checkoutUrl}/integrity`)).json()) as {
        scripts: { path: string; integrity: string }[];
      };
      page = shopPage(url, scripts.find(({ path }) => path === '/checkout-1.js')?.integrity ?? '');
      await tab.goto(origin);
      const frame = tab.frameLocator('iframe');
      await frame.getByLabel('Card number').fill(CARD.number);
      const height = () => tab.locator('iframe').evaluate((it) => it.getBoundingClientRect().height);
      const before = await height();
      await frame.getByRole('button').click();
      await frame.getByRole('alert').waitFor();
      await expect.poll(height).toBeGreaterThan(before);
      await frame.getByRole('link', { name: 'Back to Ours' }).click();
      await tab.getByText('cancelled').waitFor();
      await frame.getByLabel('Card number').fill(CARD.number);
      await frame.getByLabel('Expiry date').fill('1239');
      await frame.getByLabel('Security code').fill('987');
      await frame.getByRole('button').click();
      await frame.getByRole('heading', { name: 'Thank you: you have paid' }).waitFor();
      await tab.getByText('cancelledcomplete').waitFor();
      const messages = await tab.evaluate<string[]>('window.messages');
      for (const message of messages)
        expect(message).toMatch(/^\{"tollgate":1,"type":"(height","height":\d+|complete"|cancelled")/);
      expect(messages.join()).not.toMatch(/4111|987,/);
      expect(complaints).toEqual([]);
      await person.close();
    });
  });
});
