// No card number, account number, expiry or CVV comes back, and none is written anywhere in clear.
//
// The card numbers share eleven digits that no other number here has; a mask shows six of them, so that eleven in a
// row are a leak. A CVV is too short for that: any four digits turn up by chance in timestamps, identifiers and
// ciphertext. What is sound is to look for it as a value of its own (`"7012"`, `,7012,`) in texts whose numbers are all
// known to be others: the CVVs lie above every identifier and amount of this session. In the server's files, where
// everything stands next to everything, a CVV can only be looked for by the name that it would be stored under.
import { randomInt } from 'node:crypto';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Answer, type Client, client, type Json, paymentBody } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import {
  formsOf,
  foundIn,
  hashesOf,
  inGatewayFiles,
  rowsOf,
  ServerFiles,
  valuesIn,
} from '../../testkit/secret-scan.js';
import { bankAccount, cardAccount, cardBeginning, vaultOf } from '../../testkit/vault-client.js';

// Different in each run: the server's files may still hold what an earlier run planted.
const DIGITS = `401283${String(randomInt(100_000)).padStart(5, '0')}`;
const ACCOUNT_NUMBER = '731946285';
const EXPIRY = '0837';
const PAYMENTS = 240;
const TOKENS = 60;

const cards = Array.from({ length: PAYMENTS + TOKENS }, (_, serial) => cardBeginning(DIGITS, serial));
const cvvs = Array.from({ length: PAYMENTS }, (_, index) => String(7000 + index));
/** Test cards of the simulated acquirer with special paths through the gateway. */
const faulty = ['4200000000000018', '4200000000000034', '4200000000000059', '4100000000000969'];

/** Too short to be searched for except as separate values. */
const SHORT = new Set([EXPIRY, '3708', ...cvvs, '7777', '7778', '7779', '7780']);
const WANTED = [...formsOf(DIGITS), ...formsOf(ACCOUNT_NUMBER), ...faulty];

let gateway: TestGateway;
let files: ServerFiles | undefined;
const answers: Answer[] = [];

/** A client that keeps every answer. */
function listening(to: Client): Client {
  const kept = async (asking: Promise<Answer>) => {
    const answer = await asking;
    answers.push(answer);
    return answer;
  };
  return {
    ...to,
    call: (path, options) => kept(to.call(path, options)),
    post: (path, body, correlationId) => kept(to.post(path, body, correlationId)),
    get: (path) => kept(to.get(path)),
    purchase: (change) => kept(to.purchase(change)),
    complete: (audit, amount) => kept(to.complete(audit, amount)),
    refund: (audit, amount) => kept(to.refund(audit, amount)),
    void: (audit) => kept(to.void(audit)),
    lookUp: (audit) => kept(to.lookUp(audit)),
  };
}

beforeAll(async () => {
  gateway = await testGateway();
  const folder = inject('serverFiles');
  files = folder === undefined ? undefined : ServerFiles.watch(folder, gateway);
  const api = listening(gateway.api);
  await pays(api);
  await keepsTokens(api);
  await makesMistakes(api);
});
afterAll(() => gateway.close());

async function pays(api: Client): Promise<void> {
  const operations = ['purchase', 'preauthorisation', 'refund'];
  await Promise.all(
    cvvs.map(async (cvv, index) => {
      const body = paymentBody({ pan: cards[index] as string, expiry: EXPIRY, cvv });
      const { audit } = (await api.post(`/transactions/${operations[index % 3]}`, body)).body;
      if (index % 10 === 0) await api.refund(audit, 100);
      if (index % 10 === 1) await api.complete(audit, 100);
      if (index % 10 === 2) await api.void(audit);
      await api.lookUp(audit);
    }),
  );
  for (const pan of faulty) await api.purchase({ pan, cvv: '7777', expiry: EXPIRY });
}

