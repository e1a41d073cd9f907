// Wallets on the page of a checkout: where they are offered, and that a payment by one is an attempt like any other.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { APPLES_HOST, AppleHost, SESSION, SESSION_ADDRESS } from '../../testkit/apple-host.js';
import type { Json } from '../../testkit/bodies.js';
import type { TestCertificate } from '../../testkit/certificates.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { freePort } from '../../testkit/gateway-process.js';
import { CARD, createCheckout, letManyPay, type PageSeen, Payer } from '../../testkit/payer.js';
import { ScriptedAcquirer } from '../../testkit/scripted-acquirer.js';
import { DECLINED_CARD } from '../../testkit/test-cards.js';
import {
  type AppleShop,
  appleIdentity,
  appleShop,
  type GoogleShop,
  googleShop,
  walletCommands,
} from '../../testkit/wallets.js';

/** Of Apple’s tests. */
const CERT_HOST = 'apple-pay-gateway-cert.apple.com';

let gateway: TestGateway;
let google: GoogleShop;
const scripted = new ScriptedAcquirer();

beforeAll(async () => {
  gateway = await testGateway({ settings: { CHECKOUT_PORT: '0' }, acquirers: [scripted] });
  google = await googleShop(gateway);
  await letManyPay(gateway, [1, 3]);
});
afterAll(() => gateway.close());

/** What the page has for `new PaymentRequest`, by wallet. */
function offersOn({ text }: PageSeen): Record<string, Json> {
  const buttons = text.matchAll(/<button type="button" value="(\w+)" data-request="([^"]*)" hidden>/g);
  return Object.fromEntries(
    [...buttons].map(([, type, request = '']) => [type, JSON.parse(request.replaceAll('&quot;', '"'))]),
  );
}
const by = (token: unknown, wallet = 'google_pay') => ({
  wallet,
  token: typeof token === 'string' ? token : JSON.stringify(token),
});
const checkoutOf = async (id: string) => (await gateway.api.get(`/checkouts/${id}`)).body;
const newPayer = async (details: Json = {}, merchant = 1) => {
  const { id, url } = (await createCheckout(gateway.api, details, merchant)).body;
  return { id, payer: new Payer(url) };
};

