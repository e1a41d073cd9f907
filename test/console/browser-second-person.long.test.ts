// What needs a second person, in a real browser: two people, the invited and the inviter, and somebody who is alone.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import {
  type ConsoleInBrowser,
  consoleInBrowser,
  dialogOf,
  type OperatorAtConsole,
  rowOf,
} from '../../testkit/console-browser.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(
  inBrowser('a second person on the console in a browser'),
  () => {
    let desk: ConsoleInBrowser;
    let ada: OperatorAtConsole;
    let bert: OperatorAtConsole;

    beforeAll(async () => {
      desk = await consoleInBrowser();
      ada = await desk.open({ name: 'ada' });
      bert = await desk.open({ name: 'bert' });
    });
    afterAll(() => desk?.close());

    async function addAdministrator(name: string) {
      await ada.goTo('/operators');
      await ada.page.getByRole('button', { name: 'Add an operator' }).click();
      const dialog = dialogOf(ada.page, 'Add an operator');
      await dialog.getByLabel('Name').fill(name);
      await dialog.getByLabel('Role').selectOption('administrator');
      await dialog.getByRole('button', { name: 'Add the operator' }).click();
      return dialog;
    }

    test('an administrator is added → waits; approved by another → the same form goes through, and shows the link', async () => {
      const dialog = await addAdministrator('carl');
      await dialog.getByText(/Request \d+ waits for/).waitFor();
      await bert.goTo('/approvals');
      const row = rowOf(bert.page, 'Requests', 'operator add carl --role administrator');
      await row.getByRole('button', { name: 'Approve' }).click();
      const approval = dialogOf(bert.page, /^Approve request/);
      await approval.getByText('They can do it, once, within an hour.').waitFor();
      await approval.getByRole('button', { name: 'Approve' }).click();
      await approval.getByText('Approved: operator:ada can do it now.').waitFor();
      await dialog.getByRole('button', { name: 'Add the operator' }).click();
      await dialog.getByText('It works once, for 15 minutes, and not in your own browser.').waitFor();
      const { page } = ada;
      await page.keyboard.press('Escape');
      await page
        .getByText(/^ada, /)
        .first()
        .waitFor();
    });

    test('a token for the command line → shown once', async () => {
      await bert.goTo('/account');
      await bert.page.getByRole('button', { name: 'Make a token' }).click();
      const dialog = dialogOf(bert.page, 'Token for the command line');
      await dialog.getByRole('button', { name: 'Make it' }).click();
      await dialog.getByText('TOLLGATE_OPERATOR_TOKEN').waitFor();
      await bert.page.keyboard.press('Escape');
      await bert.page.getByText('command line', { exact: true }).waitFor();
    });

    test('somebody who is alone → waits for a day, and can take it back', async () => {
      await ada.client.post('/operators/bert/remove');
      const dialog = await addAdministrator('dora');
      await dialog.getByText(/waits for a day, because nobody else can approve it/).waitFor();
      await ada.page.keyboard.press('Escape');
      await ada.goTo('/approvals');
      const row = rowOf(ada.page, 'Requests', 'operator add dora');
      await row.getByText(/Nobody else can approve it: whoever asked can from/).waitFor();
      await row.getByRole('button', { name: 'Take back' }).click();
      await dialogOf(ada.page, /^Take back/)
        .getByRole('button', { name: 'Take back' })
        .click();
      await ada.page.getByText('Nothing waits for approval').waitFor();
      expect(ada.complaints).toEqual([]);
    });
  },
);
