// Sessions on the console: who is signed in, for how long, and how it ends.
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeOperator, setOperator } from '../../src/operators/operators.js';
import { findSessionByTag, proveSession, type Session, seeSession } from '../../src/operators/sessions.js';
import type { Database } from '../../src/postgres/database.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { runHere } from '../../testkit/command-here.js';
import { COOKIE_NAME, consoleClient, sessionsAgo, signedIn } from '../../testkit/console.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { scrape } from '../../testkit/scrape.js';

let gateway: TestGateway;
let database: Database;
beforeAll(async () => {
  gateway = await testGateway();
  database = operatorsDatabase(gateway);
});
afterAll(async () => {
  await database.close();
  await gateway.close();
});

const counted = async () =>
  (await scrape(gateway.operatorsUrl)).sum('tollgate_broken_seals_total', { of: 'row' }) ?? 0;

const sessionOf = async (operator: string) =>
  (await gateway.sql('SELECT tag FROM operator_session WHERE operator = $1', [operator]))[0] as {
    tag: Buffer;
  };

const NOT_SIGNED_IN = { status: 401, body: expect.objectContaining({ error_code: 'not_signed_in' }) };

test('a session → the operator, role, organisation, mode, version and the server’s clock', async () => {
  const operator = await signedIn(gateway, { role: 'viewer', organisation: 1 });
  const { status, body } = await operator.get('/session');
  expect(status).toBe(200);
  expect(body).toEqual({
    operator: operator.name,
    role: 'viewer',
    organisation: 1,
    mode: 'test',
    demo: true,
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    now: expect.any(String),
    method: 'passkey',
    ends_at: expect.any(String),
    tasks: expect.arrayContaining(['transaction list', 'merchant list']),
    recent: true,
    cell: 'one',
    other_cells: [],
  });
  // Neither what takes another role, nor what concerns the whole installation.
  expect(body.tasks).not.toContain('transaction refund');
  expect(body.tasks).not.toContain('acquirer list');
  expect(Math.abs(Date.parse(body.now) - Date.now())).toBeLessThan(60_000);
});

describe('a session ends', () => {
  test('by sign-out → 401 from then on, the cookie is removed, and the journal has it with the address', async () => {
    const operator = await signedIn(gateway);
    const { status, headers } = await operator.post('/sign-out');
    expect([status, headers.get('set-cookie')]).toEqual([
      204,
      `${COOKIE_NAME}=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0`,
    ]);
    expect(await operator.get('/session')).toMatchObject(NOT_SIGNED_IN);
    const entries = await gateway.sql(
      `SELECT actor, detail, address FROM journal WHERE action = 'operator.signed_out' AND actor = $1`,
      [`operator:${operator.name}`],
    );
    expect(entries).toEqual([
      { actor: `operator:${operator.name}`, detail: operator.name, address: '127.0.0.1' },
    ]);
  });

  test('by removal of its operator → 401 with the next request', async () => {
    const operator = await signedIn(gateway);
    await removeOperator(database, 'operator:test', gateway.credentialKey, operator.name);
    expect(await operator.get('/session')).toMatchObject(NOT_SIGNED_IN);
  });

  test('by another role or organisation of its operator → 401 with the next request', async () => {
    const operator = await signedIn(gateway);
    await setOperator(database, 'operator:test', gateway.credentialKey, operator.name, {
      role: 'administrator',
      organisation: null,
    });
    expect(await operator.get('/session')).toMatchObject(NOT_SIGNED_IN);
  });

  test('a quarter of an hour after its last request', async () => {
    const operator = await signedIn(gateway);
    const leftAlone = (minutes: number) => sessionsAgo(gateway, operator.name, { seen: minutes });
    await leftAlone(14);
    // What the page asks by itself keeps nobody signed in; what somebody does, does.
    expect((await operator.get('/session', { 'tollgate-background': '1' })).status).toBe(200);
    const seen = () =>
      gateway.sql(
        `SELECT seen_at > now() - interval '1 minute' AS lately FROM operator_session WHERE operator = $1`,
        [operator.name],
      );
    expect(await seen()).toEqual([{ lately: false }]);
    expect((await operator.get('/session')).status).toBe(200);
    expect(await seen()).toEqual([{ lately: true }]);
    await leftAlone(16);
    expect(await operator.get('/session')).toMatchObject(NOT_SIGNED_IN);
  });

  test('at its maximum age, however busy it is; a row that was changed is not a session', async () => {
    const ended = await signedIn(gateway, { lastsMs: -1 });
    expect(await ended.get('/session')).toMatchObject(NOT_SIGNED_IN);
    const operator = await signedIn(gateway);
    await gateway.sql(
      `UPDATE operator_session SET ends_at = ends_at + interval '1 day' WHERE operator = $1`,
      [operator.name],
    );
    expect(await operator.get('/session')).toMatchObject(NOT_SIGNED_IN);
  });

  test('all at once, or one by one; another operator’s session → 404', async () => {
    const operator = await signedIn(gateway);
    const other = await signedIn(gateway);
    const [{ id } = { id: '' }] = (await other.get('/sessions')).body;
    expect((await operator.post(`/sessions/${id}/end`)).status).toBe(404);
    expect((await operator.post('/sessions/nonsense/end')).status).toBe(422);
    expect((await operator.get('/sessions')).body).toMatchObject([{ current: true, method: 'passkey' }]);
    expect((await operator.post('/sign-out-everywhere')).body).toEqual({ ended: 1 });
    expect(await operator.get('/session')).toMatchObject(NOT_SIGNED_IN);
    expect((await other.post(`/sessions/${id}/end`)).status).toBe(204);
    expect(await other.get('/session')).toMatchObject(NOT_SIGNED_IN);
  });
});

