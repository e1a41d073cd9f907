// Payments that were certainly not sent are rerouted; those that may have been sent never are. With two hosts of the testkit.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import type { Host } from '../../../testkit/iso8583-host/host.js';
import { locker } from '../../../testkit/locks.js';
import { ScriptedAcquirer } from '../../../testkit/scripted-acquirer.js';
import { storedAs } from '../../../testkit/sealed-transactions.js';
import { cardAnsweredWith, cardWithFault } from '../../../testkit/test-cards.js';
import { auditOf, heard, PATIENTLY, RoutedShops, type Shop } from '../../organisations/routed-shops.js';

const VISA = '4111111111111111';

let gateway: TestGateway;
let shops: RoutedShops;
let one: Host;
let two: Host;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '1500' } });
  shops = new RoutedShops(gateway);
  // With two connections, one remains while the other reconnects.
  [one, two] = [await shops.host('one', { connections: 2 }), await shops.host('two')];
});
afterAll(() => shops.close());

describe('not sent', () => {
  const WAYS = [
    { acquirer: 'lost', order: 1 },
    { acquirer: 'two', order: 2 },
  ];
  let lost: Host;
  beforeAll(async () => {
    lost = await shops.host('lost');
    await shops.unreachable('never');
    await lost.stopListening();
  });

  const approved = async (shop: Shop) => {
    const answer = await shop.pay();
    expect([answer.status, answer.body.status.transaction_status_code]).toEqual([201, 'approved']);
    return answer;
  };

  test.each([
    ['a link whose connections are lost', 'lost'],
    ['a link that could never be opened', 'never'],
    // catches(routes: the other link is stored before it is asked)
  ])('over %s → sent over the next link, which is stored and journalled', async (_, acquirer) => {
    const shop = await shops.shop([
      { acquirer, order: 1 },
      { acquirer: 'two', order: 2 },
    ]);
    const answer = await approved(shop);
    const [row] = await gateway.sql(
      `SELECT acquirer, prepared->>'terminal' AS terminal FROM transaction WHERE organisation_id = $1`,
      [shop.organisation],
    );
    expect(row).toEqual({ acquirer: 'two', terminal: expect.stringMatching(/^T\d+$/) });
    const journalled = await gateway.sql(
      `SELECT actor, audit, detail FROM journal WHERE organisation_id = $1 AND action = 'transaction.rerouted'`,
      [shop.organisation],
    );
    expect(journalled).toEqual([
      {
        actor: 'gateway:routes',
        audit: auditOf(answer),
        detail: `not sent over ${acquirer}, moved to two`,
      },
    ]);
    expect((await shop.api.refund(answer.body.audit, 50, { merchant: shop.id })).status).toBe(201);
    expect(heard(lost)).toEqual([]);
  });

  test('the CVV → sent over the link that is used in the end', async () => {
    const shop = await shops.shop(WAYS);
    const before = two.seen.after(0).at(-1)?.number;
    await shop.pay({ pan: VISA, cvv: '123' });
    expect(two.seen.after(before ?? 0).at(-1)?.fields[47]).toBe('CCV***\\');
  });

  test('over any link → error with 1, and nothing reached a host', async () => {
    const shop = await shops.shop(
      [
        { acquirer: 'lost', order: 1 },
        { acquirer: 'never', order: 2 },
      ],
      {
        acquirer: null,
      },
    );
    const { status, body } = await shop.pay();
    expect([status, body.status]).toEqual([
      201,
      expect.objectContaining({ gateway_status_code: 1, transaction_status_code: 'error' }),
    ]);
    expect(heard(lost)).toEqual([]);
  });

  test('a target that another link took over → its refund uses that link, even if the first is back', async () => {
    const shop = await shops.shop(WAYS);
    const paid = await approved(shop);
    await lost.listen();
    await vi.waitUntil(() => [...lost.connections].some(({ signedOn }) => signedOn), PATIENTLY);
    const refund = await shop.api.refund(paid.body.audit, 50, { merchant: shop.id });
    expect([refund.status, await shop.linkOf(refund)]).toEqual([201, 'two']);
    expect(heard(lost)).toEqual([]);
    await lost.stopListening();
  });
});

