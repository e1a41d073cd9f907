// Every page of the console in a real browser, with every dialogue: what axe-core finds in both schemes and at both widths, and what each role
// is offered there.
import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PLACES } from '../../console/src/shell/places.js';
import { accessibilityMistakes } from '../../testkit/accessibility.js';
import { inBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import { type ConsoleClient, moneyNeedsApproval, signedIn } from '../../testkit/console.js';
import {
  type ConsoleInBrowser,
  consoleInBrowser,
  dialogOf,
  follow,
  giveSession,
  type OperatorAtConsole,
  shown,
} from '../../testkit/console-browser.js';
import { createSchedule } from '../../testkit/schedules.js';
import { DECLINED_CARD } from '../../testkit/test-cards.js';
import { vaultOf } from '../../testkit/vault-client.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('the pages of the console in a browser'), () => {
  let desk: ConsoleInBrowser;
  /** One page for all tests, whoever is signed in: in another, the browser would compile everything anew, which takes most of its time. */
  let ada: OperatorAtConsole;
  /** Of things that are there: the path, and what its title begins with. */
  let details: readonly (readonly [string, string])[];

  beforeAll(async () => {
    desk = await consoleInBrowser({ settings: { CHECKOUT_PORT: '0' } });
    await moneyNeedsApproval(desk.gateway, 15_000);
    ada = await desk.open();
    details = await fill(desk, ada.client);
    await ada.load('/');
  });
  afterAll(() => desk?.close());

  async function go(page: Page, path: string, title: string): Promise<void> {
    await follow(page, path);
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    // Until then it may have been the page before of which nothing was being loaded.
    await shown(page);
  }

  /** A dialogue has its name a moment after it is there: nobody is told of it before. */
  async function opened(page: Page): Promise<void> {
    await dialogOf(page, /./).waitFor();
  }

  const groups = [...new Set(PLACES.map(({ group }) => group)), 'one thing'] as const;

  test.each(groups)(
    'every page and dialogue of %s → opens, runs no foreign script, axe-core finds no problem, and it fits 390 pixels',
    async (group) => {
      const { page, complaints } = ada;
      const wrong: string[] = [];
      const tell = (where: string, mistakes: readonly string[]) =>
        wrong.push(...[...mistakes, ...complaints.splice(0)].map((words) => `${where}: ${words}`));
      const places = PLACES.filter((place) => place.group === group);
      const pages = [
        ...places.map(({ path, name }) => [path, name] as const),
        ...(group === 'one thing' ? [...details, ['/account', 'Sign-in and sessions'] as const] : []),
      ];
      for (const [path, title] of pages) {
        await go(page, path, title);
        tell(path, [
          ...(await page.getByRole('alert').allInnerTexts()),
          ...(await accessibilityMistakes(page)),
        ]);
        const buttons = page.locator('main button[aria-haspopup=dialog]');
        for (const label of new Set(await buttons.allInnerTexts())) {
          await page.getByRole('main').getByRole('button', { name: label, exact: true }).first().click();
          await opened(page);
          tell(`${path} ${label}`, await accessibilityMistakes(page, '[role=dialog]'));
          await page.keyboard.press('Escape');
          await page.getByRole('dialog').waitFor({ state: 'detached' });
        }
      }
      await page.keyboard.press('?');
      await opened(page);
      tell('shortcuts', await accessibilityMistakes(page, '[role=dialog]'));
      await page.keyboard.press('Escape');
      expect(wrong).toEqual([]);
    },
  );

  test('signing in, and setting a passkey or a password → axe-core finds no problem', async () => {
    const { page, person, complaints } = ada;
    await person.clearCookies();
    await page.goto(desk.url);
    await page.getByRole('button', { name: 'Sign in with a password and a code' }).click();
    const wrong = await accessibilityMistakes(page);
    const { link } = (await ada.client.post('/operators', { name: 'new', role: 'viewer' })).body;
    await page.goto('about:blank');
    await page.goto(link.replace('127.0.0.1', 'localhost'));
    await page.getByRole('heading', { level: 1, name: 'How will you sign in?' }).waitFor();
    wrong.push(...(await accessibilityMistakes(page)));
    await page.getByRole('button', { name: 'Set a password and codes instead' }).click();
    await page.getByRole('button', { name: 'Set password and codes' }).waitFor();
    wrong.push(...(await accessibilityMistakes(page)));
    expect([...wrong, ...complaints]).toEqual([]);
  });

  describe('actions offered', () => {
    /** The labels of what can be done on each page. */
    async function offered(client: ConsoleClient): Promise<Record<string, string[]>> {
      const { page, person, load } = ada;
      await giveSession(person, client);
      await load('/');
      const found: Record<string, string[]> = {};
      const reachable = await page.getByRole('navigation').getByRole('link').allInnerTexts();
      const places = PLACES.filter(({ name }) => reachable.some((link) => link.startsWith(name)));
      for (const [path, title] of [...places.map(({ path, name }) => [path, name] as const), ...details]) {
        await go(page, path, title);
        expect([path, await page.getByRole('alert').allInnerTexts()]).toEqual([path, []]);
        const doing = page.locator('main button[aria-haspopup=dialog], main .drop button');
        // Whether something was delivered by now is another matter.
        const ofDeliveries = ['Replay from here', 'Send again'];
        const words = (await doing.allInnerTexts()).filter((label) => !ofDeliveries.includes(label));
        const labels = [...new Set(words)].toSorted();
        if (labels.length > 0) found[title] = labels;
      }
      return found;
    }

    const WORK = {
      'Transaction 1': ['Refund'],
      'Customer 1': ['Deactivate', 'Delete', 'Delete the customer'],
      'Checkout INV-1': ['Withdraw'],
      'Schedule subscription-1': ['Cancel', 'Pause'],
      Checkouts: ['New link'],
      Approvals: ['Approve', 'Refuse'],
      'Direct debit': ['Choose a file', 'Make a file'],
      Routes: ['Remove', 'Set a route'],
      Keys: ['Verify'],
      'Clock and cards': ['Review'],
    };

    test('to a viewer → only verifying the journal', async () => {
      expect(await offered(await signedIn(desk.gateway, { role: 'viewer' }))).toEqual({
        Journal: ['Verify'],
      });
    });

    test('to an operator → the daily work, but nothing about whom and what the gateway trusts', async () => {
      expect(await offered(await signedIn(desk.gateway, { role: 'operator' }))).toEqual({
        ...WORK,
        'Endpoint 1': ['Disable', 'Replay', 'Test'],
        Journal: ['Verify'],
      });
    });

    test('to an operator of one organisation → those of that organisation, none of the whole installation', async () => {
      const { Keys, Routes, ...ofOne } = WORK;
      const own = await signedIn(desk.gateway, { role: 'operator', organisation: 1 });
      expect(await offered(own)).toEqual({
        ...ofOne,
        'Direct debit': ['Make a file'],
        'Endpoint 1': ['Disable', 'Replay', 'Test'],
      });
    });
  });
});

