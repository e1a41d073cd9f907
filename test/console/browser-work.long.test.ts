// The daily work on the console in a real browser: customers and tokens, the bank's files, settlement, webhooks, keys and the journal. What
// the page says is done is seen through the interface.
import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bankDayOf } from '../../testkit/bank-day.js';
import { itemOf, read, returnsFile } from '../../testkit/bank-file-layout.js';
import { inBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import type { Json } from '../../testkit/client.js';
import {
  type ConsoleInBrowser,
  consoleInBrowser,
  fillIn,
  type OperatorAtConsole,
  rowOf,
} from '../../testkit/console-browser.js';
import { openDay } from '../../testkit/settlement-days.js';
import { vaultOf } from '../../testkit/vault-client.js';
import { startReceiver } from '../../testkit/webhook-receiver.js';
import { WEBHOOK_SETTINGS } from '../../testkit/webhooks.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('the daily work with a browser'), () => {
  let desk: ConsoleInBrowser;
  let ada: OperatorAtConsole;

  beforeAll(async () => {
    desk = await consoleInBrowser({ settings: WEBHOOK_SETTINGS });
    ada = await desk.open({ name: 'ada' });
    const bank = bankDayOf(desk.gateway);
    await bank.setDirectEntry(2);
    await bank.close();
  });
  afterAll(() => desk?.close());

  const press = (label: string, place: Locator = ada.page.getByRole('main')) =>
    place.getByRole('button', { name: label, exact: true }).click();

  /** As if it came from the desktop. */
  async function drop(page: Page, label: string, text: string): Promise<void> {
    const data = await page.evaluateHandle(
      `(() => { const data = new DataTransfer(); data.items.add(new File([${JSON.stringify(text)}], 'file.txt')); return data; })()`,
    );
    await page.locator('.drop').filter({ hasText: label }).dispatchEvent('drop', { dataTransfer: data });
  }

  test('a card’s last four, an amount and a day in one box → the payment, each as a filter; one taken away → all that the others find', async () => {
    const { page, goTo } = ada;
    const paid = async (amount: number) =>
      (await desk.gateway.api.purchase({ pan: '5555555555554444', amount, reference: 'searched' })).body
        .audit;
    const [wanted, other] = [await paid(3_192), await paid(4_100)];
    await desk.gateway.api.void(other);
    const link = (audit: number) => page.getByRole('link', { name: String(audit), exact: true });
    const filters = () => page.getByRole('list', { name: 'Filters' }).getByRole('button').allInnerTexts();
    await goTo('/transactions');
    await link(other).waitFor();
    await page.getByLabel('Search transactions').fill('4444 31.92 today');
    await page.keyboard.press('Enter');
    await page.getByText('1 transaction · A$31.92 taken').waitFor();
    await link(wanted).waitFor();
    await expect.poll(() => link(other).count()).toBe(0);
    const today = new URL(page.url()).searchParams.get('from');
    expect((await filters()).map((words) => words.replace(/\s*×$/, ''))).toEqual([
      `on ${today}`,
      'card ends in 4444',
      '31.92',
    ]);
    await page.getByRole('button', { name: 'Without the filter: 31.92' }).click();
    await link(other).waitFor();
    await page.getByLabel('Status').selectOption('voided');
    await page.getByText('1 transaction', { exact: true }).waitFor();
    await expect.poll(() => link(wanted).count()).toBe(0);
    // The way back is that of the browser.
    await page.goBack();
    await link(wanted).waitFor();
    await page.reload();
    await link(wanted).waitFor();
    // Of several meanings each is named, and none is hidden by a filter that nobody sees.
    await page.getByRole('link', { name: 'Clear' }).click();
    await page.getByLabel('Search transactions').fill('searched');
    await page.keyboard.press('Enter');
    await link(other).waitFor();
    await expect.poll(filters).toEqual([expect.stringContaining('reference begins “searched”')]);
  });

  test('customer → found by a part of the name; a token is deactivated, activated and deleted; the customer is deleted', async () => {
    const { page, goTo } = ada;
    const vault = vaultOf(desk.gateway.api);
    const { id: customer } = (await vault.addCustomer({ name: 'Grace Hopper' })).body;
    const { id, virtualPan } = await vault.newToken({}, customer);
    const paid = async () => (await desk.gateway.api.purchase({ pan: virtualPan })).status;
    expect(await paid()).toBe(201);
    await goTo('/customers');
    await page.getByLabel('Search customers').fill('hopper');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: String(customer), exact: true }).click();
    await page.getByRole('heading', { level: 1, name: `Customer ${customer}` }).waitFor();
    const row = rowOf(page, 'Tokens', virtualPan);
    await rowOf(page, 'Payments of the customer', 'A$100.00').waitFor();
    await press('Deactivate', row);
    await fillIn(page, `Deactivate token ${id}`);
    await row.getByText('disabled').waitFor();
    expect(await paid()).toBe(422);
    await press('Activate', row);
    await fillIn(page, `Activate token ${id}`);
    await row.getByText('active', { exact: true }).waitFor();
    expect(await paid()).toBe(201);
    await press('Delete', row);
    await fillIn(page, `Delete token ${id}`);
    await row.getByText('removed').waitFor();
    expect((await vault.lookUpToken(customer, id)).status).toBe(404);
    await press('Delete the customer');
    await fillIn(page, `Delete customer ${customer}`);
    await page.getByRole('heading', { level: 1, name: 'Customers' }).waitFor();
    expect((await vault.lookUpCustomer(customer)).status).toBe(404);
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  });

  test('direct debit: a file is made and saved, and saved again byte for byte; the bank’s returns are dropped on the page', async () => {
    const { page, goTo } = ada;
    const paid = await desk.gateway.api.purchase({
      merchant: 2,
      amount: 700,
      bankAccount: { account_name: 'RETURNS SOON' },
    });
    const { audit } = paid.body;
    const status = async () => (await desk.gateway.api.lookUp(audit)).body.status.transaction_status_code;
    await goTo('/direct-debit');
    await press('Make a file', rowOf(page, 'Merchants', 'CBA'));
    const made = await fillIn(page, 'Make a file of merchant 2');
    const save = async (button: Locator) => {
      const [saved] = await Promise.all([page.waitForEvent('download'), button.click()]);
      return { name: saved.suggestedFilename(), text: await readFile(await saved.path(), 'latin1') };
    };
    const first = await save(made.getByRole('button', { name: /^Download file/ }));
    expect(first.name).toMatch(/^direct-debit-2-\d+\.aba$/);
    await made.getByRole('button', { name: 'Close' }).last().click();
    expect(
      await save(rowOf(page, 'Files', 'A$7.00').getByRole('button', { name: /^Download file/ })),
    ).toEqual(first);
    expect((await desk.gateway.api.void(audit, { merchant: 2 })).status).toBe(422);

    const file = read(first.text);
    await drop(page, 'Drop the bank’s file of returns here', 'no such file\r\n');
    await page.getByRole('alert').waitFor();
    const returned = returnsFile(file.header, [{ item: itemOf(file, 'RETURNS SOON'), returnCode: 6 }]);
    await drop(page, 'Drop the bank’s file of returns here', returned);
    await page.getByRole('main').getByRole('status').filter({ hasText: 'Returned' }).waitFor();
    expect(await status()).toBe('declined');
    // Sent again, it is known.
    await drop(page, 'Drop the bank’s file of returns here', returned);
    await page.getByText('Returned already').waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  });

  test('settlement: the acquirer’s file dropped on a day → shows the differences and their transactions', async () => {
    const { page, goTo } = ada;
    const [same, other] = [
      (await desk.gateway.api.purchase({ amount: 1_234 })).body.audit,
      (await desk.gateway.api.purchase({ amount: 4_321 })).body.audit,
    ];
    const [row] = await desk.gateway.sql<{ installation: string }>('SELECT installation FROM gateway');
    const day = await openDay(desk.gateway);
    await goTo(`/settlement?date=${day}`);
    await page.getByRole('region', { name: 'Lines' }).getByText('purchase').first().waitFor();
    await page.getByLabel('Acquirer', { exact: true }).selectOption('simulator');
    const line = (audit: number | string, cents: number) =>
      `${row?.installation}-1-${audit},purchase,${cents},AUD`;
    await drop(
      page,
      'Drop the file of simulator',
      [
        'reference,transaction_type,amount_cents,currency',
        line(same, 1_234),
        line(other, 4_320),
        line('0', 5),
      ].join('\n'),
    );
    await page.getByText('3 lines, 1 matched.').waitFor();
    await rowOf(page, 'Different', `-1-${other}`).waitFor();
    await rowOf(page, 'Not here', '-1-0').waitFor();
    await page.getByText('In the file: purchase 43.20 AUD. Here: purchase 43.21 AUD.').waitFor();
    await drop(page, 'Drop the file of simulator', 'no file');
    await page.getByRole('alert').waitFor();
    await page.getByRole('button', { name: /^All \d+ of simulator are looked at$/ }).click();
    await fillIn(page, /^Looked at all \d+ of simulator/, {
      'What came of it': 'The file was of another day',
    });
    await page.getByText('None on this day.').waitFor();
  });

  test('webhook → tested, delivered, replayed from an event, one event resent, disabled and enabled, secret rotated, removed', async () => {
    const { page, goTo } = ada;
    const shop = await startReceiver();
    try {
      await goTo('/webhooks?merchant=1');
      await press('Add an endpoint');
      const added = await fillIn(page, 'Add an endpoint', { Address: shop.url });
      shop.secret = await added.locator('code.secret').innerText();
      await added.getByRole('button', { name: 'Close' }).last().click();
      await rowOf(page, 'Endpoints', shop.url).getByRole('link').click();
      await press('Test');
      const tested = await fillIn(page, /^Test endpoint/);
      await tested.getByText('delivered').waitFor();
      await tested.getByRole('button', { name: 'Close' }).last().click();
      expect(shop.received).toMatchObject([{ genuine: true }]);
      await desk.gateway.api.purchase({ amount: 1_111 });
      const delivery = rowOf(page, 'Deliveries', 'transaction.approved');
      await delivery.first().waitFor();
      const event = shop.received.at(-1);
      const times = () =>
        shop.received.filter(({ id, genuine }) => id === event?.id && genuine === true).length;
      await press('Replay from here', delivery.first());
      await fillIn(page, /^Replay events/);
      await expect.poll(times).toBe(2);
      // Since the page last read them, nothing has happened but the delivery itself.
      await delivery.nth(1).waitFor();
      await page.keyboard.press('Escape');
      await press('Send again', delivery.first());
      await fillIn(page, /^Send an event again/);
      await expect.poll(times).toBe(3);
      // A test message is no event: there is nothing to send again.
      expect(await rowOf(page, 'Deliveries', 'webhook.test').getByRole('button').count()).toBe(0);
      await page.keyboard.press('Escape');
      await press('Disable');
      await fillIn(page, /^Disable endpoint/);
      await page.getByRole('main').getByText('disabled', { exact: true }).first().waitFor();
      await press('Enable');
      await fillIn(page, /^Enable endpoint/);
      await page.getByRole('main').getByText('enabled', { exact: true }).first().waitFor();
      await press('New secret');
      const renewed = await fillIn(page, /^New secret/);
      expect(await renewed.locator('code.secret').innerText()).not.toBe(shop.secret);
      await renewed.getByRole('button', { name: 'Close' }).last().click();
      await press('Remove');
      await fillIn(page, /^Remove endpoint/);
      await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
      expect((await ada.client.get('/webhooks')).body).toEqual([]);
    } finally {
      await shop.close();
    }
  });

  test('keys rotated → the page shows progress, everything is under the newest key, and payments go on; verification finds no problem', async () => {
    const { page, goTo } = ada;
    const { audit } = (await desk.gateway.api.purchase()).body;
    await goTo('/keys');
    await press('Rotate');
    await fillIn(page, 'Rotate keys', { Merchant: '1' });
    await page.getByText(/The last rotation sealed \d+ values anew/).waitFor();
    const keys: Json[] = (await ada.client.get('/keys')).body;
    expect(keys.filter(({ merchant, seals }) => merchant === 1 && seals)).toMatchObject([{ version: 2 }]);
    expect((await desk.gateway.api.refund(audit, 100)).status).toBe(201);
    await press('Verify');
    const verified = await fillIn(page, 'Verify what is sealed');
    await verified.getByRole('status').waitFor();
  });

  test('journal → has all of it under the operator’s name, can be filtered by operator and action, and verifies', async () => {
    const { page, goTo } = ada;
    await goTo('/journal');
    await page.getByLabel('Who').fill('operator:ada');
    await page.getByLabel('What', { exact: true }).fill('keys.rotated');
    await press('Show');
    await rowOf(page, 'Journal', 'operator:ada').first().waitFor();
    expect(page.url()).toContain('user=operator%3Aada');
    await press('Verify');
    const verified = await fillIn(page, 'Verify the journal');
    await verified.getByRole('status').waitFor();
    expect(await verified.innerText()).toMatch(/Entries|entries/);
  });

  test('throughout → the browser reported no error', () => {
    expect(ada.complaints).toEqual([]);
  });
});