// catches(routes: what another process has taken over is not moved)
test('not sent, and taken over by a resolver meanwhile → no other link is tried, and it stays with its own', async () => {
  const first = new ScriptedAcquirer();
  const alone = await testGateway({
    acquirers: [first],
    settings: { ACQUIRER_DEADLINE_MS: '30000', RESOLVER_INTERVAL_MS: '60000' },
  });
  await alone.sqlSealed(
    `INSERT INTO route (organisation_id, merchant_id, acquirer) VALUES (1, 1, 'scripted')`,
  );
  const held = first.holdNextAnswer();
  const paying = alone.api.purchase();
  await held.asked;
  await alone.sql(`UPDATE transaction SET resolve_attempts = 1, resolve_at = now() + interval '1 hour'`);
  held.answer({ kind: 'not_sent' });
  const answer = await paying;
  expect([answer.status, answer.code]).toEqual([504, 'acquirer_timeout']);
  expect(await alone.sql('SELECT acquirer, status FROM transaction')).toEqual([
    { acquirer: 'scripted', status: 'unknown' },
  ]);
  expect(await alone.ledger()).toEqual([]);
  // Undisturbed, it would have gone over the merchant's own link.
  first.nextAnswers(() => ({ kind: 'not_sent' }));
  expect((await alone.api.purchase()).body.status.transaction_status_code).toBe('approved');
  expect(await alone.ledger()).toHaveLength(1);
});

// catches(routes: a link that could not be stored is not asked)
test('not sent, and the change of link cannot be stored → not tried, and it stays not sent', async () => {
  const first = new ScriptedAcquirer();
  const alone = await testGateway({ acquirers: [first] });
  await alone.sqlSealed(
    `INSERT INTO route (organisation_id, merchant_id, acquirer) VALUES (1, 1, 'scripted')`,
  );
  await alone.sql(`
    CREATE FUNCTION keeps_its_link() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no disk'; END $$;
    CREATE TRIGGER keeps_its_link BEFORE UPDATE OF acquirer ON transaction
      FOR EACH ROW WHEN (OLD.acquirer <> NEW.acquirer) EXECUTE FUNCTION keeps_its_link()`);
  first.nextAnswers(() => ({ kind: 'not_sent' }));
  const { status, body } = await alone.api.purchase();
  expect([status, body.status]).toEqual([
    201,
    expect.objectContaining({ gateway_status_code: 1, transaction_status_code: 'error' }),
  ]);
  expect(await alone.sql('SELECT acquirer, status FROM transaction')).toEqual([
    { acquirer: 'scripted', status: 'error' },
  ]);
  expect(await alone.ledger()).toEqual([]);
});