/** Something of everything. Returns what has a page of its own. */
async function fill({ gateway }: ConsoleInBrowser, ada: ConsoleClient) {
  const { api } = gateway;
  const { audit } = (await api.purchase({ amount: 20_000 })).body;
  await api.refund(audit, 100);
  await api.purchase({ pan: DECLINED_CARD });
  await api.purchase({ bankAccount: {} });
  const { customerId, virtualPan } = await vaultOf(api).newToken();
  await api.purchase({ pan: virtualPan });
  await ada.post('/routes/1/set', { acquirer: 'simulator', card: 'amex', order: 2 });
  await ada.post('/acquirers', { name: 'bank', address: '127.0.0.1:1', test: true });
  await ada.post('/surcharges/1/set', { rules: [{ scope: 'card:amex', percent: '1' }] });
  await ada.post('/limits/1/set', { per: 'card', attempts: 3, within_ms: 3_600_000, mode: 'watch' });
  await ada.post(`/transactions/1/${audit}/refund`, { reason: 'large', key: randomUUID() });
  const webhook = await ada.post('/webhooks', { url: 'https://shop.example/hook', merchant: 1 });
  const wish = { merchant: 1, reference: 'INV-1', amount: 4_990, currency: 'AUD' };
  const checkout = await ada.post('/checkouts', wish);
  const schedule = await createSchedule(api, virtualPan, { first_date: '2099-12-31' });
  expect([audit, customerId, webhook.body.id]).toEqual([1, 1, 1]);
  return [
    ['/transactions/1/1', 'Transaction 1'],
    ['/transactions/1/3', 'Transaction 3'],
    ['/customers/1/1', 'Customer 1'],
    [`/checkouts/1/${checkout.body.id}`, 'Checkout INV-1'],
    [`/schedules/1/${schedule.body.id}`, 'Schedule subscription-1'],
    ['/webhooks/1', 'Endpoint 1'],
  ] as const;
}
