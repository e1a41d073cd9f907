// Rows that direct cards and money, or give rights: altered, inserted, put back or deleted in the database by somebody without the key.
// They are not used, and everybody is told.
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { addAcquirer, setAcquirer } from '../../src/acquirers/acquirer-tasks.js';
import { setDirectEntry } from '../../src/directdebit/direct-entry.js';
import { sealWhatIsThere, verifySubjects } from '../../src/installation/subjects.js';
import { addOperator, removeOperator } from '../../src/operators/operators.js';
import { addMerchant, setMerchant } from '../../src/organisations/merchants.js';
import { setRoute } from '../../src/organisations/routing/route-tasks.js';
import { setSurcharges } from '../../src/organisations/surcharges.js';
import { addUser, revokeUser } from '../../src/organisations/users/users.js';
import type { Database } from '../../src/postgres/database.js';
import type { FileKeys } from '../../src/vault/keys/local-keys.js';
import { addWebhook, removeWebhook } from '../../src/webhooks/webhook-tasks.js';
import { REAL_BANK } from '../../testkit/bank-day.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { runHere } from '../../testkit/command-here.js';
import { signedIn, tokenFor } from '../../testkit/console.js';
import { expectEach } from '../../testkit/each-case.js';
import { LOGINS, type TestGateway, testGateway } from '../../testkit/gateway.js';
import { locker, somebodyWaits } from '../../testkit/locks.js';
import { scrape } from '../../testkit/scrape.js';
import { vaultOf } from '../../testkit/vault-client.js';
import { GatewayAtHost } from '../acquirers/iso8583/gateway-at-host.js';

const SOON = { timeout: 300_000, interval: 50 };
const OPERATOR = 'operator:test';

let at: GatewayAtHost;
let gateway: TestGateway;
let database: Database;
let provider: FileKeys;
beforeAll(async () => {
  at = await GatewayAtHost.start();
  ({ gateway, database, provider } = at);
});
afterAll(() => at.stop());

async function problems(): Promise<Record<string, string>> {
  const found = await verifySubjects(database, gateway.credentialKey);
  return Object.fromEntries(found.problems.map(({ subject, problem }) => [subject, problem]));
}

const told = (subject: string, problem: string) =>
  expect
    .poll(() => gateway.logged(), SOON)
    .toContain(
      `"subject":"${subject}","problem":"${problem}","msg":"a row is not as it was sealed: not used"`,
    );

/** Puts the row back as it was sealed last. */
async function restored(table: string, where: string): Promise<() => Promise<unknown>> {
  const copy = `saved_${Math.random().toString(36).slice(2)}`;
  await gateway.sql(`CREATE TABLE ${copy} AS SELECT * FROM ${table} WHERE ${where}`);
  const write = `BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM ${table} WHERE ${where};
    INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM ${copy}; COMMIT`;
  return () => gateway.sql(write);
}

/** Puts it back with the rights of the operating login: as an UPDATE, and where it is gone as an INSERT. */
async function restoredByOperator(table: string, where: string): Promise<() => Promise<void>> {
  const copy = `saved_${Math.random().toString(36).slice(2)}`;
  await gateway.sql(`CREATE TABLE ${copy} AS SELECT * FROM ${table} WHERE ${where};
    GRANT SELECT ON ${copy} TO tollgate_operator`);
  const [row] = await gateway.sql<{ names: string }>(
    `SELECT string_agg(quote_ident(column_name), ', ') AS names FROM information_schema.columns
     WHERE table_name = $1 AND column_name <> 'id'`,
    [table],
  );
  return async () => {
    const isThere = (await gateway.sql(`SELECT FROM ${table} WHERE ${where}`)).length > 0;
    await gateway.sqlAs(
      'tollgate_operator',
      isThere
        ? `UPDATE ${table} SET (${row?.names}) = (SELECT ${row?.names} FROM ${copy}) WHERE ${where}`
        : `INSERT INTO ${table} SELECT * FROM ${copy}`,
    );
  };
}

const refusedToApplication = (statement: string) =>
  expect(gateway.sqlAs('tollgate_application', statement), statement).rejects.toMatchObject({
    code: '42501',
  });

const broken = async (of: string) =>
  (await scrape(gateway.operatorsUrl)).sum('tollgate_broken_seals_total', { of }) ?? 0;