describe('a session that was changed in the database', () => {
  // catches(sessions: sealed with when it was in use, and when it was proved)
  // catches(sessions: one that was changed in the database is none)
  // catches(metrics: broken seals that the console finds are counted)
  test.each([
    ['its proof, to be fresh', 'proved_at = now()'],
    ['its last use', `seen_at = seen_at + interval '1 minute'`],
    ['its end', `ends_at = ends_at + interval '1 day'`],
    ['its operator', `operator = 'first'`],
    ['where it began', `address = '10.0.0.1'`],
  ])('%s → signed out, and log, metric, journal, verify and doctor say so', async (_, change) => {
    const operator = await signedIn(gateway);
    await sessionsAgo(gateway, operator.name, { proved: 6 });
    expect((await operator.get('/session')).body).toMatchObject({ recent: false });
    const before = await counted();
    const [row] = await gateway.sql('SELECT id FROM operator_session WHERE operator = $1', [operator.name]);
    await gateway.sql(`BEGIN; SET LOCAL ROLE tollgate_operator;
      UPDATE operator_session SET ${change} WHERE id = '${row?.id}'; COMMIT`);
    expect(await operator.get('/session')).toMatchObject(NOT_SIGNED_IN);
    expect(await operator.post('/command-line-token')).toMatchObject(NOT_SIGNED_IN);
    expect(await counted()).toBeGreaterThan(before);
    const subject = `session/${row?.id}`;
    await expect.poll(() => gateway.logged()).toContain(`"subject":"${subject}","problem":"changed"`);
    await expect
      .poll(() => gateway.sql(`SELECT actor FROM journal WHERE detail = '${subject}: changed'`))
      .toEqual([{ actor: 'gateway:seals' }]);
    const environment = { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir };
    const { code, stdout } = await runHere(['keys', 'verify'], environment);
    expect([code, stdout]).toEqual([1, expect.stringContaining(subject)]);
    expect((await runHere(['doctor'], environment)).stdout).toMatch(/failed +sealed rows/);
    await gateway.sql('DELETE FROM operator_session WHERE id = $1', [row?.id]);
  });

  // catches(sessions: one that was changed in the database is not sealed by a proof)
  test('while its operator proves who they are → is not sealed as it is', async () => {
    const operator = await signedIn(gateway);
    const { tag } = await sessionOf(operator.name);
    const key = gateway.credentialKey;
    const session = (await findSessionByTag(database, key, tag, 60_000)) as Session;
    await gateway.sql(`UPDATE operator_session SET ends_at = ends_at + interval '1 day' WHERE tag = $1`, [
      tag,
    ]);
    await proveSession(database, key, 'operator:test', session, 'passkey');
    expect(await operator.get('/session')).toMatchObject(NOT_SIGNED_IN);
    await gateway.sql('DELETE FROM operator_session WHERE tag = $1', [tag]);
  });

  test('in use and proved at the same time → goes on, proved', async () => {
    const operator = await signedIn(gateway);
    await sessionsAgo(gateway, operator.name, { proved: 6, seen: 2 });
    const { tag } = await sessionOf(operator.name);
    const key = gateway.credentialKey;
    const session = (await findSessionByTag(database, key, tag, 900_000)) as Session;
    await proveSession(database, key, 'operator:test', session, 'passkey');
    await seeSession(database, key, session);
    expect((await operator.get('/session')).body).toMatchObject({ recent: true });
  });
});

