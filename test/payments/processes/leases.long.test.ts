// Audit leases: they show the others what a process left in doubt, so none may end too early.
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { DeadProcesses } from '../../../src/payments/doubt/resolver.js';
import { AuditLeases, ProcessRegistry } from '../../../src/payments/processes/process-registry.js';
import { processTimes } from '../../../src/payments/processes/process-times.js';
import { Database } from '../../../src/postgres/database.js';
import type { Audit, OrganisationId } from '../../../src/values/ids.js';
import { addCast, type TestDatabase, testDatabase, testGateway } from '../../../testkit/gateway.js';
import { answered, ScriptedAcquirer } from '../../../testkit/scripted-acquirer.js';

// catches(leases: kept while one audit of the block is in doubt) slow
test('purchase without an answer, all other audits of its block decided → other processes find it if its process dies', async () => {
  const acquirer = new ScriptedAcquirer();
  const gateway = await testGateway({ acquirers: [acquirer] });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
  const settings = { ACQUIRER_DEADLINE_MS: '30000' };
  const dying = await testGateway({ acquirers: [acquirer], settings, shareWith: gateway });
  const [process] = await gateway.sql<{ id: number }>('SELECT max(id) AS id FROM process');

  const held = acquirer.holdNextAnswer();
  const answering = dying.api.purchase({ correlationId: 'left-open' });
  const reference = await held.asked;
  const { audit } = (await gateway.api.search('left-open')).body.results[0];
  const [block] = await gateway.sql<{ last: number }>(
    'SELECT last_audit AS last FROM audit_lease WHERE $1 BETWEEN first_audit AND last_audit',
    [audit],
  );
  for (let next = audit; next <= (block?.last ?? 0); ) next = (await dying.api.purchase()).body.audit;
  for (let heartbeat = 0; heartbeat < 2; heartbeat += 1) await heartbeatOf();

  // From now on it seems silent to the other.
  acquirer.nextFindings(() => answered('00'));
  await vi.waitUntil(
    async () => {
      await gateway.sql(`UPDATE process SET seen_at = now() - interval '20 seconds' WHERE id = $1`, [
        process?.id,
      ]);
      return acquirer.inquiries.includes(reference);
    },
    { timeout: 300_000 },
  );
  expect((await gateway.api.decided(audit)).status.transaction_status_code).toBe('approved');
  held.answer(answered('00'));
  expect((await answering).body.audit).toBe(audit);
  await dying.close();

  async function heartbeatOf(): Promise<void> {
    const seen = () => gateway.sql(`SELECT seen_at::text FROM process WHERE id = $1`, [process?.id]);
    const before = JSON.stringify(await seen());
    await vi.waitUntil(async () => JSON.stringify(await seen()) !== before, { timeout: 300_000 });
  }
});