/** The commands that look at everything find the row, and end with 1. */
async function foundByCommands(subject: string): Promise<void> {
  const verified = await tollgate('keys', 'verify');
  expect([verified.code, verified.stdout]).toEqual([1, expect.stringContaining(subject)]);
  const doctor = await tollgate('doctor');
  expect([doctor.code, doctor.stdout]).toEqual([
    1,
    expect.stringMatching(/failed +sealed rows +\d+ of \d+ are not as they were sealed/),
  ]);
}

/** A host of the attacker's, and how much it was sent. */
async function listening(): Promise<{ server: Server; port: number; received(): number }> {
  let bytes = 0;
  const server = createServer((socket) => {
    socket.on('data', (data) => {
      bytes += data.length;
    });
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as { port: number }).port, received: () => bytes };
}

const tollgate = (...words: string[]) =>
  runHere(words, { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir });

describe('a link whose row leads to a host of the attacker’s', () => {
  // catches(directions: a link that is not as it was sealed is not opened)
  // catches(directions: a row is used only as its newest seal says)
  test('→ the host is sent nothing by a gateway that runs or starts, and log, verify and doctor say so', async () => {
    const thief = await listening();
    const putBack = await restored('acquirer', `name = 'bank'`);
    const attack = `UPDATE acquirer SET host = '127.0.0.1', port = ${thief.port}, tls = false, mac_keys = NULL,
      key_encryption_key = NULL WHERE name = 'bank'`;
    await refusedToApplication(attack);
    const before = await broken('row');
    await gateway.sqlAs('tollgate_operator', attack);
    await told('acquirer/bank', 'changed');
    expect(await broken('row')).toBeGreaterThan(before);
    // The gateway that runs goes on with the link as it was sealed.
    expect((await gateway.api.purchase()).body.status.transaction_status_code).toBe('approved');
    const second = await testGateway({ shareWith: gateway });
    await expect.poll(() => second.logged(), SOON).toContain('"subject":"acquirer/bank"');
    expect((await second.api.purchase()).status).toBe(422);
    expect(thief.received()).toBe(0);
    await second.close();
    expect(await problems()).toEqual({ 'acquirer/bank': 'changed' });
    await foundByCommands('acquirer/bank');
    expect(
      await gateway.sql(
        `SELECT actor FROM journal WHERE action = 'seal.broken' AND detail = 'acquirer/bank: changed' LIMIT 1`,
      ),
    ).toEqual([{ actor: 'gateway:seals' }]);
    // Nobody changes it as it is: the next seal would be the attacker's.
    await expect(setAcquirer(database, OPERATOR, provider, 'bank', { connections: 1 })).rejects.toMatchObject(
      {
        code: 'seal_broken',
      },
    );
    await putBack();
    expect(await problems()).toEqual({});
    thief.server.close();
    // Any part of it alone.
    const parts = [
      `host = 'localhost'`,
      'port = 1',
      'tls = true',
      'mac_keys = NULL, key_encryption_key = NULL',
    ];
    await expectEach([...parts, `dialect = 'ascii87'`, `institution = '1'`], async (change) => {
      await gateway.sqlAs('tollgate_operator', `UPDATE acquirer SET ${change} WHERE name = 'bank'`);
      expect(await problems()).toEqual({ 'acquirer/bank': 'changed' });
      await putBack();
    });
  });

  // catches(directions: a link is sealed with where it leads)
  test('only to another host, another port, or without TLS → told', async () => {
    const putBack = await restored('acquirer', `name = 'bank'`);
    for (const change of [`host = 'thief.example'`, 'port = 9', 'tls = NOT tls', `trusted = 'mine'`]) {
      await gateway.sqlAs('tollgate_operator', `UPDATE acquirer SET ${change} WHERE name = 'bank'`);
      expect(await problems(), change).toEqual({ 'acquirer/bank': 'changed' });
      await putBack();
    }
  });

  // catches(directions: a row that is gone is found)
  test('inserted → not opened; deleted → told, and the link in use stays', async () => {
    const thief = await listening();
    const inserting = `INSERT INTO acquirer (name, kind, mode, host, port, dialect)
      VALUES ('mine', 'iso8583', 'test', '127.0.0.1', ${thief.port}, 'as2805')`;
    await refusedToApplication(inserting);
    await gateway.sqlAs('tollgate_operator', inserting);
    await told('acquirer/mine', 'not sealed');
    expect(thief.received()).toBe(0);
    await gateway.sql(`DELETE FROM acquirer WHERE name = 'mine'`);
    const putBack = await restored('acquirer', `name = 'bank'`);
    await refusedToApplication('DELETE FROM acquirer');
    await gateway.sqlAs('tollgate_operator', `DELETE FROM acquirer`);
    await told('acquirer/bank', 'is gone');
    expect(await problems()).toEqual({ 'acquirer/bank': 'is gone' });
    expect((await gateway.api.purchase()).body.status.transaction_status_code).toBe('approved');
    await putBack();
    thief.server.close();
  });

  // catches(directions: a forged seal is passed over)
  // catches(directions: many forged seals do not make a row new)
  test('with seals forged or copied in the journal → neither helps', async () => {
    const [earlier] = await gateway.sql('SELECT * FROM acquirer');
    const putBack = await restored('acquirer', `name = 'bank'`);
    await setAcquirer(database, OPERATOR, provider, 'bank', { connections: 1 });
    const now = await restored('acquirer', `name = 'bank'`);
    // The row before, with a copy of the entry that sealed it: genuine, and newer by its number.
    await putBack();
    for (const login of LOGINS)
      await gateway.sqlAs(
        login,
        `INSERT INTO journal (actor, action, detail, mark, subject, subject_version, seal)
         SELECT actor, action, detail, mark, subject, subject_version, seal FROM journal
         WHERE subject = 'acquirer/bank' ORDER BY id LIMIT 1`,
      );
    expect(await problems()).toEqual({ 'acquirer/bank': 'changed' });
    await now();
    expect(await problems()).toEqual({});
    const forge = async (count: number) => {
      for (const login of LOGINS)
        await gateway.sqlAs(
          login,
          `INSERT INTO journal (actor, action, subject, subject_version, seal)
           SELECT 'operator:test', 'acquirer.changed', 'acquirer/bank', 2147483647, decode(repeat('00', 32), 'hex')
           FROM generate_series(1, ${count})`,
        );
    };
    await forge(3);
    expect(await problems()).toEqual({});
    await told('acquirer/bank', 'a seal in the journal is forged');
    expect((await tollgate('journal', 'verify')).code).toBe(1);
    await setAcquirer(database, OPERATOR, provider, 'bank', { connections: 2 });
    expect(await problems()).toEqual({});
    expect(earlier).toBeDefined();
    // So many that the genuine one is not found: the row is not taken for a new one.
    await forge(100);
    expect(await problems()).toEqual({ 'acquirer/bank': 'no genuine seal among the newest' });
    await expect(setAcquirer(database, OPERATOR, provider, 'bank', { connections: 1 })).rejects.toMatchObject(
      { code: 'seal_broken' },
    );
    await gateway.sql(`BEGIN; SET LOCAL session_replication_role = replica;
      DELETE FROM journal WHERE subject_version = 2147483647; COMMIT`);
    expect(await problems()).toEqual({});
  });
});

