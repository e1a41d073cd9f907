// Every route of the console, called by everybody who may not: refused, and nothing happens.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs, type Route } from '../../src/console/route.js';
import { ROUTES } from '../../src/console/routes/routes.js';
import { OPERATOR_ROLES } from '../../src/tasks/task.js';
import { type ConsoleClient, consoleClient, sessionsAgo, signedIn } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const CLOSED = ROUTES.filter((route) => route.kind === 'closed');
const ofInstallation = CLOSED.filter(({ options }) => needs(options).isOfInstallation);
const ofOrganisation = CLOSED.filter(({ options }) => !needs(options).isOfInstallation);
const POSTS = ROUTES.filter(({ options }) => options.method === 'POST');
const nameOf = ({ options }: Route) => `${options.method} ${options.path}`;

/** With 1 for each name: organisation, merchant and customer 1 are there. */
function pathOf({ options }: Route, value = '1'): string {
  return options.path.replaceAll(/:[a-z]+/gi, value);
}

function send(
  client: ConsoleClient,
  route: Route,
  headers: Record<string, string> = {},
  path = pathOf(route),
) {
  const { options } = route;
  if (options.method === 'GET') return client.get(path, headers);
  return client.post(path, 'fileBytes' in options && options.fileBytes ? new Uint8Array(8) : {}, headers);
}

/** What processes change by themselves. */
const CHANGING =
  '{process,absence,audit_lease,sweep,journal_block,journal_chain,journal_gap,event_sequencer,card_review,data_key_use,figures_by_hour,figures_by_minute,figures_progress,figures_undecided,stan_lease,stan_counter,operator_attempt,gateway}';

