// An upgrade: what an earlier release has stored is sealed, once, and nobody has it done again.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifySeals } from '../../src/installation/seals.js';
import { EntrySigner, setSigner } from '../../src/journal/entry-signer.js';
import { OUTCOME } from '../../src/payments/outcome-seals.sql.js';
import { attestedWords, paymentDetailsPlace, type StoredOutcome } from '../../src/payments/transaction.js';
import type { Audit } from '../../src/values/ids.js';
import { makeInstallationKey } from '../../src/vault/keys/installation-keys.js';
import { DataKeys, seal } from '../../src/vault/keys/keys.js';
import { runHere } from '../../testkit/command-here.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { ScriptedAcquirer } from '../../testkit/scripted-acquirer.js';
import { type Operator, operatorOf } from '../../testkit/sealed-rows.js';

const acquirer = Object.assign(new ScriptedAcquirer(), { prepare: () => ({ stan: 1, by: 'scripted' }) });
let gateway: TestGateway;
let operator: Operator;
let keys: DataKeys;
beforeAll(async () => {
  gateway = await testGateway({ acquirers: [acquirer] });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted' WHERE id = 1`);
  operator = await operatorOf(gateway);
  keys = new DataKeys(operator.database, operator.provider);
  const journal = await makeInstallationKey(operator.database, operator.provider, 'journal');
  setSigner(operator.database, new EntrySigner(journal));
});
afterAll(async () => {
  await operator.close();
  await gateway.close();
});

interface Sealed {
  readonly stored: StoredOutcome;
  readonly prepared: unknown;
  readonly version: number;
  readonly sealed: Buffer | null;
  readonly method: 'card' | 'bank_account';
}

/** As an earlier release has sealed everything: cards without their links, operations without what was prepared, no outcome. */
async function sealAsBefore(): Promise<void> {
  const { rows } = await operator.database.query<Sealed>({
    name: '',
    text: `SELECT ${OUTCOME} AS stored, prepared, payment_details_key_version AS version, payment_details_sealed AS sealed,
        CASE WHEN bank_account IS NULL THEN 'card' ELSE 'bank_account' END AS method FROM transaction t`,
  });
  for (const { stored, prepared, version, sealed, method } of rows) {
    const { organisationId, merchantId, audit, transactionType, amountCents, currency } = stored;
    const place = paymentDetailsPlace(stored, { ...stored, paymentMethod: method, prepared });
    const says = `${transactionType}/${amountCents}/${currency}/${method}`;
    const details =
      sealed &&
      seal(
        await keys.version(organisationId, merchantId, version),
        { ...place, says },
        await keys.open(place, version, sealed),
      );
    const amount = transactionType === 'void' ? {} : { amountCents, currency };
    const words = {
      organisationId,
      merchantId,
      audit,
      transactionType,
      targetAudit: stored.targetAudit as Audit,
      ...amount,
    };
    const attestation = stored.targetAudit === null ? null : await keys.attest(attestedWords(words));
    await gateway.sql(
      'UPDATE transaction SET outcome_seal = NULL, payment_details_sealed = $2, attestation = $3 WHERE audit = $1',
      [audit, details, attestation],
    );
  }
}

const problems = async () =>
  (await verifySeals(operator.database, 'operator:test', operator.provider, gateway.credentialKey)).problems;

const tollgate = (...words: string[]) =>
  runHere(words, { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir });
const migrated = async (...words: string[]) => {
  const { code, stdout, stderr } = await tollgate('migrate', ...words, '--json');
  return code === 0 ? JSON.parse(stdout).sealed : JSON.parse(stderr).error;
};

/** As though no gateway were running: its heartbeats are from an hour ago. */
async function unseen<Result>(work: () => Promise<Result>): Promise<Result> {
  await gateway.sql(`
    CREATE FUNCTION an_hour_ago() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN NEW.seen_at := now() - interval '1 hour'; RETURN NEW; END $$;
    CREATE TRIGGER an_hour_ago BEFORE UPDATE ON process FOR EACH ROW EXECUTE FUNCTION an_hour_ago();
    UPDATE process SET seen_at = now()`);
  return work().finally(() =>
    gateway.sql('DROP FUNCTION an_hour_ago CASCADE; UPDATE process SET seen_at = now()'),
  );
}

