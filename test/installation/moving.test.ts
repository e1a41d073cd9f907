// An organisation that moves to another cell, and goes on there with everything that it had.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { fleetStatus } from '../../src/gateway/fleet/fleet-status.js';
import { readFleet } from '../../src/installation/fleet/fleet-file.js';
import { FENCED, TABLES } from '../../src/installation/moving/tables.js';
import type { Json } from '../../testkit/client.js';
import { everyEvent } from '../../testkit/event-feed.js';
import { LOGINS, type TestGateway } from '../../testkit/gateway.js';
import { LOST_ANSWER_CARD } from '../../testkit/test-cards.js';
import { type TwoCells, twoCells } from '../../testkit/two-cells.js';
import { type NewToken, vaultOf } from '../../testkit/vault-client.js';
import { startReceiver, type WebhookReceiver } from '../../testkit/webhook-receiver.js';
import { WEBHOOK_SETTINGS, webhooksOf } from '../../testkit/webhooks.js';

const SOON = { timeout: 300_000, interval: 50 };

/** Looked up everywhere, and then never resolved at the source. */
const NEVER_RESOLVED = `
  CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN NEW.resolve_at := now() + interval '1 hour'; RETURN NEW; END $$;
  CREATE TRIGGER held BEFORE UPDATE ON transaction FOR EACH ROW WHEN (NEW.resolve_at IS NOT NULL) EXECUTE FUNCTION held();`;

/** Of a secret that was rotated, the one before works, too. */
const rotated = (stdout: string) => JSON.parse(stdout).password as string;

interface Before {
  readonly purchase: number;
  readonly refunded: number;
  readonly preauthorisation: number;
  readonly toVoid: number;
  readonly debit: number;
  readonly inDoubt: number;
  readonly paidWithToken: number;
  readonly kept: NewToken;
  readonly deleted: NewToken;
  readonly cursor: string;
  readonly newSecret: string;
  readonly lookedUp: Json;
}

let cells: TwoCells;
let shop: WebhookReceiver;
let before: Before;
let moved: Json;
let journal: readonly Json[];
/** What `fleet status` shows while it is closing. */
let underWay: readonly object[];
/** Of the first customer at the destination. */
let toldByTheSource: number;

/**
 * A client whose user the source has read just before it closes, and whom it knows for a moment. Then it is asked about the first customer
 * at the destination.
 */
async function askedBehind({ one, two }: TwoCells): Promise<number> {
  const known = vaultOf(one.as(one.colleague));
  const closed = await heldOpen(one);
  await vi.waitFor(async () => expect(await residenceIn(one)).toBe('closing'), SOON);
  underWay = (await fleetStatus(await readFleet(join(cells.folder, 'fleet.json')))).moves;
  expect((await known.lookUpCustomer(1)).status).toBe(404);
  await closed();
  await vi.waitFor(async () => expect(await residenceIn(two)).toBe('here'), {
    timeout: 300_000,
    interval: 5,
  });
  const customer = await vaultOf(two.as(two.colleague)).newCustomer();
  return (await known.lookUpCustomer(customer)).status;
}

const residenceIn = async (cell: TestGateway) =>
  (await cell.sql<{ residence: string }>('SELECT residence FROM organisation WHERE id = 1'))[0]?.residence;

/** Somebody writes to a table that is fenced when the source closes, until the returned function is called. */
async function heldOpen({ databaseUrl }: TestGateway): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('BEGIN; LOCK TABLE customer IN ROW EXCLUSIVE MODE');
  return () => client.end();
}

const move = (...words: string[]) =>
  cells.command('one', 'organisation', 'move', '1', '--to', 'two', ...words);

