// Payments by Apple Pay and Google Pay: what is sent to the acquirer, what is refused, and that a payload is paid with once.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AcquirerLink, Order } from '../../src/acquirers/contract.js';
import type { Json } from '../../testkit/bodies.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { scrape } from '../../testkit/scrape.js';
import { type AppleShop, appleShop, type GoogleShop, googleShop, walletBody } from '../../testkit/wallets.js';

const METHOD = 'body/transaction/payment_method';
const TOKEN = `${METHOD}/wallet/token`;
const PURCHASE = '/transactions/purchase';

interface Sent {
  readonly pan: string;
  readonly eci: string | undefined;
  readonly cryptogram: string | undefined;
  readonly erased: () => boolean;
}

/** An acquirer that approves everything, and remembers what it was sent. */
function recorder(): AcquirerLink & { readonly sent: Sent[] } {
  const sent: Sent[] = [];
  return {
    name: 'simulator',
    mode: 'test',
    sent,
    open: async () => {},
    close: async () => {},
    async ask(order: Order) {
      if ('method' in order && order.method.kind === 'card') {
        const { number, threeDSecure } = order.method.card;
        const value = threeDSecure?.authenticationValue;
        sent.push({
          pan: number.reveal(),
          eci: threeDSecure?.eci,
          cryptogram: value?.reveal(),
          erased: () => number.erased && (value === undefined || /^A+=*$/.test(value.reveal())),
        });
      }
      return {
        kind: 'approved',
        responseCode: '00',
        responseMessage: 'Approved',
        authorisationCode: '123456',
      };
    },
    inquire: async () => ({ kind: 'no_answer' }),
    reverse: async () => 'no_answer',
  };
}

let link: ReturnType<typeof recorder>;
let gateway: TestGateway;
let apple: AppleShop;
let google: GoogleShop;
beforeAll(async () => {
  link = recorder();
  gateway = await testGateway({ acquirers: [link] });
  apple = await appleShop(gateway);
  google = await googleShop(gateway);
});
afterAll(() => gateway.close());

const pay = (body: Json, correlationId?: string) => gateway.api.post(PURCHASE, body, correlationId);
const paidBy = (type: 'apple_pay' | 'google_pay', token: unknown, correlationId?: string) =>
  pay(walletBody(type, token), correlationId);
const messageOf = ({ body }: Json) => body.errors?.[0]?.error_message;

describe('a payment', () => {
  test('by Apple Pay → the acquirer gets the device’s number, cryptogram and indicator; look-ups show the mask alone', async () => {
    const paid = await paidBy('apple_pay', apple.token({ pan: '4012888888881881', eci: '5' }));
    expect([paid.status, paid.body.status.transaction_status_code]).toEqual([201, 'approved']);
    const cryptogram = Buffer.alloc(20, 7).toString('base64');
    const sent = link.sent.at(-1) as Sent;
    expect(sent).toMatchObject({ pan: '4012888888881881', eci: '05', cryptogram });
    const { body } = await gateway.api.get(`/transactions/${paid.body.audit}`);
    expect(body.transaction.payment_method).toEqual({
      creditcard: { pan: '401288******1881', type: 'visa', three_d_secure: { eci: '05' } },
    });
    expect(sent.erased()).toBe(true);
    const [row] = await gateway.sql<{ row: string }>(
      'SELECT t::text AS row FROM transaction t WHERE audit = $1',
      [paid.body.audit],
    );
    expect(row?.row).not.toMatch(/4012888888881881/);
    expect(row?.row).not.toContain(cryptogram);
    expect(gateway.logged()).not.toMatch(/4012888888881881/);
  });

  test('by Google Pay, with a cryptogram or a card number alone, as an object or as text → approved', async () => {
    const first = await paidBy('google_pay', google.token({ pan: '5555555555554444' }));
    expect(first.body.status.transaction_status_code).toBe('approved');
    expect(link.sent.at(-1)).toMatchObject({ pan: '5555555555554444', eci: '05' });
    const second = await paidBy('google_pay', JSON.stringify(google.token({ authMethod: 'PAN_ONLY' })));
    expect(second.body.status.transaction_status_code).toBe('approved');
    expect(link.sent.at(-1)?.cryptogram).toBeUndefined();
  });

  test('held by a preauthorisation, completed and refunded by audit → as with a card', async () => {
    const held = await gateway.api.post(
      '/transactions/preauthorisation',
      walletBody('apple_pay', apple.token()),
    );
    expect(held.body.status.transaction_status_code).toBe('approved');
    const completed = await gateway.api.complete(held.body.audit, 1_000);
    expect(completed.body.status.transaction_status_code).toBe('approved');
    const refunded = await gateway.api.refund(completed.body.audit, 500);
    expect(refunded.body.status.transaction_status_code).toBe('approved');
  });
});

