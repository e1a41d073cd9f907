// Setting up on the console in a real browser: organisations, merchants, users, routes, links, surcharges and operators. What a form says
// is done is seen through the interface.
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inBrowser, newPerson, openPage, WHY_NO_BROWSER } from '../../testkit/browser.js';
import { client, type Json } from '../../testkit/client.js';
import {
  type ConsoleInBrowser,
  consoleInBrowser,
  fillIn,
  type OperatorAtConsole,
  rowOf,
} from '../../testkit/console-browser.js';
import { eventually } from '../../testkit/gateway-process.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('setting up with a browser'), () => {
  let desk: ConsoleInBrowser;
  let ada: OperatorAtConsole;

  beforeAll(async () => {
    desk = await consoleInBrowser();
    ada = await desk.open({ name: 'ada' });
  });
  afterAll(() => desk?.close());

  const press = (label: string, place: Locator = ada.page.getByRole('main')) =>
    place.getByRole('button', { name: label, exact: true }).click();
  const listed = async (path: string): Promise<Json[]> => (await ada.client.get(path)).body;

  test('organisation and merchant → added; changed, suspended and resumed → payments follow', async () => {
    const { page, goTo } = ada;
    await goTo('/merchants');
    await press('Add an organisation');
    await fillIn(page, 'Add an organisation', { Name: 'Northern Shops' });
    await rowOf(page, 'Organisations', 'Northern Shops').waitFor();
    const organisation = (await listed('/organisations')).find(({ name }) => name === 'Northern Shops');
    await press('Add a merchant');
    await fillIn(page, 'Add a merchant', {
      Organisation: `Northern Shops (${organisation.id})`,
      Name: 'Corner Shop',
      'Has the vault': true,
      'Days cards are kept': '30',
    });
    await rowOf(page, 'Merchants', 'Corner Shop').waitFor();
    const merchant = (await listed('/merchants')).find(({ name }) => name === 'Corner Shop');
    expect(merchant).toMatchObject({
      organisation: organisation.id,
      vault: true,
      card_days: 30,
      mode: 'test',
    });

    await press('Change', rowOf(page, 'Merchants', 'Corner Shop'));
    await fillIn(page, 'Change Corner Shop', { Name: 'Corner Shop & Sons', 'Has the vault': false });
    await rowOf(page, 'Merchants', 'Corner Shop & Sons').waitFor();
    expect((await listed('/merchants')).find(({ id }) => id === merchant.id)).toMatchObject({
      name: 'Corner Shop & Sons',
      vault: false,
      card_days: 30,
    });

    const status = async () => (await desk.gateway.api.purchase({ merchant: 3 })).status;
    const third = page.getByRole('row').filter({ has: page.getByRole('cell', { name: '3', exact: true }) });
    await press('Suspend', third.first());
    await fillIn(page, /^Suspend/);
    await eventually(async () => (await status()) === 403 || undefined);
    await press('Resume', third.first());
    await fillIn(page, /^Resume/);
    await eventually(async () => (await status()) === 201 || undefined);
  });

  test('user → pays with the secret that is shown once; limits, grants, a new secret and revocation apply at once', async () => {
    const { page, goTo } = ada;
    await goTo('/users');
    await press('Add a user');
    const added = await fillIn(page, 'Add a user', {
      Name: 'new-shop',
      Merchant: '1',
      May: 'read payments',
      Expires: '2031-02-03',
    });
    const api = client(desk.gateway.baseUrl, { username: 'new-shop', password: await secretIn(added) });
    await added.getByRole('button', { name: 'Close' }).last().click();
    const first = await api.purchase();
    expect(first.status).toBe(201);
    expect((await listed('/users')).find(({ username }) => username === 'new-shop')).toMatchObject({
      merchant: 1,
      allow: ['read', 'payments'],
      // The end of that day in Sydney.
      expires: '2031-02-03T12:59:59.000Z',
    });
    const row = rowOf(page, 'Users', 'new-shop');
    await row.getByText('03 Feb 2031, 23:59:59').waitFor();

    await press('Limits', row);
    await fillIn(page, 'Limits of new-shop', { May: 'read', Expires: '' });
    await row.getByText('never').waitFor();
    await eventually(async () => (await api.purchase()).status === 403 || undefined);
    await press('Merchants', row);
    await fillIn(page, 'Merchants of new-shop', { Merchant: '2' });
    await row.getByRole('cell', { name: '2', exact: true }).waitFor();
    await press('New secret', row);
    const renewed = await fillIn(page, 'New secret of new-shop');
    const anew = client(desk.gateway.baseUrl, { username: 'new-shop', password: await secretIn(renewed) });
    await renewed.getByRole('button', { name: 'Close' }).last().click();
    await eventually(async () => (await anew.lookUp(first.body.audit)).status === 200 || undefined);
    await eventually(async () => (await api.lookUp(first.body.audit)).status === 401 || undefined);
    await press('Revoke', row);
    await fillIn(page, 'Revoke new-shop');
    await row.getByText('revoked').waitFor();
    await eventually(async () => (await anew.lookUp(first.body.audit)).status === 401 || undefined);
  });

  test('surcharge → applies to the next payment; removed → no longer', async () => {
    const { page, goTo } = ada;
    const total = async () => {
      const { audit } = (await desk.gateway.api.purchase({ merchant: 2, amount: 1_000 })).body;
      return (await desk.gateway.api.lookUp(audit)).body.transaction.amount_details.total_amount;
    };
    await goTo('/surcharges?merchant=2');
    await press('Set a surcharge');
    const refused = await fillIn(page, 'Set a surcharge', { Percent: '101' });
    await refused.getByLabel('Percent').and(refused.locator('[aria-invalid=true]')).waitFor();
    await fillIn(page, 'Set a surcharge', { Percent: '2' });
    await rowOf(page, 'Surcharges', 'default').getByText('2%').waitFor();
    await eventually(async () => (await total()) === '1020' || undefined);
    await press('Remove all');
    await fillIn(page, /^Remove all/);
    await page.getByText('No surcharge').waitFor();
    await eventually(async () => (await total()) === '1000' || undefined);
  });

  test('link and route → payments may use them; an acquirer that does not answer is shown as such; both removed', async () => {
    const { page, goTo } = ada;
    await goTo('/acquirers');
    await press('Add a link');
    await fillIn(page, 'Add a link to an acquirer', {
      Name: 'bank',
      Address: '127.0.0.1:1',
      TLS: false,
      'For test merchants, for good': true,
    });
    await page.getByRole('link', { name: 'bank' }).click();
    await page.getByRole('heading', { level: 1, name: 'bank' }).waitFor();
    await press('Try');
    const tried = await fillIn(page, 'Try bank');
    await tried.getByRole('alert').waitFor();
    await tried.getByRole('button', { name: 'Cancel' }).click();
    await press('Change');
    await fillIn(page, 'Change bank', { 'Deadline in milliseconds': '700' });
    await eventually(
      async () => (await ada.client.get('/acquirers/bank')).body.deadline_ms === 700 || undefined,
    );

    await goTo('/routes?merchant=1');
    await press('Set a route');
    await fillIn(page, 'Set a route', { Acquirer: 'simulator', Card: 'amex', Order: '3' });
    await rowOf(page, 'Routes', 'simulator').getByText('amex').waitFor();
    expect(await listed('/routes?merchant=1')).toMatchObject([
      { acquirer: 'simulator', card: 'amex', order: 3 },
    ]);
    await press('Remove', rowOf(page, 'Routes', 'simulator'));
    await fillIn(page, 'Remove the route');
    await page.getByText('No route').waitFor();
    expect(await listed('/routes?merchant=1')).toEqual([]);
    await goTo('/acquirers/bank');
    await press('Remove');
    await fillIn(page, 'Remove bank');
    await page.getByRole('heading', { level: 1, name: 'Acquirers' }).waitFor();
    expect((await listed('/acquirers')).filter(({ name }) => name === 'bank')).toEqual([]);
  });

  test('operator → the link that is shown signs them in once; removed → signed out', async () => {
    const { page, goTo } = ada;
    await goTo('/operators');
    await press('Add an operator');
    const added = await fillIn(page, 'Add an operator', { Name: 'vera', Role: 'viewer', Organisation: '1' });
    const first = await secretIn(added);
    await added.getByRole('button', { name: 'Close' }).last().click();
    const row = rowOf(page, 'Operators', 'vera');
    await press('New link', row);
    const renewed = await fillIn(page, 'New sign-in link for vera');
    const link = (await secretIn(renewed)).replace('127.0.0.1', 'localhost');
    await renewed.getByRole('button', { name: 'Close' }).last().click();
    const person = await newPerson(desk.browser);
    const { page: theirs } = await openPage(person);
    await theirs.goto(first.replace('127.0.0.1', 'localhost'));
    await theirs.getByRole('alert').waitFor();
    await theirs.goto('about:blank');
    await theirs.goto(link);
    await theirs.getByRole('heading', { level: 1, name: 'How will you sign in?' }).waitFor();
    await person.close();
    await press('Change the role', row);
    await fillIn(page, 'What vera may do', { Role: 'operator' });
    await row.getByText('operator').waitFor();
    expect((await listed('/operators')).find(({ name }) => name === 'vera')).toMatchObject({
      role: 'operator',
      organisation: 1,
    });
    await press('Remove', row);
    await fillIn(page, 'Remove vera');
    await row.getByText('removed').waitFor();
  });

  test('throughout → the browser reported no error', () => {
    expect(ada.complaints).toEqual([]);
  });

  /** What is shown once. */
  async function secretIn(dialog: Locator): Promise<string> {
    return dialog.locator('code.secret').innerText();
  }
});
