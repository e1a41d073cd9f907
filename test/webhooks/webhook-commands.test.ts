// `tollgate webhook …` as an operator or a script runs it: its output, its refusals, and its journal entries.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { locker, waitingForLocks } from '../../testkit/locks.js';
import { isGenuine, startReceiver, type WebhookReceiver } from '../../testkit/webhook-receiver.js';
import { type TestWebhooks, until, WEBHOOK_SETTINGS, webhooksOf } from '../../testkit/webhooks.js';

let gateway: TestGateway;
let webhooks: TestWebhooks;
let shop: WebhookReceiver;

beforeAll(async () => {
  gateway = await testGateway({ settings: WEBHOOK_SETTINGS });
  webhooks = webhooksOf(gateway);
  shop = await startReceiver();
});
afterAll(async () => {
  await shop.close();
  await webhooks.close();
  await gateway.close();
});

const { json, text, refusal } = commands((line) => webhooks.tollgate(...wordsOf(line)));

const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;

test('add → ID, URL and secret, once; list → everything but the secret; the database holds it sealed', async () => {
  const url = `${shop.url}?shop=1`;
  const added = await json(`add ${url} --merchant 1 --types transaction.approved,token.deleted`);
  expect(added).toEqual({ id: expect.any(Number), url, secret: expect.stringMatching(SECRET) });
  expect(await json('list --merchant 1')).toEqual([
    {
      id: added.id,
      merchant: 1,
      mode: 'test',
      url,
      types: ['transaction.approved', 'token.deleted'],
      state: 'enabled',
      because: null,
      since: null,
      waiting: 0,
      delivered_at: null,
    },
  ]);
  expect(await text('list --merchant 3')).toBe('None.');
  const secret = Buffer.from(added.secret.slice(6), 'base64');
  const [row] = await gateway.sql<{ row: string; sealed: Buffer }>(
    'SELECT e::text AS row, sealed FROM webhook_endpoint e WHERE id = $1',
    [added.id],
  );
  expect(row?.row).not.toContain(added.secret.slice(6, 20));
  expect(row?.sealed.includes(secret) || row?.sealed.includes(added.secret)).toBe(false);
  await webhooks.remove(added.id);
});

test('test → sends a signed test message and shows the response; deliveries → lists it', async () => {
  const { id, secret } = await webhooks.add(shop.url, { merchant: 2 });
  shop.secret = secret;
  const tested = await json(`test ${id}`);
  expect(tested).toEqual({
    id,
    event: expect.stringMatching(/^evt_test_/),
    result: 'delivered',
    http_status: 204,
    duration_ms: expect.any(Number),
    response: null,
  });
  const got = shop.received.find((each) => each.id === tested.event);
  expect(got).toMatchObject({ genuine: true, body: { type: 'webhook.test', merchant: { id: 2 }, data: {} } });
  shop.behave = (_, response) => {
    response.writeHead(500).end('out of order');
    return undefined;
  };
  const failed = await webhooks.tollgate('test', String(id));
  expect([failed.code, failed.stderr]).toEqual([1, '']);
  expect(failed.stdout).toMatch(/^Webhook endpoint \d+: refused, HTTP 500, after \d+ ms\.\n$/);
  shop.behave = () => 204;
  const [newest, oldest] = await json(`deliveries ${id} --limit 2`);
  expect(newest).toMatchObject({ result: 'refused', http_status: 500, response: 'out of order' });
  expect(oldest).toMatchObject({
    event: tested.event,
    type: 'webhook.test',
    attempt: 1,
    version: 1,
    response: null,
  });
  // It is no event, and cannot be sent again.
  expect(await refusal(`replay ${id} --from ${tested.event}`)).toMatch(/^there is no event evt_test_/);
  expect(await refusal(`resend ${id} ${tested.event}`)).toMatch(/^there is no event evt_test_/);
  expect(got?.body.created).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+1[01]:00$/);
});

test('rotate --help → shows in hours how long the old secret stays valid', async () => {
  const { stdout } = await webhooks.tollgate('rotate', '--help');
  expect(stdout).toMatch(/--overlap <duration> .*\(default: 24h\)/);
});

