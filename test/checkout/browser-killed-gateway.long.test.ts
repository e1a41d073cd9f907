// A payer in a real browser while gateways are killed at each step, and two of them share the work: whoever is at the page can go on, and
// pays once.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { POINTS } from '../../src/payments/pipeline/create.js';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import { inBrowser, newPerson, openPage, startBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import { type Installation, type InstalledGateway, installation } from '../../testkit/cloned-installation.js';
import { freePort } from '../../testkit/gateway-process.js';
import { CARD, createCheckout, letManyPay, Payer } from '../../testkit/payer.js';
import { Switch } from '../../testkit/switch.js';
import { SLOW_CARD } from '../../testkit/test-cards.js';
import { type GoogleShop, googleShop } from '../../testkit/wallets.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('the page of a checkout'), () => {
  let shared: Installation;
  let browser: Browser;
  /** Where payers find whichever gateways there are. */
  let balancer: Switch;
  let lasting: Started;
  let google: GoogleShop;

  interface Started extends InstalledGateway {
    readonly payersPort: number;
  }

  async function startGateway(settings: Readonly<Record<string, string>> = {}): Promise<Started> {
    const payersPort = await freePort();
    const gateway = await shared.start({
      CHECKOUT_PORT: String(payersPort),
      CHECKOUT_URL: `http://127.0.0.1:${balancer.port}`,
      ACQUIRER_DEADLINE_MS: '1500',
      ...settings,
    });
    return { ...gateway, payersPort };
  }

  beforeAll(async () => {
    [shared, browser, balancer] = await Promise.all([installation(), startBrowser(), Switch.open()]);
    await letManyPay(shared);
    google = await googleShop(shared);
    lasting = await startGateway();
  });
  afterAll(async () => {
    await browser?.close();
    balancer?.close();
    await lasting?.stop();
  });

  async function payerAt(url: string) {
    const person = await newPerson(browser);
    const { page } = await openPage(person);
    await page.goto(url);
    return { person, page };
  }
  const fill = async (page: Page, number: string = CARD.number) => {
    await page.getByLabel('Card number').fill(number);
    await page.getByLabel('Expiry date').fill('1239');
    await page.getByLabel('Security code').fill('123');
  };
  const pay = (page: Page) => page.getByRole('button').click();
  const paid = (page: Page) => page.getByRole('heading', { name: 'Thank you: you have paid' });
  /** Whether the page asks the payer to try again, once it knows. */
  const asksAgain = async (page: Page) => {
    await paid(page).or(page.getByLabel('Card number')).waitFor({ timeout: 300_000 });
    return page.getByLabel('Card number').isVisible();
  };

  async function expectPaidOnce(id: string): Promise<void> {
    const { status, attempts } = (await lasting.api.get(`/checkouts/${id}`)).body;
    expect(status).toBe('complete');
    const approved = attempts.filter(
      (each: { transaction_status_code: string }) => each.transaction_status_code === 'approved',
    );
    expect(approved).toHaveLength(1);
    await expectBooksToAgree(shared);
  }

  test.each(POINTS)(
    'the gateway is killed when a payment is %s → the payer loads the page again, and pays once',
    async (point) => {
      const doomed = await startGateway({ CRASH_AT: point });
      balancer.lead(doomed.payersPort);
      const { id, url } = (await createCheckout(lasting.api)).body;
      const { person, page } = await payerAt(url);
      await fill(page);
      await pay(page).catch(() => {});
      expect((await doomed.ended).signal).toBe('SIGKILL');
      await page.waitForURL('chrome-error:**');
      balancer.lead(lasting.payersPort);
      // The browser sends the form once more.
      await page.reload();
      if (await asksAgain(page)) {
        await fill(page);
        await pay(page);
      }
      await paid(page).waitFor({ timeout: 300_000 });
      await expectPaidOnce(id);
      await person.close();
    },
  );

  test.each(POINTS)(
    'the gateway is killed when a payment by wallet is %s → the same token pays no second time, and the payer pays once',
    async (point) => {
      const doomed = await startGateway({ CRASH_AT: point });
      balancer.lead(doomed.payersPort);
      const { id, url } = (await createCheckout(lasting.api)).body;
      // Each request goes where the balancer leads now.
      const payer = new Payer(url, { connection: 'close' });
      const page = await payer.look();
      const token = () => ({ wallet: 'google_pay', token: JSON.stringify(google.token()) });
      const sent = token();
      await payer.send(sent, page).catch(() => {});
      expect((await doomed.ended).signal).toBe('SIGKILL');
      balancer.lead(lasting.payersPort);
      await payer.send(sent, page);
      await expect.poll(() => payer.status()).not.toBe('processing');
      if ((await payer.status()) === 'open') {
        // Whether or not the attempt that was killed has taken the token, nothing was paid with it.
        await payer.pay(sent);
        if ((await payer.status()) === 'open') await payer.pay(token());
      }
      await expectPaidOnce(id);
    },
  );

  test('killed while the payer types → the form that was filled in is good for the next one', async () => {
    const doomed = await startGateway();
    balancer.lead(doomed.payersPort);
    const { id, url } = (await createCheckout(lasting.api)).body;
    const { person, page } = await payerAt(url);
    await fill(page);
    await doomed.crash();
    balancer.lead(lasting.payersPort);
    await pay(page);
    await paid(page).waitFor();
    await expectPaidOnce(id);
    await person.close();
  });

  test('killed while the page waits for the bank → the same page shows the end by itself', async () => {
    const doomed = await startGateway();
    balancer.lead(doomed.payersPort);
    const { id, url } = (await createCheckout(lasting.api)).body;
    const { person, page } = await payerAt(url);
    const other = await person.newPage();
    await other.goto(url);
    // The answer takes longer than the gateway waits for it.
    await fill(page, SLOW_CARD);
    await fill(other);
    void pay(page).catch(() => {});
    await expect.poll(async () => (await lasting.api.get(`/checkouts/${id}`)).body.status).toBe('processing');
    await pay(other);
    await other.getByRole('heading', { name: 'Your payment is being checked' }).waitFor();
    await doomed.crash();
    balancer.lead(lasting.payersPort);
    if (await asksAgain(other)) {
      await fill(other);
      await pay(other);
    }
    await paid(other).waitFor({ timeout: 300_000 });
    await expectPaidOnce(id);
    await person.close();
  });

  test('two gateways in turns, two tabs, and one gateway stops in good order → one payment', async () => {
    const second = await startGateway();
    balancer.lead(lasting.payersPort, second.payersPort);
    for (let round = 0; round < 3; round += 1) {
      const { id, url } = (await createCheckout((round === 1 ? second : lasting).api)).body;
      const { person, page } = await payerAt(url);
      const other = await person.newPage();
      await other.goto(url);
      await fill(page);
      await fill(other);
      // From now on over new connections, to the other gateway each.
      balancer.cut();
      await Promise.all([pay(page), pay(other)]);
      if (round === 2) {
        balancer.lead(lasting.payersPort);
        expect((await second.stop()).code).toBe(0);
      }
      for (const tab of [page, other]) await paid(tab).waitFor({ timeout: 300_000 });
      await expectPaidOnce(id);
      await person.close();
    }
  });
});