describe('the page', () => {
  test('asks Google for the amount that is paid, with the merchant’s key, and lets the browser ask nobody else', async () => {
    const { payer } = await newPayer({ frame_origins: ['https://shop.example'] });
    const page = await payer.look();
    const [[method], details] = offersOn(page).google_pay;
    expect(details).toEqual({ total: { label: 'Ours', amount: { currency: 'AUD', value: '19.95' } } });
    expect(method).toMatchObject({
      supportedMethods: 'https://google.com/pay',
      data: {
        environment: 'TEST',
        merchantInfo: { merchantId: '12345678901234567890', merchantName: 'Ours' },
        transactionInfo: { totalPrice: '19.95', currencyCode: 'AUD' },
      },
    });
    const [{ tokenizationSpecification }] = method.data.allowedPaymentMethods;
    expect(tokenizationSpecification).toEqual({
      type: 'DIRECT',
      parameters: { protocolVersion: 'ECv2', publicKey: google.added.public_key },
    });
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("connect-src 'self' https://google.com/pay https://pay.google.com;");
    expect(policy).toContain("script-src 'self';");
    expect(page.headers.get('permissions-policy')).toMatch(/, payment=\(self\)$/);
  });

  test.each([
    ['of a merchant without a key', {}, 2],
    // catches(checkout: a wallet pays only where the page offers it)
    ['for a bank account', { payment_methods: ['bankaccount'] }, 1],
    ['for a card to keep', { operation: 'tokenise', amount_details: undefined }, 1],
  ])('%s offers none, and takes none', async (_, details, merchant) => {
    const { id, payer } = await newPayer(details, merchant);
    const page = await payer.look();
    expect(offersOn(page)).toEqual({});
    expect(page.text).not.toContain('wallets');
    expect(page.headers.get('permissions-policy')).toMatch(/, payment=\(\)$/);
    expect(page.headers.get('content-security-policy')).toContain("connect-src 'self';");
    const refused = await payer.pay(by(google.token()), page);
    expect([refused.status, refused.text.includes('you have not been charged')]).toEqual([422, true]);
    expect(await checkoutOf(id)).toMatchObject({ status: 'open', attempts: [] });
  });

  // catches(checkout: no wallet where it depends on the card what is paid)
  test('offers none where it depends on the card what is paid, and the total with its surcharge where it does not', async () => {
    const shop = await googleShop(gateway, { merchant: 3 });
    await gateway.sqlSealed(
      `INSERT INTO surcharge_rule (organisation_id, merchant_id, scope, thousandths) VALUES (1, 3, 'default', 1000), (1, 3, 'card:amex', 3000)`,
    );
    const { id, payer } = await newPayer({}, 3);
    await expect.poll(async () => (await payer.look()).text).toContain('American Express');
    const page = await payer.look();
    expect(offersOn(page)).toEqual({});
    expect((await payer.pay(by(shop.token({ pan: '378282246310005' })), page)).status).toBe(422);
    expect((await checkoutOf(id)).attempts).toEqual([]);
    await gateway.sqlSealed(`UPDATE surcharge_rule SET thousandths = 1000 WHERE merchant_id = 3`);
    await expect
      .poll(async () => offersOn(await payer.look()).google_pay?.[1].total.amount.value)
      .toBe('20.15');
    expect((await payer.pay(by(shop.token({ pan: '378282246310005' })))).text).toContain('$20.15 to');
  });

  test('names the key that the wallet knows until that is removed; one that somebody has changed offers nothing', async () => {
    const other = await testGateway({ settings: { CHECKOUT_PORT: '0' } });
    const commands = walletCommands(other);
    const { added } = await googleShop(other);
    const payer = new Payer((await createCheckout(other.api)).body.url);
    const keyOnPage = async () =>
      offersOn(await payer.look()).google_pay?.[0][0].data.allowedPaymentMethods[0].tokenizationSpecification
        .parameters.publicKey;
    const rotated = await commands.json('rotate --merchant 1 --key 1');
    await expect.poll(keyOnPage).toBe(added.public_key);
    await commands.json('remove --merchant 1 --key 1');
    await expect.poll(keyOnPage).toBe(rotated.public_key);
    await other.sql(`UPDATE wallet_key SET recipient = 'merchant:666'`);
    await expect.poll(keyOnPage).toBeUndefined();
    await other.close();
  });

  test('of a merchant that its gateway has named to Google offers none: nobody here knows its number there', async () => {
    const other = await testGateway({ settings: { CHECKOUT_PORT: '0' } });
    await googleShop(other, { recipient: 'gateway:tollgate', more: '--gateway-merchant shop' });
    const payer = new Payer((await createCheckout(other.api)).body.url);
    expect(offersOn(await payer.look())).toEqual({});
    await other.close();
  });
});

