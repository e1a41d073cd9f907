// Webhooks as a merchant's server receives them: signed, every event of the merchant, in order for each subject.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { LOGINS, type TestGateway, testGateway } from '../../testkit/gateway.js';
import { read } from '../../testkit/project-files.js';
import { isGenuine, startReceiver, type WebhookReceiver } from '../../testkit/webhook-receiver.js';
import { type TestWebhooks, until, WEBHOOK_SETTINGS, webhooksOf } from '../../testkit/webhooks.js';

const { version: VERSION } = JSON.parse(read('package.json'));

let gateway: TestGateway;
let webhooks: TestWebhooks;

beforeAll(async () => {
  gateway = await testGateway({ settings: WEBHOOK_SETTINGS });
  webhooks = webhooksOf(gateway);
});
afterAll(async () => {
  await webhooks.close();
  await gateway.close();
});

async function receiver(): Promise<WebhookReceiver> {
  const started = await startReceiver();
  onTestFinished(() => started.close());
  return started;
}

/** An endpoint of a merchant, with a receiver that knows its secret. Both end with the test. */
async function endpoint(wish: { merchant?: number; types?: readonly string[] } = {}) {
  const started = await receiver();
  const { id, secret } = await webhooks.add(started.url, wish);
  started.secret = secret;
  onTestFinished(async () => {
    await webhooks.remove(id);
  });
  return { id, secret, receiver: started };
}

const auditOf = (answer: { body: { audit: number } }) => answer.body.audit;

test('a purchase → its event, signed as the standard’s library requires, and logged as delivered', async () => {
  const { id, receiver: shop } = await endpoint();
  const audit = auditOf(await gateway.api.purchase());
  await until(() => shop.received.length === 1);
  const [got] = shop.received;
  expect(got).toMatchObject({ genuine: true, path: '/webhooks', id: `evt_1_transaction_${audit}_1` });
  expect(got?.body).toMatchObject({
    id: `evt_1_transaction_${audit}_1`,
    type: 'transaction.approved',
    merchant: { id: 1 },
    version: 1,
  });
  expect(got?.headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': `tollgate/${VERSION}`,
  });
  await until(async () => (await webhooks.attempts(id)).length === 1);
  expect(await webhooks.attempts(id)).toMatchObject([
    { event: got?.id, type: 'transaction.approved', attempt: 1, result: 'delivered', httpStatus: 204 },
  ]);
  expect(await webhooks.view(id)).toMatchObject({
    state: 'enabled',
    waiting: 0,
    deliveredAt: expect.any(Date),
  });
});

test('an altered webhook → the library refuses it', async () => {
  const { secret, receiver: shop } = await endpoint();
  await gateway.api.purchase();
  await until(() => shop.received.length === 1);
  const { text, headers } = shop.received[0] ?? expect.fail();
  expect(isGenuine(secret, text, headers)).toBe(true);
  expect(isGenuine(secret, text.replace('approved', 'declined'), headers)).toBe(false);
  expect(isGenuine(secret, text, { ...headers, 'webhook-id': 'evt_1_transaction_999_1' })).toBe(false);
  const later = String(Number(headers['webhook-timestamp']) + 1);
  expect(isGenuine(secret, text, { ...headers, 'webhook-timestamp': later })).toBe(false);
  const another = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  expect(isGenuine(another, text, headers)).toBe(false);
});

test('a rotated secret → signed with both, and after the overlap with the new one only', async () => {
  const { id, secret: old, receiver: shop } = await endpoint();
  const { secret: renewed } = await webhooks.rotate(id, 3_600_000);
  await gateway.api.purchase();
  await until(() => shop.received.length === 1);
  const during = shop.received[0] ?? expect.fail();
  expect([old, renewed].map((secret) => isGenuine(secret, during.text, during.headers))).toEqual([
    true,
    true,
  ]);
  await gateway.sql(`UPDATE webhook_endpoint SET overlap_until = now() WHERE id = $1`, [id]);
  await gateway.api.purchase();
  await until(() => shop.received.length === 2);
  const after = shop.received[1] ?? expect.fail();
  expect([old, renewed].map((secret) => isGenuine(secret, after.text, after.headers))).toEqual([false, true]);
});

test('events of another merchant, or from before the endpoint was added → not sent', async () => {
  await gateway.api.purchase({ merchant: 2 });
  await until(async () => (await gateway.sql('SELECT 1 FROM event')).length === 0);
  const { receiver: shop } = await endpoint({ merchant: 2 });
  await gateway.api.purchase({ merchant: 1 });
  await gateway.as(gateway.stranger).purchase({ merchant: 4 });
  const ours = auditOf(await gateway.api.purchase({ merchant: 2 }));
  await until(() => shop.received.length > 0);
  expect(shop.received.map(({ id }) => id)).toEqual([`evt_2_transaction_${ours}_1`]);
});

test('some event types only → only those are sent', async () => {
  const { receiver: shop } = await endpoint({ types: ['transaction.voided'] });
  const audit = auditOf(await gateway.api.purchase());
  await gateway.api.void(audit);
  await until(() => shop.received.length > 0);
  expect(shop.received.map(({ body }) => [body.type, body.version])).toEqual([['transaction.voided', 2]]);
});

test('two endpoints of a merchant → each gets every event, with a signature of its own', async () => {
  const [first, second] = [await endpoint(), await endpoint()];
  await gateway.api.purchase();
  await until(() => first.receiver.received.length === 1 && second.receiver.received.length === 1);
  expect(first.receiver.received[0]?.text).toBe(second.receiver.received[0]?.text);
  expect([first, second].map(({ receiver: shop }) => shop.received[0]?.genuine)).toEqual([true, true]);
});

