// Links to acquirers that are down or do not answer: that an operator sees at once which, since when and why, on the pages of the console,
// by `acquirer list` and by `doctor`.
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AS2805 } from '../../src/acquirers/iso8583/dialects/as2805.js';
import { FAILURES_IN_A_ROW } from '../../src/acquirers/links.js';
import { examine } from '../../src/gateway/doctor/doctor.js';
import { inBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import type { Json } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import {
  type ConsoleInBrowser,
  consoleInBrowser,
  type OperatorAtConsole,
  rowOf,
} from '../../testkit/console-browser.js';
import { eventually } from '../../testkit/gateway-process.js';
import { answering, ScriptedHost } from '../acquirers/iso8583/scripted-host.js';
import { RoutedShops } from '../organisations/routed-shops.js';

const REFUSED = '91';

/** By link: what is the matter with it. */
const TROUBLES = {
  dead: { condition: 'down', reason: 'cannot connect: ECONNREFUSED' },
  refusing: { condition: 'down', reason: `sign-on failed: the host answered ${REFUSED}` },
  silent: { condition: 'not_answering', reason: 'payments of an organisation get no answer' },
} as const;

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('links in trouble, in a browser'), () => {
  let desk: ConsoleInBrowser;
  let shops: RoutedShops;
  let refusing: ScriptedHost;
  let ada: OperatorAtConsole;
  /** By `acquirer list`. */
  let listed: readonly Json[];

  beforeAll(async () => {
    desk = await consoleInBrowser();
    shops = new RoutedShops(desk.gateway);
    refusing = await new ScriptedHost(AS2805).listen();
    refusing.network = (heard) => answering(heard, REFUSED);
    await shops.unreachable('dead');
    await shops.unreachable('refusing', { address: `127.0.0.1:${refusing.port}` });
    await shops.host('well');
    const silent = await shops.host('silent');
    silent.rules.add({ fault: 'lost request' });
    const shop = await shops.shop([{ acquirer: 'silent' }]);
    await Promise.all(Array.from({ length: FAILURES_IN_A_ROW }, shop.pay));
    // What a gateway knows comes with its next heartbeat.
    listed = await eventually(async () => {
      const { stdout } = await runHere(['acquirer', 'list', '--json'], {
        DATABASE_URL: desk.gateway.databaseUrl,
        TOLLGATE_DATA_DIR: dirname(desk.gateway.ledgerPath),
      });
      const links = JSON.parse(stdout) as Json[];
      const known = links.filter(({ condition }) => ['down', 'not_answering'].includes(condition));
      return known.length === Object.keys(TROUBLES).length ? links : undefined;
    });
    // From now on commands are for operators who have signed in.
    ada = await desk.open();
  });
  afterAll(async () => {
    await desk?.browser.close();
    await shops?.close();
    await refusing?.stop();
  });

  const expected = Object.entries({
    ...TROUBLES,
    well: { condition: 'up', reason: null },
  }).map(([name, trouble]) =>
    expect.objectContaining({
      ...{ name, ...trouble },
      since: trouble.condition === 'up' ? null : expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    }),
  );

  test('the console’s interface and `acquirer list` → the state of each link, since when, and why', async () => {
    for (const path of ['/acquirers', '/today']) {
      const { body } = await ada.client.get(path);
      expect(path === '/today' ? body.links : body).toEqual(expect.arrayContaining(expected));
    }
    expect(listed).toEqual(expect.arrayContaining(expected));
  });

  test('Today → a line for each link in trouble, which leads to it, and none for a working link', async () => {
    const { page, load } = ada;
    await load('/');
    const lines = page.getByRole('list', { name: 'Links to acquirers that need attention' });
    for (const [name, { condition, reason }] of Object.entries(TROUBLES)) {
      const line = lines.getByRole('listitem').filter({ hasText: name });
      const words = new RegExp(
        `^The link ${name} is ${condition.replace('_', ' ')} since .+: ${reason}\\. Payments over it `,
      );
      expect(await line.innerText()).toMatch(words);
      expect(await line.locator('.mark').getAttribute('data-tone')).toBe('bad');
    }
    expect(await lines.getByRole('listitem').count()).toBe(Object.keys(TROUBLES).length);
    await lines.getByRole('link', { name: 'dead' }).click();
    await page.getByRole('heading', { level: 1, name: 'dead' }).waitFor();
    await page.getByText('cannot connect: ECONNREFUSED').first().waitFor();
  });

  test('Acquirers → the state of each in words and colour', async () => {
    const { page, load, complaints } = ada;
    await load('/acquirers');
    for (const [name, { condition, reason }] of Object.entries(TROUBLES)) {
      const row = rowOf(page, 'Links to acquirers', name);
      await row.getByText(condition.replace('_', ' '), { exact: true }).waitFor();
      await row.getByText(reason).waitFor();
      expect(await row.locator('.mark').getAttribute('data-tone')).toBe('bad');
    }
    const well = rowOf(page, 'Links to acquirers', 'well').locator('.mark');
    expect([await well.innerText(), await well.getAttribute('data-tone')]).toEqual(['up', 'good']);
    expect(complaints).toEqual([]);
  });

  test('doctor → each link in trouble fails, with since when, why, and what to do', async () => {
    const findings = await examine({ DATABASE_URL: desk.gateway.databaseUrl });
    const found = (name: string) => findings.find(({ check }) => check === `link ${name}`);
    for (const [name, { reason }] of Object.entries(TROUBLES)) {
      expect(found(name)).toMatchObject({ result: 'failed', todo: expect.stringMatching(/./) });
      expect(found(name)?.found).toMatch(/(down|not answering) for \d+ \w+ \(/);
      expect(found(name)?.found).toContain(`(${reason})`);
    }
    expect(found('well')).toEqual({
      check: 'link well',
      result: 'ok',
      found: 'signed on from 1 of 1 gateways',
    });
  });
});
