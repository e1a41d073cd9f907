// An organisation that pays over an ISO 8583 host moves to another cell: the host, which keeps books, sees one acquirer's client go on.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { addAcquirer } from '../../src/acquirers/acquirer-tasks.js';
import { AS2805 } from '../../src/acquirers/iso8583/dialects/as2805.js';
import { RetailMac } from '../../src/acquirers/iso8583/wire/mac.js';
import { addMerchant, setMerchant } from '../../src/organisations/merchants.js';
import { addUser } from '../../src/organisations/users/users.js';
import { FileKeys } from '../../src/vault/keys/local-keys.js';
import { type Credentials, operatorsDatabase } from '../../testkit/cast.js';
import { type Answer, CARD, TEST_MODE } from '../../testkit/client.js';
import type { TestGateway } from '../../testkit/gateway.js';
import { ScriptedAcquirer } from '../../testkit/scripted-acquirer.js';
import { type TwoCells, twoCells } from '../../testkit/two-cells.js';
import { type NewToken, vaultOf } from '../../testkit/vault-client.js';
import { BookKeepingHost } from '../acquirers/iso8583/book-keeping-host.js';
import { MAC_KEY } from '../acquirers/iso8583/corpus.js';
import { approved, OPERATOR, PATIENTLY, takenUp } from '../acquirers/iso8583/gateway-at-host.js';

const MAC = new RetailMac(Buffer.from(MAC_KEY, 'hex'));
/** The host books these, and answers nothing as long as it is deaf. */
const LOST_PURCHASE = 4_111;
const LOST_COMPLETION = 4_222;

/** Of a live merchant, which has another link. */
const liveLink = new ScriptedAcquirer('live');

let cells: TwoCells;
let liveUser: Credentials;
let live: number;
let host: BookKeepingHost;
let isDeaf = true;
let before: {
  readonly sold: number;
  readonly undone: number;
  readonly held: number;
  readonly lostPurchase: number;
  readonly lostCompletion: number;
  readonly liveSale: number;
  readonly kept: NewToken;
  readonly paidWithToken: number;
};

const auditOf = ({ headers }: Answer) => Number(headers.get('location')?.split('/').at(-1));
const about = (cents: number) =>
  host
    .messages()
    .filter(({ fields }) => Number(fields.get(4)) === cents)
    .map(({ type }) => type);

async function addBank(gateway: TestGateway): Promise<void> {
  const database = operatorsDatabase(gateway);
  const address = `127.0.0.1:${host.port}`;
  const wish = { name: 'bank', address, test: true, institution: '560279', connections: 2, macKeys: MAC_KEY };
  await addAcquirer(database, OPERATOR, new FileKeys(`${gateway.dataDir}/key-encryption-key`), wish);
  await database.close();
}

beforeAll(async () => {
  host = await new BookKeepingHost(AS2805, MAC).listen();
  cells = await twoCells({ acquirers: [liveLink] });
  const { one, two } = cells;
  await addBank(one);
  await addBank(two);
  const database = operatorsDatabase(one);
  await setMerchant(database, OPERATOR, 1, {
    acquirer: 'bank',
    acceptorId: 'MERCHANT0000001',
    terminals: ['TERM0001', 'TERM0002'],
    categoryCode: '5999',
  });
  live = (await addMerchant(database, OPERATOR, 1, 'Live', { live: true, vault: true })).id;
  await one.sqlSealed(`UPDATE merchant SET acquirer = 'scripted' WHERE id = $1`, [live]);
  liveUser = await addUser(database, OPERATOR, one.credentialKey, 'live', { merchant: live });
  await database.close();
  const { api } = one;
  await vi.waitUntil(async () => {
    const { body } = await api.purchase();
    return host.messages().length > 0 && body.status.transaction_status_code === 'approved';
  }, PATIENTLY);
  host.script = (heard) => {
    const answer = host.decide(heard);
    return isDeaf && [LOST_PURCHASE, LOST_COMPLETION].includes(Number(heard.fields.get(4)))
      ? undefined
      : answer;
  };
  const kept = await vaultOf(api).newToken();
  const sold = await approved(api.purchase({ pan: CARD, amount: 5_000 }));
  const undone = await approved(api.purchase({ pan: CARD, amount: 6_000 }));
  const held = await approved(api.preauthorise({ pan: CARD, amount: 7_000 }));
  const heldToo = await approved(api.preauthorise({ pan: CARD, amount: 8_000 }));
  const paidWithToken = await approved(api.purchase({ pan: kept.virtualPan, amount: 9_000 }));
  const lost = await takenUp(() => api.purchase({ pan: CARD, amount: LOST_PURCHASE }));
  const lostToo = await takenUp(() => api.complete(heldToo, LOST_COMPLETION));
  expect([lost.status, lostToo.status]).toEqual([504, 504]);
  // The source has begun to reverse the one, and to repeat the other.
  await vi.waitUntil(
    () => about(LOST_PURCHASE).includes('0420') && about(LOST_COMPLETION).includes('0221'),
    PATIENTLY,
  );
  before = {
    sold,
    undone,
    held,
    kept,
    paidWithToken,
    lostPurchase: auditOf(lost),
    lostCompletion: auditOf(lostToo),
    liveSale: await approved(one.as(liveUser).purchase({ merchant: live, amount: 600 })),
  };
  const { code, stderr } = await cells.command('one', 'organisation', 'move', '1', '--to', 'two');
  if (code !== 0) throw new Error(stderr);
});

