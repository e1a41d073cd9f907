// Amounts in a real browser, in currencies without decimals, with two and with three: read and shown as people write them.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import {
  type ConsoleInBrowser,
  consoleInBrowser,
  dialogOf,
  type OperatorAtConsole,
} from '../../testkit/console-browser.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('currencies on the console in a browser'), () => {
  let desk: ConsoleInBrowser;
  let olga: OperatorAtConsole;

  beforeAll(async () => {
    desk = await consoleInBrowser();
    olga = await desk.open({ role: 'operator', name: 'olga' });
  });
  afterAll(() => desk?.close());

  async function purchase(change: Readonly<Record<string, unknown>>): Promise<number> {
    const { status, body } = await desk.gateway.api.purchase(change);
    expect(status).toBe(201);
    return body.audit;
  }

  test.each([
    // A yen has no smaller unit, a dinar of Kuwait has 1,000; prices in Iraq show no decimals, and yet amounts have three.
    ['JPY', { amount: 600, shown: '¥600', all: '600', typed: '6', wrong: '6.5', cents: '6', button: '¥6' }],
    [
      'KWD',
      {
        amount: 1_250,
        shown: 'KWD 1.250',
        all: '1.250',
        typed: '0.5',
        wrong: '1.2505',
        cents: '500',
        button: 'KWD 0.500',
      },
    ],
    [
      'IQD',
      {
        amount: 1_250,
        shown: 'IQD 1.250',
        all: '1.250',
        typed: '0.005',
        wrong: '1.251',
        cents: '5',
        button: 'IQD 0.005',
      },
    ],
  ])('refund of a payment in %s → the amount is read and shown with its decimals', async (currency, said) => {
    const { page, goTo } = olga;
    const target = await purchase({ amount: said.amount, currency });
    await goTo(`/transactions/1/${target}`);
    await page
      .getByText(`purchase ${said.shown.replace(' ', '\u00a0')}`)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Refund', exact: true }).click();
    const dialog = dialogOf(page, /^Refund transaction/);
    await dialog.getByLabel('Reason').fill('came back');
    const field = dialog.getByLabel(`Amount in ${currency}`);
    expect(await field.inputValue()).toBe(said.all);
    await field.fill(said.wrong);
    await dialog.getByText(/^From /).waitFor();
    await field.fill(said.typed);
    await dialog
      .locator('button[type=submit]')
      .getByText(`Refund ${said.button.replace(' ', '\u00a0')}`)
      .click();
    const made = await dialog.getByRole('status').getByRole('link', { name: /^\d+$/ }).innerText();
    const { transaction } = (await desk.gateway.api.lookUp(Number(made))).body;
    expect(transaction).toMatchObject({ amount_details: { total_amount: said.cents, currency } });
  });

  test('the filter by amount → finds amounts as people write them, in every currency', async () => {
    const { page, goTo } = olga;
    const [dollars, yen, dinars, others] = [
      await purchase({ amount: 73_100 }),
      await purchase({ amount: 731, currency: 'JPY' }),
      await purchase({ amount: 731_000, currency: 'KWD' }),
      await purchase({ amount: 73_100, currency: 'JPY' }),
    ];
    await goTo('/transactions');
    await page.getByRole('button', { name: 'More filters' }).click();
    await page.getByLabel('Amount', { exact: true }).fill('731');
    await page.getByLabel('Amount', { exact: true }).press('Enter');
    const row = (audit: number) => page.getByRole('link', { name: String(audit), exact: true });
    await expect.poll(() => row(others).count()).toBe(0);
    for (const audit of [dollars, yen, dinars]) await row(audit).waitFor();
    await page.getByLabel('Currency', { exact: true }).fill('JPY');
    await page.getByLabel('Currency', { exact: true }).press('Enter');
    await expect.poll(() => row(dollars).count()).toBe(0);
    await row(yen).waitFor();
    expect(await page.getByLabel('Amount', { exact: true }).inputValue()).toBe('731');
  });
});
