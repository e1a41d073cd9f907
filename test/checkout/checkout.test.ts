// A payer cannot pay twice, whatever they click and whatever crashes.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Json } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { ACCOUNT, CARD, createCheckout, DECLINED_CARD, Payer } from '../../testkit/payer.js';
import { ScriptedAcquirer } from '../../testkit/scripted-acquirer.js';
import { LOST_REQUEST_CARD, UNREACHABLE_CARD } from '../../testkit/test-cards.js';
import { vaultOf } from '../../testkit/vault-client.js';

const WITH_PAGES = { CHECKOUT_PORT: '0' };

function gatewayWithPages(settings: Record<string, string> = {}): Promise<TestGateway> {
  return testGateway({ settings: { ...WITH_PAGES, ...settings } });
}

/** What the acquirer has charged. */
async function charged({ ledger }: TestGateway): Promise<number> {
  const entries = await ledger();
  const reversed = new Set(
    entries.filter(({ operation }) => (operation as string) === 'reversal').map(({ reference }) => reference),
  );
  return entries.filter(
    ({ operation, responseCode, reference }) =>
      operation === 'purchase' && responseCode === '00' && !reversed.has(reference),
  ).length;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(50);
}

const lookedUp = async ({ api }: TestGateway, id: string): Promise<Json> =>
  (await api.get(`/checkouts/${id}`)).body;

describe('paying', () => {
  test('approved → complete, with its transaction; the page says so, and does not pay again', async () => {
    const gateway = await gatewayWithPages();
    const { id, url } = (await createCheckout(gateway.api, { reference: 'order-77' })).body;
    const payer = new Payer(url);
    const page = await payer.look();
    const paid = await payer.pay(CARD, page);
    expect(paid.text).toContain('Thank you: you have paid');
    expect(paid.text).toContain('$19.95');
    for (const again of [await payer.pay(CARD, page), await payer.look()])
      expect(again.text).toContain('you have paid');
    const { status, result } = await lookedUp(gateway, id);
    expect(status).toBe('complete');
    const { body } = await gateway.api.lookUp(result.audit);
    expect(body).toMatchObject({
      transaction: { reference: 'order-77', amount_details: { total_amount: '1995' } },
      kvps: { 'GATEWAY.REQUEST.KVP.CHECKOUT': id },
    });
    expect(await charged(gateway)).toBe(1);
  });

  test('with a return address → the payer is sent back, with the checkout’s ID', async () => {
    const gateway = await gatewayWithPages();
    const { id, url } = (await createCheckout(gateway.api, { return_url: 'https://shop.example/paid?a=1' }))
      .body;
    const back = await new Payer(url).pay(CARD);
    expect([back.status, back.location]).toEqual([303, `https://shop.example/paid?a=1&checkout=${id}`]);
  });

  test('declined, then approved; until the attempts are used up', async () => {
    const gateway = await gatewayWithPages();
    const { url } = (await createCheckout(gateway.api, { attempts: 2 })).body;
    const declined = await new Payer(url).pay(DECLINED_CARD);
    expect(declined.text).toContain('did not approve this card');
    expect(declined.text).toContain('You can try once more');
    expect(declined.text).toContain('Please use another card');
    expect((await new Payer(url).pay(CARD)).text).toContain('you have paid');
    const used = (await createCheckout(gateway.api, { attempts: 1 })).body;
    const last = await new Payer(used.url).pay(DECLINED_CARD);
    expect(last.text).toContain('There are no tries left');
    expect((await new Payer(used.url).pay(CARD, last)).text).toContain('There are no tries left');
    expect(await charged(gateway)).toBe(1);
  });

  test('the acquirer cannot be reached → nothing is charged, and the payer can try again', async () => {
    const gateway = await gatewayWithPages();
    const { url } = (await createCheckout(gateway.api)).body;
    const failed = await new Payer(url).pay({ ...CARD, number: UNREACHABLE_CARD });
    expect(failed.text).toContain('you have not been charged');
    expect((await new Payer(url).pay(CARD)).text).toContain('you have paid');
  });

  test('a preauthorisation holds the amount', async () => {
    const gateway = await gatewayWithPages();
    const { id, url } = (await createCheckout(gateway.api, { operation: 'preauthorisation' })).body;
    expect((await new Payer(url).pay(CARD)).text).toContain('the amount is authorised');
    const { result } = await lookedUp(gateway, id);
    expect((await gateway.api.lookUp(result.audit)).body.transaction.transaction_type).toBe(
      'preauthorisation',
    );
  });

  // catches(checkout: no debit without the payer's agreement)
  test('a bank account → debited, and what was agreed to is journalled', async () => {
    const gateway = await gatewayWithPages();
    const { id, url } = (
      await createCheckout(gateway.api, { payment_methods: ['creditcard', 'bankaccount'] })
    ).body;
    const payer = new Payer(url);
    const { agree: _agree, ...without } = ACCOUNT;
    const asked = await payer.pay({ method: 'bankaccount', ...without });
    expect([asked.status, asked.text.includes('Without your agreement')]).toEqual([422, true]);
    expect((await payer.pay({ method: 'bankaccount', ...ACCOUNT })).text).toContain('you have paid');
    const { result } = await lookedUp(gateway, id);
    expect((await gateway.api.lookUp(result.audit)).body.status.transaction_status_code).toBe('pending');
    const entries = await gateway.sql(`SELECT actor, detail FROM journal WHERE action = 'checkout.agreed'`);
    expect(entries).toEqual([
      { actor: `checkout:${id}`, detail: 'direct debit agreement 2026-11, account 062-000 *****678' },
    ]);
  });
});

