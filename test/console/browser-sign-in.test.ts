// The console in a real browser: the demo's link signs in, and every page opens, without a complaint of the browser or of axe-core.
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PLACES } from '../../console/src/shell/places.js';
import { demoLink } from '../../src/gateway/demo.js';
import { Database } from '../../src/postgres/database.js';
import { accessibilityMistakes } from '../../testkit/accessibility.js';
import { inBrowser, newPerson, openPage, startBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import { credentialKeyOf, type TestGateway, testGateway } from '../../testkit/gateway.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('the console in a browser'), () => {
  let gateway: TestGateway;
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    gateway = await testGateway({ settings: { DEMO: 'true' } });
    url = gateway.operatorsUrl.replace('127.0.0.1', 'localhost');
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
  });

  async function newLink(): Promise<string> {
    const database = new Database(gateway.databaseUrl, { maxConnections: 1 });
    try {
      const key = await credentialKeyOf(database, gateway.settings);
      return (await demoLink(database, key, url)) as string;
    } finally {
      await database.close();
    }
  }

  async function signedIn(person: BrowserContext) {
    const seen = await openPage(person);
    await seen.page.goto(await newLink());
    await seen.page.getByRole('heading', { level: 1, name: 'Today' }).waitFor();
    return seen;
  }

  test('the demo’s link → signs in once, shows mode, version and clock, and is gone from the address', async () => {
    const person = await newPerson(browser);
    const { page, complaints } = await openPage(person);
    const link = await newLink();
    await page.goto(link);
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor();
    expect(new URL(page.url()).pathname + new URL(page.url()).hash).toBe('/');
    const header = await page.getByRole('banner').innerText();
    expect(header).toMatch(/TEST/);
    expect(header).toMatch(/version \d+\.\d+\.\d+/);
    expect(header).toMatch(/\d\d:\d\d:\d\d Sydney/);
    expect(complaints).toEqual([]);
    await person.close();

    const another = await newPerson(browser);
    const { page: second } = await openPage(another);
    await second.goto(link);
    await second.getByText('This link was used already').waitFor();
    await another.close();
  });

  test('a page that was asked for before signing in → is the one that is shown afterwards', async () => {
    const person = await newPerson(browser);
    const { page } = await signedIn(person);
    await page.goto(`${url}/transactions?status=declined&mode=test`);
    await page.getByRole('heading', { level: 1, name: 'Transactions' }).waitFor();
    await person.clearCookies();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    expect(page.url()).toContain('/transactions?status=declined&mode=test');
    await person.close();
  });

  test('every page → opens, runs nothing foreign, and has no mistake that axe-core finds in either scheme, and fits 390 pixels', async () => {
    await gateway.api.purchase();
    const person = await newPerson(browser);
    const { page, complaints } = await signedIn(person);
    const wrong: string[] = [];
    for (const { path, name } of PLACES) {
      await page.goto(`${url}${path}`);
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await page.getByLabel('Loading').first().waitFor({ state: 'detached' });
      const alerts = await page.getByRole('alert').allInnerTexts();
      const mistakes = await accessibilityMistakes(page);
      await page.setViewportSize({ width: 390, height: 800 });
      const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      await page.setViewportSize({ width: 1280, height: 900 });
      wrong.push(
        ...[...alerts, ...mistakes, ...complaints.splice(0)].map((words) => `${name}: ${words}`),
        ...(overflow > 0 ? [`${name}: ${overflow} pixels too wide at 390`] : []),
      );
    }
    expect(wrong).toEqual([]);
    await person.close();
  });
});
