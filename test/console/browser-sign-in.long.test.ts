// Signing in to the console in a real browser: by the demo's link, by a passkey of a device, by a password and a code; the proof before
// money moves; and what becomes of a page whose session ends.
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { demoLink } from '../../src/demo/demo.js';
import { Database } from '../../src/postgres/database.js';
import { inBrowser, newPerson, openPage, WHY_NO_BROWSER } from '../../testkit/browser.js';
import { sessionsAgo } from '../../testkit/console.js';
import {
  type ConsoleInBrowser,
  consoleInBrowser,
  dialogOf,
  fillIn,
  follow,
  openPageOnDevice,
  type PageOnDevice,
  rowOf,
  shown,
} from '../../testkit/console-browser.js';
import { credentialKeyOf } from '../../testkit/gateway.js';
import { codesOf, PASSWORD, type SignInDesk, signInDesk } from '../../testkit/sign-in-desk.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('signing in with a browser'), () => {
  let desk: ConsoleInBrowser;
  let people: SignInDesk;

  beforeAll(async () => {
    desk = await consoleInBrowser({ settings: { DEMO: 'true' } });
    people = await signInDesk(desk.gateway);
  });
  afterAll(async () => {
    await people?.close();
    await desk?.close();
  });

  async function newDemoLink(): Promise<string> {
    const database = new Database(desk.gateway.databaseUrl, { maxConnections: 1 });
    try {
      const key = await credentialKeyOf(database, desk.gateway.settings);
      return (await demoLink(database, key, desk.url)) as string;
    } finally {
      await database.close();
    }
  }

  const today = (page: Page) => page.getByRole('heading', { level: 1, name: 'Today' }).waitFor();
  const gate = (page: Page) => page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();

  async function signOut(page: Page, name: string, words = 'Sign out'): Promise<void> {
    await page.getByRole('banner').getByRole('button', { name }).click();
    await page.getByRole('menuitem', { name: words, exact: true }).click();
    await gate(page);
  }

  async function enrolWithPasskey(page: Page, name: string): Promise<void> {
    const { token } = await people.add(name);
    await page.goto(`${desk.url}/sign-in#${name}:${token}`);
    await page.getByRole('heading', { level: 1, name: 'How will you sign in?' }).waitFor();
    await page.getByRole('button', { name: 'Set a passkey' }).click();
    await today(page);
  }

  const provedLongAgo = (name: string) => sessionsAgo(desk.gateway, name, { proved: 6 });

  async function refundForm(page: Page, amount: string) {
    const { audit } = (await desk.gateway.api.purchase({ amount: 2_000 })).body;
    await follow(page, `/transactions/1/${audit}`);
    await page.getByRole('button', { name: 'Refund' }).click();
    const form = dialogOf(page, `Refund transaction ${audit}`);
    await form.getByLabel('Amount in AUD').fill(amount);
    await form.getByLabel('Reason').fill('came back');
    await form.locator('button[type=submit]').click();
    const refunds = () =>
      desk.gateway.sql('SELECT status FROM transaction WHERE organisation_id = 1 AND target_audit = $1', [
        audit,
      ]);
    return { form, refunds, proof: dialogOf(page, 'Confirm it is you') };
  }

  test('the demo’s link → signs in once, shows mode, version and clock, and is gone from the address', async () => {
    const person = await newPerson(desk.browser);
    const { page, complaints } = await openPage(person);
    const link = await newDemoLink();
    await page.goto(link);
    await today(page);
    expect(new URL(page.url()).pathname + new URL(page.url()).hash).toBe('/');
    const header = () => page.getByRole('banner').innerText();
    for (const said of [/TEST/, /version \d+\.\d+\.\d+/, /\d\d:\d\d:\d\d Sydney/])
      await expect.poll(header).toMatch(said);
    expect(complaints).toEqual([]);

    await person.clearCookies();
    await page.goto('about:blank');
    await page.goto(link);
    await page.getByText('This link was used already').waitFor();
    await person.close();
  });

  describe('by a passkey', () => {
    let person: BrowserContext;
    let device: PageOnDevice;

    beforeAll(async () => {
      person = await newPerson(desk.browser);
      device = await openPageOnDevice(person);
      await enrolWithPasskey(device.page, 'petra');
    });
    afterAll(() => person?.close());

    test('set through the link, then used → signed in; without the owner’s finger → an error, and nobody is signed in', async () => {
      const { page, verifies, complaints } = device;
      await signOut(page, 'petra');
      await verifies(false);
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.getByRole('alert').waitFor();
      expect((await page.request.get(`${desk.url}/console/api/session`)).status()).toBe(401);
      await verifies(true);
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await today(page);
      await page.getByRole('banner').getByRole('button', { name: 'petra' }).waitFor();
      expect(complaints).toEqual([]);
    });

    test('the proof before a refund → the refund follows, once; cancelled → nothing is done', async () => {
      const { page } = device;
      await provedLongAgo('petra');
      const { form, refunds, proof } = await refundForm(page, '5.00');
      await proof.getByRole('button', { name: 'Cancel' }).click();
      await form.getByText('Prove again who you are').waitFor();
      expect(await refunds()).toEqual([]);
      await form.locator('button[type=submit]').click();
      await proof.getByRole('button', { name: 'Use a passkey', exact: true }).click();
      await form.getByText(/New transaction \d+/).waitFor();
      expect(await refunds()).toEqual([{ status: 'approved' }]);
    });

    test('a session idle for half an hour → asks to sign in on the spot, and the same view appears afterwards', async () => {
      const { page } = device;
      const view = `${desk.url}/transactions?status=declined&mode=test`;
      await follow(page, view.slice(desk.url.length));
      await sessionsAgo(desk.gateway, 'petra', { seen: 31 });
      await gate(page);
      await page
        .getByText('Your session has ended. Sign in again, and you are back where you were.')
        .waitFor();
      expect(page.url()).toBe(view);
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.getByRole('heading', { level: 1, name: 'Transactions' }).waitFor();
      expect(page.url()).toBe(view);
      await expect.poll(() => page.getByLabel('Status').inputValue()).toBe('declined');
    });

    test('a session that ends while a refund is filled in → nothing is done until the operator has signed in again', async () => {
      const { page } = device;
      const { audit } = (await desk.gateway.api.purchase({ amount: 2_000 })).body;
      await follow(page, `/transactions/1/${audit}`);
      await page.getByRole('button', { name: 'Refund' }).click();
      const form = dialogOf(page, `Refund transaction ${audit}`);
      await form.getByLabel('Reason').fill('came back');
      await desk.gateway.sql(`DELETE FROM operator_session WHERE operator = 'petra'`);
      await form
        .locator('button[type=submit]')
        .click({ timeout: 1_000 })
        .catch(() => {});
      await gate(page);
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.getByRole('heading', { level: 1, name: `Transaction ${audit}` }).waitFor();
      await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
      expect((await desk.gateway.api.lookUp(audit)).body.kvps['GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT']).toBe(
        '2000',
      );
    });

    test('automatic requests of the page → do not extend the session; actions of the operator → do', async () => {
      const { page } = device;
      await follow(page, '/transactions?mode=test');
      await page.getByRole('banner').click();
      await page.getByRole('link', { name: 'In doubt' }).click();
      await shown(page);
      await sessionsAgo(desk.gateway, 'petra', { seen: 10 });
      const isFresh = async () => {
        const [row] = await desk.gateway.sql<{ fresh: boolean }>(
          `SELECT bool_or(seen_at > now() - interval '5 minutes') AS fresh FROM operator_session WHERE operator = 'petra'`,
        );
        return row?.fresh;
      };
      // It reads what is in doubt every few seconds.
      for (let times = 0; times < 2; times += 1)
        await page.waitForResponse((response) => response.url().includes('/in-doubt'));
      expect(await isFresh()).toBe(false);
      await page.getByRole('link', { name: 'Approvals' }).click();
      await shown(page);
      await expect.poll(isFresh).toBe(true);
    });

    test('the account → lists the passkey and the session; the same device again → an error says that it has one', async () => {
      const { page } = device;
      await follow(page, '/account');
      await rowOf(page, 'Passkeys', 'This device').waitFor();
      await rowOf(page, 'Sessions', 'this one').waitFor();
      await page.getByRole('button', { name: 'Add a passkey' }).click();
      const form = await fillIn(page, 'Add a passkey', { 'What to call it': 'Once more' });
      await form.getByRole('alert').waitFor();
      expect(await people.entriesOf('petra')).not.toContainEqual(
        expect.objectContaining({ detail: expect.stringContaining('Once more') }),
      );
    });
  });

  describe('by a password and a code', () => {
    test('set through the link, then used → signed in; a wrong code → an error; the proof accepts them too', async () => {
      const person = await newPerson(desk.browser);
      const { page, complaints } = await openPage(person);
      const { token } = await people.add('paul');
      await page.goto(`${desk.url}/sign-in#paul:${token}`);
      await page.getByRole('button', { name: 'Set a password and codes instead' }).click();
      await page.getByLabel(/^Password/).fill(PASSWORD);
      const codes = codesOf(await page.locator('code.secret').innerText());
      await page.getByLabel(/^Code/).fill(codes.next());
      await page.getByRole('button', { name: 'Set password and codes' }).click();
      await today(page);
      await signOut(page, 'paul', 'Sign out everywhere');

      await page.getByRole('button', { name: 'Sign in with a password and a code' }).click();
      await page.getByLabel(/^Name/).fill('paul');
      await page.getByLabel(/^Password/).fill(PASSWORD);
      // Each works once.
      await page.getByLabel(/^Code/).fill(codes.again());
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('alert').waitFor();
      await page.getByLabel(/^Code/).fill(codes.next().replace(/^.../, '$& '));
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await today(page);

      await provedLongAgo('paul');
      const { form, refunds, proof } = await refundForm(page, '1.00');
      await proof.getByLabel(/^Password/).fill(PASSWORD);
      await proof.getByLabel(/^Code/).fill(codes.again());
      await proof.getByRole('button', { name: 'Prove' }).click();
      await proof.getByRole('alert').waitFor();
      expect(await refunds()).toEqual([]);
      await proof.getByRole('button', { name: 'Cancel' }).click();
      await form.getByText('Prove again who you are').waitFor();
      expect(complaints).toEqual([]);
      await person.close();
    });
  });
});
