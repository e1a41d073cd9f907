// Forms of the console for the installation itself, in a real browser: the clock, sealed cards, keys, banks, others' sessions and differences of
// settlement. What a form says is done is seen through the interface; menus and the proof before them are looked at with axe-core.
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityMistakes } from '../../testkit/accessibility.js';
import { inBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import { sessionsAgo } from '../../testkit/console.js';
import {
  type ConsoleInBrowser,
  consoleInBrowser,
  dialogOf,
  fillIn,
  type OperatorAtConsole,
  rowOf,
  shown,
} from '../../testkit/console-browser.js';
import { eventually } from '../../testkit/gateway-process.js';
import { openDay } from '../../testkit/settlement-days.js';
import { DECLINED_CARD } from '../../testkit/test-cards.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('the installation with a browser'), () => {
  let desk: ConsoleInBrowser;
  let ada: OperatorAtConsole;

  beforeAll(async () => {
    desk = await consoleInBrowser();
    ada = await desk.open({ name: 'ada' });
  });
  afterAll(() => desk?.close());

  const press = (label: string, place: Locator = ada.page.getByRole('main')) =>
    place.getByRole('button', { name: label, exact: true }).click();
  const closeResult = async (dialog: Locator) => {
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await dialog.waitFor({ state: 'detached' });
  };

  test('settlement difference marked as looked at → leaves the list with its note, and is shown among the finished ones', async () => {
    const { page, goTo, client } = ada;
    await desk.gateway.api.purchase({ amount: 1_234 });
    const day = await openDay(desk.gateway);
    const file = 'reference,transaction_type,amount_cents,currency\nnobody-knows-it,purchase,5,AUD\n';
    await client.post(`/settlement/reconcile?date=${day}&acquirer=simulator`, new TextEncoder().encode(file));
    await goTo(`/settlement?date=${day}`);
    const difference = page.getByRole('list', { name: 'Differences' }).getByRole('listitem');
    const unknown = difference.filter({ hasText: 'nobody-knows-it' });
    await press('Looked at', unknown);
    await fillIn(page, 'Looked at nobody-knows-it', { 'What came of it': 'The acquirer took it back' });
    await unknown.waitFor({ state: 'detached' });
    // The mark goes with the label.
    await page.getByText('Also those that are looked at, or gone').click();
    await unknown.getByText(/^Looked at by .*ada.*: The acquirer took it back$/).waitFor();
    const { differences } = (await client.get(`/settlement/differences?date=${day}&all=true`)).body;
    expect(
      differences.find((each: { reference: string }) => each.reference === 'nobody-knows-it'),
    ).toMatchObject({ note: 'The acquirer took it back', looked: expect.any(String) });
  });

  test('bank settings → at first those of the simulated bank; changed → shown, and debits go to the new bank', async () => {
    const { page, goTo, client } = ada;
    const settings = async () => (await client.get('/directdebit/1/settings')).body;
    await goTo('/direct-debit');
    const row = page
      .getByRole('row')
      .filter({ has: page.getByRole('button', { name: 'Bank', exact: true }) });
    await press('Bank', row.first());
    const title = 'Bank settings of merchant 1';
    expect(
      await dialogOf(page, title)
        .getByLabel(/^Bank( \*)?$/)
        .inputValue(),
    ).toBe('SIM');
    const refused = await fillIn(page, title, { Bank: 'CBA', 'User ID': 'no' });
    await refused.locator('[aria-invalid=true], [role=alert]').first().waitFor();
    expect(await settings()).toMatchObject({ bank: 'SIM' });
    await fillIn(page, title, { 'User ID': '301500', Remitter: 'HARBOUR GYM' });
    await dialogOf(page, title).waitFor({ state: 'detached' });
    expect(await settings()).toMatchObject({
      bank: 'CBA',
      user_id: '301500',
      remitter: 'HARBOUR GYM',
      simulated: true,
    });
  });

  test('a key that seals nothing → can be destroyed for good; other keys cannot', async () => {
    const { page, goTo, client } = ada;
    // What was declined is not kept, so that nothing is sealed under the first version.
    await desk.gateway.api.purchase({ merchant: 3, pan: DECLINED_CARD });
    await goTo('/keys');
    await press('Rotate');
    await fillIn(page, 'Rotate keys', { Merchant: '3' });
    await dialogOf(page, 'Rotate keys').waitFor({ state: 'detached' });
    const versions = async (): Promise<number[]> =>
      (await client.get('/keys')).body
        .filter(({ merchant }: { merchant: number }) => merchant === 3)
        .map(({ version }: { version: number }) => version)
        .sort();
    await eventually(async () => (await versions()).length === 2 || undefined);
    // Processes may still seal under the earlier one for a minute.
    await desk.gateway.sql(`UPDATE data_key SET created_at = created_at - interval '2 minutes'`);
    await goTo('/keys');
    const destroys = page.getByRole('main').getByRole('button', { name: 'Destroy', exact: true });
    expect(await destroys.count()).toBe(1);
    await destroys.click();
    await fillIn(page, 'Destroy version 1 of merchant 3');
    await destroys.waitFor({ state: 'detached' });
    expect(await versions()).toEqual([2]);
    expect((await client.get('/journal?action=keys.destroyed&limit=1')).body).toMatchObject([
      { actor: 'operator:ada', detail: 'version 1' },
    ]);
  });

  test('sessions of another operator → listed with their browser; ended → signed out at once', async () => {
    const { page, goTo } = ada;
    const vera = await desk.open({ name: 'vera', role: 'viewer' });
    await vera.goTo('/transactions');
    await goTo('/operators');
    await press('Sessions', rowOf(page, 'Operators', 'vera'));
    const title = 'Where vera is signed in';
    await dialogOf(page, title)
      .getByText(/127\.0\.0\.1, by passkey/)
      .first()
      .waitFor();
    const ended = await fillIn(page, title);
    await ended.getByText('1 sessions were ended.').waitFor();
    await closeResult(ended);
    expect((await vera.client.get('/session')).status).toBe(401);
    await vera.page.reload();
    await vera.page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
    await vera.close();
  });

  test('sealed cards → counted on request; reviewed → every merchant’s are checked again', async () => {
    const { page, goTo } = ada;
    await goTo('/clock-and-cards');
    await press('Check every card');
    await rowOf(page, 'Cards', 'refund').first().waitFor();
    await page.getByText('Destroyed so far').waitFor();
    await press('Review');
    const reviewed = await fillIn(page, 'Review every card', { Merchant: '1' });
    await reviewed.getByText('The cards of 1 merchants are looked at again.').waitFor();
    await closeResult(reviewed);
  });

  test('the clock → an invalid duration is refused; advanced, shown in the header, and reset', async () => {
    const { page, goTo, client } = ada;
    const ahead = async () => (await client.get('/clock')).body.advanced_ms;
    await goTo('/clock-and-cards');
    await press('Advance');
    const refused = await fillIn(page, 'Advance the clock', { 'By how much': 'soon' });
    await refused.locator('[aria-invalid=true], [role=alert]').first().waitFor();
    const advanced = await fillIn(page, 'Advance the clock', { 'By how much': '3h' });
    await advanced.getByText(/for the gateway now/).waitFor();
    await closeResult(advanced);
    await page.getByText('3 hours ahead of real time').waitFor();
    expect(await ahead()).toBe(3 * 3_600_000);
    await press('Back to real time');
    const back = await fillIn(page, 'Back to real time');
    await back.getByText(/for the gateway now/).waitFor();
    await closeResult(back);
    await page.getByText('as for everybody').waitFor();
    expect(await ahead()).toBe(0);
  });

  test('menus and the dialogue for proving identity → axe-core finds no problem', async () => {
    const { page, goTo } = ada;
    const wrong: string[] = [];
    await goTo('/transactions');
    const menus = [
      ['the account', page.getByRole('banner').getByRole('button', { name: 'ada' })],
      ['columns', page.getByRole('main').getByRole('button', { name: 'Columns', exact: true })],
      ['views', page.getByRole('main').getByRole('button', { name: 'Views', exact: true })],
    ] as const;
    for (const [name, button] of menus) {
      await button.click();
      await page.getByRole('menu').waitFor();
      wrong.push(...(await accessibilityMistakes(page, '[role=menu]')).map((words) => `${name}: ${words}`));
      await page.keyboard.press('Escape');
      await page.getByRole('menu').waitFor({ state: 'detached' });
    }
    const heading = page.getByRole('columnheader', { name: 'Reference', exact: true });
    const wasShown = (await heading.count()) > 0;
    await press('Columns');
    await page.getByRole('menuitemcheckbox', { name: 'Reference', exact: true }).click();
    await heading.waitFor({ state: wasShown ? 'detached' : 'attached' });
    await page.keyboard.press('Escape');
    await sessionsAgo(desk.gateway, 'ada', { proved: 6 });
    await page.goto(`${desk.url}/keys`);
    await shown(page);
    await press('Re-wrap');
    await dialogOf(page, 'Re-wrap every key').locator('button[type=submit]').click();
    const proof = dialogOf(page, 'Confirm it is you');
    await proof.waitFor();
    wrong.push(...(await accessibilityMistakes(page, '[role=dialog]')).map((words) => `proof: ${words}`));
    await proof.getByRole('button', { name: 'Use a password and a code instead' }).click();
    await proof.getByLabel('Password', { exact: false }).first().waitFor();
    wrong.push(...(await accessibilityMistakes(page, '[role=dialog]')).map((words) => `password: ${words}`));
    expect(wrong).toEqual([]);
  });

  test('a browser with a language that no formatter knows → the page opens with its charts, in Australian English', async () => {
    const { page, goTo, complaints, close } = await desk.open({ name: 'posix' });
    await page.addInitScript(
      `Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix', configurable: true })`,
    );
    await goTo('/');
    await page.locator('main canvas').first().waitFor();
    expect(await page.evaluate('navigator.language')).toBe('en-AU');
    expect(complaints).toEqual([]);
    await close();
  });

  test('throughout → the browser reported no error', () => {
    expect(ada.complaints).toEqual([]);
  });
});