test('an operator changed in the database → 401', async () => {
  const viewer = await signedIn(gateway, { role: 'viewer' });
  await gateway.sql(`UPDATE operator SET role = 'administrator' WHERE name = $1`, [viewer.name]);
  expect(await viewer.get('/session')).toMatchObject(NOT_SIGNED_IN);
});

test('an operator whose lists were overwritten with other JSON → 401; everybody else is still listed and reviewed', async () => {
  const administrator = await signedIn(gateway);
  const values = ['null', '{}', '[null]', '[{"action": "operator.added"}]'];
  const each = ['passkeys', 'history', 'former_passwords'].flatMap((column) =>
    values.map((value) => ({ column, value })),
  );
  await expectEach(each, async ({ column, value }) => {
    const victim = await signedIn(gateway, { role: 'viewer' });
    await gateway.sqlAs(
      'tollgate_operator',
      `UPDATE operator SET ${column} = '${value}' WHERE name = '${victim.name}'`,
    );
    expect([200, 401]).toContain((await victim.get('/session')).status);
    for (const path of ['/operators', '/operators/review.csv'])
      expect([path, (await administrator.get(path)).status]).toEqual([path, 200]);
  });
  const environment = { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir };
  for (const words of [
    ['operator', 'review'],
    ['keys', 'verify'],
  ])
    expect((await runHere(words, environment)).stderr).not.toContain('TypeError');
});

test('a shorter time without activity, by the settings → ends earlier; the list has only those that go on', async () => {
  const strict = await testGateway({ shareWith: gateway, settings: { CONSOLE_IDLE_MINUTES: '5' } });
  const operator = await signedIn(gateway);
  const there = consoleClient(strict.operatorsUrl, operator.cookie);
  await sessionsAgo(gateway, operator.name, { seen: 6 });
  expect(await there.get('/session')).toMatchObject(NOT_SIGNED_IN);
  expect((await operator.get('/session')).status).toBe(200);
});

test('a session of another gateway on the same database → valid', async () => {
  const second = await testGateway({ shareWith: gateway });
  const operator = await signedIn(gateway);
  const there = consoleClient(second.operatorsUrl, operator.cookie);
  expect((await there.get('/session')).body).toMatchObject({ operator: operator.name });
  expect((await operator.post('/sign-out')).status).toBe(204);
  expect(await there.get('/session')).toMatchObject(NOT_SIGNED_IN);
});

test('the page and every response → no inline script, no frame, no referrer, no caching of the interface', async () => {
  const page = await fetch(`${gateway.operatorsUrl}/transactions/1`);
  const answer = await consoleClient(gateway.operatorsUrl).get('/session');
  for (const { headers } of [page, answer]) {
    const policy = headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect([
      headers.get('x-content-type-options'),
      headers.get('referrer-policy'),
      headers.get('cross-origin-opener-policy'),
      headers.get('cross-origin-resource-policy'),
    ]).toEqual(['nosniff', 'no-referrer', 'same-origin', 'same-origin']);
  }
  expect(answer.headers.get('cache-control')).toBe('no-store');
});

test('a host name other than this machine’s → refused, as for the metrics', async () => {
  const status = await new Promise((resolve, reject) => {
    request(
      `${gateway.operatorsUrl}/console/api/session`,
      { headers: { host: 'attacker.example' } },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    )
      .on('error', reject)
      .end();
  });
  expect(status).toBe(421);
});