test('a failing subject → its later events wait behind it, in order, while others go on', async () => {
  const { id, receiver: shop } = await endpoint();
  const stubborn = auditOf(await gateway.api.purchase());
  await until(() => shop.received.length === 1);
  let refused = 0;
  shop.behave = ({ body }) => {
    if (!body.id.includes(`_${stubborn}_`)) return 204;
    refused += 1;
    return refused <= 3 ? 500 : 204;
  };
  await gateway.api.void(stubborn);
  const others = await Promise.all(Array.from({ length: 10 }, () => gateway.api.purchase()));
  await until(() => shop.received.filter(({ body }) => body.type === 'transaction.voided').length === 1);
  // Refused once; the others do not wait for it.
  await until(() =>
    others.every((other) => shop.received.some(({ id: event }) => event.includes(`_${auditOf(other)}_`))),
  );
  // The third pause lasts seconds: the test does not wait for it.
  await until(async () => {
    await gateway.sql(`UPDATE webhook_delivery SET next_at = now() WHERE next_at IS NOT NULL`);
    await gateway.sql(`UPDATE webhook_endpoint SET wake_at = now() WHERE leased_until IS NULL`);
    return refused === 4;
  });
  await until(async () => (await webhooks.view(id)).waiting === 0);
  const attempts = (await webhooks.attempts(id)).filter(({ event }) => event.endsWith(`_${stubborn}_2`));
  expect(attempts.map(({ attempt, result }) => [attempt, result])).toEqual([
    [1, 'refused'],
    [2, 'refused'],
    [3, 'refused'],
    [4, 'delivered'],
  ]);
});

test('many events about one subject → one at a time, in the order of their versions', async () => {
  const { receiver: shop } = await endpoint();
  let atOnce = 0;
  let most = 0;
  shop.behave = (_, response) => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    setTimeout(() => {
      atOnce -= 1;
      response.writeHead(200).end();
    }, 20);
    return undefined;
  };
  // As if a subject had changed often: no API operation does that quickly.
  await gateway.sql(
    `INSERT INTO event (created_at, organisation_id, merchant_id, subject, version, type, data)
     SELECT now(), 1, 1, 999999, version, 'token.updated', $1 FROM generate_series(1, 30) version`,
    [JSON.stringify({ customerId: 1, virtualPan: '9000000000000001', preferredName: 'Card', active: true })],
  );
  await until(() => shop.received.length === 30);
  expect(shop.received.map(({ body }) => body.version)).toEqual(
    Array.from({ length: 30 }, (_, place) => place + 1),
  );
  expect(most).toBe(1);
});

// catches(directions: nothing is sent to an endpoint that is not as it was sealed)
test('either login changes an endpoint’s address, or puts back one that was removed → nothing is sent to either, and it is reported', async () => {
  const { receiver: honest } = await endpoint();
  for (const login of LOGINS) {
    const [changed, elsewhere, removed] = [await endpoint(), await receiver(), await receiver()];
    const where = `id = ${changed.id}`;
    await gateway.sqlAs(login, `UPDATE webhook_endpoint SET url = '${elsewhere.url}' WHERE ${where}`);
    const { id } = await webhooks.add(removed.url);
    await gateway.sql(`CREATE TABLE copied_${id} AS SELECT * FROM webhook_endpoint WHERE id = ${id};
      GRANT SELECT ON copied_${id} TO ${login}`);
    await webhooks.remove(id);
    await gateway.sqlAs(login, `INSERT INTO webhook_endpoint SELECT * FROM copied_${id}`);
    const before = honest.received.length;
    for (let paid = 1; paid <= 3; paid += 1) {
      await gateway.api.purchase();
      await until(() => honest.received.length === before + paid);
    }
    expect([changed.receiver.received, elsewhere.received, removed.received]).toEqual([[], [], []]);
    const verified = await webhooks.tollgate('keys', 'verify');
    expect(verified.code).toBe(1);
    for (const [subject, problem] of [
      [changed.id, 'changed'],
      [id, 'removed, and is back'],
    ]) {
      expect(verified.stdout).toMatch(new RegExp(`webhook/${subject} +${problem}`));
      await until(() => gateway.logged().includes(`"subject":"webhook/${subject}","problem":"${problem}"`));
    }
    await gateway.sql(`UPDATE webhook_endpoint SET url = '${changed.receiver.url}' WHERE ${where}`);
    await gateway.sql(`DELETE FROM webhook_endpoint WHERE id = ${id}`);
  }
});

// catches(webhooks: what is signed for one receiver is not sent to another)
test('an endpoint gets another address that is sealed as well → its secrets do not sign for it, and it is journalled', async () => {
  const { id, receiver: shop } = await endpoint();
  const elsewhere = await receiver();
  await gateway.sqlSealed('UPDATE webhook_endpoint SET url = $1 WHERE id = $2', [elsewhere.url, id]);
  await gateway.api.purchase();
  const broken = () =>
    gateway.sql(
      `SELECT actor FROM journal WHERE action = 'seal.broken' AND detail = 'webhook_endpoint ${id}'`,
    );
  await until(async () => (await broken()).length === 1);
  expect([elsewhere.received, shop.received]).toEqual([[], []]);
  // Once corrected, it continues where it stopped.
  await gateway.sqlSealed('UPDATE webhook_endpoint SET url = $1, wake_at = now() WHERE id = $2', [
    shop.url,
    id,
  ]);
  await until(() => shop.received.length === 1);
  expect(elsewhere.received).toEqual([]);
});