describe('a payload', () => {
  // catches(wallets: a payload is for one payment)
  // catches(wallets: a payload that another payment has is refused)
  test('used again → refused, whoever sends it, also with letters in another case', async () => {
    const token = apple.token();
    expect((await paidBy('apple_pay', token)).status).toBe(201);
    const charged = link.sent.length;
    const { header } = token;
    for (const again of [
      token,
      { ...token, header: { ...header, transactionId: header.transactionId.toUpperCase() } },
    ]) {
      const refused = await paidBy('apple_pay', again);
      expect([refused.status, refused.errors]).toEqual([422, [`wallet_token_refused ${TOKEN}`]]);
      expect(messageOf(refused)).toMatch(/was used/);
    }
    const googles = google.token();
    expect((await paidBy('google_pay', googles)).status).toBe(201);
    expect((await paidBy('google_pay', JSON.stringify(googles))).status).toBe(422);
    expect(link.sent.length).toBe(charged + 1);
  });

  test('in twenty payments at once, over two processes → one is made', async () => {
    const other = await testGateway({ shareWith: gateway, acquirers: [link] });
    const token = apple.token();
    const before = link.sent.length;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        (n % 2 === 0 ? gateway : other).api.post(PURCHASE, walletBody('apple_pay', token)),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(422)]);
    expect(link.sent.length).toBe(before + 1);
    await other.close();
  });

  test('in a request that is repeated under its correlation ID → 409 with its transaction, however old', async () => {
    const token = apple.token();
    const body = walletBody('apple_pay', token);
    const first = await pay(body, 'wallet-repeated');
    const again = await pay(body, 'wallet-repeated');
    expect([again.status, again.code]).toEqual([409, 'correlation_id_already_used']);
    expect(again.body._links.transaction.href).toBe(`/v1/transactions/${first.body.audit}`);
    const late = apple.token({ signedAt: new Date(Date.now() - 3_600_000) });
    expect((await paidBy('apple_pay', late, 'wallet-repeated')).status).toBe(409);
    // It was the first request's: the copy has not set it free.
    expect((await paidBy('apple_pay', token)).status).toBe(422);
  });

  // catches(wallets: a payload that a copy of the request has taken is not given back)
  test('in a request that is refused without an audit → can be paid with under another correlation ID', async () => {
    await pay(walletBody('apple_pay', apple.token()), 'wallet-taken');
    const token = apple.token();
    expect((await paidBy('apple_pay', token, 'wallet-taken')).status).toBe(409);
    const wrong = await pay(walletBody('apple_pay', token, { amount: 1996 }));
    expect([wrong.status, messageOf(wrong)]).toEqual([
      422,
      expect.stringMatching(/agreed to another amount/),
    ]);
    expect((await paidBy('apple_pay', token)).status).toBe(201);
    // A copy that is refused does not set free what the first request was paid with.
    const paid = apple.token();
    expect((await paidBy('apple_pay', paid, 'wallet-copied')).status).toBe(201);
    expect((await paidBy('apple_pay', paid, 'wallet-copied')).status).toBe(409);
    expect((await paidBy('apple_pay', paid, 'wallet-other')).status).toBe(422);
  });

  // catches(wallets: a payload is remembered as long as it could be opened)
  test('is forgotten a day later, or when it expires by itself', async () => {
    const other = await testGateway({ settings: { CHECKOUT_PORT: '0' } });
    const shop = await googleShop(other);
    const rows = () => other.sql('SELECT FROM wallet_payload');
    const inTwoDays = new Date(Date.now() + 2 * 86_400_000);
    const long = shop.token({ expires: inTwoDays });
    const post = (token: unknown) => other.api.post(PURCHASE, walletBody('google_pay', token));
    await post(shop.token());
    await post(long);
    expect(await rows()).toHaveLength(2);
    const forgotten = async (count: number) => {
      await expect.poll(async () => (await rows()).length).toBe(count);
    };
    await other.advance('25h');
    await forgotten(1);
    await other.sql(`DELETE FROM wallet_key WHERE false`);
    expect((await post(long)).status).toBe(422);
    await other.advance('25h');
    await forgotten(0);
    expect(messageOf(await post(long))).toMatch(/expired/);
  });
});