/** As the owner of the tables, who can do anything. */
const asOwner = (text: string) =>
  gateway.sql(`BEGIN; SET LOCAL session_replication_role = replica; ${text}; COMMIT`);

let paid: number;

describe('an upgrade', () => {
  // catches(sealing: done once, and an entry that nobody has signed does not say so)
  // catches(sealing: not while gateways of an earlier release serve)
  test('of an earlier release’s transactions → sealed by `migrate`, journalled, and then refunded and shown; one without a seal later is broken', async () => {
    const { api } = gateway;
    paid = (await api.purchase({ amount: 500 })).body.audit;
    const { audit: refunded } = (await api.refund(paid, 100)).body;
    const undone = (await api.purchase({ amount: 500 })).body.audit;
    await api.void(undone);
    const debit = (await api.purchase({ bankAccount: {} })).body.audit;
    await sealAsBefore();
    expect((await problems()).length).toBeGreaterThan(4);
    await gateway.sql(
      `INSERT INTO journal (actor, action, detail) VALUES ('gateway:start', 'transactions.sealed', '5 transactions')`,
    );
    expect(await migrated()).toMatch(
      /^what an earlier release .* gateways are still running \(1\): .*; stop them/,
    );
    expect((await problems()).length).toBeGreaterThan(4);
    expect(await unseen(() => migrated())).toEqual({ transactions: 5, rows: expect.any(Number) });
    expect(await problems()).toEqual([]);
    for (const audit of [paid, refunded, undone, debit]) expect((await api.lookUp(audit)).status).toBe(200);
    expect((await api.refund(paid, 100)).body.status.transaction_status_code).toBe('approved');
    await gateway.sql('UPDATE transaction SET outcome_seal = NULL WHERE audit = $1', [paid]);
    expect(await unseen(() => migrated())).toBeUndefined();
    expect(await problems()).toEqual([
      { merchant: 1, where: `transaction ${paid}`, problem: 'its outcome is not as it was decided' },
    ]);
  });

  test('→ the journal says so, in its chain at once', async () => {
    expect(
      await gateway.sql(`
        SELECT actor, action, detail, id <= (SELECT max(last_id) FROM journal_block) AS chained FROM journal
        WHERE mark IS NOT NULL AND (action = 'transactions.sealed' OR subject = 'seals') ORDER BY id`),
    ).toEqual([
      { actor: 'gateway:migrate', action: 'transactions.sealed', detail: '5 transactions', chained: true },
      {
        actor: 'gateway:migrate',
        action: 'seals.made',
        detail: expect.stringMatching(/^\d+ rows/),
        chained: true,
      },
    ]);
  });
});

