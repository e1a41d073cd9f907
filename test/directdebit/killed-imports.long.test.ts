// Imports of returns killed with `kill -9` at every step, and several at once: in the end every returned item is declined
// exactly once, with its own code, and what refunds hold of their targets is right.
import { randomInt } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parseLodgementReference } from '../../src/directdebit/files/lodgement-reference.js';
import { type DirectEntryFile, type Returned, read, returnsFile } from '../../testkit/bank-file-layout.js';
import { runHere } from '../../testkit/command-here.js';
import { type Gates, gatesOf } from '../../testkit/gates.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type Environment, eventually, start } from '../../testkit/gateway-process.js';
import * as many from '../../testkit/many-items.js';

// Many processes, one after the other, on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const CLEARED = 900;
const FILED = 900;
const REFUNDS = 12;

interface Planned extends Returned {
  readonly audit: number;
}

let gateway: TestGateway;
let gates: Gates;
let home: many.Home;
let environment: Environment;
let folder: string;
/** Approved some time ago; of the first ones a part was refunded since. */
let cleared: Planned[];
/** Still on their way: purchases, and the refunds. */
let filed: Planned[];
let refunds: Planned[];
let lodged: DirectEntryFile;

beforeAll(async () => {
  gateway = await testGateway();
  gates = await gatesOf(gateway.databaseUrl);
  home = { databaseUrl: gateway.databaseUrl, dataDir: dirname(gateway.ledgerPath) };
  environment = many.environmentOf(home);
  folder = await many.bankFolder(home);
  await many.lodgeWithRealBank(home);
  const made = await many.waitingItems(home, gateway.api, {
    count: CLEARED,
    change: () => ({ type: 'purchase' }),
  });
  cleared = planned(await exported('cleared.aba'));
  expect(cleared.length).toBe(CLEARED);
  await gateway.sql('UPDATE directdebit_item SET next_at = now()');
  await eventually(async () => {
    const [{ left }] = (await gateway.sql(
      `SELECT count(*) AS left FROM transaction WHERE status = 'pending'`,
    )) as [{ left: number }];
    return left === 0 ? true : undefined;
  });
  for (const { audit, amountCents } of made.slice(0, REFUNDS)) {
    expect((await gateway.api.refund(audit, Math.ceil(amountCents / 2))).status).toBe(201);
  }
  await many.waitingItems(home, gateway.api, { count: FILED, from: CLEARED });
  lodged = await exported('filed.aba');
  const refundAudits = new Set(
    (await gateway.sql(`SELECT audit FROM transaction WHERE transaction_type = 'refund'`)).map(
      ({ audit }) => audit,
    ),
  );
  refunds = planned(lodged).filter(({ audit }) => refundAudits.has(audit));
  filed = planned(lodged).filter(({ audit }) => !refundAudits.has(audit));
  expect([refunds.length, filed.length]).toEqual([REFUNDS, FILED]);
});
afterAll(async () => {
  await gates.close();
  await gateway.close();
});

async function exported(name: string): Promise<DirectEntryFile> {
  const out = join(folder, name);
  many.printed(await runHere(many.EXPORT(1, out), environment));
  return read(await readFile(out, 'latin1'));
}

/** A code for each, and where it belongs. */
function planned({ items }: DirectEntryFile): Planned[] {
  return items.map((item, index) => ({
    item,
    audit: parseLodgementReference(item.reference)?.audit as number,
    returnCode: 1 + (index % 9),
  }));
}

async function returnsOf(name: string, returned: readonly Planned[]): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, returnsFile(lodged.header, returned), 'latin1');
  return path;
}

const expected = (returned: readonly Planned[]) =>
  returned
    .map(({ audit, returnCode }) => ({ audit, code: returnCode }))
    .sort((one, other) => one.audit - other.audit);

const declined = () =>
  gateway.sql<{ audit: number; code: number }>(
    `SELECT audit, response_code::integer AS code FROM transaction WHERE status = 'declined' ORDER BY audit`,
  );

