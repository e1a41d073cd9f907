// The feed of events as a merchant's backend server follows it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventCursors } from '../../src/events/feed.js';
import { Database } from '../../src/postgres/database.js';
import type { OrganisationId } from '../../src/values/ids.js';
import type { Json } from '../../testkit/client.js';
import { everyEvent, nextOf } from '../../testkit/event-feed.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { locker } from '../../testkit/locks.js';
import { answered, ScriptedAcquirer } from '../../testkit/scripted-acquirer.js';

const acquirer = new ScriptedAcquirer();
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ acquirers: [acquirer] });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted' WHERE id = 1`);
});
afterAll(() => gateway.close());

/** Where the feed ends now. */
async function end(): Promise<string> {
  return (await everyEvent(gateway.api)).next;
}

async function since(next: string): Promise<Json[]> {
  return (await everyEvent(gateway.api, next)).events;
}

test('purchase → its event appears at once, with what a look-up shows except payment details and links', async () => {
  const from = await end();
  const { audit } = (await gateway.api.purchase({ kvps: { 'ORDER.NUMBER': '7' } })).body;
  const { body } = await gateway.api.get(from);
  const look = (await gateway.api.lookUp(audit)).body;
  const { payment_method, ...transaction } = look.transaction;
  expect(payment_method.creditcard.pan).toBe('411111******1111');
  expect(body.results).toEqual([
    {
      id: `evt_1_transaction_${audit}_1`,
      type: 'transaction.approved',
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+1[01]:00$/),
      merchant: { id: 1 },
      version: 1,
      data: {
        ...look,
        transaction,
        kvps: { 'GATEWAY.REQUEST.KVP.ORDER.NUMBER': '7', 'GATEWAY.RESPONSE.KVP.MODE': 'test' },
        _links: { self: look._links.self },
      },
    },
  ]);
});

test('pages of one event → every event once, oldest first; the last `next` leads to later ones, and keeps the query', async () => {
  const from = await end();
  const audits = [];
  for (let made = 0; made < 5; made += 1) audits.push((await gateway.api.purchase()).body.audit);
  const { events, next } = await everyEvent(gateway.api, from.replace('limit=100', 'limit=1'));
  expect(events.map(({ data }) => data.audit)).toEqual(audits);
  expect(next).toContain('limit=1&');
  expect((await gateway.api.get(next)).body.results).toEqual([]);
  const { audit } = (await gateway.api.purchase()).body;
  expect((await since(next)).map(({ data }) => data.audit)).toEqual([audit]);
});

// catches(events: what was in doubt is told without what was found later)
test('purchase in doubt, decided, voided → each event shows the status of its time, not the current one', async () => {
  const from = await end();
  acquirer.nextAnswers(() => ({ kind: 'unknown', reason: 'unreadable' }));
  acquirer.nextFindings(() => answered('00'));
  const doubtful = await gateway.api.purchase();
  const audit = Number(doubtful.headers.get('location')?.split('/').at(-1));
  await gateway.api.decided(audit);
  const approved = (await gateway.api.lookUp(audit)).body.status;
  await gateway.api.void(audit);
  const voided = (await gateway.api.lookUp(audit)).body.status;
  const told = (await since(from)).filter(({ data }) => data.audit === audit);
  expect(told.map(({ type, version, data }) => [type, version, data.status])).toEqual([
    [
      'transaction.unknown',
      1,
      {
        gateway_status_code: -99,
        gateway_status_message: 'Not known yet; being resolved',
        transaction_status_code: 'unknown',
        acquirer: {},
      },
    ],
    ['transaction.approved', 2, approved],
    ['transaction.voided', 3, voided],
  ]);
});

test('refund by audit → names its target', async () => {
  const from = await end();
  const { audit } = (await gateway.api.purchase({ amount: 100 })).body;
  const refund = (await gateway.api.refund(audit, 40)).body.audit;
  const [, told] = await since(from);
  expect(told.data.transaction.target_audit).toBe(audit);
  expect(told.data._links).toEqual({
    self: { href: `/v1/transactions/${refund}` },
    target: { href: `/v1/transactions/${audit}` },
  });
});