describe('a payment by wallet', () => {
  test('is an attempt under its correlation ID: declined, then approved, and shown as the card that it is', async () => {
    const { id, payer } = await newPayer({ operation: 'preauthorisation' });
    const declined = await payer.pay(by(google.token({ pan: DECLINED_CARD })));
    expect(declined.text).toContain('Your bank did not approve this card');
    const paid = await payer.pay(by(google.token({ pan: '5555555555554444' })));
    expect(paid.text).toContain('the amount is authorised');
    const { attempts, result } = await checkoutOf(id);
    expect(attempts).toHaveLength(2);
    const { body } = await gateway.api.get(`/transactions/${result.audit}`);
    expect(body.transaction.payment_method.creditcard).toMatchObject({ pan: '555555******4444' });
    const found = await gateway.api.get(`/transactions?merchant_id=1&correlation_id_lookup=checkout:${id}:2`);
    expect(found.body.results[0].audit).toBe(result.audit);
    expect(gateway.logged()).not.toContain('5555555555554444');
  });

  test('in ten tabs at once, each with a token of its own → one payment', async () => {
    const { id, payer } = await newPayer();
    const page = await payer.look();
    await Promise.all(Array.from({ length: 10 }, () => payer.send(by(google.token()), page)));
    await expect.poll(() => payer.status()).toBe('complete');
    expect((await checkoutOf(id)).attempts).toHaveLength(1);
  });

  // catches(checkout: a wallet's payload is for one payment, of the amount that it says)
  test('with a token that has paid before → refused, and the next one pays', async () => {
    const token = google.token();
    expect((await (await newPayer()).payer.pay(by(token))).text).toContain('you have paid');
    const { id, payer } = await newPayer();
    expect((await payer.pay(by(token))).text).toContain('you have not been charged. Please try again');
    expect((await checkoutOf(id)).status).toBe('open');
    expect((await payer.pay(by(google.token()))).text).toContain('you have paid');
  });

  test.each([
    ['that is none', () => by('4111111111111111')],
    ['that is nothing', () => ({ wallet: 'google_pay' })],
    ['with a member twice', () => by('{"a":1,"a":2}')],
    ['of an unknown wallet', () => by(google.token(), 'samsung_pay')],
    ['of a wallet without a key', () => by(google.token(), 'apple_pay')],
    ['for somebody else', () => by(google.token({ recipient: 'merchant:1' }))],
    ['that has expired', () => by(google.token({ expires: new Date(0) }))],
  ])('with a token %s → the page again, and no attempt is used up', async (_, fields) => {
    const { id, payer } = await newPayer();
    const refused = await payer.pay(fields());
    expect([refused.status, refused.text.includes('you have not been charged')]).toEqual([422, true]);
    expect(refused.text).not.toContain('4111111111111111');
    expect(await checkoutOf(id)).toMatchObject({ status: 'open', attempts: [] });
    expect((await payer.pay(CARD)).text).toContain('you have paid');
  });

  test('in doubt → nobody pays again, by wallet or by card, until it is found out', async () => {
    const shop = await googleShop(gateway, { merchant: 2 });
    await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted' WHERE id = 2`);
    const { id, payer } = await newPayer({}, 2);
    await expect.poll(async () => Object.keys(offersOn(await payer.look()))).toEqual(['google_pay']);
    const page = await payer.look();
    scripted.nextAnswers(() => ({ kind: 'unknown', reason: 'timeout' }));
    const finding = scripted.holdNextFinding();
    const before = scripted.requests.length;
    expect((await payer.pay(by(shop.token()), page)).text).toContain('Your payment is being checked');
    await payer.send(by(shop.token()), page);
    await payer.send(CARD, page);
    finding.answer({ kind: 'approved', responseCode: '00', responseMessage: 'Approved' });
    await expect.poll(() => payer.status()).toBe('complete');
    expect(scripted.requests.length - before).toBe(1);
    expect((await checkoutOf(id)).attempts).toHaveLength(1);
  });

  test('counts against the limits of cards, whatever token holds the card', async () => {
    const other = await testGateway({ settings: { CHECKOUT_PORT: '0' } });
    const shop = await googleShop(other);
    const outcomes: number[] = [];
    for (let time = 1; time <= 6; time += 1) {
      const payer = new Payer((await createCheckout(other.api)).body.url);
      outcomes.push((await payer.pay(by(shop.token()))).status);
    }
    expect(outcomes).toEqual([200, 200, 200, 200, 200, 422]);
    await other.close();
  });
});