describe('what an attacker writes with the login of operators', () => {
  // catches(directions: nobody acts for a merchant that is not as it was sealed)
  // catches(directions: a merchant is sealed with its link and its terminals)
  test('about a merchant → nobody acts for it', async () => {
    await setSurcharges(database, OPERATOR, 2, [{ scope: 'default', thousandths: 1_000 }]);
    const changes: readonly (readonly [string, string, string])[] = [
      ['its link', 'merchant', `UPDATE merchant SET acquirer = 'bank' WHERE id = 2`],
      [
        'its terminals',
        'merchant',
        `UPDATE merchant SET acceptor_id = 'MINE', terminals = '{T9}' WHERE id = 2`,
      ],
      ['its card days', 'merchant', `UPDATE merchant SET card_days = 3650 WHERE id = 2`],
      ['that it is suspended', 'merchant', `UPDATE merchant SET suspended_at = now() WHERE id = 2`],
      ['its surcharge', 'surcharge_rule', `UPDATE surcharge_rule SET thousandths = 0 WHERE merchant_id = 2`],
      ['a surcharge rule', 'surcharge_rule', `DELETE FROM surcharge_rule WHERE merchant_id = 2`],
      [
        'a plugin',
        'plugin_setting',
        `INSERT INTO plugin_setting (organisation_id, merchant_id, plugin, settings) VALUES (1, 2, 'mine', '{}')`,
      ],
    ];
    await expectEach(changes, async ([, table, change]) => {
      const column = table === 'merchant' ? 'id' : 'merchant_id';
      const putBack = await restored(table, `${column} = 2`);
      await refusedToApplication(change);
      await gateway.sqlAs('tollgate_operator', change);
      await expect.poll(async () => (await gateway.api.purchase({ merchant: 2 })).status, SOON).toBe(503);
      expect(await problems()).toEqual({ 'merchant/2': 'changed' });
      await putBack();
      await expect.poll(async () => (await gateway.api.purchase({ merchant: 2 })).status, SOON).toBe(201);
    });
    await told('merchant/2', 'changed');
    await expect(setMerchant(database, OPERATOR, 2, {})).resolves.toMatchObject({ id: 2 });
  });

  // catches(directions: nothing is sent under altered terminals)
  test('about its terminals, while a payment of it is under way → the host hears nothing under them', async () => {
    const acceptor = { acquirer: 'bank', acceptorId: 'MERCHANT0000009', terminals: ['TERM0009'] };
    const { id } = await addMerchant(database, OPERATOR, 1, 'Shop', { vault: true, ...acceptor });
    const user = await addUser(database, OPERATOR, gateway.credentialKey, 'shop', { merchant: id });
    const api = gateway.as(user);
    const { virtualPan: pan } = await vaultOf(api, id).newToken();
    const putBack = await restored('merchant', `id = ${id}`);
    const lock = await locker(gateway);
    // Who pays is known by then, the terminals not yet.
    await lock.query('LOCK TABLE token IN ACCESS EXCLUSIVE MODE');
    const paying = api.purchase({ pan, merchant: id });
    await somebodyWaits(gateway);
    const sent = at.host.messages().length;
    await gateway.sqlAs('tollgate_operator', `UPDATE merchant SET terminals = '{TERM0001}' WHERE id = ${id}`);
    await lock.rollback();
    const { status, code } = await paying;
    expect([status, code]).toEqual([503, 'not_processed']);
    expect(at.host.messages()).toHaveLength(sent);
    await told(`merchant/${id}`, 'changed');
    await putBack();
    await expect.poll(async () => (await api.purchase({ pan, merchant: id })).status, SOON).toBe(201);
    expect(at.last('0200').fields.get(41)).toBe('TERM0009');
  });

  // catches(directions: routes that are not as they were sealed lead nowhere)
  test('about routes → payments of the merchant go nowhere', async () => {
    await addAcquirer(database, OPERATOR, provider, { name: 'other', address: '127.0.0.1:1', test: true });
    const { id } = await addMerchant(database, OPERATOR, 1, 'Routed');
    const user = await addUser(database, OPERATOR, gateway.credentialKey, 'routed', { merchant: id });
    await setRoute(database, OPERATOR, id, { acquirer: 'simulator', card: 'visa' });
    const putBack = await restored('route', `merchant_id = ${id}`);
    const attack = `UPDATE route SET acquirer = 'other' WHERE merchant_id = ${id}`;
    await refusedToApplication(attack);
    await gateway.sqlAs('tollgate_operator', attack);
    expect((await gateway.as(user).purchase({ merchant: id })).status).toBe(422);
    await told(`routes/${id}`, 'changed');
    expect(await problems()).toEqual({ [`routes/${id}`]: 'changed' });
    await putBack();
    expect((await gateway.as(user).purchase({ merchant: id })).status).toBe(201);
    await refusedToApplication('DELETE FROM route');
    await gateway.sqlAs('tollgate_operator', `DELETE FROM route WHERE merchant_id = ${id}`);
    expect(await problems()).toEqual({ [`routes/${id}`]: 'is gone' });
    await putBack();
  });

  // catches(directions: a gateway says what is changed or gone)
  // catches(directions: a row that is gone is found)
  test('routes, banks or endpoints deleted → every gateway says so by itself, and no card goes over another link', async () => {
    const { id } = await addMerchant(database, OPERATOR, 1, 'Emptied');
    await setMerchant(database, OPERATOR, id, { acquirer: 'bank', acceptorId: 'EMPTIED', terminals: ['E1'] });
    const user = await addUser(database, OPERATOR, gateway.credentialKey, 'emptied', { merchant: id });
    await setRoute(database, OPERATOR, id, { acquirer: 'simulator', order: 1 });
    await setDirectEntry(database, OPERATOR, id, REAL_BANK);
    const means = { provider, networks: [], timeoutMs: 1_000 };
    const { id: endpoint } = await addWebhook(database, OPERATOR, means, {
      url: 'https://example.com/',
      merchant: id,
    });
    expect((await gateway.as(user).purchase({ merchant: id })).status).toBe(201);
    const tables = { route: 'merchant_id', direct_entry: 'merchant_id', webhook_endpoint: 'merchant_id' };
    const back = [];
    for (const [table, column] of Object.entries(tables)) {
      back.push(await restored(table, `${column} = ${id}`));
      await gateway.sqlAs('tollgate_operator', `DELETE FROM ${table} WHERE ${column} = ${id}`);
    }
    // One that runs knows the routes; one that starts finds none, and sends nothing over the link of the merchant itself.
    expect((await gateway.as(user).purchase({ merchant: id })).status).toBe(201);
    const second = await testGateway({ shareWith: gateway });
    for (const subject of [`routes/${id}`, `bank/${id}`, `webhook/${endpoint}`])
      await expect.poll(() => second.logged(), SOON).toContain(`"subject":"${subject}","problem":"is gone"`);
    const { status, code } = await second.as(user).purchase({ merchant: id });
    expect([status, code]).toEqual([422, 'no_acquirer']);
    expect(
      await gateway.sql('SELECT DISTINCT acquirer FROM transaction WHERE merchant_id = $1', [id]),
    ).toEqual([{ acquirer: 'simulator' }]);
    await second.close();
    for (const putBack of back) await putBack();
    expect(await problems()).toEqual({});
    await removeWebhook(database, OPERATOR, endpoint);
  });

  // catches(directions: nothing is lodged with a bank that is not as it was sealed)
  // catches(directions: a bank is sealed with the account that money goes to)
  test('about a bank → nothing is lodged with it, and it is not set', async () => {
    await setDirectEntry(database, OPERATOR, 3, { ...REAL_BANK, simulated: true });
    const putBack = await restored('direct_entry', 'merchant_id = 3');
    const attack = `UPDATE direct_entry SET trace_account = '99999' WHERE merchant_id = 3`;
    await refusedToApplication(attack);
    await gateway.sqlAs('tollgate_operator', attack);
    for (const words of [
      ['directdebit', 'export', '--merchant', '3', '--out', `${gateway.dataDir}/3.aba`],
      ['directdebit', 'show', '--merchant', '3'],
    ]) {
      const { code, stderr } = await tollgate(...words);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining('bank/3 is not as it was sealed (changed)'),
      ]);
    }
    await expect(setDirectEntry(database, OPERATOR, 3, REAL_BANK)).rejects.toMatchObject({
      code: 'seal_broken',
    });
    expect(await problems()).toEqual({ 'bank/3': 'changed' });
    await putBack();
    expect(await problems()).toEqual({});
  });

  // catches(directions: no bank takes debits that is not as it was sealed)
  test('about a bank → no debit is taken in, neither for another bank nor for the simulated one', async () => {
    const debits = async () => {
      const { status, code } = await gateway.api.purchase({ merchant: 2, bankAccount: {} });
      return [status, code];
    };
    const refused = [422, 'no_acquirer'];
    await setDirectEntry(database, OPERATOR, 2, REAL_BANK);
    const putBack = await restored('direct_entry', 'merchant_id = 2');
    expect(await debits()).toEqual([201, undefined]);
    await gateway.sqlAs(
      'tollgate_operator',
      'UPDATE direct_entry SET simulated = true WHERE merchant_id = 2',
    );
    expect(await debits()).toEqual(refused);
    await told('bank/2', 'changed');
    await putBack();
    expect(await debits()).toEqual([201, undefined]);
    await gateway.sqlAs('tollgate_operator', 'DELETE FROM direct_entry WHERE merchant_id = 2');
    expect(await debits()).toEqual(refused);
    await told('bank/2', 'is gone');
    await putBack();
    expect(await problems()).toEqual({});
  });

  // catches(directions: no file is written that is not as it was sealed)
  // catches(directions: a file is sealed with the account that money goes to)
  // catches(schema: a file that a bank has does not look unwritten again)
  test('about a file for a bank → it is not written, and a bank does not get it twice', async () => {
    await gateway.api.purchase({ merchant: 2, bankAccount: {} });
    const exported = (out: string, ...more: string[]) =>
      tollgate('directdebit', 'export', '--merchant', '2', '--out', join(gateway.dataDir, out), ...more);
    expect((await exported('made.aba')).code).toBe(0);
    expect(await problems()).toEqual({});
    const putBack = await restored('directdebit_file', 'merchant_id = 2');
    const settings = `settings = (jsonb_set(settings::jsonb, '{traceAccount}', '"99999"'))::json`;
    for (const change of [settings, 'written_at = NULL'])
      for (const login of ['tollgate_application', 'tollgate_operator'] as const)
        await expect(gateway.sqlAs(login, `UPDATE directdebit_file SET ${change}`)).rejects.toMatchObject({
          constraint: 'directdebit_file_is_kept',
        });
    // Past the triggers, or as a file of the attacker's own.
    const written = async (...more: string[]) => {
      const { code, stderr } = await exported('again.aba', ...more);
      return [code, /(file\/2\/\d+ is not as it was sealed \(.*?\))/.exec(stderr)?.[1]];
    };
    await gateway.sql(`BEGIN; SET LOCAL session_replication_role = replica; UPDATE directdebit_file SET ${settings}
      WHERE merchant_id = 2; COMMIT`);
    expect(await written('--file', '1')).toEqual([1, 'file/2/1 is not as it was sealed (changed)']);
    expect(await problems()).toEqual({ 'file/2/1': 'changed' });
    await putBack();
    await gateway.sqlAs(
      'tollgate_application',
      `INSERT INTO directdebit_file SELECT organisation_id, merchant_id, 2, made_at, processing_day, settings, items,
         debit_cents, credit_cents, NULL, taken_at, simulated FROM directdebit_file WHERE merchant_id = 2`,
    );
    expect(await written()).toEqual([1, 'file/2/2 is not as it was sealed (not sealed)']);
    expect(await problems()).toEqual({ 'file/2/2': 'not sealed' });
    await gateway.sql(`BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM directdebit_file
      WHERE number = 2; COMMIT`);
    expect((await exported('made.aba', '--file', '1')).code).toBe(0);
  });

  // catches(direct debit: lodged with the bank that took it in)
  test('about an item → it is not lodged with another bank than the one that took it in', async () => {
    const { audit } = (await gateway.api.purchase({ merchant: 2, bankAccount: {} })).body;
    const moved = (to: boolean) =>
      gateway.sql(`BEGIN; SET LOCAL session_replication_role = replica; UPDATE directdebit_item SET simulated = ${to}
        WHERE audit = ${audit}; COMMIT`);
    await moved(true);
    const { code, stdout } = await tollgate('keys', 'verify');
    expect([code, stdout]).toEqual([1, expect.stringContaining(`direct debit ${audit}`)]);
    await moved(false);
    expect((await tollgate('keys', 'verify')).code).toBe(0);
  });

  test('put right and sealed with `keys seal` → used again; a user is not sealed so', async () => {
    await gateway.sql('UPDATE merchant SET card_days = 91 WHERE id = 2');
    expect(await problems()).toEqual({ 'merchant/2': 'changed' });
    expect((await tollgate('keys', 'seal', 'merchant/2')).code).toBe(0);
    expect(await problems()).toEqual({});
    const { code, stderr } = await tollgate('keys', 'seal', 'user/owner');
    expect([code, stderr]).toEqual([1, expect.stringContaining('user/owner cannot be sealed as it is')]);
    expect((await tollgate('keys', 'seal', 'merchant/999')).stderr).toContain(
      'there is nothing called merchant/999',
    );
  });
});

