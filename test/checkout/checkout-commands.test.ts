// `tollgate checkout …`: links that operators make, and what becomes of them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { CARD, Payer } from '../../testkit/payer.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { CHECKOUT_PORT: '0' } });
});
afterAll(() => gateway.close());

const tollgate = (line: string, settings: Record<string, string> = {}) =>
  runHere(['checkout', ...wordsOf(line)], {
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_DATA_DIR: gateway.dataDir,
    TOLLGATE_CHECKOUT_URL: gateway.checkoutUrl as string,
    ...settings,
  });
const { json, text, refusal } = commands((line) => tollgate(line));

const ADD = 'add --merchant 1 --reference INV-7 --amount 4990 --currency AUD';

test('add → a link that somebody pays by, once; list and show say what has come of it; the journal who made it', async () => {
  const { id, url, amount_cents } = await json(`${ADD} --description Half-a-year --bank-account`);
  expect([url, amount_cents]).toEqual([`${gateway.checkoutUrl}/${id}`, 4_990]);
  const page = await new Payer(url).look();
  for (const shown of ['INV-7', 'Half-a-year', '$49.90', 'Bank account']) expect(page.text).toContain(shown);
  expect((await new Payer(url).pay({ method: 'creditcard', ...CARD }, page)).text).toContain('you have paid');
  const [listed] = await json('list --merchant 1');
  expect(listed).toMatchObject({
    id,
    status: 'complete',
    reference: 'INV-7',
    attempts: 1,
    audit: expect.any(Number),
  });
  const shown = await json(`show ${id} --merchant 1`);
  expect(shown).toMatchObject({ url, tried: [{ n: 1, outcome: 'paid', audit: listed.audit }] });
  const [entry] = await gateway.sql(`SELECT action, detail FROM journal WHERE action LIKE 'checkout.%'`);
  expect(entry).toEqual({
    action: 'checkout.added',
    detail: expect.stringMatching(/^checkout \d+, INV-7, 49.90 AUD$/),
  });
  expect(await text('list --merchant 3')).toBe('None.');
});

test('cancel → nobody pays it; what is over cannot be cancelled', async () => {
  const { id, url } = await json(ADD);
  expect(await text(`cancel ${id} --merchant 1`)).toBe(`Nobody can pay ${id} any more.`);
  expect((await new Payer(url).look()).text).toContain('nothing to pay any more');
  expect(await refusal(`cancel ${id} --merchant 1`)).toContain(`the checkout ${id} is cancelled`);
  expect(await refusal(`cancel ${id} --merchant 2`)).toContain('this merchant has no checkout');
});

test('a QR code is drawn on demand', async () => {
  expect(await text(`${ADD} --qr`)).toMatch(/[█▀▄]{20}/);
});

test.each([
  ['add --merchant 1 --reference 4111111111111111 --amount 1 --currency AUD', 'no card number'],
  [
    'add --merchant 1 --reference x --amount 1 --currency USD --bank-account',
    'is none that a bank account can be debited by',
  ],
  [`${ADD} --return-url http://shop.example`, 'must begin with https://'],
  [`${ADD} --expires 1m`, 'must be 5m at least'],
  [`${ADD} --customer 99999`, 'there is no customer 99999'],
  ['add --merchant 99 --reference x --amount 1 --currency AUD', 'there is no merchant 99'],
])('%s → refused', async (line, sentence) => {
  expect(await refusal(line)).toContain(sentence);
});

test('without pages → refused, with what to set', async () => {
  const { code, stderr } = await tollgate(ADD, { TOLLGATE_CHECKOUT_URL: '', TOLLGATE_CHECKOUT_PORT: 'off' });
  expect([code, stderr]).toEqual([1, expect.stringContaining('set TOLLGATE_CHECKOUT_URL')]);
});