test('resend → only that event, with its ID, even if it was delivered; journalled', async () => {
  const own = await webhooks.endpoint();
  const audits: number[] = [];
  for (let count = 0; count < 3; count += 1) audits.push((await gateway.api.purchase()).body.audit);
  await until(() => own.shop.received.length === 3);
  const event = `evt_1_transaction_${audits[1]}_1`;
  expect(await text(`resend ${own.id} ${event}`)).toBe(`Webhook endpoint ${own.id} gets ${event} again.`);
  await until(() => own.shop.received.length === 4);
  expect(own.shop.received.at(-1)).toMatchObject({ id: event, genuine: true });
  await until(async () => (await webhooks.view(own.id)).waiting === 0);
  // Nothing else followed.
  const last = `evt_1_transaction_${(await gateway.api.purchase()).body.audit}_1`;
  await until(() => own.shop.received.length === 5);
  expect(own.shop.received.at(-1)?.id).toBe(last);
  const told = await gateway.sql(`SELECT detail FROM journal WHERE action = 'webhook.resent'`);
  expect(told).toEqual([{ detail: expect.stringMatching(new RegExp(`^endpoint ${own.id}, .*, ${event}$`)) }]);
  expect(await refusal(`resend ${own.id} evt_1_transaction_999999_1`)).toMatch(/^there is no event/);
});

test('resend of an event, while a later one about the same subject waits → the later one follows it', async () => {
  const own = await webhooks.endpoint();
  const { audit } = (await gateway.api.purchase()).body;
  await until(() => own.shop.received.length === 1);
  own.shop.behave = () => 500;
  await gateway.api.void(audit);
  const [first, second] = [1, 2].map((version) => `evt_1_transaction_${audit}_${version}`) as [
    string,
    string,
  ];
  await until(async () => (await webhooks.view(own.id)).waiting === 2);
  await gateway.sql(
    `UPDATE webhook_delivery SET next_at = now() + interval '1 hour' WHERE endpoint_id = $1`,
    [own.id],
  );
  await json(`resend ${own.id} ${first}`);
  await until(async () => (await webhooks.view(own.id)).waiting === 3);
  own.shop.received.length = 0;
  own.shop.behave = () => 204;
  await webhooks.enable(own.id);
  await until(() => own.shop.received.some(({ id }) => id === second));
  const ofSubject = own.shop.received.map(({ id }) => id).filter((id) => [first, second].includes(id));
  expect(ofSubject).toEqual([first, second]);
});

