// The journal: which changes append an entry, and that nobody can change or remove one.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { operatorOf } from '../../testkit/sealed-rows.js';
import { cardAccount, tokenBody, vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

/** What was written under a correlation ID, in order, without what is not there. */
async function entriesUnder(correlationId: string): Promise<Json[]> {
  const rows = await gateway.sql(
    `SELECT organisation_id, merchant_id, actor, action, customer_id, token_id, audit, detail, at
     FROM journal WHERE correlation_id = $1 ORDER BY id`,
    [correlationId],
  );
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)));
}

const SOMETIME = { at: expect.any(Date) };

describe('entries', () => {
  test('the life of a customer and a token → one entry each, with who, what and under which correlation ID', async () => {
    const { api } = gateway;
    const ids = Array.from({ length: 8 }, () => randomUUID());
    const [made, changed, tokenMade, tokenChanged, paid, tokenDeleted, deleted, again] = ids as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    const who = { ...SOMETIME, organisation_id: 1, merchant_id: 1, actor: 'user:owner' };

    const body = { reference: randomUUID(), name: 'Ada' };
    const { id: customer_id } = (await api.post('/customers', body, made)).body;
    await api.post('/customers', body, again);
    const customer = `/customers/${customer_id}`;
    await api.call(customer, { method: 'PATCH', body: { name: 'Grace' }, correlationId: changed });
    const { id: token_id, virtual_pan } = (await api.post(`${customer}/tokens`, tokenBody(), tokenMade)).body;
    const token = `${customer}/tokens/${token_id}`;
    await api.call(token, {
      method: 'PATCH',
      body: { active: true, account: cardAccount() },
      correlationId: tokenChanged,
    });
    const { audit } = (await api.purchase({ pan: virtual_pan, correlationId: paid })).body;
    await api.call(token, { method: 'DELETE', correlationId: tokenDeleted });
    await api.call(customer, { method: 'DELETE', correlationId: deleted });

    expect(await entriesUnder(made)).toEqual([{ ...who, action: 'customer.created', customer_id }]);
    expect(await entriesUnder(changed)).toEqual([{ ...who, action: 'customer.updated', customer_id }]);
    expect(await entriesUnder(tokenMade)).toEqual([
      { ...who, action: 'token.created', customer_id, token_id },
    ]);
    expect(await entriesUnder(tokenChanged)).toEqual([
      { ...who, action: 'token.updated', customer_id, token_id, detail: 'active, account, seal 2' },
    ]);
    expect(await entriesUnder(paid)).toEqual([{ ...who, action: 'token.opened', token_id, audit }]);
    expect(await entriesUnder(tokenDeleted)).toEqual([
      { ...who, action: 'token.deleted', customer_id, token_id },
    ]);
    expect(await entriesUnder(deleted)).toEqual([{ ...who, action: 'customer.deleted', customer_id }]);
    // A customer that was only found was not made.
    expect(await entriesUnder(again)).toEqual([]);
  });

  test('tokens opened for payments of every kind → one entry for each audit, by the user who paid', async () => {
    const { virtualPan } = await vaultOf(gateway.api, 2).newToken();
    const colleague = gateway.as(gateway.colleague);
    for (const pay of [colleague.purchase, colleague.preauthorise, colleague.standaloneRefund]) {
      const correlationId = randomUUID();
      const { audit } = (await pay({ pan: virtualPan, merchant: 2, correlationId })).body;
      expect(await entriesUnder(correlationId)).toMatchObject([
        { action: 'token.opened', actor: 'user:colleague', merchant_id: 2, audit },
      ]);
    }
    // With a card number nothing is opened.
    const correlationId = randomUUID();
    await colleague.purchase({ merchant: 2, correlationId });
    expect(await entriesUnder(correlationId)).toEqual([]);
  });

  test('refused operations → no entry', async () => {
    const vault = vaultOf(gateway.api);
    const { customerId, id, virtualPan } = await vault.newToken({ active: false });
    const { preferred_name } = (await vault.addToken(customerId)).body;
    const refusals: [string, string, unknown][] = [
      [`/customers/${customerId}/tokens`, 'POST', tokenBody({ preferred_name })],
      [`/customers/${customerId}/tokens/${id}`, 'PATCH', { preferred_name }],
      ['/customers/2147483647', 'PATCH', { name: 'x' }],
      ['/customers/2147483647', 'DELETE', undefined],
      [`/customers/${customerId}/tokens/2147483647`, 'DELETE', undefined],
    ];
    for (const [path, method, body] of refusals) {
      const correlationId = randomUUID();
      const { status } = await gateway.api.call(path, { method, body, correlationId });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(await entriesUnder(correlationId)).toEqual([]);
    }
    const correlationId = randomUUID();
    expect((await gateway.api.purchase({ pan: virtualPan, correlationId })).code).toBe('token_not_usable');
    expect(await entriesUnder(correlationId)).toEqual([]);
  });

  test('keys rotated, rewrapped and destroyed → entries by the operator', async () => {
    await vaultOf(gateway.api).newToken();
    const operator = await operatorOf(gateway);
    await operator.rotation.rotate(1, () => {});
    await operator.rotation.rewrap();
    await gateway.sql(`UPDATE data_key SET created_at = created_at - interval '2 minutes'`);
    await operator.rotation.destroy(1, 1);
    await operator.close();
    const entries = await gateway.sql(
      `SELECT action, merchant_id, detail FROM journal WHERE actor = 'operator:test' AND action LIKE 'keys.%' ORDER BY id`,
    );
    expect(entries).toEqual([
      { action: 'keys.rotation_begun', merchant_id: 1, detail: 'version 2' },
      { action: 'keys.rotated', merchant_id: 1, detail: 'version 2' },
      { action: 'keys.rewrapped', merchant_id: null, detail: expect.stringMatching(/^\d+ data keys$/) },
      { action: 'keys.destroyed', merchant_id: 1, detail: 'version 1' },
    ]);
  });
});