describe('rights that were taken away', () => {
  test('a revoked user whose row is put back → 401, and told', async () => {
    const key = gateway.credentialKey;
    const user = await addUser(database, OPERATOR, key, 'leaver', { merchant: 1 });
    expect((await gateway.as(user).lookUp(1)).status).toBe(200);
    const putBack = await restoredByOperator('gateway_user', `username = 'leaver'`);
    await revokeUser(database, OPERATOR, key, 'leaver');
    await refusedToApplication('UPDATE gateway_user SET revoked_at = NULL');
    await putBack();
    await expect.poll(async () => (await gateway.as(user).lookUp(1)).status, SOON).toBe(401);
    await told('user/leaver', 'changed');
    expect(await problems()).toEqual({ 'user/leaver': 'changed' });
    await foundByCommands('user/leaver');
    await revokeUser(database, OPERATOR, key, 'leaver');
    expect(await problems()).toEqual({});
  });

  // catches(operators: nobody whose earlier row was put back)
  test('a removed administrator whose row and sessions are put back → neither signed in nor acting, and told', async () => {
    const key = gateway.credentialKey;
    await signedIn(gateway);
    const leaver = await signedIn(gateway);
    const token = await tokenFor(gateway, leaver.name);
    const subject = `operator/${leaver.name}`;
    const [row, sessions] = [
      await restoredByOperator('operator', `name = '${leaver.name}'`),
      await restoredByOperator('operator_session', `operator = '${leaver.name}'`),
    ];
    expect((await leaver.get('/session')).status).toBe(200);
    await removeOperator(database, OPERATOR, key, leaver.name);
    for (const table of ['operator', 'operator_session']) await refusedToApplication(`DELETE FROM ${table}`);
    await row();
    await sessions();
    const before = await broken('row');
    expect((await leaver.post('/operators', { name: 'mine', role: 'administrator' })).status).toBe(401);
    const acting = await runHere(['organisation', 'add', 'Mine'], {
      DATABASE_URL: gateway.databaseUrl,
      TOLLGATE_DATA_DIR: gateway.dataDir,
      TOLLGATE_OPERATOR_TOKEN: token,
    });
    expect([acting.code, acting.stderr]).toEqual([
      1,
      expect.stringMatching(/the token of the command line is not right/),
    ]);
    await told(subject, 'changed');
    expect(await broken('row')).toBeGreaterThan(before);
    expect(await problems()).toEqual({ [subject]: 'changed' });
    await foundByCommands(subject);
    await expect(
      addOperator(database, OPERATOR, key, '', leaver.name, { role: 'viewer' }),
    ).rejects.toMatchObject({ code: 'operator_exists' });
    await gateway.sql(`DELETE FROM operator_session WHERE operator = '${leaver.name}'`);
    await removeOperator(database, OPERATOR, key, leaver.name);
    expect(await problems()).toEqual({});
  });
});