test('direct debits that clear or are returned late → each event shows what a look-up showed then', async () => {
  const own = await testGateway();
  const { audit } = (await own.api.purchase({ bankAccount: { account_number: '900006' } })).body;
  const pending = (await own.api.lookUp(audit)).body.status;
  await own.advance('12d');
  const returned = (await own.api.lookUp(audit)).body.status;
  const clears = (await own.api.purchase({ bankAccount: {} })).body.audit;
  await own.advance('12d');
  const cleared = (await own.api.lookUp(clears)).body.status;
  const told = (await everyEvent(own.api)).events;
  const statuses = (of: number) =>
    told.filter(({ data }) => data.audit === of).map(({ type, data }) => [type, data.status]);
  expect(statuses(audit)).toEqual([
    ['transaction.pending', pending],
    ['directdebit.returned', returned],
  ]);
  expect(statuses(clears)).toEqual([
    ['transaction.pending', pending],
    ['transaction.approved', cleared],
  ]);
  // As the import of a late return leaves it.
  await own.sql(`
    UPDATE transaction SET status = 'declined', response_code = '6', response_message = 'Refer to drawer' WHERE audit = ${clears}`);
  const later = (await everyEvent(own.api)).events.filter(({ data }) => data.audit === clears);
  expect(later.map(({ data }) => data.status)).toEqual([pending, cleared]);
  expect(told[0].data.transaction).toMatchObject({ directdebit_mode: 'debit' });
  expect(JSON.stringify(told)).not.toContain('bankaccount');
});

// catches(events: a merchant reads its own)
test('other merchants of the same user → each has its own feed', async () => {
  const from = `/events?merchant_id=2&after=${new URLSearchParams((await end()).split('?')[1]).get('after')}`;
  const { audit } = (await gateway.api.purchase({ merchant: 2 })).body;
  await gateway.api.purchase();
  const { events, next } = await everyEvent(gateway.api, from);
  expect(events.map(({ data, merchant }) => [data.audit, merchant.id])).toEqual([[audit, 2]]);
  expect(next).toContain('merchant_id=2');
});

test('cursor of a merchant without events → stays the same, however busy others are', async () => {
  const idle = await gateway.api.get('/events?merchant_id=3');
  await gateway.api.purchase();
  const later = await gateway.api.get('/events?merchant_id=3');
  expect(later.text).toBe(idle.text);
  expect((await gateway.api.get(nextOf(idle.body))).text).toBe(idle.text);
});

test('open database transaction that has written → does not delay others’ events; its own appear when it commits', async () => {
  const { audit } = (await gateway.api.purchase()).body;
  const from = await end();
  const { query, commit } = await locker(gateway);
  await query(
    `INSERT INTO event (organisation_id, merchant_id, subject, version, type, created_at)
     VALUES (1, 1, $1, 2, 'transaction.voided', now())`,
    [audit],
  );
  const later = (await gateway.api.purchase()).body.audit;
  const { events, next } = await everyEvent(gateway.api, from);
  expect(events.map(({ data }) => data.audit)).toEqual([later]);
  await commit();
  expect((await since(next)).map(({ data }) => data.audit)).toEqual([audit]);
});

// catches(events: those of one round go by when they were written, and not by when their transactions began)
test('a later version whose transaction began first → comes after the earlier one', async () => {
  const from = await end();
  const [early, late] = [await locker(gateway), await locker(gateway)];
  const insert = `INSERT INTO event (organisation_id, merchant_id, subject, version, type, created_at, data)
    VALUES (1, 1, 77, $1, 'customer.updated', now(), '{"name":"","reference":""}')`;
  // Has a transaction ID before the other, and an event after it.
  await early.query('UPDATE organisation SET name = name WHERE id = 2');
  await late.query(insert, [1]);
  await late.commit();
  await early.query(insert, [2]);
  await early.commit();
  expect((await since(from)).map(({ version }) => version)).toEqual([1, 2]);
});