describe('a process', () => {
  let database: Database;
  let own: TestDatabase;
  beforeEach(async () => {
    own = await testDatabase();
    await addCast(own.url);
    database = new Database(own.url, { maxConnections: 2 });
  });
  afterEach(async () => {
    await database.close();
    await own.drop();
  });

  const query = async <Row>(text: string, values: unknown[] = []) =>
    (await database.query<Row>({ name: '', text }, values)).rows;
  const leasesOf = (audit: number) =>
    query('SELECT FROM audit_lease WHERE organisation_id = 1 AND $1 BETWEEN first_audit AND last_audit', [
      audit,
    ]);

  /** As in a starting gateway, before its first heartbeat. */
  async function started() {
    const registry = await ProcessRegistry.register(database, processTimes(5_000));
    const leases = new AuditLeases(database, registry);
    return {
      registry,
      leases,
      take: () => leases.take(1 as OrganisationId),
      release: (audit = 0) => leases.release(1 as OrganisationId, audit as Audit),
      heartbeat: () => registry.heartbeat(leases),
      stop: () => registry.deregister(leases),
    };
  }
  type Started = Awaited<ReturnType<typeof started>>;

  async function taken(process: Started, count: number): Promise<number[]> {
    const numbers: number[] = [];
    while (numbers.length < count) numbers.push(await process.take());
    return numbers;
  }

  /** All the audits of its next block. */
  async function wholeBlock(process: Started): Promise<number[]> {
    const [first] = await taken(process, 1);
    const [lease] = await query<{ last: number }>(
      'SELECT last_audit AS last FROM audit_lease WHERE organisation_id = 1 AND first_audit = $1',
      [first],
    );
    return [first ?? 0, ...(await taken(process, (lease?.last ?? 0) - (first ?? 0)))];
  }

  // catches(leases: kept by a process that stops and leaves something in doubt)
  test('stopped with an audit in doubt → the lease stays, so that others find it', async () => {
    const process = await started();
    const [inDoubt] = await taken(process, 2);
    process.release((inDoubt ?? 0) + 1);
    await process.stop();
    expect(await leasesOf(inDoubt ?? 0)).toHaveLength(1);
  });

  test('stopped with everything decided → its row and leases are deleted', async () => {
    const process = await started();
    for (const audit of await taken(process, 3)) process.release(audit);
    await process.stop();
    expect(await query('SELECT FROM process')).toEqual([]);
    expect(await query('SELECT FROM audit_lease')).toEqual([]);
  });

  // catches(leases: audits given back only if nobody leased later ones)
  test('stopped after another process leased later audits → no audit is assigned twice', async () => {
    const [first, second] = [await started(), await started()];
    const audits = [...(await taken(first, 1)), ...(await taken(second, 1))];
    await first.stop();
    const third = await started();
    audits.push(...(await taken(third, 40)), ...(await taken(second, 40)));
    expect(new Set(audits).size).toBe(audits.length);
  });

  test('with a block finished during a heartbeat → the next heartbeat drops the lease', async () => {
    const process = await started();
    const [earlier, later] = [await wholeBlock(process), await wholeBlock(process)];
    for (const audit of earlier) process.release(audit);
    const heartbeat = process.heartbeat();
    for (const audit of later) process.release(audit);
    await heartbeat;
    expect(await leasesOf(later[0] ?? 0)).toHaveLength(1);
    await process.heartbeat();
    expect(await query('SELECT FROM audit_lease')).toEqual([]);
  });

  test('whose heartbeat fails → the next heartbeat drops the finished leases', async () => {
    const process = await started();
    for (const audit of await wholeBlock(process)) process.release(audit);
    await query('ALTER TABLE audit_lease RENAME TO mislaid');
    await expect(process.heartbeat()).rejects.toThrow('audit_lease');
    await query('ALTER TABLE mislaid RENAME TO audit_lease');
    await process.heartbeat();
    expect(await query('SELECT FROM audit_lease')).toEqual([]);
  });

  // catches(dead processes: forgotten with their leases only after what they left was handed over)
  test('dead for more than an hour → its transactions are handed over before its row and leases are deleted', async () => {
    const dead = await started();
    const [audit] = await taken(dead, 1);
    await query(
      `INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, transaction_type,
         currency, correlation_id, reference, acquirer)
       VALUES (1, $1, now(), 100, 1, 'purchase', 'AUD', 'left', 'left', 'simulator')`,
      [audit],
    );
    await query(`UPDATE process SET seen_at = now() - interval '2 hours'`);
    const living = await started();
    const others = new DeadProcesses(database, living.registry, 0);
    expect(await others.handOver()).toBe(1);
    expect(await query('SELECT FROM transaction WHERE resolve_at IS NOT NULL')).toHaveLength(1);
    expect(await query('SELECT id FROM process')).toEqual([{ id: living.registry.id }]);
    expect(await query('SELECT FROM audit_lease')).toEqual([]);
  });

  test('without a heartbeat of its own for more than an hour → does not delete its own row', async () => {
    const process = await started();
    await taken(process, 1);
    await query(`UPDATE process SET seen_at = now() - interval '2 hours'`);
    await new DeadProcesses(database, process.registry, 0).handOver();
    expect(await query('SELECT id FROM process')).toEqual([{ id: process.registry.id }]);
  });

  // catches(leases: a process that was forgotten uses none of its old ones)
  test('deleted by the others after a long time without a heartbeat → assigns audits only under a new lease', async () => {
    const process = await started();
    await taken(process, 1);
    await query('DELETE FROM process');
    await process.heartbeat();
    const [audit] = await taken(process, 1);
    expect(await leasesOf(audit ?? 0)).toHaveLength(1);
  });

  // catches(leases: a process that was forgotten uses none of its old ones)
  test('deleted by the others with an audit in doubt → leases it under its new name', async () => {
    const process = await started();
    const [inDoubt] = await taken(process, 1);
    await query('DELETE FROM process');
    await process.heartbeat();
    expect(await query('SELECT process_id AS id FROM audit_lease')).toEqual([{ id: process.registry.id }]);
    process.release(inDoubt);
    await process.heartbeat();
    expect(await query('SELECT FROM audit_lease')).toEqual([]);
  });

  describe('after a failover that lost the last commits', () => {
    /** The counter and the leases are as before, and the timeline is another. */
    async function goBack(): Promise<void> {
      await query('DELETE FROM audit_lease');
      await query('UPDATE organisation SET next_audit = 1');
      await query(
        `UPDATE gateway SET lineage = 'an earlier one', newest_absence = 5, sweep_at = now() + interval '1 day'`,
      );
    }

    // catches(leases: counters that may have gone back are moved past what was handed out)
    // catches(leases: none while the counters may have gone back)
    test('→ leases nothing until the counters have moved past every assigned audit', async () => {
      const [one, other] = [await started(), await started()];
      const before = await taken(one, 40);
      await goBack();
      await expect(other.take()).rejects.toThrow('not_processed');
      await one.heartbeat();
      const after = [...(await taken(other, 40)), ...(await taken(one, 40))];
      expect(Math.min(...after)).toBeGreaterThan(Math.max(...before));
      expect(new Set(after).size).toBe(80);
    });

    // catches(leases: what is in doubt is leased anew when the database has lost its lease)
    test('→ audits in doubt are leased again, and the rest of the block is not assigned', async () => {
      const process = await started();
      await process.heartbeat();
      const [inDoubt, decided] = await taken(process, 2);
      process.release(decided);
      await goBack();
      await process.heartbeat();
      expect(await leasesOf(inDoubt ?? 0)).toHaveLength(1);
      const [next] = await taken(process, 1);
      expect(next).toBeGreaterThan(100_000);
      process.release(inDoubt);
      await process.heartbeat();
      expect(await leasesOf(inDoubt ?? 0)).toEqual([]);
    });

    test('→ all counters move once, however many processes notice, and a sweep is due', async () => {
      const processes = [await started(), await started()];
      await goBack();
      for (const process of [...processes, ...processes]) await process.heartbeat();
      expect(
        await query(
          'SELECT next_audit AS audit, next_customer_id AS customer, next_token_id AS token FROM organisation',
        ),
      ).toEqual([
        { audit: 100_001, customer: 100_001, token: 100_001 },
        { audit: 100_001, customer: 100_001, token: 100_001 },
      ]);
      expect(await query('SELECT newest_absence AS newest, sweep_at <= now() AS due FROM gateway')).toEqual([
        { newest: 100_005, due: true },
      ]);
    });
  });

  test('whose row the database has lost → leases nothing until it has registered again', async () => {
    const process = await started();
    await query('DELETE FROM process');
    await expect(process.take()).rejects.toThrow('not_processed');
    await process.heartbeat();
    await taken(process, 1);
  });

  // catches(leases: a process without a heartbeat claims nothing) slow
  test('without a heartbeat for longer than four fifths of its timeout → assigns no audit until the next one', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const process = await started();
    vi.advanceTimersByTime(3_900);
    await taken(process, 1);
    vi.advanceTimersByTime(100);
    await expect(process.take()).rejects.toThrow('not_processed');
    await process.heartbeat();
    await taken(process, 1);
  });
});
