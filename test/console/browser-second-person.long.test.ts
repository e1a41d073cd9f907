// What needs a second person, in real browsers: two people who sign in by passkeys, the invited and the inviter, and somebody who is alone.
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RequestRow, requestUnder, sealOf } from '../../src/payments/requests/operator-request.js';
import type { OrganisationId } from '../../src/values/ids.js';
import { inBrowser, newPerson, WHY_NO_BROWSER } from '../../testkit/browser.js';
import { knownForLong, moneyNeedsApproval } from '../../testkit/console.js';
import {
  type ConsoleInBrowser,
  consoleInBrowser,
  fillIn,
  follow,
  openPageOnDevice,
  rowOf,
} from '../../testkit/console-browser.js';
import { type SignInDesk, signInDesk } from '../../testkit/sign-in-desk.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(
  inBrowser('a second person on the console in a browser'),
  () => {
    let desk: ConsoleInBrowser;
    let people: SignInDesk;
    let ada: Page;
    let bert: Page;
    const complaints: string[][] = [];

    beforeAll(async () => {
      desk = await consoleInBrowser();
      people = await signInDesk(desk.gateway);
      await moneyNeedsApproval(desk.gateway, 5_000);
      ada = await newcomer('ada');
      bert = await newcomer('bert');
      await knownForLong(people.database, desk.gateway.credentialKey);
    });
    afterAll(async () => {
      await people?.close();
      await desk?.close();
    });

    /** A browser of their own, in which they open their link and set a passkey. */
    async function newcomer(name: string): Promise<Page> {
      const opened = await openPageOnDevice(await newPerson(desk.browser));
      complaints.push(opened.complaints);
      const { token } = await people.add(name);
      await opened.page.goto(`${desk.url}/sign-in#${name}:${token}`);
      await opened.page.getByRole('button', { name: 'Set a passkey' }).click();
      await opened.page.getByRole('heading', { level: 1, name: 'Today' }).waitFor();
      return opened.page;
    }

    async function addAdministrator(name: string): Promise<Locator> {
      await follow(ada, '/operators');
      await ada.getByRole('button', { name: 'Add an operator' }).click();
      return fillIn(ada, 'Add an operator', { Name: name, Role: 'administrator' });
    }

    async function refund(): Promise<{ readonly audit: number; readonly dialog: Locator }> {
      const { audit } = (await desk.gateway.api.purchase({ amount: 9_000 })).body;
      await follow(ada, `/transactions/1/${audit}`);
      await ada.getByRole('button', { name: 'Refund' }).click();
      return {
        audit,
        dialog: await fillIn(ada, `Refund transaction ${audit}`, { Reason: 'came back' }),
      };
    }
    const refundsOf = (audit: number) =>
      desk.gateway.sql('SELECT status FROM transaction WHERE organisation_id = 1 AND target_audit = $1', [
        audit,
      ]);

    async function approve(page: Page, words: string): Promise<Locator> {
      // What was shown before may still be open.
      await page.keyboard.press('Escape');
      await follow(page, '/approvals');
      await rowOf(page, 'Requests', words).getByRole('button', { name: 'Approve' }).click();
      return fillIn(page, /^Approve request/);
    }

    /** As if what waits had been asked for a day ago: that is sealed. */
    async function aDayLater(): Promise<void> {
      const [row] = await desk.gateway.sql<{ id: number; correlation_id: string }>(
        `SELECT id, correlation_id FROM operator_request WHERE state = 'waiting'`,
      );
      const asked = (await requestUnder(
        people.database,
        1 as OrganisationId,
        String(row?.correlation_id),
      )) as RequestRow;
      const aloneFromMs = (asked.aloneFromMs as number) - 86_400_000;
      await desk.gateway.sql(
        'UPDATE operator_request SET alone_from = to_timestamp($2::float8 / 1000), seal = $3 WHERE id = $1',
        [row?.id, aloneFromMs, sealOf(desk.gateway.credentialKey, { ...asked, aloneFromMs })],
      );
    }

    test('a refund above the limit → waits for a second person; approved by another → done, and both see it', async () => {
      const { audit, dialog } = await refund();
      await dialog.getByText(/^It is above the limit, so it waits for a second person: request/).waitFor();
      expect(await refundsOf(audit)).toEqual([]);
      const approval = await approve(bert, 'came back');
      await approval.getByText(/^Done: transaction \d+, approved\.$/).waitFor();
      expect(await refundsOf(audit)).toEqual([{ status: 'approved' }]);
      await dialog.getByRole('link', { name: 'Approvals' }).click();
      await ada.getByText('Nothing waits for approval').waitFor();
    });

    test('an administrator is added → waits; approved by another → the same form goes through, and shows the link', async () => {
      const dialog = await addAdministrator('carl');
      await dialog.getByText(/^Request \d+ waits for a second person/).waitFor();
      const approval = await approve(bert, 'operator add carl --role administrator');
      await approval.getByText('Approved: ada can do it now.').waitFor();
      await dialog.getByRole('button', { name: 'Add the operator' }).click();
      await dialog.getByText('It works once, for 15 minutes, and not in your own browser.').waitFor();
      await ada.keyboard.press('Escape');
      await ada
        .getByText(/^ada, /)
        .first()
        .waitFor();
    });

    test('the rules → a lower limit counts at once, and one that lets more pass waits for a second person', async () => {
      const change = async (limit: string) => {
        await ada.getByRole('button', { name: 'Change', exact: true }).click();
        return fillIn(ada, 'What needs a second person', {
          'Voids, refunds and completions above': limit,
        });
      };
      await follow(ada, '/approvals');
      const dialog = await change('forty');
      await dialog.getByText('Write a currency and an amount, such as AUD 1000.00.').waitFor();
      await ada.keyboard.press('Escape');
      await change('AUD 40.00');
      await ada.getByText('above A$40.00, in any other currency always').waitFor();
      const raised = await change('AUD 40.00, USD 30.00');
      await raised.getByText(/^Request \d+ waits for a second person/).waitFor();
      await raised.getByRole('link', { name: 'Look at it under Approvals' }).waitFor();
      await ada.keyboard.press('Escape');
      const row = rowOf(ada, 'Requests', 'approval require');
      await row.getByRole('button', { name: 'Take back' }).click();
      await fillIn(ada, /^Take back/);
      await row.waitFor({ state: 'detached' });
    });

    test('a token for the command line → shown once', async () => {
      await follow(bert, '/account');
      await bert.getByRole('button', { name: 'Make a token' }).click();
      const dialog = await fillIn(bert, 'Token for the command line');
      await dialog.getByText('TOLLGATE_OPERATOR_TOKEN').waitFor();
      await bert.keyboard.press('Escape');
      await bert.getByText('command line', { exact: true }).waitFor();
    });

    test('somebody who is alone → waits for a day and can take it back; a day later their own approval counts', async () => {
      await follow(ada, '/operators');
      await rowOf(ada, 'Operators', 'bert').getByRole('button', { name: 'Remove' }).click();
      await fillIn(ada, 'Remove bert');
      // Whoever removes the others is not alone for seven days.
      await knownForLong(people.database, desk.gateway.credentialKey);

      const added = await addAdministrator('dora');
      await added.getByText(/waits for a day, because nobody else can approve it/).waitFor();
      await added.getByRole('link', { name: 'Look at it under Approvals' }).click();
      const row = rowOf(ada, 'Requests', 'operator add dora');
      await row.getByText(/nobody else could approve it: ada can, from/).waitFor();
      await row.getByRole('button', { name: 'Take back' }).click();
      await fillIn(ada, /^Take back/);
      await ada.getByText('Nothing waits for approval').waitFor();

      const { audit, dialog } = await refund();
      await dialog.getByText(/Nobody else can approve it, so you can, from/).waitFor();
      await dialog.getByRole('link', { name: 'Approvals' }).click();
      await rowOf(ada, 'Requests', 'came back').waitFor();
      expect(await ada.getByRole('button', { name: 'Approve' }).count()).toBe(0);
      await aDayLater();
      const approval = await approve(ada, 'came back');
      await approval.getByText(/^Done: transaction \d+, approved\.$/).waitFor();
      expect(await refundsOf(audit)).toEqual([{ status: 'approved' }]);
      expect(complaints.flat()).toEqual([]);
    });
  },
);