describe('one payment', () => {
  test('the same form ten times at once, and forms of three tabs → one payment', async () => {
    const gateway = await gatewayWithPages();
    const { id, url } = (await createCheckout(gateway.api)).body;
    const tabs = await Promise.all([1, 2, 3].map(() => new Payer(url).look()));
    await Promise.all(Array.from({ length: 10 }, (_, at) => new Payer(url).send(CARD, tabs[at % 3])));
    expect((await lookedUp(gateway, id)).status).toBe('complete');
    expect(await charged(gateway)).toBe(1);
    expect((await lookedUp(gateway, id)).attempts).toHaveLength(1);
  });

  test('two gateways at the same moment → one payment', async () => {
    const gateway = await gatewayWithPages();
    const other = await testGateway({ shareWith: gateway, settings: WITH_PAGES });
    onTestFinished(() => other.close());
    for (let round = 0; round < 5; round += 1) {
      const { id, url } = (await createCheckout(gateway.api)).body;
      const there = url.replace(gateway.checkoutUrl as string, other.checkoutUrl as string);
      const page = await new Payer(url).look();
      await Promise.all([url, there, url, there].map((address) => new Payer(address).send(CARD, page)));
      expect((await lookedUp(gateway, id)).status).toBe('complete');
      expect(await charged(gateway)).toBe(round + 1);
    }
  });

  // catches(checkout: while a payment is in doubt there is no other)
  // catches(checkout: not cancelled while something is under way)
  test('in doubt → no other attempt; found out to be approved → complete', async () => {
    const scripted = new ScriptedAcquirer();
    const gateway = await testGateway({ settings: WITH_PAGES, acquirers: [scripted] });
    await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted' WHERE id = 1`);
    const { id, url } = (await createCheckout(gateway.api)).body;
    scripted.nextAnswers(() => ({ kind: 'unknown', reason: 'unreadable' }));
    const finding = scripted.holdNextFinding();
    const payer = new Payer(url);
    const page = await payer.look();
    expect((await payer.pay(CARD, page)).text).toContain('Do not pay again');
    for (const n of ['1', '2'])
      expect((await payer.pay({ ...CARD, n }, page)).text).toContain('Do not pay again');
    expect((await gateway.api.call(`/checkouts/${id}/cancel`, { method: 'POST' })).code).toBe(
      'checkout_not_open',
    );
    const shown = await lookedUp(gateway, id);
    expect([shown.status, shown.attempts]).toEqual([
      'processing',
      [{ audit: expect.any(Number), transaction_status_code: 'unknown' }],
    ]);
    finding.answer({ kind: 'approved', responseCode: '00', responseMessage: 'Approved' });
    await until(async () => (await payer.status()) !== 'processing');
    expect((await payer.look()).text).toContain('you have paid');
    expect(scripted.requests).toHaveLength(1);
  });

  test('in doubt → found out that nothing was charged → the payer can try again', async () => {
    const gateway = await gatewayWithPages();
    const { url } = (await createCheckout(gateway.api)).body;
    const payer = new Payer(url);
    await payer.pay({ ...CARD, number: LOST_REQUEST_CARD });
    await until(async () => (await payer.status()) === 'open');
    expect((await payer.look()).text).toContain('you have not been charged');
    expect((await payer.pay(CARD)).text).toContain('you have paid');
    expect(await charged(gateway)).toBe(1);
  });

  // catches(checkout: a payment is denied only behind a fence)
  test('an attempt that its process has left before it was a payment → none can come of it, and there is another', async () => {
    const gateway = await gatewayWithPages();
    const { id, url } = (await createCheckout(gateway.api)).body;
    await gateway.sql(
      `WITH left_one AS (UPDATE checkout SET attempts = 1, attempt_until = now() - interval '1 second' WHERE id = $1 RETURNING *)
       INSERT INTO checkout_attempt (organisation_id, checkout, n, claimed_at) SELECT organisation_id, number, 1, now() FROM left_one`,
      [id],
    );
    const payer = new Payer(url);
    await until(async () => (await payer.status()) === 'open');
    const fences = await gateway.sql(`SELECT correlation_id FROM absence WHERE correlation_id = $1`, [
      `checkout:${id}:1`,
    ]);
    expect(fences).toHaveLength(1);
    expect((await payer.pay(CARD)).text).toContain('you have paid');
  });

  test('the same while its payment is there → complete by it', async () => {
    const scripted = new ScriptedAcquirer();
    const gateway = await testGateway({ settings: WITH_PAGES, acquirers: [scripted] });
    await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted' WHERE id = 1`);
    const { id, url } = (await createCheckout(gateway.api)).body;
    const held = scripted.holdNextAnswer();
    const payer = new Payer(url);
    const page = await payer.look();
    const paying = payer.send(CARD, page);
    await held.asked;
    // Its process seems to be gone; another one looks, and a second form comes.
    await gateway.sql(`UPDATE checkout SET attempt_until = now() - interval '1 second' WHERE id = $1`, [id]);
    expect(await payer.status()).toBe('processing');
    expect((await payer.pay({ ...CARD, n: '2' }, page)).text).toContain('Do not pay again');
    held.answer({ kind: 'approved', responseCode: '00', responseMessage: 'Approved' });
    await paying;
    expect(await payer.status()).toBe('complete');
    expect(scripted.requests).toHaveLength(1);
  });

  // catches(schema: a checkout that has ended is not opened again)
  // catches(schema: no attempt of a checkout is forgotten)
  // catches(schema: a checkout keeps what it asks for)
  // catches(schema: an attempt that is decided stays decided)
  // catches(schema: a checkout is paid once)
  // catches(schema: a checkout ends only when nothing of it is under way)
  // catches(roles: nobody removes a checkout)
  test('whoever writes to the database opens nothing that has ended, and makes no second payment', async () => {
    const gateway = await gatewayWithPages();
    const { id, url } = (await createCheckout(gateway.api)).body;
    await new Payer(url).pay(CARD);
    const open = (await createCheckout(gateway.api)).body;
    const underWay = `UPDATE checkout SET attempts = 1, attempt_until = now() + interval '1 minute' WHERE id = '${open.id}'`;
    await gateway.sql(underWay);
    const ofOwner = [
      `UPDATE checkout SET status = 'open', result_audit = NULL WHERE id = '${id}'`,
      `UPDATE checkout SET attempts = 0 WHERE id = '${open.id}'`,
      `UPDATE checkout SET terms = '{}'`,
      `UPDATE checkout SET status = 'cancelled' WHERE id = '${open.id}'`,
      `UPDATE checkout_attempt SET outcome = 'not paid'`,
      `INSERT INTO checkout_attempt (organisation_id, checkout, n, claimed_at) SELECT organisation_id, checkout, 2, now() FROM checkout_attempt`,
      `DELETE FROM checkout_attempt`,
      `DELETE FROM checkout`,
    ];
    for (const text of ofOwner) await expect(gateway.sql(text), text).rejects.toThrow();
    const forbidden = [
      `UPDATE checkout SET terms = '{}'`,
      `UPDATE checkout SET merchant_id = 2`,
      `UPDATE checkout SET expires_at = 'infinity'`,
      `DELETE FROM checkout`,
      `DELETE FROM checkout_attempt`,
    ];
    for (const login of ['tollgate_application', 'tollgate_operator'] as const)
      for (const text of forbidden)
        await expect(gateway.sqlAs(login, text), `${login}: ${text}`).rejects.toThrow('permission denied');
    expect((await lookedUp(gateway, id)).status).toBe('complete');
  });

  // catches(checkout: paid only as it was sealed)
  // catches(checkout: sealed with what it asks for)
  test('what it asks for was changed in the database → nobody sees it, and nobody pays it', async () => {
    const gateway = await gatewayWithPages();
    const { id, url } = (await createCheckout(gateway.api)).body;
    const page = await new Payer(url).look();
    await gateway.sql(`ALTER TABLE checkout DISABLE TRIGGER checkout_is_kept`);
    await gateway.sql(`UPDATE checkout SET terms = replace(terms::text, '1995', '1')::json`);
    expect((await new Payer(url).look()).status).toBe(503);
    expect((await new Payer(url).pay(CARD, page)).status).toBe(503);
    expect((await gateway.api.get(`/checkouts/${id}`)).status).toBe(503);
    expect(gateway.logged()).toContain('a row is not as it was sealed');
    expect(await charged(gateway)).toBe(0);
  });

  // catches(checkout: what was received before an organisation came from another cell is not processed)
  test('its organisation has come from another cell → what was received before is not paid', async () => {
    const gateway = await gatewayWithPages();
    const { id, url } = (await createCheckout(gateway.api)).body;
    const page = await new Payer(url).look();
    await gateway.sql(`UPDATE organisation SET arrived_absence = 1000000`);
    expect((await new Payer(url).pay(CARD, page)).status).toBe(503);
    await gateway.sql(`UPDATE organisation SET arrived_absence = 0`);
    expect((await lookedUp(gateway, id)).attempts).toEqual([]);
    expect((await new Payer(url).pay(CARD, page)).text).toContain('you have paid');
  });

  // catches(checkout: what may be lost is not said not to be there)
  test('the database was restored → a checkout that is not there is not denied', async () => {
    const gateway = await gatewayWithPages();
    const unknown = new Payer(`${gateway.checkoutUrl}/co_${'b'.repeat(28)}`);
    expect((await unknown.look()).status).toBe(404);
    await gateway.sql(`UPDATE gateway SET lost_from = now() - interval '1 hour', lost_until = now()`);
    await until(async () => (await unknown.look()).status === 503);
  });
});