describe('append-only', () => {
  const attempts = [
    `UPDATE journal SET actor = 'nobody'`,
    `UPDATE journal SET detail = detail WHERE id = 1`,
    'DELETE FROM journal',
    'DELETE FROM journal WHERE id = 1',
    'TRUNCATE journal',
    'TRUNCATE journal CASCADE',
    `INSERT INTO journal (id, actor, action) OVERRIDING SYSTEM VALUE VALUES (1, 'x', 'y') ON CONFLICT (id) DO UPDATE SET actor = 'x'`,
    `MERGE INTO journal USING (SELECT 1) AS one ON journal.id = 1 WHEN MATCHED THEN DELETE`,
  ];
  const ofTheApplication = [
    'ALTER TABLE journal DISABLE TRIGGER ALL',
    'DROP TRIGGER journal_append_only ON journal',
    'DROP TABLE journal',
    'CREATE OR REPLACE FUNCTION journal_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$',
    `SET session_replication_role = 'replica'`,
  ];

  async function connected(work: (connection: pg.Client) => Promise<void>): Promise<void> {
    const connection = new pg.Client({ connectionString: gateway.databaseUrl });
    await connection.connect();
    try {
      await work(connection);
    } finally {
      await connection.end();
    }
  }

  const content = () => gateway.sql('SELECT * FROM journal ORDER BY id');

  // catches(schema: the journal is not emptied)
  // catches(schema: the journal is not changed)
  test.each(attempts)('as the owner of the database: %s → refused', async (statement) => {
    await vaultOf(gateway.api).newCustomer();
    const before = await content();
    expect(before).not.toEqual([]);
    await expect(gateway.sql(statement)).rejects.toThrow('the journal is only ever appended to');
    expect(await content()).toEqual(before);
  });

  test.each([...attempts, ...ofTheApplication])(
    'as the role that the gateway works as: %s → refused',
    async (statement) => {
      await vaultOf(gateway.api).newCustomer();
      const before = await content();
      await connected(async (connection) => {
        await connection.query('SET ROLE tollgate_application');
        await expect(connection.query(statement)).rejects.toMatchObject({ code: '42501' });
      });
      expect(await content()).toEqual(before);
    },
  );

  test('as the role that the gateway works as: reading and appending → allowed', async () => {
    await connected(async (connection) => {
      await connection.query('SET ROLE tollgate_application');
      await connection.query(
        `INSERT INTO journal (actor, action) VALUES ('operator:test', 'clock.advanced')`,
      );
      const { rows } = await connection.query(
        `SELECT action FROM journal WHERE actor = 'operator:test' AND action = 'clock.advanced'`,
      );
      expect(rows).toHaveLength(1);
    });
  });

  test('the gateway uses that role: it loses every privilege that the role loses', async () => {
    const vault = vaultOf(gateway.api);
    expect((await vault.searchCustomers()).status).toBe(200);
    await gateway.sql('REVOKE SELECT ON customer FROM tollgate_application');
    try {
      expect((await vault.searchCustomers()).code).toBe('internal_error');
    } finally {
      await gateway.sql('GRANT SELECT ON customer TO tollgate_application');
    }
    expect((await vault.searchCustomers()).status).toBe(200);
  });
});
