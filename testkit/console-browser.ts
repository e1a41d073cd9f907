// Operators in real browsers in front of a test's gateway: each in a profile of their own, signed in, with the API beside it.
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { newPerson, openPage, type Screen, type Seen, startBrowser } from './browser.js';
import { COOKIE_NAME, type ConsoleClient, type SignedIn, signedIn } from './console.js';
import { type TestGateway, type TestGatewayOptions, testGateway } from './gateway.js';

export interface OperatorAtConsole {
  readonly page: Page;
  readonly person: BrowserContext;
  /** What the browser complained of. */
  readonly complaints: string[];
  /** The same session without a browser. */
  readonly client: ConsoleClient;
  readonly name: string;
  /** Loads a page of the console by its path, and waits until everything on it is loaded. */
  load(path: string): Promise<void>;
  /** The same by the console's own navigation, which takes a sixth of the time; loads the page if none is open. */
  goTo(path: string): Promise<void>;
  close(): Promise<void>;
}

export interface ConsoleInBrowser {
  readonly gateway: TestGateway;
  readonly browser: Browser;
  /** By a name: passkeys do not belong to addresses. */
  readonly url: string;
  open(options?: SignedIn & Screen & { readonly at?: string }): Promise<OperatorAtConsole>;
  close(): Promise<void>;
}

/** One gateway and one browser for a test file. Close it in `afterAll`. */
export async function consoleInBrowser(options: TestGatewayOptions = {}): Promise<ConsoleInBrowser> {
  const [gateway, browser] = await Promise.all([testGateway(options), startBrowser()]);
  const url = gateway.operatorsUrl.replace('127.0.0.1', 'localhost');
  return {
    gateway,
    browser,
    url,
    open: ({ at = url, ...operator } = {}) => openConsoleAs(browser, gateway, at, operator),
    close: async () => {
      await browser.close();
      await gateway.close();
    },
  };
}

async function openConsoleAs(
  browser: Browser,
  gateway: TestGateway,
  url: string,
  options: SignedIn & Screen,
): Promise<OperatorAtConsole> {
  const client = await signedIn(gateway, options);
  const person = await newPerson(browser, options);
  await giveSession(person, client);
  const { page, complaints } = await openPage(person);
  const load = async (path: string) => {
    await page.goto(`${url}${path}`);
    await shown(page);
  };
  return {
    page,
    person,
    complaints,
    client,
    name: client.name,
    load,
    goTo: (path) => (isElsewhere(page, url, path) ? follow(page, path) : load(path)),
    close: () => person.close(),
  };
}

/** Whether another page of the console is open. Going to the same page again reloads it. */
function isElsewhere(page: Page, url: string, path: string): boolean {
  const [now, wanted] = [new URL(page.url()), new URL(path, url)];
  return now.origin === wanted.origin && now.pathname !== wanted.pathname;
}

/** Goes to another page of the console without reloading. */
export async function follow(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
  await shown(page);
}

/** As after a sign-in. */
export async function giveSession(person: BrowserContext, { cookie }: ConsoleClient): Promise<void> {
  await person.addCookies([
    {
      name: COOKIE_NAME,
      value: cookie.slice(COOKIE_NAME.length + 1),
      domain: 'localhost',
      path: '/',
      secure: true,
      httpOnly: true,
      sameSite: 'Strict',
    },
  ]);
}

export interface PageOnDevice extends Seen {
  /** Whether the device knows its owner by their finger. */
  verifies(isUserVerified: boolean): Promise<unknown>;
}

/** A page in the browser of a device that has passkeys. */
export async function openPageOnDevice(person: BrowserContext): Promise<PageOnDevice> {
  const seen = await openPage(person);
  const debug = await person.newCDPSession(seen.page);
  await debug.send('WebAuthn.enable');
  const { authenticatorId } = await debug.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    },
  });
  return {
    ...seen,
    verifies: (isUserVerified) => debug.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
  };
}

/** Waits until the page has its title, and nothing is still loading. */
export async function shown(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  for (;;) {
    const loading = page.getByLabel('Loading').first();
    if ((await loading.count()) === 0) return;
    await loading.waitFor({ state: 'detached' });
  }
}

/** The dialogue that is open, by its title. */
export function dialogOf(page: Page, title: string | RegExp): Locator {
  return page.getByRole('dialog', { name: title });
}

/** A row of a list by what stands in it. */
export function rowOf(page: Page, list: string, words: string): Locator {
  return page.getByRole('region', { name: list, exact: true }).getByRole('row').filter({ hasText: words });
}

/**
 * Fills in the open form by its labels, and sends it. Returns the dialogue once answered: closed, or showing an outcome or an
 * error.
 */
export async function fillIn(
  page: Page,
  title: string | RegExp,
  fields: Readonly<Record<string, string | boolean>> = {},
): Promise<Locator> {
  const dialog = dialogOf(page, title);
  for (const [label, value] of Object.entries(fields)) {
    // An asterisk follows the name of a required field.
    const field = dialog.getByLabel(new RegExp(`^${label}( \\*)?$`));
    if (typeof value === 'boolean') await field.setChecked(value);
    else if ((await field.and(dialog.locator('select')).count()) > 0) await field.selectOption(value);
    else await field.fill(value);
  }
  await dialog.locator('button[type=submit]').click();
  await dialog.locator('button[type=submit][data-loading]').waitFor({ state: 'detached' });
  return dialog;
}
