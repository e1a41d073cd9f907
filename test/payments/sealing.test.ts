// The first start after an upgrade: what an earlier release has stored is sealed, once.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { verifySeals } from '../../src/installation/seals.js';
import { EntrySigner, setSigner } from '../../src/journal/entry-signer.js';
import { OUTCOME } from '../../src/payments/outcome-seals.sql.js';
import { sealTransactions } from '../../src/payments/sealing.js';
import { attestedWords, paymentDetailsPlace, type StoredOutcome } from '../../src/payments/transaction.js';
import type { Audit } from '../../src/values/ids.js';
import { makeInstallationKey } from '../../src/vault/keys/installation-keys.js';
import { DataKeys, seal } from '../../src/vault/keys/keys.js';
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

// catches(sealing: done once, and an entry that nobody has signed does not say so)
test('transactions of an earlier release → sealed once, journalled, and then refunded and shown; one without a seal later is broken', async () => {
  const { api } = gateway;
  const paid = (await api.purchase({ amount: 500 })).body.audit;
  const { audit: refunded } = (await api.refund(paid, 100)).body;
  const undone = (await api.purchase({ amount: 500 })).body.audit;
  await api.void(undone);
  const debit = (await api.purchase({ bankAccount: {} })).body.audit;
  await sealAsBefore();
  expect((await problems()).length).toBeGreaterThan(4);
  await gateway.sql(
    `INSERT INTO journal (actor, action, detail) VALUES ('gateway:start', 'transactions.sealed', '5 transactions')`,
  );
  expect(await sealTransactions(operator.database, keys, 'gateway:start')).toBe(5);
  expect(await problems()).toEqual([]);
  for (const audit of [paid, refunded, undone, debit]) expect((await api.lookUp(audit)).status).toBe(200);
  expect((await api.refund(paid, 100)).body.status.transaction_status_code).toBe('approved');
  await gateway.sql('UPDATE transaction SET outcome_seal = NULL WHERE audit = $1', [paid]);
  expect(await sealTransactions(operator.database, keys, 'gateway:start')).toBeUndefined();
  expect(await problems()).toEqual([
    { merchant: 1, where: `transaction ${paid}`, problem: 'its outcome is not as it was decided' },
  ]);
});