async function keepsTokens(api: Client): Promise<void> {
  const vault = vaultOf(api);
  const customerId = (await vault.addCustomer({ reference: 'customer', name: 'Ada' })).body.id;
  const secret = (pan: string) => cardAccount({ 'CARD.PAN': pan, 'CARD.EXPIRY': EXPIRY, 'CARD.CVV': '7778' });
  await Promise.all(
    cards.slice(PAYMENTS).map(async (pan, index) => {
      const { body } = await vault.addToken(customerId, {
        preferred_name: `Card ${index}`,
        account: secret(pan),
      });
      const { audit } = (await api.purchase({ pan: body.virtual_pan, cvv: '7779' })).body;
      await api.lookUp(audit);
      if (index % 3 === 0)
        await vault.changeToken(customerId, body.id, { account: secret(cards[index] as string) });
      if (index % 3 === 1) await vault.deleteToken(customerId, body.id);
      await vault.lookUpToken(customerId, body.id);
    }),
  );
  const bank = bankAccount({ 'BANK.ACCOUNT_NUMBER': ACCOUNT_NUMBER });
  await vault.addToken(customerId, { preferred_name: 'Bank', account: bank });
  await vault.addToken(customerId, { preferred_name: 'Bank', account: bank });
  await vault.listTokens(customerId);
  await vault.searchCustomers();
}

/** Card numbers wherever somebody could put one. */
async function makesMistakes(api: Client): Promise<void> {
  const [pan, other] = cards as [string, string];
  const vault = vaultOf(api);
  const spoilt = `${pan.slice(0, -1)}${(Number(pan.slice(-1)) + 1) % 10}`;
  await vault.addCustomer({ reference: pan, name: other });
  await vault.searchCustomers({ name: pan, reference: other });
  await vault.addToken(1, {
    preferred_name: pan,
    account: cardAccount({ 'CARD.PAN': spoilt, 'CARD.NAME': pan }),
  });
  await vault.addToken(1, { account: { [pan]: pan, general_creditcard: pan } });
  await api.get(`/customers/${pan}`);
  await api.get(`/customers/1/tokens/${pan}?merchant_id=${pan}&${pan}=${pan}`);
  await api.get(`/${pan}`);
  await api.call('/customers', { method: pan.replaceAll(/\d/g, 'X') });
  await api.call('/customers', { raw: `{"name": "${pan}` });
  await api.call('/customers', { raw: pan, headers: { 'content-type': `text/${pan}` } });
  await api.call('/customers', { correlationId: pan, body: { name: 'Ada', reference: 'x' } });
  await api.purchase({ pan: spoilt, cvv: '7780' });
  await api.purchase({ reference: pan, kvps: { a: other, [pan]: 'x' } });
  answers.push(await client(gateway.baseUrl, { username: pan, password: other }).get('/customers'));
}

describe('responses', () => {
  test('no response holds a card or account number, however it is written', () => {
    expect(answers.length).toBeGreaterThan(PAYMENTS + TOKENS);
    for (const { text, headers } of answers) {
      const whole = text + JSON.stringify([...headers]);
      expect(foundIn(whole, WANTED)).toEqual([]);
    }
  });

  test('no response holds an expiry or a CVV', () => {
    for (const { text } of answers) {
      expect(valuesIn(text, SHORT)).toEqual([]);
      for (const [, expiry] of text.matchAll(/"CARD\.EXPIRY":"([^"]*)"/g)) expect(expiry).toBe('****');
    }
    expect(answers.some(({ text }) => text.includes('CARD.EXPIRY'))).toBe(true);
  });
});

