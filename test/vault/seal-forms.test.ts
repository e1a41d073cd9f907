// Seals of an earlier release, which are bound to less: made and opened as long as one of its processes runs, and sealed anew after that.
import { expect, test } from 'vitest';
import { verifySeals } from '../../src/admin/seals.js';
import { DEFAULT_KEY_LIMITS, KeyRenewal } from '../../src/vault/renewal.js';
import { testGateway } from '../../testkit/gateway.js';
import { operatorOf } from '../../testkit/sealed-rows.js';
import { vaultOf } from '../../testkit/vault-client.js';

// catches(keys: no seal is bound while a process runs that could not open it)
test('an earlier release runs beside this one → its seals are made and open; when it is gone everything is bound, and its keys are destroyed', async () => {
  const other = await testGateway();
  const its = await operatorOf(other);
  try {
    // As an earlier release registers itself.
    await other.sql(
      `INSERT INTO process (machine, pid, seen_at) VALUES ('earlier', 1, now() + interval '1 hour')`,
    );
    const forms = () => other.sql('SELECT version, form FROM data_key ORDER BY version');
    const token = await vaultOf(other.api).newToken();
    const paid = (await other.api.purchase({ pan: token.virtualPan })).body.audit;
    const lodged = (await other.api.purchase({ bankAccount: {} })).body.audit;
    expect(await forms()).toEqual([{ version: 1, form: 1 }]);
    await its.rotation.rotate(1, () => {});
    expect(await forms()).toEqual([
      { version: 1, form: 1 },
      { version: 2, form: 1 },
    ]);
    await other.sql(`DELETE FROM process WHERE machine = 'earlier'`);
    const renewal = new KeyRenewal({
      database: its.database,
      rotation: its.rotation,
      limits: DEFAULT_KEY_LIMITS,
      onRenewed: () => {},
    });
    await renewal.run();
    const {
      tokens,
      transactions,
      problems: found,
    } = await verifySeals(its.database, 'operator:test', its.provider);
    expect({ tokens, transactions, found }).toEqual({ tokens: 1, transactions: 2, found: [] });
    const under = await other.sql(
      `SELECT DISTINCT payment_details_key_version AS version FROM transaction WHERE audit IN (${paid}, ${lodged})`,
    );
    expect(under).toEqual([{ version: 3 }]);
    expect((await forms()).at(-1)).toEqual({ version: 3, form: 2 });
    // Nothing is destroyed at once: a process may still be about to seal under it.
    await other.sql(
      `UPDATE data_key SET emptied_at = emptied_at - interval '1 hour', created_at = created_at - interval '1 hour'`,
    );
    await renewal.run();
    expect(await forms()).toEqual([{ version: 3, form: 2 }]);
    expect((await other.api.purchase({ pan: token.virtualPan })).status).toBe(201);
  } finally {
    await its.close();
    await other.close();
  }
});

// catches(data key: wrapped for the form of its seals)
test('a key is made one of the earlier form in the database → nothing is sealed under it, which would be bound to less', async () => {
  const gateway = await testGateway();
  await vaultOf(gateway.api).newToken();
  // While an earlier release seems to run, no gateway makes a key of the later form.
  await gateway.sql(
    `INSERT INTO process (machine, pid, seen_at) VALUES ('earlier', 1, now() + interval '1 hour')`,
  );
  const form = (is: number) =>
    gateway.sql(`ALTER TABLE data_key DISABLE TRIGGER USER; UPDATE data_key SET form = ${is}`);
  await form(1);
  const fresh = await testGateway({ shareWith: gateway });
  expect((await fresh.api.purchase()).status).toBe(503);
  await form(2);
  await expect.poll(async () => (await fresh.api.purchase()).status, { timeout: 10_000 }).toBe(201);
  await fresh.close();
});