/** What must be so at any moment. */
async function expectAllOrNothing(): Promise<void> {
  expect(
    await gateway.sql(
      `SELECT t.audit, t.status, i.state FROM transaction t JOIN directdebit_item i USING (organisation_id, audit)
       WHERE (t.status = 'declined') <> (i.state = 'returned')
         OR i.return_code::text IS DISTINCT FROM CASE WHEN t.status = 'declined' THEN t.response_code END`,
    ),
  ).toEqual([]);
  // What is refunded of a purchase is what its live refunds hold.
  expect(
    await gateway.sql(
      `SELECT t.audit, t.refunded_cents FROM transaction t
       LEFT JOIN (SELECT target_audit AS audit, sum(amount_cents) AS cents FROM transaction
         WHERE transaction_type = 'refund' AND status IN ('pending', 'approved') GROUP BY target_audit) live USING (audit)
       WHERE t.transaction_type = 'purchase' AND t.refunded_cents <> coalesce(live.cents, 0)`,
    ),
  ).toEqual([]);
  // A late return is told once.
  expect(
    await gateway.sql(
      `SELECT t.audit, count(j.audit) FROM transaction t
       LEFT JOIN journal j ON j.audit = t.audit AND j.action = 'directdebit.returned_late'
       WHERE t.audit = ANY ($1) GROUP BY t.audit, t.status
       HAVING count(j.audit) <> CASE WHEN t.status = 'declined' THEN 1 ELSE 0 END`,
      [cleared.map(({ audit }) => audit)],
    ),
  ).toEqual([]);
}

test('killed at every step and run again → each returned item is declined once, with its code', async () => {
  // Refunded ones among them, refunds of which some targets come back too, and both kinds in every batch.
  const returned = [...refunds.slice(0, 6), ...cleared.slice(3, 700), ...filed.slice(0, 500)];
  const path = await returnsOf('returns.aba', returned);
  const begin = () => start(many.IMPORT(path), environment);
  // At any moment: the time that passes is what is tried.
  const killAfter = async (delayMs: number) => {
    const running = begin();
    await Promise.race([sleep(delayMs), running.ended]);
    running.kill('SIGKILL');
    await running.ended;
  };
  for (const kill of [
    () => killAfter(0),
    () => gates.killAt('changing items', begin),
    () => gates.killAt('changing transactions', begin),
    () => gates.killAt('writing the journal', begin),
  ]) {
    await kill();
    await expectAllOrNothing();
    expect(await declined()).toEqual([]);
  }
  await gates.killAt('changing items', begin, { passes: 1 });
  await expectAllOrNothing();
  expect((await declined()).length).toBe(500);
  await killAfter(randomInt(1_500));
  await expectAllOrNothing();

  const result = many.printed(await runHere(many.IMPORT(path), environment));
  expect(result.returned + result.returned_already).toBe(returned.length);
  expect(result).toMatchObject({ items: returned.length, unmatched: [] });
  await expectAllOrNothing();
  expect(await declined()).toEqual(expected(returned));
});

test('two imports at once, and a line that appears twice → each item is declined once, and counted once', async () => {
  const before = await declined();
  const returned = [...refunds.slice(6, 9), ...cleared.slice(700, 800), ...filed.slice(500, 700)];
  const [twice] = returned.slice(-1) as [Planned];
  const path = await returnsOf('both.aba', [
    ...returned,
    { ...twice, returnCode: 1 + (twice.returnCode % 9) },
  ]);
  const both = [1, 2].map(() => start(many.IMPORT(path), environment));
  await gates.gather('changing items', both);
  const results = (await Promise.all(both.map((running) => running.ended))).map(many.printed);
  expect(results.map((result) => result.returned + result.returned_already)).toEqual([
    returned.length + 1,
    returned.length + 1,
  ]);
  expect(results[0].returned + results[1].returned).toBe(returned.length);
  await expectAllOrNothing();
  expect(await declined()).toEqual(
    [...before, ...expected(returned)].sort((one, other) => one.audit - other.audit),
  );
});

test('an item that clears while its return is imported → declined, and reported as late', async () => {
  const [late] = filed.slice(-1) as [Planned];
  const path = await returnsOf('late.aba', [late]);
  const importing = start(many.IMPORT(path), environment);
  await gates.gather('changing items', [importing], async () => {
    await gates.sql(`
      UPDATE directdebit_item SET state = 'cleared', next_at = NULL WHERE audit = ${late.audit};
      UPDATE transaction SET status = 'approved', response_code = '00' WHERE audit = ${late.audit}`);
  });
  expect(many.printed(await importing.ended)).toMatchObject({ returned: 1, late: 1 });
  expect(await declined()).toContainEqual({ audit: late.audit, code: late.returnCode });
  const told = `SELECT detail FROM journal WHERE action = 'directdebit.returned_late' AND audit = ${late.audit}`;
  expect(await gateway.sql(told)).toEqual([
    { detail: `approved before, returned with code ${late.returnCode}` },
  ]);
});
