// Gateways killed while they renew data keys in the background: nothing is lost at any point, the next one resumes, and a key
// is destroyed only when nothing is sealed under it, with a journal entry.
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Installation,
  type InstalledGateway,
  installation,
} from '../../../testkit/cloned-installation.js';
import { eventually } from '../../../testkit/gateway-process.js';
import {
  type Operator,
  opened,
  operatorAt,
  payWith,
  sealedRows,
  tokensOf,
  versionsIn,
} from '../../../testkit/sealed-rows.js';
import type { NewToken } from '../../../testkit/vault-client.js';

const NO_TOKEN = 0;

let shared: Installation;
let operator: Operator;
let holder: pg.Client;
let tokens: NewToken[];
let texts: string[];

beforeAll(async () => {
  shared = await installation();
  operator = await operatorAt(shared.databaseUrl, shared.dataDir);
  holder = new pg.Client(shared.databaseUrl);
  await holder.connect();
  const gateway = await shared.start();
  tokens = await tokensOf(gateway, 1, 5);
  await payWith(gateway, tokens);
  await gateway.crash();
  // The next one finds it too old.
  await shared.sql(`UPDATE data_key SET created_at = created_at - interval '400 days'`);
  texts = await opened(operator, await sealedRows(shared));
});
afterAll(async () => {
  await holder.end();
  await operator.close();
});

const versions = () =>
  shared.sql<{ version: number; emptied: boolean }>(
    'SELECT version, emptied_at IS NOT NULL AS emptied FROM data_key ORDER BY version',
  );
const older = async () => (await sealedRows(shared)).filter(({ version }) => version === 1).length;
const destroyed = async () =>
  (await shared.sql(`SELECT detail FROM journal WHERE action = 'keys.destroyed'`)).map(
    ({ detail }) => detail,
  );

/** A rotation begun so long ago counts as interrupted. */
const letTimePass = () =>
  shared.sql(
    `UPDATE data_key SET created_at = created_at - interval '20 minutes', emptied_at = emptied_at - interval '20 minutes'`,
  );

/** Locked rows are left for a later pass, so that the renewal cannot finish. */
async function whileHeld(tokenId: number | undefined, work: () => Promise<void>): Promise<void> {
  await holder.query('BEGIN');
  await holder.query('SELECT FROM token WHERE $1::integer IS NULL OR id = $1 FOR NO KEY UPDATE', [tokenId]);
  if (tokenId === undefined) await holder.query('SELECT FROM transaction FOR NO KEY UPDATE');
  await work().finally(() => holder.query('ROLLBACK'));
}

async function killedWhen(reached: () => Promise<boolean>): Promise<void> {
  const gateway = await shared.start();
  await eventually(async () => (await reached()) || undefined);
  await payWith(gateway, tokens.slice(0, 1));
  await gateway.crash();
  await everythingOpens();
}

/** With the stored keys: rows under a deleted version would not open. */
async function everythingOpens(): Promise<void> {
  const found = await opened(operator, await sealedRows(shared));
  expect(found).toEqual(expect.arrayContaining(texts));
}

async function served(work: (gateway: InstalledGateway) => Promise<void>): Promise<void> {
  const gateway = await shared.start();
  await work(gateway);
  expect((await gateway.stop()).code).toBe(0);
}

// catches(destroying a key: with its entry in the journal, or not at all) slow
test('kill -9 with nothing, a part and everything sealed under the new version → everything opens, the next run finishes that version, and the earlier one can be destroyed', async () => {
  await whileHeld(undefined, () => killedWhen(async () => (await versions()).length === 2));
  expect(await older()).toBeGreaterThanOrEqual(texts.length);
  await letTimePass();
  const [first] = await shared.sql<{ id: number }>('SELECT min(id) AS id FROM token');
  await whileHeld(first?.id ?? NO_TOKEN, () => killedWhen(async () => (await older()) === 1));
  await killedWhen(async () => (await older()) === 0);
  expect(await versions()).toMatchObject([{ version: 1 }, { version: 2 }]);
  await served(async (gateway) => {
    await eventually(async () => (await versions())[0]?.emptied || undefined);
    await payWith(gateway, tokens);
  });
  expect(versionsIn(await sealedRows(shared), 1)).toEqual([2]);
  await everythingOpens();

  // The earlier one is destroyed together with its entry in the journal, or not at all.
  expect(await destroyed()).toEqual([]);
  await letTimePass();
  await shared.sql(
    `CREATE FUNCTION no_journal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'as if killed'; END $$;
     CREATE TRIGGER no_journal BEFORE INSERT ON journal FOR EACH ROW WHEN (NEW.action = 'keys.destroyed') EXECUTE FUNCTION no_journal()`,
  );
  await expect(operator.rotation.destroy(1, 1)).rejects.toThrow('as if killed');
  expect((await versions()).map(({ version }) => version)).toEqual([1, 2]);
  await shared.sql('DROP TRIGGER no_journal ON journal');
  await operator.rotation.destroy(1, 1);
  await served((gateway) => payWith(gateway, tokens));
  expect(await destroyed()).toEqual(['version 1']);
  await everythingOpens();
});
