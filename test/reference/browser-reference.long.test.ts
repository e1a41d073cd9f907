// The reference page in a real browser: with its script and without, on a wide screen and on a phone.
import type { Browser, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { OPERATIONS } from '../../src/api/operations/operations.js';
import { addMerchant } from '../../src/organisations/merchants.js';
import { addUser, type UserWithSecret } from '../../src/organisations/users/users.js';
import { mistakesInBothSchemes } from '../../testkit/accessibility.js';
import {
  inBrowser,
  newPerson,
  openPage,
  type Seen,
  startBrowser,
  WHY_NO_BROWSER,
} from '../../testkit/browser.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('the reference page'), () => {
  let gateway: TestGateway;
  let browser: Browser;
  /** One page for all visits with scripts: in another, the browser would compile and lay out everything anew. */
  let withScripts: Seen;
  let live: number;
  let user: UserWithSecret;

  beforeAll(async () => {
    [gateway, browser] = await Promise.all([testGateway(), startBrowser()]);
    withScripts = await openPage(await newPerson(browser));
    const database = operatorsDatabase(gateway);
    live = (await addMerchant(database, 'operator:test', 1, 'Live', { live: true })).id;
    user = await addUser(database, 'operator:test', gateway.credentialKey, 'both', {
      merchant: 1,
      grants: [live],
    });
    await database.close();
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
  });

  interface Wish {
    readonly width?: number;
    readonly script?: boolean;
    readonly at?: string;
  }

  /** A page whose complaints, and requests to other hosts, fail the test. */
  async function reference({ script = true, at = '', width = 1280 }: Wish = {}): Promise<Page> {
    const { page, complaints } = script
      ? withScripts
      : await openPage(await browser.newContext({ javaScriptEnabled: false }));
    const { origin } = new URL(gateway.baseUrl);
    const elsewhere: string[] = [];
    const look = (request: Request) => {
      if (new URL(request.url()).origin !== origin) elsewhere.push(request.url());
    };
    page.on('request', look);
    onTestFinished(async () => {
      page.off('request', look);
      // Every visit but one that a test makes itself is the first.
      if (script) await page.evaluate('localStorage.clear()');
      expect([complaints.splice(0), elsewhere]).toEqual([[], []]);
    });
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(`${origin}/docs${at}`);
    // Another place on the same page does not reload it.
    if (at !== '') await page.reload();
    return page;
  }

  const section = (page: Page, id: string) => page.locator(`#op-${id}`);

  /** Types into the form of an operation, sends it, and reads what came back. */
  async function sent(page: Page, id: string, typed: Readonly<Record<string, string>>): Promise<string> {
    await page.locator('#username').fill(user.username);
    await page.locator('#secret').fill(user.password);
    const form = section(page, id).locator('.try');
    if ((await form.getAttribute('open')) === null) await form.locator('summary').click();
    for (const [label, value] of Object.entries(typed)) await form.getByLabel(label).fill(value);
    await form.locator('.answer').evaluate((element) => element.replaceChildren());
    await form.getByRole('button', { name: 'Send' }).click();
    await form.locator('.answer .status').waitFor();
    return form.locator('.answer').innerText();
  }

  const purchaseFor = (merchant: number) =>
    JSON.stringify({
      merchant: { id: merchant },
      transaction: {
        reference: 'tried out',
        amount_details: { total_amount: '1995', currency: 'AUD' },
        payment_method: { creditcard: { pan: '4111111111111111', expiry_date: '1230' } },
      },
    });

  /** Of operations, objects and guides, which are made alike, one or two: to look at all of them takes a minute. */
  const FEW = ['op-createPurchase', 'object-Token', 'webhooks', 'test-cards'];

  test.each([
    [1280, ''],
    [390, ''],
    [390, '#contents'],
  ])(
    '%i pixels wide, light and dark, at "%s" → axe-core finds no problem, and nothing overflows',
    async (width, at) => {
      const page = await reference({ width, at });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      const [few, folded] = [JSON.stringify(FEW), JSON.stringify('.operation details')];
      await page.evaluate(`
      for (const each of document.querySelectorAll('.operation, .object, .guide')) if (!${few}.includes(each.id)) each.remove();
      for (const each of document.querySelectorAll(${folded})) each.open = true;
      for (const each of document.querySelectorAll('nav li a')) if (document.querySelector(each.hash) === null) each.parentElement.remove();
      const field = document.querySelector('#search-field');
      field.value = 'refund';
      field.dispatchEvent(new Event('input'));
    `);
      expect(await mistakesInBothSchemes(page, at)).toEqual([]);
    },
  );

  test('samples → show the gateway’s address, and one language for all, also at the next visit', async () => {
    const page = await reference();
    const shown = page.locator('#requests pre:visible');
    expect(await shown.innerText()).toContain(`BASE_URL=${gateway.baseUrl}`);
    await section(page, 'createRefund').getByRole('button', { name: 'Python' }).click();
    expect(await shown.innerText()).toContain(`Tollgate(\n    "${gateway.baseUrl}"`);
    await page.reload();
    expect(await section(page, 'createRefund').locator('[data-sample]:visible').innerText()).toContain(
      'tollgate.refund(',
    );
    expect(await page.locator('[data-choose="python"][aria-pressed="true"]').count()).toBe(
      OPERATIONS.length + 1,
    );
  });

  test('a search → finds operations, guides, objects and errors, even in collapsed sections', async () => {
    const page = await reference();
    const results = page.locator('#search-results a');
    const field = page.getByRole('searchbox');
    await page.keyboard.press('/');
    await page.keyboard.type('void');
    await expect.poll(() => results.first().innerText()).toMatch(/^Void\s+Operation$/);
    await field.fill('signature');
    await expect
      .poll(() => results.allInnerTexts())
      .toContainEqual(expect.stringMatching(/^Webhooks\s+Guide$/));
    await field.fill('refund_exceeds_original');
    await results.filter({ hasText: 'Error' }).first().click();
    await page.locator('#error-refund_exceeds_original').waitFor();
    await field.fill('never heard of zebras');
    await expect.poll(() => page.locator('#search-results').innerText()).toBe('Nothing found');
  });

  test('the current section → is marked in the contents', async () => {
    const page = await reference();
    const current = page.locator('nav [aria-current]');
    await expect.poll(() => current.allInnerTexts()).toEqual(['Your first request']);
    await section(page, 'createRefund').evaluate((element: { scrollIntoView(): void }) =>
      element.scrollIntoView(),
    );
    await expect.poll(() => current.allInnerTexts()).toEqual([expect.stringMatching(/Refund by audit$/)]);
  });

  test('Copy → copies the block, without its title', async () => {
    const page = await reference();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const figure = section(page, 'createPurchase').locator('figure').first();
    await figure.getByRole('button', { name: /^Copy/ }).click();
    await figure.getByText('Copied').waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toBe(
      await figure.locator('code').evaluate((code: { textContent: string }) => code.textContent),
    );
    expect(copied).toMatch(/^curl "\$BASE_URL/);
  });

  test('a form → makes a purchase for a test merchant, which its own look-up form finds', async () => {
    const page = await reference();
    const created = await sent(page, 'createPurchase', { Body: purchaseFor(1) });
    expect(created).toMatch(/^201 X-Correlation-Id docs-[0-9a-f]{32}/);
    expect(created).toContain('"transaction_status_code": "approved"');
    const [, audit = ''] = /"audit": (\d+)/.exec(created) ?? [];
    expect(await sent(page, 'lookUpTransaction', { audit })).toContain('"reference": "tried out"');
  });

  test('a form for a live merchant of the same user → 403, and nothing is stored', async () => {
    const page = await reference();
    const refused = await sent(page, 'createPurchase', { Body: purchaseFor(live) });
    expect(refused).toMatch(/^403/);
    expect(refused).toContain('merchant_not_permitted');
    expect(await gateway.sql('SELECT audit FROM transaction WHERE merchant_id = $1', [live])).toEqual([]);
  });

  test('a form without a secret → nothing is sent, and its field has the focus', async () => {
    const page = await reference();
    const calls: string[] = [];
    page.on('request', (request) => calls.push(request.url()));
    const form = section(page, 'lookUpTransaction').locator('.try');
    await form.locator('summary').click();
    await form.getByRole('button', { name: 'Send' }).click();
    expect(await page.evaluate('document.activeElement.id')).toBe('secret');
    expect(calls).toEqual([]);
  });

  test('without scripts → everything can be read, and no control that needs a script is shown', async () => {
    const page = await reference({ script: false });
    expect(await page.getByRole('button').count()).toBe(0);
    expect(await page.getByRole('searchbox').count()).toBe(0);
    expect(await page.locator('.try:visible, #credentials:visible').count()).toBe(0);
    for (const { id } of OPERATIONS)
      expect(await section(page, id).locator('[data-sample]:visible').count()).toBeGreaterThan(0);
    await page.locator('nav').getByText('Webhooks').click();
    expect(await page.locator('#webhooks').isVisible()).toBe(true);
  });
});
