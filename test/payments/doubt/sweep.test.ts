// The sweep finds transactions in doubt that nobody looks after, and only those.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Sweep } from '../../../src/payments/doubt/sweep.js';
import { AuditLeases, ProcessRegistry } from '../../../src/payments/processes/process-registry.js';
import { processTimes } from '../../../src/payments/processes/process-times.js';
import { Database } from '../../../src/postgres/database.js';
import type { OrganisationId } from '../../../src/values/ids.js';
import { addCast, type TestDatabase, testDatabase, testGateway } from '../../../testkit/gateway.js';
import { storedAs } from '../../../testkit/sealed-transactions.js';

const INSERT = `
  INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, transaction_type, currency,
    correlation_id, reference, acquirer, status, gateway_status_code)
  SELECT organisation_id, $2::integer, now() - $3::interval, 100, id, 'purchase', 'AUD', 'left-' || $2::integer, 'left', 'simulator', $4::text,
    CASE WHEN $4::text = 'unknown' THEN -99 ELSE 0 END
  FROM merchant WHERE id = $1`;

test('left in doubt by a failover that lost the lease → found and resolved', async () => {
  const gateway = await testGateway();
  const { audit } = (await gateway.api.purchase()).body;
  // As commit A had left it: the standby never got commit B.
  const claimed = `status = 'unknown', gateway_status_code = -99, version = 0, decided_at = NULL, response_code = NULL,
    response_message = NULL, settlement_date = NULL, voidable_until = NULL, created_at = now() - interval '1 hour'`;
  await storedAs(gateway, claimed, `organisation_id = 1 AND audit = ${audit}`);
  await gateway.sql('DELETE FROM audit_lease');
  await gateway.sql('UPDATE gateway SET sweep_at = now()');
  const { status } = await gateway.api.decided(audit);
  expect(status).toMatchObject({ gateway_status_code: 0, transaction_status_code: 'approved' });
  expect(gateway.logged()).toContain('transactions in doubt without a lease');
});

test('purchase under an audit that was assigned again after a failover → not processed, and nothing of it is stored', async () => {
  const gateway = await testGateway();
  const { audit } = (await gateway.api.purchase()).body;
  await gateway.sql(INSERT, [1, audit + 1, '0 seconds', 'approved']);
  const refused = await gateway.api.purchase({ correlationId: 'second-holder' });
  expect([refused.status, refused.code]).toEqual([503, 'not_processed']);
  expect((await gateway.api.purchase({ correlationId: 'second-holder' })).body.audit).toBe(audit + 2);
  expect(await gateway.ledger()).toHaveLength(2);
});

describe('a sweep', () => {
  let database: Database;
  let own: TestDatabase;
  beforeEach(async () => {
    own = await testDatabase();
    await addCast(own.url);
    database = new Database(own.url, { maxConnections: 2 });
    await query('UPDATE organisation SET next_audit = 20001');
  });
  afterEach(async () => {
    await database.close();
    await own.drop();
  });

  const query = async <Row>(text: string, values: unknown[] = []) =>
    (await database.query<Row>({ name: '', text }, values)).rows;
  const add = (merchant: number, audit: number, age: string, status = 'unknown') =>
    query(INSERT, [merchant, audit, age, status]);
  const handedOver = async () =>
    (
      await query<{ merchant: number; audit: number }>(
        'SELECT merchant_id AS merchant, audit FROM transaction WHERE resolve_at IS NOT NULL ORDER BY audit, merchant',
      )
    ).map(({ merchant, audit }) => [merchant, audit]);
  const left = () => query('SELECT organisation_id AS organisation, up_to AS "upTo" FROM sweep ORDER BY 1');

  // catches(sweep: hands over what nobody looks after)
  test('→ finds transactions in doubt without a lease, in every organisation, even the oldest', async () => {
    for (const merchant of [1, 4])
      for (const audit of [1, 7_000, 20_000]) await add(merchant, audit, '1 hour');
    await add(1, 2, '1 hour', 'approved');
    const sweep = new Sweep(database, 10_000);
    for (let run = 0; run < 24; run += 1) await sweep.run();
    expect(await handedOver()).toEqual(
      [1, 7_000, 20_000].flatMap((audit) => [
        [1, audit],
        [4, audit],
      ]),
    );
    expect(await left()).toEqual([]);
  });

  // catches(sweep: leaves what is under a lease)
  test('→ leaves leased transactions to their process', async () => {
    const leases = new AuditLeases(database, await ProcessRegistry.register(database, processTimes(5_000)));
    const audit = await leases.take(1 as OrganisationId);
    await add(1, audit, '1 hour');
    await add(1, audit - 1, '1 hour');
    const sweep = new Sweep(database, 10_000);
    for (let run = 0; run < 12; run += 1) await sweep.run();
    expect(await handedOver()).toEqual([[1, audit - 1]]);
  });

  // catches(sweep: leaves what is young)
  test('→ skips a young transaction, whose process may be about to renew its lease', async () => {
    await query('UPDATE organisation SET next_audit = 101');
    await add(1, 50, '50 seconds');
    await add(1, 60, '1 hour');
    const sweep = new Sweep(database, 10_000);
    await sweep.run();
    expect([await handedOver(), await left()]).toEqual([[[1, 60]], [{ organisation: 1, upTo: 50 }]]);
    await query(`UPDATE transaction SET created_at = now() - interval '75 seconds' WHERE audit = 50`);
    await sweep.run();
    expect([await handedOver(), await left()]).toEqual([
      [
        [1, 50],
        [1, 60],
      ],
      [],
    ]);
  });

  test('with the gateway’s clock ahead → measures age by that clock', async () => {
    await query('UPDATE gateway SET advanced_ms = 86400000');
    await query('UPDATE organisation SET next_audit = 101');
    await add(1, 50, '-1 day');
    await add(1, 60, '-23 hours');
    await new Sweep(database, 10_000).run();
    expect([await handedOver(), await left()]).toEqual([[[1, 60]], [{ organisation: 1, upTo: 50 }]]);
  });

  test('→ runs once, however many processes there are, and again when a process starts', async () => {
    const sweeps = [new Sweep(database, 10_000), new Sweep(database, 10_000)];
    for (let run = 0; run < 12; run += 1) for (const sweep of sweeps) await sweep.run();
    expect(await left()).toEqual([]);
    await add(1, 20_000, '1 hour');
    await new Sweep(database, 10_000).run();
    expect(await handedOver()).toEqual([[1, 20_000]]);
  });
});
