// The second person: what one person cannot do alone, under whatever names, on the command line as on the console.

import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sealAsItIs } from '../../../src/installation/subjects.js';
import { journal } from '../../../src/journal/journal.js';
import { sealedRequests } from '../../../src/operators/second-person/task-requests.js';
import { type RequestRow, requestUnder, sealOf } from '../../../src/payments/requests/operator-request.js';
import type { Database } from '../../../src/postgres/database.js';
import type { OrganisationId } from '../../../src/values/ids.js';
import { operatorsDatabase } from '../../../testkit/cast.js';
import type { Json } from '../../../testkit/client.js';
import { runHere } from '../../../testkit/command-here.js';
import { type Commands, commands, wordsOf } from '../../../testkit/commands.js';
import {
  type ConsoleClient,
  consoleClient,
  knownForLong,
  moneyNeedsApproval,
  signedIn,
  tokenFor,
} from '../../../testkit/console.js';
import { LOGINS, type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { scrape } from '../../../testkit/scrape.js';
import { type SignInDesk, signInDesk } from '../../../testkit/sign-in-desk.js';

const KEY = 'age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p';
const SOON = { timeout: 300_000, interval: 50 };
const LIVE = { name: 'bank', address: '127.0.0.1:1' };

let gateway: TestGateway;
let desk: SignInDesk;
let ada: ConsoleClient;
let bert: ConsoleClient;
let live: number;

const environment = { DATABASE_URL: '', TOLLGATE_DATA_DIR: '' };
const byToken = (token: string): Commands =>
  commands((line) => runHere(wordsOf(line), { ...environment, TOLLGATE_OPERATOR_TOKEN: token }));
const as = (name: string): Commands =>
  commands(async (line) =>
    runHere(wordsOf(line), { ...environment, TOLLGATE_OPERATOR_TOKEN: await tokenFor(gateway, name) }),
  );
const shell = commands((line) => runHere(wordsOf(line), environment));
const within = async <Result>(work: (database: Database) => Promise<Result>): Promise<Result> => {
  const database = operatorsDatabase(gateway);
  return work(database).finally(() => database.close());
};
const doctorOn = async (wanted: string): Promise<Json> => {
  const { stdout } = await runHere(['doctor', '--json'], environment);
  return JSON.parse(stdout).findings.find(({ check }: { check: string }) => check === wanted);
};
/** What `keys verify` finds wrong. */
const verified = async (): Promise<string> =>
  (await runHere(['keys', 'verify', '--json'], environment)).stdout;
/** As `keys seal` does it, once a second person has allowed that. */
const sealed = (subject: string) =>
  within((database) => sealAsItIs(database, 'operator:test', gateway.credentialKey, subject));
const lastOf = (action: string): Promise<Json[]> =>
  gateway.sql<Json>(`SELECT actor, detail FROM journal WHERE action = $1 ORDER BY id DESC LIMIT 1`, [action]);
const requestIn = (message: string): number => Number(/request (\d+)/i.exec(message)?.[1]);

beforeAll(async () => {
  gateway = await testGateway();
  Object.assign(environment, { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir });
  desk = await signInDesk(gateway);
  // They are people whom others have known for long, and who can sign in.
  ada = (await desk.withPassword('ada')).operator;
  bert = (await desk.withPassword('bert')).operator;
  await within((database) => knownForLong(database, gateway.credentialKey));
  live = (await ada.post('/merchants', { organisation: 1, name: 'Live', live: true, vault: true })).body.id;
  await moneyNeedsApproval(gateway, 5_000);
});
afterAll(async () => {
  await desk.close();
  await gateway.close();
});

async function purchase(amount = 9_000): Promise<number> {
  return (await gateway.api.purchase({ amount })).body.audit;
}
const refund = async (by: ConsoleClient, audit: number): Promise<Json> =>
  (await by.post(`/transactions/1/${audit}/refund`, { reason: 'because', key: randomUUID() })).body;

/** As if it had been asked for a day ago: that is sealed. */
const aDayLater = (request: number) =>
  within(async (database) => {
    const [row] = await gateway.sql<Json>('SELECT correlation_id FROM operator_request WHERE id = $1', [
      request,
    ]);
    const found = await requestUnder(database, 1 as OrganisationId, row?.correlation_id);
    const asked = found as RequestRow;
    const aloneFromMs = (asked.aloneFromMs as number) - 86_400_000;
    await gateway.sql(
      'UPDATE operator_request SET alone_from = to_timestamp($2::float8 / 1000), seal = $3 WHERE id = $1',
      [request, aloneFromMs, sealOf(gateway.credentialKey, { ...asked, aloneFromMs })],
    );
  });

/** As a gateway would have changed it: that is sealed. */
const resealedRequest = (request: number, change: string) =>
  within(async (database) => {
    await gateway.sql(`UPDATE task_request SET ${change} WHERE id = $1`, [request]);
    for await (const row of sealedRequests(database))
      if (row.subject === `request/${request}`)
        await journal(database, { actor: 'operator:test', action: 'approval.refused' }, row);
  });

/** Keeps it locked, with a change that is seen only on release. */
const heldRequest = async (request: number, change = 'state = state') => {
  const client = new pg.Client({
    connectionString: gateway.databaseUrl,
    options: '-c role=tollgate_operator',
  });
  await client.connect();
  await client.query(`BEGIN; UPDATE task_request SET ${change} WHERE id = ${request}`);
  const text = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  return {
    waiting: (count: number) => expect.poll(async () => (await gateway.sql(text)).length).toBe(count),
    release: async () => {
      await client.query('COMMIT');
      await client.end();
    },
  };
};

describe('four eyes that are one pair', () => {
  // catches(second person: not somebody whom the first one may be, too)
  // catches(second person: nobody whom the first one added, linked or changed within seven days)
  test('an administrator adds an operator and approves the own refund as it → refused, the journal has it', async () => {
    await ada.post('/operators', { name: 'eve', role: 'operator' });
    const eve = as('eve');
    const target = await purchase();
    const { request, state } = await refund(ada, target);
    expect(state).toBe('waiting');
    expect(await eve.refusal(`approval approve ${request}`)).toMatch(
      /eve cannot be the second person to ada: within the last seven days one of them was added/,
    );
    expect(await lastOf('operator.refused')).toMatchObject([
      { actor: 'operator:eve', detail: expect.stringMatching(`^approval approve ${request}: `) },
    ]);
    expect((await bert.post(`/approvals/${request}/approve`)).body).toMatchObject({ state: 'done' });
  });

  test('asked for by whom they added, and approved by the administrator → refused as well', async () => {
    await ada.post('/operators', { name: 'eric', role: 'operator' });
    const target = await purchase();
    const asked = await as('eric').json(`transaction refund ${target} --reason x`);
    expect(await ada.post(`/approvals/${asked.request}/approve`)).toMatchObject({
      status: 403,
      body: { error_code: 'second_person_not_independent' },
    });
  });

  test('over a third one, whose link they made → refused: who controls one may control both', async () => {
    await signedIn(gateway, { name: 'carl' });
    await ada.post('/operators/carl/link');
    await as('carl').json('operator add dora --role operator');
    const { request } = await refund(ada, await purchase());
    expect(await as('dora').refusal(`approval approve ${request}`)).toMatch(/^request \d+: dora cannot be/);
  });

  // catches(second person: sealed with who added them)
  test('who added them is taken away in the database → the operator can do nothing any more', async () => {
    await ada.post('/operators', { name: 'finn', role: 'operator' });
    const token = await tokenFor(gateway, 'finn');
    await gateway.sqlAs('tollgate_operator', `UPDATE operator SET history = '[]' WHERE name = 'finn'`);
    expect(await byToken(token).refusal('approval list')).toMatch(
      /^the token of the command line is not right/,
    );
    expect((await ada.get('/operators')).body).toContainEqual(
      expect.objectContaining({ name: 'finn', sealed: false }),
    );
    expect(await doctorOn('operators')).toMatchObject({
      result: 'failed',
      found: expect.stringMatching(/finn/),
    });
    await as('ada').json('operator remove finn');
  });

  // catches(second person: nobody opens the link that they made for another)
  test('the link is opened in the browser of whoever made it → refused, and the journal has it; by the invited → opens', async () => {
    const { link } = (await ada.post('/operators', { name: 'gina', role: 'operator' })).body;
    const [name, token] = new URL(link).hash.slice(1).split(':');
    const opened = await ada.post('/sign-in/link', { name, token });
    expect(opened).toMatchObject({ status: 403, body: { error_code: 'sign_in_link_opened_by_inviter' } });
    // Signed out, it is still a browser of theirs.
    const device = ada.cookie.split('; ').find((each) => each.includes('-device='));
    const later = consoleClient(desk.url, device);
    expect((await later.post('/sign-in/link', { name, token })).status).toBe(403);
    expect(await lastOf('operator.refused')).toEqual([
      { actor: 'operator:ada', detail: 'sign-in link of gina, in a browser of ada' },
    ]);
    expect((await desk.nobody.post('/sign-in/link', { name, token })).status).toBe(200);
  });

  test('on the command line, with a limit of the shell → no setting any more', async () => {
    const lax = commands((line) =>
      runHere(wordsOf(line), { ...environment, TOLLGATE_FOUR_EYES_ABOVE: '999999999' }),
    );
    const { code, stderr } = await runHere(['merchant', 'list'], {
      ...environment,
      TOLLGATE_FOUR_EYES_ABOVE: '999999999',
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining('approval require --above AUD=CENTS')]);
    expect(await lax.refusal('merchant list')).toMatch(/^TOLLGATE_FOUR_EYES_ABOVE is no setting/);
  });
});

describe('a task that needs a second person', () => {
  test('a live link → waits; approved by another → done when it is asked for again, once, and the journal has both', async () => {
    const asked = await ada.post('/acquirers', LIVE);
    expect(asked).toMatchObject({ status: 409, body: { error_code: 'second_person_needed' } });
    const request = requestIn(asked.body.error_message);
    expect(requestIn((await ada.post('/acquirers', LIVE)).body.error_message)).toBe(request);
    expect((await bert.get('/approvals')).body).toContainEqual(
      expect.objectContaining({
        request,
        kind: 'task',
        operation: 'acquirer add',
        what: 'acquirer add bank --address 127.0.0.1:1',
        requested_by: 'operator:ada',
        state: 'waiting',
      }),
    );
    expect((await bert.post(`/approvals/${request}/approve`, { reason: 'seen' })).body).toMatchObject({
      state: 'approved',
      decided_by: 'operator:bert',
    });
    // Something else is not what was approved, nor is the same for somebody else.
    expect((await ada.post('/acquirers', { ...LIVE, address: '10.6.6.6:1' })).status).toBe(409);
    expect((await bert.post('/acquirers', LIVE)).status).toBe(409);
    expect((await ada.post('/acquirers', LIVE)).status).toBe(200);
    expect(await lastOf('approval.used')).toEqual([
      {
        actor: 'operator:ada',
        detail: `request ${request}: acquirer add bank --address 127.0.0.1:1, approved by operator:bert`,
      },
    ]);
    await gateway.sql(`DELETE FROM acquirer WHERE name = 'bank'`);
    expect((await ada.post('/acquirers', LIVE)).status).toBe(409);
  });

  // catches(second person: a request is sealed with its state)
  // catches(directions: nobody seals rights or approvals as they are)
  test('used, then called approved again in the database → refused, told, and in `keys verify`; refused for good, it is right again', async () => {
    const line = `merchant set ${live} --no-acquirer`;
    const request = requestIn(await as('ada').refusal(line));
    await as('bert').json(`approval approve ${request}`);
    await as('ada').json(line);
    expect(await verified()).not.toContain(`request/${request}`);
    await gateway.sqlAs('tollgate_operator', `UPDATE task_request SET state = 'approved' WHERE id = $1`, [
      request,
    ]);
    expect(await as('ada').refusal(line)).toMatch(/somebody has changed it in the database/);
    expect((await ada.post(`/merchants/${live}`, { acquirer: null })).body).toMatchObject({
      error_code: 'request_altered',
    });
    await expect.poll(() => gateway.logged()).toContain(`"subject":"request/${request}","problem":"changed"`);
    expect(await verified()).toContain(`request/${request}`);
    await expect(sealed(`request/${request}`)).rejects.toMatchObject({ code: 'subject_not_sealable' });
    expect(await as('bert').json(`approval refuse ${request}`)).toMatchObject({ state: 'refused' });
    expect(await verified()).not.toContain(`request/${request}`);
    const next = requestIn(await as('ada').refusal(line));
    expect(next).toBeGreaterThan(request);
    await as('bert').json(`approval refuse ${next}`);
  });

  // catches(second person: an approval is used once)
  test('used twice at the same moment → done once', async () => {
    const line = `merchant set ${live} --no-acquirer`;
    const request = requestIn(await as('ada').refusal(line));
    await as('bert').json(`approval approve ${request}`);
    const { release, waiting } = await heldRequest(request);
    const both = [1, 2].map(() => ada.post(`/merchants/${live}`, { acquirer: null }));
    await waiting(2);
    await release();
    expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual([200, 422]);
  });

  // catches(second person: what was changed in the database is not sealed by the next step)
  test('changed in the database while it is being approved → not approved', async () => {
    const request = requestIn(await as('ada').refusal('operator add sven --role administrator'));
    const other = requestIn(await as('ada').refusal('operator add tara --role administrator'));
    const { release, waiting } = await heldRequest(
      request,
      `digest = (SELECT digest FROM task_request WHERE id = ${other})`,
    );
    const approving = as('bert').refusal(`approval approve ${request}`);
    await waiting(1);
    await release();
    expect(await approving).toMatch(/^request\/\d+ is not as it was sealed \(changed\)/);
    expect(await gateway.sql('SELECT state FROM task_request WHERE id = $1', [request])).toEqual([
      { state: 'waiting' },
    ]);
    for (const each of [request, other]) await as('bert').json(`approval refuse ${each}`);
  });

  test('allowed, and refused before anything happened → can be done again, and the journal has that', async () => {
    const line = `merchant set ${live} --acquirer nowhere`;
    const request = requestIn(await as('ada').refusal(line));
    await as('bert').json(`approval approve ${request}`);
    for (let times = 0; times < 2; times += 1) expect(await as('ada').refusal(line)).toMatch(/nowhere/);
    expect(await lastOf('approval.returned')).toEqual([
      { actor: 'operator:ada', detail: `request ${request}: merchant set ${live} --acquirer nowhere` },
    ]);
    expect(await verified()).not.toContain(`request/${request}`);
  });

  // catches(second person: nobody approves their own task)
  test('approved by whoever asked → refused, and journalled; refused by another → not done', async () => {
    const line = `vault export --merchant ${live} --recipient ${KEY} --out /nowhere/cards.age --yes`;
    const request = requestIn(await as('ada').refusal(line));
    expect(await as('ada').refusal(`approval approve ${request}`)).toMatch(/needs the approval of another/);
    expect(await lastOf('operator.refused')).toMatchObject([{ actor: 'operator:ada' }]);
    await as('bert').json(`approval refuse ${request} --reason no`);
    expect(requestIn(await as('ada').refusal(line))).toBeGreaterThan(request);
    expect(await as('bert').refusal(`approval approve ${request}`)).toMatch(/it is refused$/);
  });

  // catches(second person: they see the keys that can open an export)
  test('an export to a file of keys, which could be another file later → refused', async () => {
    const line = `vault export --merchant ${live} --recipient keys.txt --out /nowhere/cards.age --yes`;
    expect(await as('ada').refusal(line)).toMatch(/give each public key itself/);
  });

  test.each([
    ['a route', () => `route off --merchant ${live}`],
    ['the link of a merchant', () => `merchant set ${live} --no-acquirer`],
    ['a destroyed key', () => `keys destroy --merchant ${live} --version 1`],
    ['a new administrator', () => 'operator add hugo --role administrator'],
    ['a raised operator', () => 'operator set bert --whole-installation'],
    ['the rules themselves', () => 'approval require --above AUD=999999'],
  ])('%s → waits; a test merchant, or less than that → does not', async (_, line) => {
    expect(await as('ada').refusal(line())).toMatch(/^request \d+ waits for a second person/);
  });

  test('what makes more need a second person, and what is test → at once', async () => {
    expect(await as('ada').json('approval require --above AUD=4000')).toMatchObject({
      above: [{ currency: 'AUD', cents: 4_000 }],
    });
    await as('ada').json('route off --merchant 1');
    await as('ada').json('operator add iris --role viewer');
  });

  // catches(second person: whoever approves it may do it)
  test('approved by somebody who may not do it themselves → refused', async () => {
    const olga = await signedIn(gateway, { role: 'operator' });
    const request = requestIn(await as('ada').refusal('operator add joan --role administrator'));
    expect(await as(olga.name).refusal(`approval approve ${request}`)).toMatch(
      /takes the role administrator$/,
    );
  });

  // catches(second person: nothing is done that was changed in the database)
  test('made up or approved in the database → refused, and the journal has the broken seal', async () => {
    const line = `merchant set ${live} --no-acquirer`;
    const request = requestIn(await as('ada').refusal(line));
    await gateway.sqlAs(
      'tollgate_operator',
      `UPDATE task_request SET state = 'approved', decided_by = 'operator:bert', decided_at = now() WHERE id = $1`,
      [request],
    );
    expect(await as('ada').refusal(line)).toMatch(/somebody has changed it in the database/);
    expect(await lastOf('seal.broken')).toEqual([{ actor: 'operator:ada', detail: `request ${request}` }]);
    await as('bert').json(`approval refuse ${request}`);
  });

  test('a refund that waits is called approved, or in need of nobody, by either login → not done; the log, the metric and doctor tell', async () => {
    const broken = async () =>
      (await scrape(gateway.operatorsUrl)).sum('tollgate_broken_seals_total', { of: 'row' }) ?? 0;
    for (const login of LOGINS) {
      const target = await purchase();
      const { request } = await refund(ada, target);
      const before = await broken();
      const change =
        login === 'tollgate_operator'
          ? `state = 'approved', decided_by = 'operator:bert', decided_at = now()`
          : `state = 'ready'`;
      await gateway.sqlAs(login, `UPDATE operator_request SET ${change} WHERE id = $1`, [request]);
      await expect
        .poll(() => gateway.sql('SELECT state, failure FROM operator_request WHERE id = $1', [request]), SOON)
        .toEqual([{ state: 'failed', failure: 'request_altered' }]);
      expect(gateway.logged()).toContain(`"subject":"request/${request}","problem":"changed"`);
      expect(await broken()).toBe(before + 1);
      expect((await gateway.api.lookUp(target)).body.kvps['GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT']).toBe(
        '9000',
      );
    }
    await expect.poll(() => doctorOn('seals'), SOON).toMatchObject({ result: 'failed' });
  });

  // catches(second person: an approval ends with whoever gave it)
  test('approved by somebody who was removed since → refused', async () => {
    await signedIn(gateway, { name: 'kurt' });
    const line = `merchant set ${live} --no-acquirer`;
    const request = requestIn(await as('ada').refusal(line));
    await as('kurt').json(`approval approve ${request}`);
    await as('bert').json('operator remove kurt');
    expect(await as('ada').refusal(line)).toMatch(/was changed or removed since/);
    await resealedRequest(request, `state = 'refused'`);
  });

  // catches(operators: nobody who is not as it was sealed)
  test('approved by somebody who was changed in the database since → refused', async () => {
    await signedIn(gateway, { name: 'lars' });
    const line = `merchant set ${live} --no-acquirer`;
    const request = requestIn(await as('ada').refusal(line));
    await as('lars').json(`approval approve ${request}`);
    await gateway.sqlAs('tollgate_operator', `UPDATE operator SET enabled_at = now() WHERE name = 'lars'`);
    expect(await as('ada').refusal(line)).toMatch(/was changed or removed since/);
    await as('bert').json('operator remove lars');
    await resealedRequest(request, `state = 'refused'`);
  });

  // catches(second person: a task is not approved after its time)
  test('for too long → has expired', async () => {
    const request = requestIn(await as('ada').refusal('operator add lena --role administrator'));
    await resealedRequest(request, 'expires_at = now()');
    expect(await as('bert').refusal(`approval approve ${request}`)).toMatch(/it is expired$/);
  });
});

describe('the rules', () => {
  // catches(second person: earlier rules do not come back)
  test('the earlier, laxer row is put back as it was sealed → everything needs a second person', async () => {
    const [before] = await gateway.sql<Json>('SELECT * FROM approval_rules');
    await as('ada').json('approval require --above AUD=1000');
    await gateway.sqlAs('tollgate_operator', 'UPDATE approval_rules SET above = $1', [
      JSON.stringify(before?.above),
    ]);
    expect(await as('ada').text('approval rules')).toMatch(/^The rules were changed in the database/);
    expect(await doctorOn('operators')).toMatchObject({
      result: 'failed',
      found: expect.stringMatching(/the rules of approvals/),
    });
    expect(await verified()).toContain('approval/rules');
    await expect(sealed('approval/rules')).rejects.toMatchObject({ code: 'subject_not_sealable' });
    expect((await refund(ada, await purchase(100))).state).toBe('waiting');
    expect(await as('ada').refusal('approval require --above AUD=1000')).toMatch(/waits for a second person/);
    // Not even the operating login may; the owner of the tables gains nothing by it.
    await gateway.sql('DELETE FROM approval_rules');
    expect((await refund(ada, await purchase(100))).state).toBe('waiting');
    expect(await verified()).toContain('approval/rules');
    await moneyNeedsApproval(gateway, 5_000);
    expect(await verified()).not.toContain('approval/rules');
    expect((await refund(ada, await purchase(100))).state).toBe('done');
  });

  // catches(second person: a currency without a limit is no way around)
  test('a limit is of one currency: any amount of another needs a second person', async () => {
    expect(await as('ada').text('approval rules')).toBe(
      'A second person for above 50.00 AUD, any amount of another currency, links, exports, keys, administrators.',
    );
    const { audit } = (await gateway.api.purchase({ amount: 200, currency: 'NZD' })).body;
    expect((await refund(ada, audit)).state).toBe('waiting');
  });
});

// catches(roles: nobody takes the rules of approvals away)
test('the login that serves → can neither see nor change any of it; the operating login → cannot take it away', async () => {
  for (const table of ['task_request', 'approval_rules']) {
    await expect(gateway.sqlAs('tollgate_application', `SELECT FROM ${table}`)).rejects.toThrow(
      'permission denied',
    );
    await expect(gateway.sqlAs('tollgate_operator', `DELETE FROM ${table}`)).rejects.toThrow(
      'permission denied',
    );
  }
  for (const change of [
    `UPDATE operator SET history = '[]'`,
    `UPDATE operator_request SET alone_from = now()`,
    `INSERT INTO operator_session (tag) VALUES ('\\x00')`,
  ])
    await expect(gateway.sqlAs('tollgate_application', change)).rejects.toThrow('permission denied');
});

describe('the command line', () => {
  // catches(command line: nobody is believed by name)
  test('without a token → only scheduled work, and the way back in, which the journal names and makes nobody a second person', async () => {
    expect(await shell.refusal('merchant list')).toMatch(/^this installation has operators: prove which/);
    await shell.json('keys verify --merchant 1');
    await shell.json('operator link bert');
    expect(await lastOf('operator.recovered')).toMatchObject([
      { actor: expect.stringMatching(/^operator:account:/), detail: 'bert' },
    ]);
    expect(await doctorOn('operators')).toMatchObject({
      result: 'warning',
      found: expect.stringMatching(/without a token for bert$/),
    });
    const { request } = await refund(ada, await purchase());
    expect(await as('bert').refusal(`approval approve ${request}`)).toMatch(
      /bert cannot be the second person/,
    );
    await within((database) => knownForLong(database, gateway.credentialKey));
  });

  // catches(command line: a session of the console is no token)
  test('a token of the console → that operator, until they sign out everywhere; a cookie → no token; a token → no cookie', async () => {
    const mia = await signedIn(gateway, { name: 'mia', role: 'viewer' });
    const { status, body } = await mia.post('/command-line-token');
    expect([status, body]).toEqual([
      200,
      { token: expect.stringMatching(/^[\w-]{43}$/), ends_at: expect.any(String) },
    ]);
    expect(await lastOf('operator.token_made')).toEqual([{ actor: 'operator:mia', detail: 'mia' }]);
    expect(await byToken(body.token).json('merchant list')).not.toEqual([]);
    expect(await byToken(body.token).refusal('merchant suspend 1')).toMatch(/^the operator mia has the role/);
    const [name, session] = mia.cookie.split('=') as [string, string];
    expect(await byToken(session).refusal('merchant list')).toMatch(/^the token of the command line is not/);
    expect((await consoleClient(gateway.operatorsUrl, `${name}=${body.token}`).get('/session')).status).toBe(
      401,
    );
    expect(await gateway.sql('SELECT tag FROM operator_session WHERE tag = $1', [body.token])).toEqual([]);
    await mia.post('/sign-out-everywhere');
    expect(await byToken(body.token).refusal('merchant list')).toMatch(
      /^the token of the command line is not/,
    );
  });
});

describe('a single person', () => {
  // catches(second person: whoever removes the others is not alone)
  test('→ is told so, waits for a day, and then approves it; whoever removes the others first is not alone', async () => {
    const { request: held } = await refund(ada, await purchase());
    await as('ada').json('operator remove bert');
    // Somebody could have said no.
    const now = await refund(ada, await purchase());
    expect(now).toMatchObject({ state: 'waiting', alone_from: null });

    await within((database) => knownForLong(database, gateway.credentialKey));
    const target = await purchase();
    const alone = await refund(ada, target);
    expect(alone).toMatchObject({ state: 'waiting', alone_from: expect.any(String) });
    expect(await lastOf('approval.requested')).toMatchObject([
      { detail: expect.stringMatching(/nobody else can approve it yet, so it waits for a day$/) },
    ]);
    const message = await as('ada').refusal('operator add nora --role administrator');
    expect(message).toMatch(/waits for a day, because nobody else can approve it/);
    expect(await as('ada').refusal(`approval approve ${alone.request}`)).toMatch(
      /needs the approval of another/,
    );
    expect(await as('ada').json(`approval refuse ${held}`)).toMatchObject({ state: 'refused' });

    await aDayLater(alone.request);
    expect(await as('ada').json(`approval approve ${alone.request}`)).toMatchObject({
      state: 'done',
      requested_by: 'operator:ada',
      decided_by: 'operator:ada',
    });
  });
});