test('wait → an empty response is delayed until an event comes, or until the timeout', async () => {
  const from = await end();
  const waiting = gateway.api.get(`${from}&wait=20`);
  const nothing = await gateway.api.get(`${from}&wait=1`);
  expect(nothing.body.results).toEqual([]);
  expect(nextOf(nothing.body)).toContain('wait=1');
  const { audit } = (await gateway.api.purchase()).body;
  const { body } = await waiting;
  expect(body.results.map(({ data }: Json) => data.audit)).toEqual([audit]);
});

test('wait at one process, purchase at another → the waiting request gets the event', async () => {
  const second = await testGateway({ acquirers: [acquirer], shareWith: gateway });
  const from = await end();
  const waiting = second.api.get(`${from}&wait=20`);
  const { audit } = (await gateway.api.purchase()).body;
  expect((await waiting).body.results.map(({ data }: Json) => data.audit)).toEqual([audit]);
  await second.close();
});

test('gateway that is stopped while a request waits → answers at once, with a cursor that continues', async () => {
  const second = await testGateway({ acquirers: [acquirer], shareWith: gateway });
  const from = await end();
  const waiting = second.api.get(`${from}&wait=30`);
  // Others make the whole way meanwhile.
  for (let asked = 0; asked < 3; asked += 1) await second.api.get(from);
  await second.close();
  const { status, body } = await waiting;
  expect(status).toBe(200);
  const { audit } = (await gateway.api.purchase()).body;
  const next = nextOf(body).replace('wait=30', 'wait=0');
  expect((await since(next)).map(({ data }) => data.audit)).toEqual([audit]);
});

test.each([
  ['limit=0', 'field_out_of_range query/limit'],
  ['limit=101', 'field_out_of_range query/limit'],
  ['wait=31', 'field_out_of_range query/wait'],
  ['wait=-1', 'field_type query/wait'],
  ['after=', 'field_format query/after'],
  ['after=%2B', 'field_format query/after'],
  ['after=MTox', 'field_format query/after'],
  ['after=AAAAAAAAAAAAAAAAAAAAAA', 'field_format query/after'],
  [`after=${'A'.repeat(41)}`, 'field_too_long query/after'],
])('%s → 422 %s', async (query, error) => {
  const { status, errors } = await gateway.api.get(`/events?${query}`);
  expect([status, errors]).toEqual([422, [error]]);
});

// catches(events: a cursor behind which events are forgotten is refused)
test('cursor older than the kept events → 422; without a cursor the feed begins with the oldest', async () => {
  const own = await testGateway();
  const { audit } = (await own.api.purchase()).body;
  const { body } = await own.api.get('/events?limit=1');
  const first = nextOf(body);
  await own.api.purchase();
  expect((await everyEvent(own.api)).events).toHaveLength(2);
  // As if both had happened 40 days ago, and nobody had run a gateway since.
  await own.sql(`
    WITH moved AS (DELETE FROM event_feed RETURNING *)
    INSERT INTO event_feed SELECT position - 400000000000, created_at, organisation_id, merchant_id, subject, version,
      (position / 10000000000 - 40) % 64, type, data FROM moved`);
  await own.sql('UPDATE event_sequencer SET position = position - 400000000000, day = day - 40');
  const ownDatabase = new Database(own.databaseUrl, { maxConnections: 1 });
  const cursors = await eventCursors(ownDatabase);
  await ownDatabase.close();
  const after = new URLSearchParams(first.split('?')[1]).get('after') ?? '';
  const cursor = (await cursors.decode(after, 1 as OrganisationId)) as number;
  const old = `/events?limit=1&after=${cursors.encode(cursor - 400_000_000_000)}`;
  expect((await own.api.get(old)).body.results).toHaveLength(1);
  await own.sql('SELECT forget_events(30)');
  const { status, errors } = await own.api.get(old);
  expect([status, errors]).toEqual([422, ['field_out_of_range query/after']]);
  const kept = (await own.api.purchase()).body.audit;
  const { events } = await everyEvent(own.api);
  expect(events.map(({ data }) => data.audit)).toEqual([kept]);
  expect(audit).not.toBe(kept);
});