beforeAll(async () => {
  // An attempt that is cut off is made again: none is here, however slow the machine.
  cells = await twoCells({ settings: { ...WEBHOOK_SETTINGS, WEBHOOK_TIMEOUT_MS: '30000' } });
  const { one, two } = cells;
  await one.sql(NEVER_RESOLVED);
  shop = await startReceiver();
  const webhooks = webhooksOf(one);
  shop.secret = (await webhooks.add(shop.url, { merchant: 1 })).secret;
  const purchase = (await one.api.purchase()).body.audit;
  const refunded = (await one.api.purchase({ amount: 500 })).body.audit;
  await one.api.refund(refunded, 200);
  const preauthorisation = (await one.api.preauthorise({ amount: 700 })).body.audit;
  const toVoid = (await one.api.purchase({ amount: 300 })).body.audit;
  const debit = (await one.api.purchase({ amount: 900, bankAccount: {} })).body.audit;
  const vault = vaultOf(one.api);
  const kept = await vault.newToken();
  const deleted = await vault.newToken();
  await vault.deleteToken(deleted.customerId, deleted.id);
  const paidWithToken = (await one.api.purchase({ pan: kept.virtualPan })).body.audit;
  const inDoubt = (await one.api.purchase({ pan: LOST_ANSWER_CARD, amount: 400 })).headers
    .get('location')
    ?.split('/')
    .at(-1);
  const { next: cursor } = await everyEvent(one.api);
  const newSecret = rotated(
    (await cells.command('one', 'user', 'rotate', 'owner', '--overlap', '1h', '--json')).stdout,
  );
  const lookedUp = (await one.api.lookUp(purchase)).body;
  await vi.waitFor(() => expect(shop.received.length).toBeGreaterThan(5), SOON);
  await webhooks.close();
  // The destination has trade of its own, with positions of its own.
  await cells.command('two', 'organisation', 'add', 'Neighbour');
  before = {
    purchase,
    refunded,
    preauthorisation,
    toVoid,
    debit,
    inDoubt: Number(inDoubt),
    paidWithToken,
    kept,
    deleted,
    cursor,
    newSecret,
    lookedUp,
  };
  journal = JSON.parse((await cells.command('one', 'journal', 'list', '--merchant', '1', '--json')).stdout);
  const asking = askedBehind(cells);
  const { code, stdout, stderr } = await move('--json');
  if (code !== 0) throw new Error(stderr);
  toldByTheSource = await asking;
  moved = JSON.parse(stdout);
  await two.sql(`UPDATE transaction SET resolve_at = now() WHERE resolve_at IS NOT NULL`);
});
afterAll(async () => {
  await cells?.close();
  await shop?.close();
});

test('every table with an organisation goes along, or says why it does not', async () => {
  const rows = await cells.one.sql<{ name: string }>(`
    SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organisation_id'
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND NOT a.attisdropped`);
  expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(TABLES).sort());
});

// catches(schema: nothing is written of an organisation that is elsewhere)
// catches(schema: nothing is removed of an organisation that is elsewhere)
// catches(roles: nobody else says which move is open)
test('at the source every table that goes along refuses whoever writes', async () => {
  const { one } = cells;
  const fenced = await one.sql<{ name: string }>(`
    SELECT tgrelid::regclass::text AS name FROM pg_trigger WHERE tgname = 'organisation_is_elsewhere' ORDER BY 1`);
  expect(fenced.map(({ name }) => name)).toEqual([...FENCED].sort());
  const late = `INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, transaction_type, currency,
    correlation_id, reference, acquirer) VALUES (1, 999, now(), 1, 1, 'purchase', 'AUD', 'late', 'late', 'simulator')`;
  await expect(one.sqlAs('tollgate_application', late)).rejects.toThrow('not in this cell');
  await expect(
    one.sqlAs('tollgate_operator', 'DELETE FROM route WHERE organisation_id = 1'),
  ).resolves.toBeUndefined();
  await expect(
    one.sqlAs('tollgate_operator', 'DELETE FROM gateway_user WHERE organisation_id = 1'),
  ).rejects.toThrow('not in this cell');
  for (const login of LOGINS)
    await expect(one.sqlAs(login, `UPDATE organisation_move SET state = 'taken back'`)).rejects.toThrow(
      'permission denied',
    );
  // Another organisation goes on.
  expect((await one.as(one.stranger).purchase({ merchant: 4 })).status).toBe(201);
});

// catches(moving: nobody asks the source any more when the destination opens)
test('the source is asked about the first customer at the destination → does not say that it is not there', () => {
  expect([421, 503]).toContain(toldByTheSource);
});

test('fleet status shows the move, and what is left to copy', () => {
  expect(underWay).toMatchObject([
    { organisation: 1, from: 'one', to: 'two', step: 'closing', transactionsLeft: 0, worked: true },
  ]);
});

// catches(moving: the destination claims nothing that it received before the source was closed)
test('what the destination has received before the source was closed is not claimed there', async () => {
  const [organisation] = await cells.two.sql<{ later: boolean }>(
    'SELECT arrived_absence > 0 AS later FROM organisation WHERE id = 1',
  );
  expect(organisation).toEqual({ later: true });
});

test('the source says where to call, and the destination answers', async () => {
  const { one, two } = cells;
  // Its gateway may know for a moment only that the organisation is closed.
  const answer = await vi.waitUntil(async () => {
    const answer = await one.api.purchase();
    return answer.status !== 503 && answer;
  }, SOON);
  expect([answer.status, answer.code, answer.body._links.base.href]).toEqual([
    421,
    'organisation_moved',
    'https://two.pay.example/',
  ]);
  expect((await two.api.lookUp(before.purchase)).body).toEqual(before.lookedUp);
  expect(moved).toMatchObject({ outcome: 'moved', from: 'one', to: 'two', in_doubt: 1, broken: [] });
});