describe('whoever wants a changed row sealed as it is', () => {
  const broken = () => [
    { merchant: 1, where: `transaction ${paid}`, problem: 'its outcome is not as it was decided' },
  ];
  const refusal =
    /the journal is not whole \((entry|block) \d+: (removed|changed).*\): somebody may have taken away/;

  // catches(roles: nobody takes the keys of the installation away)
  test('with a login of the gateway → takes away neither what the journal says, nor its key', async () => {
    for (const login of ['tollgate_application', 'tollgate_operator'])
      for (const attack of [
        `DELETE FROM journal WHERE action = 'transactions.sealed'`,
        `UPDATE journal SET action = 'figures.rebuilt' WHERE subject = 'seals'`,
        `DELETE FROM journal_block`,
        `DELETE FROM installation_key WHERE name = 'journal'`,
        `UPDATE installation_key SET name = 'former' WHERE name = 'journal'`,
      ])
        await expect(
          gateway.sql(`BEGIN; SET LOCAL ROLE ${login}; ${attack}; COMMIT`).catch(async (error) => {
            await gateway.sql('ROLLBACK');
            throw error;
          }),
        ).rejects.toMatchObject({ code: '42501' });
  });

  // catches(sealing: not while the journal is not whole)
  test('as the owner of the tables, without the entry that it was sealed → refused, and `journal verify` names it', async () => {
    const [kept] = await gateway.sql(
      `SELECT id FROM journal WHERE action = 'transactions.sealed' AND mark IS NOT NULL`,
    );
    await gateway.sql(`CREATE TABLE kept AS SELECT * FROM journal WHERE id = ${kept?.id}`);
    await asOwner(`DELETE FROM journal WHERE id = ${kept?.id}`);
    expect(await unseen(() => migrated())).toMatch(refusal);
    expect(await problems()).toEqual(broken());
    const { code, stdout } = await tollgate('journal', 'verify');
    expect([code, stdout]).toEqual([1, expect.stringContaining(`entry ${kept?.id}: removed`)]);
    await gateway.sql('INSERT INTO journal OVERRIDING SYSTEM VALUE SELECT * FROM kept');
    expect(await unseen(() => migrated())).toBeUndefined();
  });

  test('as the owner of the tables, with blocks of the chain taken away, too → refused by what was anchored elsewhere', async () => {
    const anchor = join(gateway.dataDir, 'anchor');
    const { stdout } = await tollgate('journal', 'checkpoint', '--json');
    await writeFile(anchor, stdout);
    await gateway.sql(`
      CREATE TABLE entries AS SELECT * FROM journal; CREATE TABLE blocks AS SELECT * FROM journal_block;
      CREATE TABLE ends AS SELECT * FROM journal_chain`);
    const [first] = await gateway.sql('SELECT min(id) AS id FROM journal');
    // Everything but the first entry: as though the gateway had just been installed.
    const removed = `DELETE FROM journal WHERE id > ${first?.id}; DELETE FROM journal_block; UPDATE journal_chain SET chained_up_to = 0;
      DELETE FROM journal_gap`;
    await asOwner(`LOCK TABLE journal, journal_block, journal_chain; ${removed}`);
    const withAnchor = {
      DATABASE_URL: gateway.databaseUrl,
      TOLLGATE_DATA_DIR: gateway.dataDir,
      TOLLGATE_JOURNAL_ANCHOR: anchor,
    };
    const { code, stderr } = await unseen(() => runHere(['migrate'], withAnchor));
    expect([code, stderr]).toEqual([1, expect.stringMatching(refusal)]);
    await asOwner(`LOCK TABLE journal, journal_block, journal_chain, journal_gap; DELETE FROM journal; DELETE FROM journal_block;
      DELETE FROM journal_gap; INSERT INTO journal OVERRIDING SYSTEM VALUE SELECT * FROM entries;
      INSERT INTO journal_block SELECT * FROM blocks; UPDATE journal_chain SET chained_up_to = ends.chained_up_to FROM ends`);
  });

  // catches(directions: forged seals do not make an installation new)
  test('by forged entries → nothing is sealed', async () => {
    await gateway.sql(`
      BEGIN; SET LOCAL ROLE tollgate_application;
      INSERT INTO journal (actor, action, subject, subject_version, seal)
      SELECT 'gateway:start', 'seals.made', 'seals', 2147483647 - n, decode(repeat('00', 32), 'hex') FROM generate_series(1, 100) AS n;
      COMMIT`);
    expect(await unseen(() => migrated())).toBeUndefined();
  });

  test('as the owner of the tables, with another key of the journal → refused; somebody says that they know → sealed as it is', async () => {
    await asOwner(`DELETE FROM installation_key WHERE name = 'journal'`);
    await tollgate('journal', 'key');
    expect(await unseen(() => migrated())).toMatch(refusal);
    expect(await unseen(() => migrated('--changed-journal-i-know'))).toMatchObject({ transactions: 1 });
  });
});