// catches(routes: nothing is prepared for a target that may still be moved)
test('a refund whose target is decided on another link at that moment → not sent, since nothing was prepared for that link', async () => {
  const preparing = (name: string) =>
    Object.assign(new ScriptedAcquirer(), { name, prepare: () => ({ by: name }) });
  const [first, second] = [preparing('first'), preparing('second')];
  const alone = await testGateway({
    acquirers: [first, second],
    settings: { ACQUIRER_DEADLINE_MS: '30000' },
  });
  await alone.sqlSealed(`UPDATE merchant SET acquirer = 'first' WHERE id = 1`);
  const held = first.holdNextAnswer();
  const paying = alone.api.purchase({ amount: 100 });
  await held.asked;
  const [row] = await alone.sql<{ audit: number }>(`SELECT audit FROM transaction WHERE status = 'unknown'`);
  const paid = `organisation_id = 1 AND audit = ${row?.audit}`;
  // As it will be, and back: what is sealed of it then.
  const moved = `acquirer = 'second', prepared = '{"by":"second"}', status = 'approved', gateway_status_code = 0, response_code = '00',
    response_message = 'As the script says', settlement_date = current_date, voidable_until = now() + interval '1 hour', decided_at = now()`;
  await alone.sql(`CREATE TABLE before AS SELECT * FROM transaction WHERE ${paid}`);
  await storedAs(alone, moved, paid);
  await alone.sql(`CREATE TABLE after AS SELECT * FROM transaction WHERE ${paid}`);
  const puttingBack = (table: string) =>
    `BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM transaction WHERE ${paid};
     INSERT INTO transaction SELECT * FROM ${table}; COMMIT`;
  await alone.sql(puttingBack('before'));
  const mover = await locker(alone);
  // Readers continue; writers wait, and then see this change.
  await mover.query('LOCK TABLE transaction IN EXCLUSIVE MODE');
  await mover.query(
    `UPDATE transaction t SET acquirer = a.acquirer, prepared = a.prepared, version = t.version + 1, status = a.status,
       gateway_status_code = a.gateway_status_code, response_code = a.response_code, response_message = a.response_message,
       settlement_date = a.settlement_date, voidable_until = a.voidable_until, decided_at = a.decided_at,
       payment_details_sealed = a.payment_details_sealed, outcome_seal = a.outcome_seal
     FROM after a WHERE t.organisation_id = a.organisation_id AND t.audit = a.audit`,
  );
  const refunding = alone.api.refund(row?.audit ?? 0, 50);
  // The claim itself, not a background job: it has looked the target up by then.
  await vi.waitUntil(async () => {
    const waiting = await alone.sql(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%refundable_from%'`,
    );
    return waiting.length > 0;
  }, PATIENTLY);
  await mover.commit();
  const { status, body } = await refunding;
  expect([status, body.status]).toEqual([201, expect.objectContaining({ gateway_status_code: 1 })]);
  expect(second.requests).toEqual([]);
  held.answer({ kind: 'not_sent' });
  expect((await paying).body.status.transaction_status_code).toBe('approved');
  expect((await alone.api.refund(row?.audit ?? 0, 50)).body.status.transaction_status_code).toBe('approved');
  expect(second.requests.map(({ operation }) => operation)).toEqual(['refund']);
});

describe('possibly sent', () => {
  const WAYS = [
    { acquirer: 'one', order: 1 },
    { acquirer: 'two', order: 2 },
  ];

  test.each([
    ['takes the bytes and closes', cardWithFault('01'), 502],
    ['loses the request', cardWithFault('02'), 504],
    ['loses its answer', cardWithFault('03'), 504],
    ['answers unreadably', cardWithFault('05'), 502],
  ])(
    // catches(routes: another link only where nothing was sent)
    'a host that %s → in doubt, no other link is asked, and it is reversed where it was sent',
    async (_, pan, status) => {
      const shop = await shops.shop(WAYS);
      const [first, second] = [one.seen.after(0).at(-1)?.number, two.seen.after(0).at(-1)?.number];
      const answer = await shop.pay({ pan });
      expect(answer.status).toBe(status);
      expect((await shop.api.decided(auditOf(answer))).status).toMatchObject({ gateway_status_code: 2 });
      expect(await shop.linkOf(answer)).toBe('one');
      expect(heard(one, first).map((message) => message.slice(0, 4))).toContain('0420');
      expect(heard(two, second)).toEqual([]);
    },
  );

  test('declined → declined, and no other link is tried', async () => {
    const shop = await shops.shop(WAYS);
    const second = two.seen.after(0).at(-1)?.number;
    const { body } = await shop.pay({ pan: cardAnsweredWith('05') });
    expect(body.status.transaction_status_code).toBe('declined');
    expect(heard(two, second)).toEqual([]);
  });
});