describe('what was done before goes on', () => {
  test('refund, completion, void', async () => {
    const { api } = cells.two;
    expect((await api.refund(before.purchase, 100)).body.status.transaction_status_code).toBe('approved');
    expect((await api.refund(before.refunded, 301)).code).toBe('refund_exceeds_original');
    expect((await api.refund(before.refunded, 300)).status).toBe(201);
    expect((await api.complete(before.preauthorisation, 700)).body.status.transaction_status_code).toBe(
      'approved',
    );
    expect((await api.void(before.toVoid)).body.status.transaction_status_code).toBe('approved');
  });

  // catches(moved: what another cell has sent keeps the name that it was sent under)
  test('in doubt → the destination asks under the name that the source has sent it under', async () => {
    const { one, two } = cells;
    const decided = await two.api.decided(before.inDoubt);
    expect(decided.status).toMatchObject({ transaction_status_code: 'approved' });
    const [{ installation }] = (await one.sql('SELECT installation FROM gateway')) as [
      { installation: string },
    ];
    const references = (await one.ledger()).map(({ reference }) => reference);
    expect(references).toContain(`${installation}-1-${before.inDoubt}`);
    // What is sent from now on has the name of the destination.
    const later = (await two.api.purchase()).body.audit;
    expect((await two.ledger()).map(({ reference }) => reference)).toContain(`SECOND-1-${later}`);
    expect(later).toBeGreaterThan(before.inDoubt);
  });

  test('tokens pay, and one that was deleted stays deleted', async () => {
    const { api } = cells.two;
    expect((await api.purchase({ pan: before.kept.virtualPan })).status).toBe(201);
    expect((await api.purchase({ pan: before.deleted.virtualPan })).status).toBe(422);
    expect((await api.refund(before.paidWithToken, 100)).status).toBe(201);
    expect((await vaultOf(api).newToken()).id).toBeGreaterThan(before.deleted.id);
  });

  test('secrets of users, both while they overlap; a new one is of the destination', async () => {
    const { two } = cells;
    const { username } = two.owner;
    expect((await two.api.get('/events')).status).toBe(200);
    expect((await two.as({ username, password: before.newSecret }).get('/events')).status).toBe(200);
    expect((await two.as({ username, password: 'wrong' }).get('/events')).status).toBe(401);
    expect((await two.as(two.colleague).purchase({ merchant: 2 })).status).toBe(201);
    const password = rotated((await cells.command('two', 'user', 'rotate', 'colleague', '--json')).stdout);
    await vi.waitFor(
      async () => expect((await two.as(two.colleague).purchase({ merchant: 2 })).status).toBe(401),
      SOON,
    );
    expect((await two.as({ username: 'colleague', password }).purchase({ merchant: 2 })).status).toBe(201);
  });

  test('a cursor of the source goes on behind what it has shown', async () => {
    const { api } = cells.two;
    const paid = (await api.purchase({ reference: 'after-the-move' })).body.audit;
    const { events } = await everyEvent(api, before.cursor);
    const told = events.map(({ data }) => data.audit);
    expect(told).toContain(paid);
    expect(told).not.toContain(before.purchase);
    const all = (await everyEvent(api)).events.map(({ id }) => id);
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThan(told.length);
  });

  test('webhooks are sent from where they were, under the same secret', async () => {
    const paid = (await cells.two.api.purchase()).body.audit;
    await vi.waitFor(
      () => expect(shop.received.map(({ id }) => id)).toContain(`evt_1_transaction_${paid}_1`),
      SOON,
    );
    expect(shop.received.every(({ genuine }) => genuine)).toBe(true);
    const ids = shop.received.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('direct debits wait for their bank', async () => {
    const { two } = cells;
    const [item] = await two.sql('SELECT state FROM directdebit_item WHERE audit = $1', [before.debit]);
    expect(item).toEqual({ state: 'waiting' });
    expect((await two.api.void(before.debit)).status).toBe(201);
  });

  // catches(moved: an acquirer's line is about what the installation that it names has sent)
  test('an acquirer’s file is matched under the names that both cells have sent', async () => {
    const { one, two, folder } = cells;
    const day = before.lookedUp.status.acquirer.settlement_date;
    const [{ installation }] = (await one.sql('SELECT installation FROM gateway')) as [
      { installation: string },
    ];
    const file = join(folder, 'acquirer.csv');
    const line = (name: string, audit: number) => `${name}-1-${audit},purchase,10000,AUD\n`;
    const own = (await two.api.purchase()).body.audit;
    await writeFile(
      file,
      `reference,transaction_type,amount_cents,currency\n${line(installation, before.purchase)}${line('SECOND', own)}${line('SECOND', before.paidWithToken)}`,
    );
    const reconciled = await cells.command(
      'two',
      'settlement',
      'reconcile',
      file,
      '--acquirer',
      'simulator',
      '--date',
      day,
      '--json',
    );
    expect(JSON.parse(reconciled.stdout)).toMatchObject({ matched: 2, missing_here: 1 });
  });

  test('settlement and figures count it where it is', async () => {
    const { two } = cells;
    const [sums] = await two.sql(
      `
      SELECT (SELECT sum(count)::integer FROM figures_by_hour WHERE organisation_id = 1) AS own,
        (SELECT sum(count)::integer FROM figures_by_hour WHERE organisation_id = 0) AS totals,
        (SELECT count(*)::integer FROM settlement_entry WHERE organisation_id = 1 AND audit = $1) AS settled`,
      [before.purchase],
    );
    expect(sums).toMatchObject({ own: sums?.totals, settled: 1 });
    const check = await cells.command('two', 'figures', 'check', '--json');
    expect(JSON.parse(check.stdout)).toMatchObject({ wrong: [] });
  });
});

test('the journals of both cells are whole, and say what was moved; the history goes along', async () => {
  for (const cell of ['one', 'two'] as const) {
    expect(JSON.parse((await cells.command(cell, 'journal', 'verify', '--json')).stdout)).toMatchObject({
      problems: [],
    });
    expect(JSON.parse((await cells.command(cell, 'keys', 'verify', '--json')).stdout)).toMatchObject({
      problems: [],
    });
  }
  const shown = JSON.parse(
    (await cells.command('two', 'journal', 'list', '--merchant', '1', '--limit', '500', '--json')).stdout,
  ) as Json[];
  const told = ({ at, actor, action, detail }: Json) => JSON.stringify([at, actor, action, detail]);
  const there = new Set(shown.map(told));
  expect(journal.filter((entry) => !there.has(told(entry)))).toEqual([]);
  const said = async (cell: 'one' | 'two', action: string) =>
    JSON.parse((await cells.command(cell, 'journal', 'list', '--action', action, '--json')).stdout)[0].detail;
  expect(await said('one', 'organisation.moved')).toContain(moved.sha256);
  expect(await said('two', 'organisation.arrived')).toContain(moved.sha256);
});

// catches(moving: what was opened is not taken back)
test('--take-back after the destination has opened, and before the source has left → refused', async () => {
  await cells.one.sql('UPDATE organisation_move SET ended_at = NULL');
  expect((await move('--take-back')).stderr).toContain('pays in cell two by now');
  await cells.one.sql('UPDATE organisation_move SET ended_at = now()');
});

test('run again → has moved already; --finish → only the destination can open its cards', async () => {
  const again = await move('--json');
  expect(again.code).toBe(1);
  expect(again.stderr).toContain('moves, or has moved');
  expect((await move('--finish')).stdout).toContain('in two only');
  const [{ left }] = (await cells.one.sql(
    `SELECT count(*)::integer AS left FROM data_key WHERE organisation_id = 1 AND wrapped <> ''`,
  )) as [{ left: number }];
  expect(left).toBe(0);
  expect((await cells.two.api.purchase({ pan: before.kept.virtualPan })).status).toBe(201);
  expect((await cells.command('one', 'keys', 'verify')).code).toBe(0);
  expect((await cells.command('one', 'keys', 'rotate', '--key-encryption-key')).code).toBe(0);
});

// catches(moving: what has gone at the source goes at the destination)
// A second journey, back to where it came from: what stayed there is brought up to date.
test('back again → the first cell goes on with what was done in the second', async () => {
  const { one, two } = cells;
  const paid = (await two.api.purchase({ amount: 800 })).body.audit;
  await vaultOf(two.api).deleteCustomer(before.deleted.customerId);
  const back = await cells.command('two', 'organisation', 'move', '1', '--to', 'one', '--json');
  expect([back.code, back.stderr]).toEqual([0, '']);
  await vi.waitFor(async () => expect((await two.api.purchase()).status).toBe(421), SOON);
  await vi.waitFor(async () => expect((await one.api.refund(paid, 800)).status).toBe(201), SOON);
  expect((await one.api.refund(before.purchase, 100)).status).toBe(201);
  expect((await one.api.purchase({ pan: before.kept.virtualPan })).status).toBe(201);
  expect((await one.api.purchase({ pan: before.deleted.virtualPan })).status).toBe(422);
  for (const cell of ['one', 'two'] as const)
    for (const what of ['journal', 'keys'])
      expect(JSON.parse((await cells.command(cell, what, 'verify', '--json')).stdout)).toMatchObject({
        problems: [],
      });
  // Nobody is elsewhere, and nothing is left of the fence.
  expect((await vaultOf(one.api).lookUpCustomer(before.deleted.customerId)).status).toBe(404);
  expect(await one.sql(`SELECT FROM pg_trigger WHERE tgname LIKE 'organisation_is_elsewhere%'`)).toHaveLength(
    0,
  );
});
