// The page while things go wrong around it: the gateway restarts, with a refund under way; its database is away; and an installation that has
// live merchants beside test ones.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { inBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import {
  type ConsoleInBrowser,
  consoleInBrowser,
  dialogOf,
  type OperatorAtConsole,
  rowOf,
  shown,
} from '../../testkit/console-browser.js';
import { administer } from '../../testkit/database-server.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { ScriptedAcquirer } from '../../testkit/scripted-acquirer.js';
import { openDay } from '../../testkit/settlement-days.js';
import { Switch } from '../../testkit/switch.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('the page while things go wrong'), () => {
  let desk: ConsoleInBrowser;
  /** The browser's way to the gateway: the address stays, whichever process answers there. */
  let way: Switch;
  let serving: TestGateway;
  let ada: OperatorAtConsole;
  const live = new ScriptedAcquirer('live');
  const SETTINGS = { DEMO: 'false' };

  const portOf = ({ operatorsUrl }: TestGateway) => Number(new URL(operatorsUrl).port);
  const start = async () => {
    serving = await testGateway({ settings: SETTINGS, shareWith: desk.gateway });
    way.lead(portOf(serving));
  };
  const stop = async () => {
    way.lead();
    way.cut();
    await serving.close();
  };

  beforeAll(async () => {
    desk = await consoleInBrowser({ settings: SETTINGS, acquirers: [live] });
    way = await Switch.open();
    ada = await desk.open({ name: 'ada', at: `http://localhost:${way.port}` });
  });
  // One that a test has started ends with it.
  beforeEach(() => start());
  afterEach(() => stop());
  afterAll(async () => {
    way?.close();
    await desk?.close();
  });

  const LOST = 'The connection to the gateway is lost.';

  test('the gateway restarts → the page says that it is gone, returns by itself to the same place, and is live again', async () => {
    const { page, load } = ada;
    await desk.gateway.api.purchase({ reference: 'before' });
    await load('/transactions?mode=test');
    await rowOf(page, 'Transactions', 'before').waitFor();
    await stop();
    await page.getByText(LOST).waitFor();
    await page.getByRole('link', { name: 'Merchants' }).click();
    await page.getByText('The gateway does not answer').first().waitFor();
    await start();
    await page.getByText(LOST).waitFor({ state: 'detached' });
    await rowOf(page, 'Merchants', 'Theirs').waitFor();
    await page.getByRole('alert').first().waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Transactions' }).click();
    await rowOf(page, 'Transactions', 'before').waitFor();
    await desk.gateway.api.purchase({ reference: 'afterwards' });
    await rowOf(page, 'Transactions', 'afterwards').waitFor();
  });

  test('a refund whose answer the restart loses → sent again, it is the same refund', async () => {
    const { page, load } = ada;
    const { audit } = (await desk.gateway.api.purchase({ amount: 2_000 })).body;
    const refunds = () =>
      desk.gateway.sql('SELECT status FROM transaction WHERE organisation_id = 1 AND target_audit = $1', [
        audit,
      ]);
    await load(`/transactions/1/${audit}`);
    await page.getByRole('button', { name: 'Refund' }).click();
    const form = dialogOf(page, `Refund transaction ${audit}`);
    await form.getByLabel('Amount in AUD').fill('3.00');
    await form.getByLabel('Reason').fill('came back');
    await page.route('**/refund', async (route) => {
      await route.fetch();
      await stop();
      await route.abort();
    });
    await form.locator('button[type=submit]').click();
    await form.getByText('The gateway does not answer').waitFor();
    await page.unroute('**/refund');
    await form.locator('button[type=submit]').click();
    await form.locator('button[type=submit][data-loading]').waitFor({ state: 'detached' });
    await form.getByText('The gateway does not answer').waitFor();
    await start();
    await page.getByText(LOST).waitFor({ state: 'detached' });
    await form.locator('button[type=submit]').click();
    await form.getByText(/New transaction \d+/).waitFor();
    expect(await refunds()).toEqual([{ status: 'approved' }]);
  });

  test('the primary is away → shown as unavailable, nobody is signed out; back → the page goes on', async () => {
    const { page, load } = ada;
    const name = new URL(desk.gateway.databaseUrl).pathname.slice(1);
    const administrate = (statement: string) => administer(inject('adminUrl'), statement);
    await load('/users');
    await administrate(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    try {
      await administrate(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tollgate-console' AND datname = '${name}'`,
      );
      await page.getByRole('link', { name: 'Merchants' }).click();
      await page.getByText('The gateway or its database is not available now').first().waitFor();
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Merchants');
    } finally {
      await administrate(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    }
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await rowOf(page, 'Merchants', 'Theirs').waitFor();
  });

  test('live and test merchants → one kind is shown at a time, and the header says which', async () => {
    const { page, load } = ada;
    await ada.client.post('/merchants', { organisation: 1, name: 'Real Shop', live: true });
    await desk.gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted' WHERE name = 'Real Shop'`);
    const [shop] = await desk.gateway.sql<{ id: number }>(`SELECT id FROM merchant WHERE name = 'Real Shop'`);
    await ada.client.post('/users/owner/grant', { merchant: shop?.id });
    const pay = () => desk.gateway.api.purchase({ merchant: shop?.id as number, reference: 'real-money' });
    await expect.poll(async () => (await pay()).status).toBe(201);
    await desk.gateway.api.purchase({ reference: 'no-money' });
    await load('/transactions');
    const banner = page.getByRole('banner');
    await banner.getByText('LIVE').waitFor();
    await banner.getByText('real money').waitFor();
    await rowOf(page, 'Transactions', 'real-money').first().waitFor();
    expect(await rowOf(page, 'Transactions', 'no-money').count()).toBe(0);
    await page.getByRole('button', { name: 'Show test' }).click();
    await banner.getByText('no money moves').waitFor();
    await rowOf(page, 'Transactions', 'no-money').first().waitFor();
    expect(await rowOf(page, 'Transactions', 'real-money').count()).toBe(0);
    // It stays so on other pages.
    await page.getByRole('link', { name: 'Merchants' }).click();
    await rowOf(page, 'Merchants', 'Theirs').waitFor();
    expect(await rowOf(page, 'Merchants', 'Real Shop').count()).toBe(0);
    await page.getByRole('link', { name: 'Settlement' }).click();
    await shown(page);
    // Which is another one than today after the cut-off, and on days without banks.
    await load(`/settlement?date=${await openDay(desk.gateway)}`);
    await page.getByRole('region', { name: 'Net' }).waitFor();
    const merchants = page.getByRole('region', { name: 'Net' }).getByRole('row');
    expect(
      await merchants
        .filter({ has: page.getByRole('cell', { name: String(shop?.id), exact: true }) })
        .count(),
    ).toBe(0);
    expect(ada.complaints).toEqual([]);
  });
});