test('rotate → a new secret; both sign while they overlap', async () => {
  const { id, secret: old } = await webhooks.add(shop.url, { merchant: 3 });
  const { secret: renewed, ...rest } = await json(`rotate ${id} --overlap 1h`);
  expect(rest).toEqual({ id, url: shop.url });
  expect(renewed).toMatch(SECRET);
  const { event } = await webhooks.test(id);
  const got = shop.received.find((each) => each.id === event) ?? expect.fail();
  expect(got.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
  expect([old, renewed].map((secret) => isGenuine(secret, got.text, got.headers))).toEqual([true, true]);
});

test('disable, enable, remove → confirmed; the journal has who did what, without path and secret', async () => {
  const { id } = await webhooks.add(`${shop.url}/a-secret-path`, { merchant: 4 });
  expect(await json(`disable ${id}`)).toMatchObject({ id, state: 'disabled', because: 'operator' });
  expect(await text(`disable ${id}`)).toBe(`Webhook endpoint ${id} is disabled.`);
  expect(await text(`enable ${id}`)).toBe(`Webhook endpoint ${id} is enabled.`);
  expect(await text(`remove ${id}`)).toBe(`Webhook endpoint ${id} is removed.`);
  expect(await json('list --merchant 4')).toEqual([]);
  const told = await gateway.sql<{ action: string; detail: string }>(
    `SELECT action, detail FROM journal WHERE merchant_id = 4 AND action LIKE 'webhook.%' ORDER BY id`,
  );
  expect(told.map(({ action }) => action)).toEqual([
    'webhook.added',
    'webhook.disabled',
    'webhook.disabled',
    'webhook.enabled',
    'webhook.removed',
  ]);
  for (const { detail } of told) expect(detail).toBe(`endpoint ${id}, ${new URL(shop.url).host}`);
});

test.each([
  ['add https://10.0.0.1/ --merchant 1', /^a webhook’s URL must not lead to an address that is not public/],
  ['add https://0xa.1/ --merchant 1', /^a webhook’s URL must not lead/],
  ['add https://169.254.169.254/latest --merchant 1', /^a webhook’s URL must not lead/],
  ['add https://[::1]/ --merchant 1', /^a webhook’s URL must not lead/],
  ['add http://example.com/ --merchant 99', /^there is no merchant 99$/],
  ['add http://8.8.8.8/ --merchant 1', /^a webhook’s URL must begin with https/],
  ['add https://user:secret@example.com/ --merchant 1', /^a webhook’s URL must not hold a user name/],
  ['add nonsense --merchant 1', /^a webhook’s URL must be one such as https/],
  [
    'add https://example.com/ --merchant 1 --types ,',
    /^no event type is named; there are transaction\.unknown, /,
  ],
  [
    'add https://example.com/ --merchant 1 --types transaction.paid',
    /^there is no event type transaction\.paid; there are/,
  ],
  ['disable 999', /^there is no webhook endpoint 999$/],
  ['deliveries 999', /^there is no webhook endpoint 999$/],
  // catches(webhooks: an address that is forbidden cannot be added) processes
])('%s → refused in one line', async (line, expected) => {
  const said = await refusal(line);
  expect(said).toMatch(expected);
  expect(said).not.toContain('secret@');
});

// catches(webhooks: two that are added at once are counted)
test('more endpoints than a merchant may have → refused, even when several are added at once', async () => {
  const { sql } = gateway;
  const have = (await sql('SELECT 1 FROM webhook_endpoint WHERE merchant_id = 1')).length;
  for (let number = have; number < 15; number += 1) await webhooks.add(shop.url);
  // Endpoints can be counted, and none can be added yet.
  const lock = await locker(gateway);
  await lock.query('LOCK TABLE webhook_endpoint IN SHARE MODE');
  const adding = Promise.allSettled(Array.from({ length: 6 }, () => webhooks.add(shop.url)));
  await vi.waitUntil(async () => (await waitingForLocks(gateway)).length > 1, { timeout: 300_000 });
  await lock.rollback();
  const added = await adding;
  expect(added.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(await refusal(`add ${shop.url} --merchant 1`)).toBe(
    'merchant 1 has 16 webhook endpoints, and can have no more',
  );
  for (const { id } of await sql<{ id: number }>('SELECT id FROM webhook_endpoint WHERE merchant_id = 1')) {
    await webhooks.remove(id);
  }
});

// catches(webhooks: a key that seals a secret is not destroyed)
// catches(webhooks: a secret that was rotated does not come back)
test('a secret of before a rotation, put back in the database → not used, with its number or without', async () => {
  const { id } = await json(`add ${shop.url} --merchant 1`);
  const columns = 'sealed, key_version, secret_version, overlap_until';
  const [before] = await gateway.sql(`SELECT ${columns} FROM webhook_endpoint WHERE id = $1`, [id]);
  await json(`rotate ${id}`);
  const [after] = await gateway.sql(`SELECT ${columns} FROM webhook_endpoint WHERE id = $1`, [id]);
  const put = (row: object) =>
    gateway.sql(
      `UPDATE webhook_endpoint SET (${columns}) = (SELECT ${columns} FROM json_populate_record(NULL::webhook_endpoint, $2)) WHERE id = $1`,
      [
        id,
        JSON.stringify(row, (_, value) =>
          value?.type === 'Buffer' ? `\\x${Buffer.from(value.data).toString('hex')}` : value,
        ),
      ],
    );
  await put(before as object);
  expect(await refusal(`test ${id}`)).toContain('is not as it was sealed');
  await put({ ...(before as object), secret_version: 2 });
  const { result } = await json(`test ${id}`).catch(() => ({ result: 'refused' }));
  expect(result).toBe('refused');
  await put(after as object);
  expect((await json(`test ${id}`)).result).toBe('delivered');
  await text(`remove ${id}`);
});

test('keys rotate → the secrets are resealed and still sign; only then can the old key be destroyed', async () => {
  const { id, secret } = await webhooks.add(shop.url, { merchant: 2 });
  const version = async () => {
    const [row] = await gateway.sql<{ version: number }>(
      'SELECT key_version AS version FROM webhook_endpoint WHERE id = $1',
      [id],
    );
    return row?.version ?? expect.fail();
  };
  const before = await version();
  await webhooks.rotateKeys(2);
  expect(await version()).toBe(before + 1);
  const { event } = await webhooks.test(id);
  const got = shop.received.find((each) => each.id === event) ?? expect.fail();
  expect(isGenuine(secret, got.text, got.headers)).toBe(true);
  // As if an endpoint had been left behind.
  await gateway.sql(`UPDATE data_key SET created_at = now() - interval '1 hour' WHERE merchant_id = 2`);
  await gateway.sql('UPDATE webhook_endpoint SET key_version = $2 WHERE id = $1', [id, before]);
  await expect(webhooks.destroyKey(2, before)).rejects.toThrow(/cannot be destroyed/);
  await gateway.sql('UPDATE webhook_endpoint SET key_version = $2 WHERE id = $1', [id, before + 1]);
  await gateway.sql(`DELETE FROM webhook_endpoint WHERE merchant_id = 2 AND key_version = $1`, [before]);
  await webhooks.destroyKey(2, before);
});
