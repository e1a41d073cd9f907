// Leases of audits: by them the others find what a process left undecided, so none may go too early.
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Database } from '../../src/store/database.js';
import { Audits } from '../../src/transactions/audits.js';
import { addCast, type TestDatabase, testDatabase, testGateway } from '../support/gateway.js';
import { answered, ScriptedAcquirer } from '../support/scripted-acquirer.js';

test('purchase without an answer, when all other audits of its block are decided → the others find it should its process die', async () => {
  const acquirer = new ScriptedAcquirer();
  const gateway = await testGateway({ acquirers: [acquirer] });
  await gateway.sql(`UPDATE merchant SET acquirer = 'scripted'`);
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
  for (let report = 0; report < 2; report += 1) await reported();

  // It is silent from now on, as far as the other can see.
  acquirer.nextFindings(() => answered('00'));
  await vi.waitUntil(
    async () => {
      await gateway.sql(`UPDATE process SET seen_at = now() - interval '20 seconds' WHERE id = $1`, [
        process?.id,
      ]);
      return acquirer.inquiries.includes(reference);
    },
    { timeout: 20_000 },
  );
  expect((await gateway.api.decided(audit)).status.transaction_status_code).toBe('approved');
  held.answer(answered('00'));
  expect((await answering).body.audit).toBe(audit);
  await dying.close();

  async function reported(): Promise<void> {
    const seen = () => gateway.sql(`SELECT seen_at::text FROM process WHERE id = $1`, [process?.id]);
    const before = JSON.stringify(await seen());
    await vi.waitUntil(async () => JSON.stringify(await seen()) !== before, { timeout: 20_000 });
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

  async function taken(audits: Audits, count: number): Promise<number[]> {
    const numbers: number[] = [];
    while (numbers.length < count) numbers.push(await audits.take(1));
    return numbers;
  }

  test('stopped with an audit still undecided → the lease stays, for the others to find it', async () => {
    const audits = await Audits.open(database);
    const [undecided] = await taken(audits, 2);
    audits.settle(1, (undecided ?? 0) + 1);
    await audits.close();
    expect(await leasesOf(undecided ?? 0)).toHaveLength(1);
  });

  test('stopped with everything decided → nothing of it stays', async () => {
    const audits = await Audits.open(database);
    for (const audit of await taken(audits, 3)) audits.settle(1, audit);
    await audits.close();
    expect(await query('SELECT FROM process')).toEqual([]);
    expect(await query('SELECT FROM audit_lease')).toEqual([]);
  });

  test('stopped after another leased later audits → no audit is given twice', async () => {
    const [first, second] = [await Audits.open(database), await Audits.open(database)];
    const audits = [...(await taken(first, 1)), ...(await taken(second, 1))];
    await first.close();
    const third = await Audits.open(database);
    audits.push(...(await taken(third, 40)), ...(await taken(second, 40)));
    expect(new Set(audits).size).toBe(audits.length);
  });

  test('forgotten by the others after a long silence → takes audits only under a new lease', async () => {
    const audits = await Audits.open(database);
    await taken(audits, 1);
    await query('DELETE FROM process');
    await audits.report();
    const [audit] = await taken(audits, 1);
    expect(await leasesOf(audit ?? 0)).toHaveLength(1);
  });

  test('that has not reported for fifteen seconds → takes no audit until it has reported again', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const audits = await Audits.open(database);
    vi.advanceTimersByTime(14_000);
    await taken(audits, 1);
    vi.advanceTimersByTime(1_000);
    await expect(audits.take(1)).rejects.toThrow('not_processed');
    await audits.report();
    await taken(audits, 1);
  });
});