/** The host must have had nothing to complain of: no STAN twice, and every message names its original as that was sent. */
afterAll(async () => {
  await cells?.close();
  await host?.stop();
  expect(host.complaints).toEqual([]);
});

test('refund, void and completion of what the other cell has sent → the host finds their originals', async () => {
  const { api } = cells.two;
  await takenUp(() => api.lookUp(before.sold));
  const refund = await approved(takenUp(() => api.refund(before.sold, 1_234)));
  expect(host.messages('0200').at(-1)?.fields.get(90)?.slice(0, 4)).toBe('0200');
  await approved(api.void(refund));
  await approved(api.void(before.undone));
  const completed = await approved(api.complete(before.held, 6_500));
  expect(host.messages('0220').at(-1)?.fields.get(90)?.slice(0, 4)).toBe('0100');
  await approved(api.refund(completed, 6_500));
  await approved(api.refund(before.paidWithToken, 9_000));
});

test('a live merchant is paid over its live link, which knows its earlier payments by the name of the first cell', async () => {
  const { one, two } = cells;
  const api = two.as(liveUser);
  const [gateway] = await one.sql<{ installation: string }>('SELECT installation FROM gateway');
  const sale = await approved(api.purchase({ merchant: live, amount: 700 }));
  expect(liveLink.requests.at(-1)).toMatchObject({ reference: `SECOND-1-${sale}` });
  const refund = await api.refund(before.liveSale, 100, { merchant: live });
  expect(refund.body.status.transaction_status_code).toBe('approved');
  expect(refund.body.kvps).not.toMatchObject(TEST_MODE);
  expect(liveLink.requests.at(-1)).toMatchObject({
    reference: `SECOND-1-${refund.body.audit}`,
    target: { reference: `${gateway?.installation}-1-${before.liveSale}` },
  });
});

test('in doubt since before the move → the other cell repeats what the first has sent, until the host answers', async () => {
  const { one, two } = cells;
  const sent = about(LOST_PURCHASE).length;
  await vi.waitUntil(() => about(LOST_PURCHASE).length > sent, PATIENTLY);
  isDeaf = false;
  const purchase = await two.api.decided(before.lostPurchase);
  expect(purchase.status).toMatchObject({ gateway_status_code: 2, transaction_status_code: 'error' });
  const completion = await two.api.decided(before.lostCompletion);
  expect(completion.status.transaction_status_code).toBe('approved');
  // Once asked for, then only repeated.
  expect(about(LOST_PURCHASE).filter((type) => type === '0200')).toHaveLength(1);
  expect(about(LOST_PURCHASE).filter((type) => type === '0420')).toHaveLength(1);
  expect(about(LOST_COMPLETION).filter((type) => type === '0220')).toHaveLength(1);
  const open = 'SELECT FROM acquirer_reversal WHERE acknowledged_at IS NULL';
  expect(await two.sql(open)).toHaveLength(0);
  // The cell that it has left has nothing to do with it any more.
  expect(
    await one.sql(`SELECT FROM transaction WHERE organisation_id = 1 AND status = 'error'`),
  ).toHaveLength(0);
});

test('further payments → neither a STAN nor a retrieval reference comes again', async () => {
  const { api } = cells.two;
  const pans = [CARD, before.kept.virtualPan];
  for (const amount of [100, 200, 300, 400])
    for (const pan of pans) await approved(takenUp(() => api.purchase({ pan, amount })));
  const purchases = host.messages('0200').filter(({ fields }) => !fields.has(90));
  for (const field of [11, 37]) {
    const numbers = purchases.map(({ fields }) => `${fields.get(41)}/${fields.get(field)}`);
    expect(new Set(numbers).size).toBe(numbers.length);
  }
});

test('back again → the first cell refunds what the second has sent, and repeats no STAN either', async () => {
  const { one, two } = cells;
  const sold = await approved(two.api.purchase({ pan: CARD, amount: 8_800 }));
  const back = await cells.command('two', 'organisation', 'move', '1', '--to', 'one');
  expect([back.code, back.stderr]).toEqual([0, '']);
  await approved(takenUp(() => one.api.refund(sold, 800)));
  await approved(one.api.refund(before.sold, 1_000));
  await approved(one.api.purchase({ pan: before.kept.virtualPan, amount: 100 }));
});
