// Links in a real browser: made, copied and scanned by operators, paid by payers, and withdrawn.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityMistakes } from '../../testkit/accessibility.js';
import { inBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import {
  type ConsoleInBrowser,
  consoleInBrowser,
  dialogOf,
  fillIn,
  type OperatorAtConsole,
  rowOf,
} from '../../testkit/console-browser.js';
import { CARD, DECLINED_CARD, Payer } from '../../testkit/payer.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('links on the console in a browser'), () => {
  let desk: ConsoleInBrowser;
  let ada: OperatorAtConsole;

  beforeAll(async () => {
    desk = await consoleInBrowser({ settings: { CHECKOUT_PORT: '0' } });
    ada = await desk.open();
    await ada.person.grantPermissions(['clipboard-read', 'clipboard-write']);
  });
  afterAll(() => desk?.close());

  const press = (label: string) =>
    ada.page.getByRole('main').getByRole('button', { name: label, exact: true }).click();
  const NEW_LINK = 'New link of merchant 1';
  const wrong: string[] = [];
  async function check(where: string, part?: string): Promise<void> {
    const mistakes = [...(await accessibilityMistakes(ada.page, part)), ...ada.complaints.splice(0)];
    wrong.push(...mistakes.map((words) => `${where}: ${words}`));
  }

  async function makeLink(reference: string): Promise<string> {
    const made = await fillIn(ada.page, NEW_LINK, {
      Reference: reference,
      Amount: '49.90',
      Description: 'Membership, half a year',
      'Can be paid for': '14 days',
    });
    return made.locator('code').innerText();
  }

  test('a link is made, copied and scanned; paid after a declined card, its attempts lead to transactions, and these back', async () => {
    const { page, goTo } = ada;
    await goTo('/checkouts?merchant=1');
    await page.getByText('No checkout').waitFor();
    await check('no checkouts');
    await press('New link');
    const refused = await fillIn(page, NEW_LINK, { Reference: 'INV-2207', Amount: 'much' });
    await refused.getByLabel('Amount').and(refused.locator('[aria-invalid=true]')).waitFor();
    await check('form', '[role=dialog]');
    const url = await makeLink('INV-2207');
    expect(url).toContain(`${desk.gateway.checkoutUrl}/co_`);
    const dialog = dialogOf(page, NEW_LINK);
    await dialog.getByRole('img', { name: /camera/ }).waitFor();
    await check('made', '[role=dialog]');
    await dialog.getByRole('button', { name: 'Copy', exact: true }).click();
    await page.getByText('The link is copied.').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(url);
    await dialog.getByRole('link', { name: 'What comes of it' }).click();
    await page.getByRole('heading', { level: 1, name: 'Checkout INV-2207' }).waitFor();
    await page.getByText('Nobody has tried to pay yet').waitFor();
    expect(await page.getByRole('main').locator('code').innerText()).toBe(url);
    await check('open');

    const payer = new Payer(url);
    await payer.pay({ method: 'creditcard', ...DECLINED_CARD });
    await payer.pay({ method: 'creditcard', ...CARD });
    // The page learns of it by itself.
    await rowOf(page, 'Attempts', 'not paid').waitFor();
    const paid = page
      .getByRole('region', { name: 'Attempts' })
      .getByRole('row')
      .filter({ hasNotText: 'not paid' });
    await check('paid');
    expect(await page.getByRole('button', { name: 'Withdraw' }).count()).toBe(0);
    await paid.getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: /^Transaction/ }).waitFor();
    await page.getByRole('main').getByRole('link', { name: /^co_/ }).click();
    await page.getByRole('link', { name: 'Transactions of this checkout' }).click();
    await page.getByText('2 shown, that is all.').waitFor();
    expect(wrong.splice(0)).toEqual([]);
  });

  test('a link is withdrawn → its page says so, and the list by state has it', async () => {
    const { page, goTo } = ada;
    await goTo('/checkouts?merchant=1');
    await press('New link');
    const url = await makeLink('INV-2208');
    await dialogOf(page, NEW_LINK).getByRole('link', { name: 'What comes of it' }).click();
    await press('Withdraw');
    await check('withdrawing', '[role=dialog]');
    await fillIn(page, 'Withdraw INV-2208');
    await page.getByText('cancelled').waitFor();
    expect((await new Payer(url).look()).text).toContain('nothing to pay any more');
    await goTo('/checkouts?merchant=1&status=cancelled');
    await rowOf(page, 'Checkouts', 'INV-2208').waitFor();
    expect(await rowOf(page, 'Checkouts', 'INV-2207').count()).toBe(0);
    await page.getByLabel('State').selectOption('complete');
    await rowOf(page, 'Checkouts', 'INV-2207').waitFor();
    await check('list');
    expect(wrong.splice(0)).toEqual([]);
  });
});