/** Every row of what operators can change, as text. */
async function rows(): Promise<string> {
  const tables = await gateway.sql<{ name: string }>(
    // What is in a partition is in its table.
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
     AND NOT relispartition AND relname <> ALL ($1::text[])`,
    [CHANGING],
  );
  // That somebody was refused is journalled.
  const selects = tables.map(
    ({ name }) =>
      `SELECT '${name} ' || each::text AS text FROM ${name} AS each ${name === 'journal' ? `WHERE action <> 'operator.refused'` : ''}`,
  );
  const all = await gateway.sql<{ text: string }>(selects.join(' UNION ALL '));
  expect(all.length).toBeGreaterThan(0);
  return all
    .map(({ text }) => text)
    .sort()
    .join('\n');
}

/** Calls each of the routes. Returns those that were answered otherwise, and what they answered. */
async function refusedAll(
  routes: readonly Route[],
  call: (route: Route) => ReturnType<ConsoleClient['get']>,
  status: number,
  code: string,
): Promise<string[]> {
  const before = await rows();
  const wrong: string[] = [];
  for (const route of routes) {
    const answer = await call(route);
    if (answer.status !== status || answer.body?.error_code !== code)
      wrong.push(`${nameOf(route)}: ${answer.status} ${answer.text}`);
  }
  expect(await rows()).toBe(before);
  return wrong;
}

describe('every route', () => {
  test('without a session → 401', async () => {
    const nobody = consoleClient(gateway.operatorsUrl);
    expect(await refusedAll(CLOSED, (route) => send(nobody, route), 401, 'not_signed_in')).toEqual([]);
  });

  test.each([
    ['made up', `__Host-tollgate=${'A'.repeat(43)}`],
    ['of another shape', '__Host-tollgate=x; __Host-tollgate=; tollgate=1'],
    ['under the name for plain browsers', `tollgate=${'A'.repeat(43)}`],
  ])('with a session that is %s → 401', async (_, cookie) => {
    const nobody = consoleClient(gateway.operatorsUrl, cookie);
    expect(await refusedAll(CLOSED, (route) => send(nobody, route), 401, 'not_signed_in')).toEqual([]);
  });

  test('with a session that has ended → 401', async () => {
    const operator = await signedIn(gateway);
    await operator.post('/sign-out');
    expect(await refusedAll(CLOSED, (route) => send(operator, route), 401, 'not_signed_in')).toEqual([]);
  });

  test('before a passkey or a password is set → 401', async () => {
    const operator = await signedIn(gateway, { stage: 'enrolling' });
    expect(await refusedAll(CLOSED, (route) => send(operator, route), 401, 'not_signed_in')).toEqual([]);
  });

  test.each(OPERATOR_ROLES.slice(0, -1))('with the role %s where more is needed → 403', async (role) => {
    const operator = await signedIn(gateway, { role });
    const higher = CLOSED.filter(
      ({ options }) => OPERATOR_ROLES.indexOf(needs(options).role) > OPERATOR_ROLES.indexOf(role),
    );
    expect(await refusedAll(higher, (route) => send(operator, route), 403, 'role_not_sufficient')).toEqual(
      [],
    );
  });

  test('of the whole installation, for an operator of one organisation → 403', async () => {
    const operator = await signedIn(gateway, { organisation: 2 });
    expect(
      await refusedAll(ofInstallation, (route) => send(operator, route), 403, 'organisation_not_permitted'),
    ).toEqual([]);
  });

  test('about a foreign organisation or merchant → 404', async () => {
    const operator = await signedIn(gateway, { organisation: 2 });
    const fenced = ofOrganisation.filter(
      ({ options }) => options.body === undefined && /:(organisation|merchant)\b/.test(options.path),
    );
    expect(await refusedAll(fenced, (route) => send(operator, route), 404, 'not_found')).toEqual([]);
    const gets = ofOrganisation.filter(({ options }) => options.method === 'GET');
    for (const query of ['?merchant=1', '?organisation=1', '?merchant=4&merchant=1', '?merchant=x']) {
      const call = (route: Route) => send(operator, route, {}, pathOf(route) + query);
      expect(await refusedAll(gets, call, 404, 'not_found')).toEqual([]);
    }
  });

  test('for money and keys, more than five minutes after the last proof → 403', async () => {
    const operator = await signedIn(gateway);
    await sessionsAgo(gateway, operator.name, { proved: 6 });
    const guarded = CLOSED.filter(({ options }) => options.recent);
    expect(
      await refusedAll(guarded, (route) => send(operator, route), 403, 'authentication_not_recent'),
    ).toEqual([]);
  });

  test.each([
    ['another origin', { origin: 'https://attacker.example' }],
    ['an origin with another port', { origin: 'http://127.0.0.1:1' }],
    ['an origin that browsers hide', { origin: 'null' }],
    ['another page of the same site', { 'sec-fetch-site': 'same-site' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
  ])('that changes something, requested from %s → 403', async (_, headers) => {
    const operator = await signedIn(gateway);
    const call = (route: Route) => send(operator, route, headers as Record<string, string>);
    expect(await refusedAll(POSTS, call, 403, 'origin_not_allowed')).toEqual([]);
  });

  test('that changes something, without an origin → 403', async () => {
    const operator = await signedIn(gateway);
    const before = await rows();
    for (const route of POSTS) {
      const response = await fetch(`${gateway.operatorsUrl}/console/api${pathOf(route)}`, {
        method: 'POST',
        headers: { cookie: operator.cookie, 'content-type': 'application/json' },
        body: '{}',
      });
      expect([nameOf(route), response.status]).toEqual([nameOf(route), 403]);
    }
    expect(await rows()).toBe(before);
  });

  test('read by a page of another site → 403', async () => {
    const operator = await signedIn(gateway);
    const gets = CLOSED.filter(({ options }) => options.method === 'GET');
    const call = (route: Route) => send(operator, route, { 'sec-fetch-site': 'cross-site' });
    expect(await refusedAll(gets, call, 403, 'origin_not_allowed')).toEqual([]);
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/html',
  ])('with the type %s, as forms of any page can send → 415', async (type) => {
    const operator = await signedIn(gateway);
    const call = (route: Route) => send(operator, route, { 'content-type': type });
    const here = POSTS.filter(({ options }) => !('for' in options) || options.for === 'anyone');
    expect(await refusedAll(here, call, 415, 'unsupported_media_type')).toEqual([]);
  });

  test('with a body that is too large, not JSON, or has a null character → refused', async () => {
    const operator = await signedIn(gateway);
    const raw = (text: string) => async (route: Route) => {
      const response = await fetch(`${gateway.operatorsUrl}/console/api${pathOf(route)}`, {
        method: 'POST',
        headers: {
          cookie: operator.cookie,
          origin: gateway.operatorsUrl,
          'content-type': 'application/json',
        },
        body: text,
      });
      const answer = await response.text();
      return { status: response.status, headers: response.headers, text: answer, body: JSON.parse(answer) };
    };
    const json = POSTS.filter(
      ({ options }) =>
        !('fileBytes' in options && options.fileBytes) && !('for' in options && options.for === 'enrolling'),
    );
    const large = `{"x":"${'x'.repeat(70_000)}"}`;
    expect(await refusedAll(json, raw(large), 413, 'body_too_large')).toEqual([]);
    expect(await refusedAll(json, raw('{"x":'), 400, 'malformed_json')).toEqual([]);
    expect(await refusedAll(json, raw('{"x":"\\u0000"}'), 422, 'field_charset')).toEqual([]);
  });

  test('with an unsupported method → 405; with an unknown path → 404', async () => {
    const operator = await signedIn(gateway);
    const { status } = await operator.get('/sign-out');
    expect(status).toBe(405);
    expect((await operator.get('/nothing')).status).toBe(404);
    expect((await operator.get('/session/%00')).status).toBe(404);
    expect((await operator.get('/session/%E0%A4%A')).status).toBe(404);
  });

  test('with invalid numbers → never a 5XX', async () => {
    const operator = await signedIn(gateway);
    for (const value of ['0', '-1', '99999999999999999999', 'x', "'", '%2e%2e', '1e3', '%F0%9F%92%A9']) {
      for (const route of CLOSED.filter(({ options }) => options.path.includes(':'))) {
        const { status, text } = await send(operator, route, {}, pathOf(route, value));
        expect(status, `${nameOf(route)} ${value}: ${text}`).toBeLessThan(500);
      }
    }
  });
});
