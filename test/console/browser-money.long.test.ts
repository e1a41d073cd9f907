// What operators do with money in a real browser: what the page says is what the interface shows, and nothing is done twice, whatever is
// pressed, reloaded or done by two of them at once.
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import type { Json } from '../../testkit/client.js';
import { moneyNeedsApproval } from '../../testkit/console.js';
import {
  type ConsoleInBrowser,
  consoleInBrowser,
  dialogOf,
  type OperatorAtConsole,
} from '../../testkit/console-browser.js';
import { inDoubtForLong } from '../../testkit/sealed-transactions.js';
import { DECLINED_CARD } from '../../testkit/test-cards.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('money on the console in a browser'), () => {
  let desk: ConsoleInBrowser;
  let olga: OperatorAtConsole;
  let otto: OperatorAtConsole;

  beforeAll(async () => {
    desk = await consoleInBrowser();
    await moneyNeedsApproval(desk.gateway, 5_000);
    olga = await desk.open({ role: 'operator', name: 'olga' });
    otto = await desk.open({ role: 'operator', name: 'otto' });
  });
  afterAll(() => desk?.close());

  const api = () => desk.gateway.api;
  const lookedUp = async (audit: number): Promise<Json> => (await api().lookUp(audit)).body;
  const leftOf = async (audit: number): Promise<string | undefined> =>
    (await lookedUp(audit)).kvps['GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT'];

  async function purchase(change: Readonly<Record<string, unknown>> = {}): Promise<number> {
    const { status, body } = await api().purchase({ amount: 2_000, ...change });
    expect(status).toBe(201);
    return body.audit;
  }

  async function doubtful(): Promise<number> {
    const audit = await purchase();
    await inDoubtForLong(desk.gateway, audit);
    return audit;
  }

  /** Everything that was done to it, by the database. */
  const doneTo = (audit: number) =>
    desk.gateway.sql('SELECT status FROM transaction WHERE organisation_id = 1 AND target_audit = $1', [
      audit,
    ]);

  async function form(page: Page, action: string, reason: string, amount?: string): Promise<Locator> {
    await page.getByRole('button', { name: action, exact: true }).click();
    const dialog = dialogOf(page, new RegExp(`^${action} transaction`));
    if (amount !== undefined) await dialog.getByLabel('Amount in AUD').fill(amount);
    await dialog.getByLabel('Reason').fill(reason);
    return dialog;
  }
  const send = (dialog: Locator) => dialog.locator('button[type=submit]');

  /** Returns the audit that the page says was made. */
  async function madeAudit(dialog: Locator): Promise<number> {
    const made = dialog.getByRole('status').getByRole('link', { name: /^\d+$/ });
    return Number(await made.innerText());
  }

  test('partial refund, then the rest → the interface shows both, the page what is left and who did it', async () => {
    const { page, goTo } = olga;
    const target = await purchase();
    await goTo(`/transactions/1/${target}`);
    const part = await form(page, 'Refund', 'one shirt came back', '5.50');
    await send(part).getByText('Refund A$5.50').click();
    const first = await madeAudit(part);
    expect((await lookedUp(first)).transaction).toMatchObject({
      transaction_type: 'refund',
      target_audit: target,
      amount_details: { total_amount: '550' },
    });
    expect(await leftOf(target)).toBe('1450');
    await part.getByRole('button', { name: 'Close' }).last().click();
    await page.getByText('A$14.50', { exact: true }).waitFor();
    const rest = await form(page, 'Refund', 'and the other');
    expect(await rest.getByLabel('Amount in AUD').inputValue()).toBe('14.50');
    await send(rest).click();
    const second = await madeAudit(rest);
    await rest.getByRole('link', { name: String(second) }).click();
    await page.getByRole('heading', { level: 1, name: `Transaction ${second}` }).waitFor();
    await page.getByText(`operator:${olga.name}`).first().waitFor();
    await page.getByText('and the other').first().waitFor();
    expect(await leftOf(target)).toBeUndefined();
    expect(await doneTo(target)).toHaveLength(2);
  });

  test('void → the payment is voided, and can no longer be refunded', async () => {
    const { page, goTo } = olga;
    const target = await purchase();
    await goTo(`/transactions/1/${target}`);
    const dialog = await form(page, 'Void', 'by mistake');
    await send(dialog).click();
    await madeAudit(dialog);
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('main').getByText('voided', { exact: true }).first().waitFor();
    expect((await lookedUp(target)).status.transaction_status_code).toBe('voided');
    const offered = page.getByRole('button', { name: /^(Refund|Void)$/ });
    await expect.poll(() => offered.count()).toBe(0);
  });

  test('partial completion → the merchant gets that amount', async () => {
    const { page, goTo } = olga;
    const { audit } = (await api().preauthorise({ amount: 900 })).body;
    await goTo(`/transactions/1/${audit}`);
    const dialog = await form(page, 'Complete', 'shipped', '3.00');
    await send(dialog).click();
    const completion = await madeAudit(dialog);
    expect((await lookedUp(completion)).transaction).toMatchObject({
      transaction_type: 'completion',
      target_audit: audit,
      amount_details: { total_amount: '300' },
    });
  });

  test('an excessive amount, or a card number as the reason → an error at the field, nothing happens', async () => {
    const { page, goTo } = olga;
    const target = await purchase();
    await goTo(`/transactions/1/${target}`);
    const dialog = await form(page, 'Refund', '4111 1111 1111 1111', '20.01');
    await dialog.getByText('From 0.01 to 20.00').waitFor();
    await send(dialog).click();
    expect(await doneTo(target)).toEqual([]);
    await dialog.getByLabel('Amount in AUD').fill('20');
    await send(dialog).click();
    await dialog
      .getByRole('alert')
      .getByText(/reason/i)
      .first()
      .waitFor();
    expect(await doneTo(target)).toEqual([]);
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('came back');
    await send(dialog).click();
    await madeAudit(dialog);
    expect(await doneTo(target)).toHaveLength(1);
  });

  test('a declined payment → no action is offered', async () => {
    const { page, goTo } = olga;
    const { body } = await api().purchase({ pan: DECLINED_CARD });
    await goTo(`/transactions/1/${body.audit}`);
    await page.getByRole('main').getByText('declined', { exact: true }).first().waitFor();
    expect(await page.locator('.page-actions button').count()).toBe(0);
  });

  test('in doubt, “ask now” → the acquirer is asked, and the page shows the answer', async () => {
    const { page, goTo } = olga;
    const [listed, shown] = [await doubtful(), await doubtful()];
    await goTo('/in-doubt');
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: String(listed) }) });
    await row.getByRole('button', { name: 'Ask now' }).click();
    await page.getByText(`The acquirer is being asked about ${listed}.`).waitFor();
    expect((await api().decided(listed)).status.transaction_status_code).toBe('approved');
    await row.waitFor({ state: 'detached' });
    await goTo(`/transactions/1/${shown}`);
    await page.getByRole('main').getByText('in doubt', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'Ask now' }).click();
    await page.getByRole('main').getByText('approved', { exact: true }).first().waitFor();
    expect((await lookedUp(shown)).status.transaction_status_code).toBe('approved');
  });

  describe('exactly one refund each time', () => {
    test('pressed twice → one refund', async () => {
      const { page, goTo } = olga;
      const target = await purchase();
      await goTo(`/transactions/1/${target}`);
      const dialog = await form(page, 'Refund', 'twice', '1.00');
      await send(dialog).dblclick();
      await madeAudit(dialog);
      expect(await doneTo(target)).toHaveLength(1);
    });

    test('the answer is lost, the page reloaded, and the form sent again → one refund, and its outcome is shown', async () => {
      const { page, goTo } = olga;
      const target = await purchase();
      await goTo(`/transactions/1/${target}`);
      await page.route('**/refund', async (route) => {
        await route.fetch();
        await route.abort();
      });
      const dialog = await form(page, 'Refund', 'lost', '1.00');
      await send(dialog).click();
      await dialog.getByText('The gateway does not answer').waitFor();
      await page.unroute('**/refund');
      await page.reload();
      await dialog.getByText('This was sent before').waitFor();
      expect(await dialog.getByLabel('Amount in AUD').inputValue()).toBe('1.00');
      expect(await dialog.getByLabel('Amount in AUD').isDisabled()).toBe(true);
      await send(dialog).click();
      const audit = await madeAudit(dialog);
      expect(await doneTo(target)).toHaveLength(1);
      expect((await lookedUp(audit)).transaction.target_audit).toBe(target);
      await page.reload();
      await page.getByRole('button', { name: 'Refund' }).waitFor();
      expect(await page.getByRole('dialog').count()).toBe(0);
    });

    test('the whole amount by two operators at once → one succeeds, the other sees why not', async () => {
      const target = await purchase();
      const dialogs = await Promise.all(
        [olga, otto].map(async ({ page, goTo }) => {
          await goTo(`/transactions/1/${target}`);
          return form(page, 'Refund', 'both');
        }),
      );
      await Promise.all(dialogs.map((dialog) => send(dialog).click()));
      const said = await Promise.all(
        dialogs.map((dialog) => dialog.locator('[role=alert], [role=status]').first().innerText()),
      );
      expect(said.filter((words) => /New transaction \d+/.test(words))).toHaveLength(1);
      expect(said.filter((words) => /refund/i.test(words) && !/New transaction/.test(words))).toHaveLength(1);
      expect(await doneTo(target)).toHaveLength(1);
      expect(await leftOf(target)).toBeUndefined();
    });
  });

  test('above the limit → waits; the requester cannot approve it, a second operator can, on a page that was already open', async () => {
    const target = await purchase({ amount: 9_000 });
    await otto.goTo('/approvals');
    await olga.goTo(`/transactions/1/${target}`);
    const dialog = await form(olga.page, 'Refund', 'a large one');
    await send(dialog).click();
    await dialog.getByText('it waits for a second person').waitFor();
    expect(await doneTo(target)).toEqual([]);
    await dialog.getByRole('link', { name: 'Approvals' }).click();
    const own = olga.page.getByRole('row').filter({ hasText: 'a large one' });
    await own.getByRole('button', { name: 'Take back' }).waitFor();
    expect(await own.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    const theirs = otto.page.getByRole('row').filter({ hasText: 'a large one' });
    await theirs.getByRole('button', { name: 'Approve' }).click();
    const approval = dialogOf(otto.page, /^Approve request/);
    await approval.getByText('asked for by olga: a large one').waitFor();
    await approval.getByLabel('Reason').fill('seen');
    await approval.getByRole('button', { name: 'Approve' }).dblclick();
    await approval.getByText(/Done: transaction \d+, approved/).waitFor();
    expect(await doneTo(target)).toMatchObject([{ status: 'approved' }]);
    expect(await leftOf(target)).toBeUndefined();
    await own.waitFor({ state: 'detached' });
  });

  test('above the limit, refused by the second operator, or withdrawn → nothing is done', async () => {
    const target = await purchase({ amount: 9_000 });
    for (const [by, label] of [
      [otto, 'Refuse'],
      [olga, 'Take back'],
    ] as const) {
      await olga.goTo(`/transactions/1/${target}`);
      const dialog = await form(olga.page, 'Refund', `to ${label}`);
      await send(dialog).click();
      await dialog.getByText('it waits for a second person').waitFor();
      await by.goTo('/approvals');
      const row = by.page.getByRole('row').filter({ hasText: `to ${label}` });
      await row.getByRole('button', { name: label }).click();
      await dialogOf(by.page, new RegExp(`^${label}`))
        .getByRole('button', { name: label })
        .click();
      await row.waitFor({ state: 'detached' });
    }
    expect(await doneTo(target)).toEqual([]);
    expect(await leftOf(target)).toBe('9000');
  });

  test('a viewer → sees everything, is offered no action, and requests for one are refused', async () => {
    const { page, goTo, client, close } = await desk.open({ role: 'viewer' });
    const target = await purchase();
    await goTo(`/transactions/1/${target}`);
    await page.getByText('Your role is read-only.').waitFor();
    const refused = await Promise.all(
      ['void', 'refund', 'completion', 'ask'].map(async (action) => {
        const body = { reason: 'x', key: 'a'.repeat(16) };
        const answer = await client.post(`/transactions/1/${target}/${action}`, action === 'ask' ? {} : body);
        return [answer.status, answer.body.error_code];
      }),
    );
    expect(new Set(refused.map(String))).toEqual(new Set(['403,role_not_sufficient']));
    await goTo('/in-doubt');
    expect(await page.getByRole('button', { name: 'Ask now' }).count()).toBe(0);
    expect(await doneTo(target)).toEqual([]);
    await close();
  });

  test('throughout → the browser reported no error', () => {
    expect([...olga.complaints, ...otto.complaints]).toEqual([]);
  });
});
