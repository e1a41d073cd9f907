// What messages say of the cardholder: who pays under which agreement, how it was checked, and what the network calls it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { composePayment } from '../../../src/acquirers/iso8583/composition.js';
import { dialectOf } from '../../../src/acquirers/iso8583/dialects/dialects.js';
import { Codec, Message } from '../../../src/acquirers/iso8583/wire/codec.js';
import { readPrivateData } from '../../../src/acquirers/iso8583/wire/private-data.js';
import { CardNumber } from '../../../src/values/card.js';
import type { Credential } from '../../../src/values/credential.js';
import { AuthenticationValue } from '../../../src/values/three-d-secure.js';
import { type Json, paymentBody } from '../../../testkit/bodies.js';
import { vaultOf } from '../../../testkit/vault-client.js';
import { CARDHOLDERS, type OfCardholder } from './corpus.js';
import { approved, GatewayAtHost } from './gateway-at-host.js';

const AUTHENTICATION_VALUE = 'AAABBWFlmQAAAABjRWWZEEFgFz8=';
const DS_TRANSACTION_ID = 'f38e6948-5388-41a6-bca4-b49723c19437';
const NETWORK_ID = '016153570198200';
/** The time, terminal and numbers of the corpus. */
const SENT_MS = Date.parse('2026-11-16T02:05:49Z');

function composed({ dialect: name, operation, credential, network, stored, check }: OfCardholder): string {
  const dialect = dialectOf(name);
  if (dialect === undefined) throw new Error(`there is no dialect ${name}`);
  const [initiator, reason, sequence] = credential ?? [];
  const agreed = credential && ({ initiator, reason, sequence } as Credential);
  const isStored = stored === true || sequence === 'subsequent' || initiator === 'merchant';
  const message = new Message();
  const order = {
    operation: operation as 'purchase',
    amountCents: 1_995 as never,
    currency: 'AUD',
    credential: agreed,
    networkTransactionId: network,
  };
  const card = {
    number: new CardNumber('4111111111111111'),
    expiry: { month: 12, year: 2039 },
    ...(check && {
      threeDSecure: {
        version: '2.2.0',
        eci: '05',
        authenticationValue: new AuthenticationValue(Buffer.from(AUTHENTICATION_VALUE, 'base64')),
        dsTransactionId: DS_TRANSACTION_ID,
      },
    }),
  };
  const numbers = {
    stan: 17,
    retrievalReference: '632102000017',
    terminal: 'TERM0001',
    acceptor: 'MERCHANT0000001',
    category: '5999',
    institution: '560279',
    stored: isStored ? (true as const) : undefined,
    sentMs: SENT_MS,
  };
  composePayment(
    message,
    dialect,
    operation === 'purchase' ? '0200' : '0100',
    order,
    card,
    numbers,
    undefined,
  );
  const into = Buffer.alloc(2_000);
  return into.subarray(0, new Codec(dialect).write(message, into, 0)).toString('hex');
}

test.each(CARDHOLDERS)(
  '$dialect: $operation of $credential, $network, check $check → as pyiso8583 writes it',
  (asked) => {
    expect(composed(asked)).toBe(asked.hex);
  },
);

test.each([
  ['nothing', undefined, []],
  ['other data of a host', 'no tags here', []],
  ['a text that is cut off', 'NT01501615', []],
  [
    'two entries',
    'NT003abcMA00203',
    [
      ['NT', 'abc'],
      ['MA', '03'],
    ],
  ],
  ['an entry without a text', 'NT000', [['NT', '']]],
])('private data, %s → read as far as it can be', (_what, text, expected) => {
  expect([...readPrivateData(text)]).toEqual(expected);
});

let at: GatewayAtHost;
beforeAll(async () => {
  at = await GatewayAtHost.start();
});
afterAll(() => at.stop());

const last = (type: string) => [22, 48].map((field) => at.last(type).fields.get(field));

function asked(change: (body: Json) => void, pan?: string): Promise<Json> {
  const body = paymentBody({ ...(pan !== undefined && { pan }) });
  delete body.transaction.payment_method.creditcard.cvv;
  change(body);
  return at.gateway.api.post('/transactions/purchase', body);
}

test('a payment by the merchant → what was said, and the network’s answer is shown', async () => {
  const credential = {
    initiator: 'merchant',
    reason: 'instalment',
    sequence: 'subsequent',
    network_transaction_id: NETWORK_ID,
  };
  const audit = await approved(asked(({ transaction }) => Object.assign(transaction, { credential })));
  expect(last('0200')).toEqual(['102', `NT015${NETWORK_ID}CI019merchant/instalment`]);
  const { status } = (await at.gateway.api.lookUp(audit)).body;
  expect(status.acquirer.network_transaction_id).toMatch(/^NET[0-9]{12}$/);
  // A reversal names the payment, and says nothing of the cardholder.
  await approved(at.gateway.api.void(audit));
  expect(last('0420')).toEqual([undefined, undefined]);
});

test('the result of a check → sent once, with the payment', async () => {
  const check = {
    version: '2.1.0',
    eci: '02',
    authentication_value: AUTHENTICATION_VALUE,
    ds_transaction_id: DS_TRANSACTION_ID,
    status: 'Y',
  };
  const audit = await approved(
    asked(({ transaction }) =>
      Object.assign(transaction.payment_method.creditcard, { three_d_secure: check }),
    ),
  );
  expect(last('0200')).toEqual([
    '012',
    `EC00202AV028${AUTHENTICATION_VALUE}DS036${DS_TRANSACTION_ID}3V0052.1.0`,
  ]);
  await approved(at.gateway.api.refund(audit, 100));
  expect(last('0200')[1]).toBeUndefined();
});

// catches(network transaction ID: of a token, as the gateway has kept it)
test('payments by token → later ones name the first, until somebody changes that in the database', async () => {
  const { virtualPan, id } = await vaultOf(at.gateway.api).newToken();
  const first = await approved(asked(() => {}, virtualPan));
  expect(last('0200')).toEqual(['102', undefined]);
  const { status } = (await at.gateway.api.lookUp(first)).body;
  const named = `NT015${status.acquirer.network_transaction_id}`;
  await approved(asked(() => {}, virtualPan));
  await approved(asked(() => {}, virtualPan));
  expect(last('0200')).toEqual(['102', named]);
  await at.gateway.sql(`UPDATE token SET network_transaction_id = 'NET000000000000' WHERE id = $1`, [id]);
  await approved(asked(() => {}, virtualPan));
  expect(last('0200')).toEqual(['102', undefined]);
});

test('a network that advises not to try again → the merchant does not', async () => {
  const credential = { initiator: 'merchant', reason: 'recurring', sequence: 'subsequent' };
  const again = () =>
    asked(({ transaction }) => Object.assign(transaction, { credential }), '4100000000000050');
  expect((await again()).body.status.transaction_status_code).toBe('declined');
  expect((await again()).code).toBe('retry_forbidden');
});