describe('time', () => {
  test('expired, also between page and payment → nobody pays', async () => {
    const gateway = await gatewayWithPages();
    const { id, url } = (await createCheckout(gateway.api, { expires_in: 300 })).body;
    const payer = new Payer(url);
    const page = await payer.look();
    await gateway.advance('6m');
    expect((await payer.pay(CARD, page)).text).toContain('This page has expired');
    expect((await lookedUp(gateway, id)).status).toBe('expired');
    expect(await charged(gateway)).toBe(0);
    await until(
      async () => (await gateway.sql(`SELECT FROM checkout WHERE status = 'expired'`)).length === 1,
    );
  });
});

describe('tokenise', () => {
  // catches(one-time cards: for the merchant that they were given to)
  // catches(one-time cards: the CVV is gone once it was used)
  // catches(roles: operators do not get at cards for one payment)
  test('a card for one payment: pays once for this merchant, with its CVV, and leaves nothing behind', async () => {
    const gateway = await gatewayWithPages();
    const tokenise = { operation: 'tokenise', amount_details: undefined };
    const { id, url } = (await createCheckout(gateway.api, tokenise)).body;
    expect((await new Payer(url).pay(CARD)).text).toContain('your details are saved');
    const { result } = await lookedUp(gateway, id);
    const pan = result.virtual_pan;
    expect(pan).toMatch(/^9\d{15}$/);
    const sealed = await gateway.sql<{ sealed: Buffer }>(`SELECT sealed FROM one_time_card`);
    expect(sealed[0]?.sealed.includes('4111')).toBe(false);
    await expect(gateway.sqlAs('tollgate_operator', 'SELECT sealed FROM one_time_card')).rejects.toThrow(
      'permission denied',
    );
    const foreign = await gateway.api.purchase({ merchant: 2, pan });
    expect(foreign.code).toBe('token_not_usable');
    const refund = await gateway.api.standaloneRefund({ pan });
    expect(refund.code).toBe('token_not_usable');
    const paid = await gateway.api.purchase({ pan });
    expect([paid.status, paid.body.status.transaction_status_code]).toEqual([201, 'approved']);
    expect(await gateway.sql(`SELECT FROM one_time_card`)).toEqual([]);
    expect((await gateway.api.purchase({ pan })).code).toBe('token_not_usable');
  });

  // catches(one-time cards: for one payment)
  test('two payments at once with a card for one → one of them', async () => {
    const gateway = await gatewayWithPages();
    const { id, url } = (
      await createCheckout(gateway.api, { operation: 'tokenise', amount_details: undefined })
    ).body;
    await new Payer(url).pay(CARD);
    const pan = (await lookedUp(gateway, id)).result.virtual_pan;
    const answers = await Promise.all(Array.from({ length: 6 }, () => gateway.api.purchase({ pan })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ code }) => code === 'token_not_usable')).toHaveLength(5);
  });

  // catches(one-time cards: for some minutes)
  test('after a quarter of an hour → gone, and its CVV with it', async () => {
    const gateway = await gatewayWithPages();
    const { id, url } = (
      await createCheckout(gateway.api, { operation: 'tokenise', amount_details: undefined })
    ).body;
    await new Payer(url).pay(CARD);
    const pan = (await lookedUp(gateway, id)).result.virtual_pan;
    await gateway.advance('16m');
    expect((await gateway.api.purchase({ pan })).code).toBe('token_not_usable');
    await until(async () => (await gateway.sql(`SELECT FROM one_time_card`)).length === 0);
  });

  test('with a customer → a token of that customer, card or bank account', async () => {
    const gateway = await gatewayWithPages();
    const vault = vaultOf(gateway.api);
    const customer_id = await vault.newCustomer();
    const payment_methods = ['creditcard', 'bankaccount'];
    const wish = { operation: 'tokenise', amount_details: undefined, customer_id, payment_methods };
    const card = (await createCheckout(gateway.api, wish)).body;
    const unnamed = await new Payer(card.url).pay({ method: 'creditcard', ...CARD });
    expect(unnamed.text).toContain('Enter the name');
    await new Payer(card.url).pay({ method: 'creditcard', ...CARD, name: 'Ada Lovelace' });
    const account = (await createCheckout(gateway.api, wish)).body;
    await new Payer(account.url).pay({ method: 'bankaccount', ...ACCOUNT });
    const tokens = (await gateway.api.get(`/customers/${customer_id}/tokens`)).body.results;
    expect(tokens.map((token: Json) => token.virtual_pan)).toEqual([
      (await lookedUp(gateway, card.id)).result.virtual_pan,
      (await lookedUp(gateway, account.id)).result.virtual_pan,
    ]);
    const [first] = tokens;
    expect(first.account.general_creditcard['CARD.NAME']).toBe('Ada Lovelace');
    expect((await gateway.api.purchase({ pan: first.virtual_pan })).status).toBe(201);
  });

  test('a payer who pays may keep the card', async () => {
    const gateway = await gatewayWithPages();
    const customer_id = await vaultOf(gateway.api).newCustomer();
    const { url } = (await createCheckout(gateway.api, { customer_id })).body;
    await new Payer(url).pay({ ...CARD, keep: 'yes', name: 'Ada Lovelace' });
    const tokens = (await gateway.api.get(`/customers/${customer_id}/tokens`)).body.results;
    expect(tokens).toHaveLength(1);
    expect((await gateway.api.purchase({ pan: tokens[0].virtual_pan })).status).toBe(201);
  });
});