describe('what is written', () => {
  test('no row of the database holds a card or account number, or a bare hash of a card number', async () => {
    const rows = await rowsOf(gateway);
    expect(rows.length).toBeGreaterThan(2 * PAYMENTS);
    const whole = rows.join('\n');
    expect(foundIn(whole, WANTED)).toEqual([]);
    expect(foundIn(whole, cards.slice(0, 50).flatMap(hashesOf))).toEqual([]);
  });

  test('no row of the database holds a CVV as a value, under a name, or as a hash', async () => {
    const rows = await rowsOf(gateway);
    expect(rows.filter((row) => valuesIn(row, SHORT).length > 0)).toEqual([]);
    expect(rows.filter((row) => /cvv|cvc/i.test(row))).toEqual([]);
    expect(foundIn(rows.join('\n'), [...SHORT].flatMap(hashesOf))).toEqual([]);
  });

  test('no line of the log holds a card or account number, an expiry or a CVV', () => {
    const lines = gateway.logged().trim().split('\n');
    expect(lines.length).toBeGreaterThan(answers.length / 2);
    expect(foundIn(gateway.logged(), WANTED)).toEqual([]);
    for (const line of lines) {
      // How long it took is made by chance.
      const { time, duration_ms, ...rest } = JSON.parse(line) as Json;
      expect(valuesIn(JSON.stringify(rest), SHORT)).toEqual([]);
    }
  });

  test('the simulated acquirer’s ledger and the gateway’s other files hold none of these', async () => {
    const entries = await gateway.ledger();
    expect(entries.length).toBeGreaterThan(PAYMENTS);
    for (const entry of entries) expect(valuesIn(JSON.stringify(entry), SHORT)).toEqual([]);
    expect(await inGatewayFiles(dirname(gateway.ledgerPath), [...WANTED, 'cvv'])).toEqual([]);
  });

  test('PostgreSQL’s own files, its write-ahead log and its log hold no card or account number and no CVV by name', async () => {
    if (files === undefined) return;
    const wanted = [...formsOf(DIGITS), ...formsOf(ACCOUNT_NUMBER), '"cvv"', '"CARD.CVV"'];
    expect(await files.inWriteAheadLog(wanted)).toEqual([]);
    expect(await files.inDataFiles(wanted)).toEqual([]);
    expect(await files.inServerLog(wanted)).toEqual([]);
  });
});

describe('the scan itself', () => {
  test.each(formsOf(DIGITS).map((form, index) => [index, form] as const))(
    'a card number planted in the form number %i → found',
    async (index, form) => {
      const [pan = ''] = cards;
      const written = [
        pan,
        Buffer.from(pan).toString('hex'),
        ...['', 'x', 'xy'].map((before) => Buffer.from(`${before}${pan}`).toString('base64')),
      ][index] as string;
      await gateway.sql('CREATE TABLE planted (digits text)');
      // All that others have logged since this file began need not be read for each form.
      const folder = inject('serverFiles');
      const fromNowOn = folder === undefined ? undefined : ServerFiles.watch(folder, gateway);
      try {
        await gateway.sql('INSERT INTO planted VALUES ($1)', [written]);
        expect(foundIn((await rowsOf(gateway)).join('\n'), [form])).toEqual([form]);
        if (fromNowOn === undefined) return;
        expect(await fromNowOn.inDataFiles([form])).not.toEqual([]);
        // A concurrent checkpoint can remove a file of the log: then it is planted again.
        let logged: string[] = [];
        for (let time = 0; time < 5 && logged.length === 0; time += 1) {
          await gateway.sql('INSERT INTO planted VALUES ($1)', [written]);
          logged = await fromNowOn.inWriteAheadLog([form]);
        }
        expect(logged).not.toEqual([]);
      } finally {
        await gateway.sql('DROP TABLE planted');
      }
    },
  );

  test('a CVV planted as a value → found; the same digits inside other numbers → not found', async () => {
    const wanted = new Set(['7012']);
    for (const text of ['(1,7012,x)', '{"a":"7012"}', 'cvv=7012', '7012'])
      expect(valuesIn(text, wanted)).toEqual(['7012']);
    for (const text of ['10.7012', '170123', 'a7012', '\\x7012ab', '401283******7012'])
      expect(valuesIn(text, wanted)).toEqual([]);
  });
});