describe('refused, without an audit and without the acquirer', () => {
  const refusals: readonly (readonly [string, () => Json, RegExp])[] = [
    [
      'signed by somebody else',
      () => walletBody('google_pay', google.token({ root: foreign().root })),
      /signed/,
    ],
    ['signed long ago', () => walletBody('apple_pay', apple.token({ signedAt: new Date(0) })), /signed/],
    [
      'signed ten minutes ago',
      () => walletBody('apple_pay', apple.token({ signedAt: new Date(Date.now() - 600_000) })),
      /expired/,
    ],
    [
      'for another merchant',
      () => walletBody('google_pay', google.token({ recipient: 'merchant:1' })),
      /signed/,
    ],
    [
      'encrypted for another key',
      () => walletBody('google_pay', google.token({ recipientKey: foreignKey() })),
      /another merchant/,
    ],
    ['of a merchant without keys', () => walletBody('apple_pay', apple.token(), { merchant: 2 }), /no key/],
    // catches(wallets: no more and no less is charged than the payer has agreed to)
    ['of another amount', () => walletBody('apple_pay', apple.token({ amountCents: 1 })), /another amount/],
    [
      'of another currency',
      () => walletBody('apple_pay', apple.token({ currencyCode: '554' })),
      /another amount/,
    ],
  ];
  const foreign = () => ({ root: { ...google.root, privateKey: apple.chain.root.privateKey } });
  const foreignKey = () => Buffer.from(apple.added.public_key, 'base64');

  test.each(refusals)('%s', async (_, body, message) => {
    const before = link.sent.length;
    const count = async () => (await gateway.sql('SELECT FROM transaction')).length;
    const transactions = await count();
    const refused = await pay(body());
    expect([refused.status, refused.errors]).toEqual([422, [`wallet_token_refused ${TOKEN}`]]);
    expect(messageOf(refused)).toMatch(message);
    expect([link.sent.length, await count()]).toEqual([before, transactions]);
  });

  test('is counted by why', async () => {
    const figures = await scrape(gateway.operatorsUrl);
    const reasons = ['forged', 'expired', 'foreign', 'no_keys', 'used'];
    const counted = (seen: typeof figures) =>
      reasons.map((reason) => seen.sum('tollgate_wallet_tokens_refused_total', { reason }) ?? 0);
    const token = google.token();
    for (const body of [
      ...refusals.map(([, make]) => make()),
      ...Array(2).fill(walletBody('google_pay', token)),
    ])
      await pay(body);
    const before = counted(figures);
    const after = counted(await scrape(gateway.operatorsUrl));
    expect(after.map((count, at) => count - (before[at] ?? 0))).toEqual([3, 1, 1, 1, 1]);
  });

  test('every wrong part of a token is named', async () => {
    const { header, ...token } = apple.token();
    const wrong = await paidBy('apple_pay', {
      ...token,
      version: 'EC_v2',
      data: 17,
      header: { ...header, transactionId: 'ab', publicKeyHash: '!!', ephemeralPublicKey: undefined },
    });
    expect([wrong.status, wrong.errors]).toEqual([
      422,
      [
        `field_format ${TOKEN}/version`,
        `field_type ${TOKEN}/data`,
        `field_missing ${TOKEN}/header/ephemeralPublicKey`,
        `field_format ${TOKEN}/header/publicKeyHash`,
        `field_format ${TOKEN}/header/transactionId`,
      ],
    ]);
    const { intermediateSigningKey, ...rest } = google.token();
    expect((await paidBy('google_pay', rest)).errors).toEqual([
      `field_missing ${TOKEN}/intermediateSigningKey`,
    ]);
    const signatures = ['x'];
    const bad = {
      ...rest,
      signature: 'A',
      intermediateSigningKey: { ...intermediateSigningKey, signatures },
    };
    expect((await paidBy('google_pay', bad)).errors).toEqual([
      `field_format ${TOKEN}/signature`,
      `field_format ${TOKEN}/intermediateSigningKey/signatures/0`,
    ]);
    for (const [sent, code] of [
      ['{', 'field_format'],
      [17, 'field_type'],
      [null, 'field_type'],
      [[], 'field_type'],
      ['"text"', 'field_type'],
    ] as const) {
      expect((await paidBy('google_pay', sent)).errors, String(sent)).toEqual([`${code} ${TOKEN}`]);
    }
    const unknown = walletBody('apple_pay', {});
    unknown.transaction.payment_method.wallet = { type: 'samsung_pay' };
    expect((await pay(unknown)).errors).toEqual([
      `field_missing ${TOKEN}`,
      `field_format ${METHOD}/wallet/type`,
    ]);
  });

  test('beside a card, or as a standalone refund → the place is named', async () => {
    const both = walletBody('apple_pay', apple.token());
    both.transaction.payment_method.creditcard = { pan: '4111111111111111', expiry_date: '1239' };
    expect((await pay(both)).errors).toEqual([`field_format ${METHOD}`]);
    const refund = await gateway.api.post('/transactions/refund', walletBody('apple_pay', apple.token()));
    expect(refund.errors).toEqual([`field_format ${METHOD}/wallet`]);
  });
});