describe('what was there before there were seals in the journal', () => {
  // catches(directions: what is there is sealed once)
  test('→ sealed at the first start, and what comes afterwards is not', async () => {
    const own = await testGateway();
    const connection = operatorsDatabase(own, 2);
    const insert = (name: string) =>
      own.sql(`INSERT INTO merchant (organisation_id, name) VALUES (1, '${name}') RETURNING id`);
    const [before] = await insert('Before');
    const unsealed = async () =>
      (await verifySubjects(connection, own.credentialKey)).problems.map(({ subject }) => subject);
    expect(await unsealed()).toEqual([`merchant/${before?.id}`]);
    const seal = () => sealWhatIsThere(connection, OPERATOR, own.credentialKey);
    expect(await Promise.all([seal(), seal()])).toEqual(expect.arrayContaining([1, undefined]));
    expect(await unsealed()).toEqual([]);
    expect(await own.sql(`SELECT detail FROM journal WHERE action = 'seals.made' ORDER BY id`)).toEqual([
      { detail: `merchant/${before?.id}` },
      { detail: '1 rows that were there' },
    ]);
    const [after] = await insert('After');
    expect(await seal()).toBeUndefined();
    expect(await unsealed()).toEqual([`merchant/${after?.id}`]);
    await connection.close();
  });
});

// catches(links: in production no live link goes without TLS and MAC unsaid)
test('a live link without TLS or MAC in production → refused until somebody says that they know; added elsewhere → not opened', async () => {
  const wish = { name: 'plain', address: '127.0.0.1:1' };
  await expect(addAcquirer(database, OPERATOR, provider, wish, true)).rejects.toMatchObject({
    code: 'acquirer_unprotected',
  });
  await addAcquirer(database, OPERATOR, provider, { ...wish, plaintextKnown: true }, true);
  await setAcquirer(database, OPERATOR, provider, 'plain', { tls: true }, true);
  expect(await gateway.sql(`SELECT plaintext_known FROM acquirer WHERE name = 'plain'`)).toEqual([
    { plaintext_known: true },
  ]);
  await addAcquirer(database, OPERATOR, provider, { name: 'early', address: wish.address });
  const production = await testGateway({ shareWith: gateway, settings: { ENVIRONMENT: 'production' } });
  await expect.poll(() => production.logged(), SOON).toMatch(/"link":"early".*without TLS/);
  expect(production.logged()).not.toMatch(/"link":"plain".*without TLS/);
  await production.close();
  await vi.waitUntil(async () => Object.keys(await problems()).length === 0, SOON);
});
