// The name and the number of a cell, and the IDs that it gives out by them.

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { runHere } from '../../testkit/command-here.js';
import { testDatabase, testGateway } from '../../testkit/gateway.js';

interface Installation {
  tollgate(...words: string[]): ReturnType<typeof runHere>;
  sql(text: string): Promise<pg.QueryResult['rows']>;
}

/** Without an organisation. */
async function installation(): Promise<Installation> {
  const database = await testDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-cell-'));
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await database.drop();
  });
  return {
    tollgate: (...words) => runHere(words, { DATABASE_URL: database.url, TOLLGATE_DATA_DIR: folder }),
    sql: async (text) => (await client.query(text)).rows,
  };
}

describe('a cell', () => {
  let at: Installation;
  beforeEach(async () => {
    at = await installation();
  });

  const idOf = async (...words: string[]) => JSON.parse((await at.tollgate(...words, '--json')).stdout).id;

  test('is number one unless it is named, and then gives out the IDs of its million', async () => {
    expect((await at.tollgate('cell', 'show')).stdout).toBe(
      'This is cell one, number 1: its IDs go from 1 to 1000000.\n',
    );
    const named = await at.tollgate('cell', 'name', 'three', '--number', '3');
    expect(named).toMatchObject({
      code: 0,
      stdout: 'This is cell three, number 3: its IDs go from 2000001 to 3000000.\n',
    });
    expect(await idOf('organisation', 'add', 'Ours')).toBe(2_000_001);
    expect(await idOf('merchant', 'add', 'Ours', '--organisation', '2000001')).toBe(2_000_001);
    expect((await at.tollgate('user', 'add', 'shop', '--merchant', '2000001')).code).toBe(0);
    expect((await at.tollgate('operator', 'add', 'ada', '--role', 'administrator')).code).toBe(0);
    const numbers =
      await at.sql(`SELECT 'user' AS of, id FROM gateway_user UNION ALL SELECT 'operator', id FROM operator
      UNION ALL SELECT 'endpoint', nextval('webhook_endpoint_id') UNION ALL SELECT 'request', nextval('operator_request_id_seq')`);
    expect(new Set(numbers.map(({ id }) => Number(id)))).toEqual(new Set([2_000_001]));
    expect(await at.sql(`SELECT action, detail FROM journal WHERE action = 'cell.named'`)).toEqual([
      { action: 'cell.named', detail: 'three, number 3' },
    ]);
  });

  test('that ends its million gives out no ID of another cell', async () => {
    await at.tollgate('cell', 'name', 'two', '--number', '2');
    await at.sql(`SELECT setval('organisation_id_seq', 1999999)`);
    expect(await idOf('organisation', 'add', 'Last')).toBe(2_000_000);
    await expect(at.sql(`INSERT INTO organisation (name) VALUES ('More')`)).rejects.toThrow(
      'maximum value of sequence',
    );
  });

  // catches(schema: a cell that has organisations keeps its number)
  test('with an organisation keeps its number, and can be called otherwise; number one may be so named late', async () => {
    expect(await idOf('organisation', 'add', 'Ours')).toBe(1);
    const late = await at.tollgate('cell', 'name', 'two', '--number', '2');
    expect([late.code, late.stderr]).toEqual([
      1,
      'tollgate: this cell has organisations already, and keeps the number 1\n',
    ]);
    expect((await at.tollgate('cell', 'name', 'sydney', '--number', '1')).code).toBe(0);
    expect(await idOf('organisation', 'add', 'Next')).toBe(2);
    await at.sql(`UPDATE organisation SET residence = 'closing' WHERE id = 1`);
    const moving = await at.tollgate('cell', 'name', 'perth', '--number', '1');
    expect([moving.code, moving.stderr]).toEqual([1, expect.stringContaining('an organisation moves')]);
  });

  test('that has given out more than a million is no cell among others', async () => {
    await at.sql(`SELECT setval('operator_request_id_seq', 1000001)`);
    const { code, stderr } = await at.tollgate('cell', 'name', 'one', '--number', '1');
    expect([code, stderr]).toEqual([1, expect.stringContaining('has given out more IDs than cell 1 may')]);
    expect(await at.sql(`SELECT nextval('operator_request_id_seq')::integer AS id`)).toEqual([
      { id: 1_000_002 },
    ]);
  });

  test('numbered again before its first organisation gives no ID twice', async () => {
    expect((await at.tollgate('operator', 'add', 'ada', '--role', 'administrator')).code).toBe(0);
    await at.sql(`UPDATE gateway SET cell_number = 2`);
    await at.sql(`UPDATE gateway SET cell_number = 1`);
    expect(await at.sql(`SELECT nextval('operator_id_seq')::integer AS id`)).toEqual([{ id: 2 }]);
  });

  test('with a wrong name or number → refused', async () => {
    for (const words of [
      ['Two', '--number', '2'],
      ['two', '--number', '0'],
      ['two', '--number', '2001'],
      ['two'],
    ])
      expect((await at.tollgate('cell', 'name', ...words)).code, words.join(' ')).toBe(1);
  });
});

test('only the owner of the tables names a cell', async () => {
  const gateway = await testGateway();
  for (const login of ['tollgate_application', 'tollgate_operator'] as const)
    for (const change of [`cell = 'two'`, 'cell_number = 2'])
      await expect(gateway.sqlAs(login, `UPDATE gateway SET ${change}`)).rejects.toMatchObject({
        code: '42501',
      });
});

test('a restore moves the IDs of a cell on within its million', async () => {
  const at = await installation();
  await at.tollgate('cell', 'name', 'two', '--number', '2');
  await at.tollgate('organisation', 'add', 'Ours');
  expect((await at.tollgate('counters', 'advance', '--taken', '2026-01-01')).code).toBe(0);
  const [next] = await at.sql(`SELECT nextval('organisation_id_seq')::integer AS organisation,
    nextval('merchant_id_seq')::integer AS merchant, nextval('operator_request_id_seq')::integer AS request`);
  expect(next).toEqual({ organisation: 1_010_002, merchant: 1_010_001, request: 1_010_001 });
});