describe('Apple Pay', () => {
  let shops: TestGateway;
  let apple: AppleShop;
  let identity: TestCertificate;
  let host: AppleHost;
  let port: number;

  beforeAll(async () => {
    port = await freePort();
    const settings = { CHECKOUT_PORT: String(port), CHECKOUT_URL: 'https://pay.example' };
    shops = await testGateway({ settings });
    [apple, host] = await Promise.all([appleShop(shops), AppleHost.start(['*.apple.com', 'evil.example'])]);
    identity = await appleIdentity(shops);
    await letManyPay(shops);
  });
  afterAll(async () => {
    await host.close();
    await shops.close();
  });

  async function payerHere(details: Json = {}, merchant = 1) {
    const { id } = (await createCheckout(shops.api, details, merchant)).body;
    return { id, payer: new Payer(`http://127.0.0.1:${port}/${id}`) };
  }

  const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
  async function sessionFor(
    { url }: Payer,
    address = SESSION_ADDRESS,
    headers: Readonly<Record<string, string>> = { 'sec-fetch-site': 'same-origin' },
  ) {
    const body = new URLSearchParams({ address }).toString();
    const answer = await fetch(`${url}/apple-pay`, {
      method: 'POST',
      body,
      headers: { ...FORM, ...headers },
    });
    return { status: answer.status, body: await answer.text() };
  }

  test('is offered with the merchant’s certificate, and a payment of the amount on the sheet is made', async () => {
    const { payer } = await payerHere();
    const page = await payer.look();
    expect(offersOn(page)).toEqual({
      apple_pay: [
        [
          {
            supportedMethods: 'https://apple.com/apple-pay',
            data: {
              version: 3,
              merchantIdentifier: 'merchant.com.example.shop',
              merchantCapabilities: ['supports3DS'],
              supportedNetworks: ['amex', 'discover', 'jcb', 'masterCard', 'visa'],
              countryCode: 'AU',
            },
          },
        ],
        { total: { label: 'Ours', amount: { currency: 'AUD', value: '19.95' } } },
      ],
    });
    expect(page.headers.get('content-security-policy')).toContain("connect-src 'self';");
    const other = await payer.pay(by(apple.token({ amountCents: 1 }), 'apple_pay'), page);
    expect(other.text).toContain('you have not been charged');
    expect((await payer.pay(by(apple.token(), 'apple_pay'))).text).toContain('you have paid');
  });

  test('is not offered without a certificate, or without a key for the same merchant of Apple', async () => {
    const { payer } = await payerHere({}, 2);
    await appleShop(shops, 2);
    expect(offersOn(await payer.look())).toEqual({});
    const { payer: third } = await payerHere({}, 3);
    await appleIdentity(shops, 3);
    expect(offersOn(await third.look())).toEqual({});
    expect((await sessionFor(payer)).status).toBe(422);
    expect((await sessionFor(third)).status).toBe(422);
  });

  test('gets a session from Apple in the merchant’s name, unread', async () => {
    const { payer } = await payerHere();
    const { status, body } = await sessionFor(payer);
    expect([status, JSON.parse(body)]).toEqual([200, SESSION]);
    expect(host.asked.at(-1)).toEqual({
      host: APPLES_HOST,
      fingerprint: identity.fingerprint,
      body: {
        merchantIdentifier: 'merchant.com.example.shop',
        displayName: 'Ours',
        initiative: 'web',
        initiativeContext: 'pay.example',
      },
    });
  });

  // catches(checkout: the merchant's certificate is shown to Apple alone)
  test('asks nobody but Apple for one, whatever address comes', async () => {
    const { payer } = await payerHere();
    const before = host.asked.length;
    for (const address of [
      '',
      'https://evil.example/paymentservices/startSession',
      `http://${APPLES_HOST}/paymentservices/startSession`,
      `https://${APPLES_HOST}.evil.example/paymentservices/startSession`,
      `https://evil.example/${APPLES_HOST}/paymentservices/startSession`,
      `https://${APPLES_HOST}@evil.example/paymentservices/startSession`,
      `https://${APPLES_HOST}:8443/paymentservices/startSession`,
      `https://${APPLES_HOST}/paymentservices/../startSession`,
      `https://${APPLES_HOST}/paymentservices/startSession?to=evil.example`,
      'https://www.apple.com/paymentservices/startSession',
      ' https://evil.example/paymentservices/startSession',
      `https://evil.example/paymentservices/startSession\n${SESSION_ADDRESS}`,
    ])
      expect(await sessionFor(payer, address), address).toEqual({ status: 422, body: '{}' });
    expect(host.asked.length).toBe(before);
    const others = [CERT_HOST, `cn-${CERT_HOST}`, 'apple-pay-gateway-nc-pod1-dr.apple.com'];
    for (const name of others)
      expect((await sessionFor(payer, `https://${name}/paymentservices/paymentSession`)).status).toBe(200);
    expect(host.asked.slice(before).map((asked) => asked.host)).toEqual(others);
  });

  // catches(checkout: a page of somebody else gets no session)
  test('gives none to a page of somebody else, or for what cannot be paid any more', async () => {
    const { id, payer } = await payerHere();
    const before = host.asked.length;
    expect((await sessionFor(payer, SESSION_ADDRESS, { 'sec-fetch-site': 'cross-site' })).status).toBe(422);
    expect((await sessionFor(payer, SESSION_ADDRESS, { 'content-type': 'text/plain' })).status).toBe(422);
    expect((await fetch(`${payer.url}/apple-pay`)).status).toBe(405);
    await shops.api.call(`/checkouts/${id}/cancel`, { method: 'POST' });
    expect((await sessionFor(payer)).status).toBe(422);
    expect(host.asked.length).toBe(before);
  });

  test.each([
    ['refuses', { status: 417, text: '{"statusMessage":"not registered"}' }],
    ['says nothing that can be read', { status: 200, text: '<html>' }],
    ['says too much', { status: 200, text: `"${'x'.repeat(100_000)}"` }],
  ])('gives none where Apple %s', async (_, next) => {
    const { payer } = await payerHere();
    host.next = next;
    expect(await sessionFor(payer)).toEqual({ status: 422, body: '{}' });
  });
});
