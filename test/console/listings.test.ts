// What is set up, as the console lists it: the same that the command prints with `--json`, and for an operator of one organisation
// nothing of another's.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type ConsoleClient, signedIn, tokenFor } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

let gateway: TestGateway;
let ada: ConsoleClient;
let fenced: ConsoleClient;

beforeAll(async () => {
  gateway = await testGateway();
  ada = await signedIn(gateway, { name: 'ada' });
  fenced = await signedIn(gateway, { organisation: 2 });
  for (const merchant of [1, 4]) {
    await ada.post('/webhooks', { url: 'https://shop.example/hook', merchant });
    await ada.post(`/surcharges/${merchant}/set`, { rules: [{ scope: 'default', percent: '1.5' }] });
    await ada.post(`/routes/${merchant}/set`, { acquirer: 'simulator', card: 'visa' });
  }
});
afterAll(() => gateway.close());

const { json } = commands(async (line) =>
  runHere(wordsOf(line), {
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_DATA_DIR: gateway.dataDir,
    TOLLGATE_OPERATOR_TOKEN: await tokenFor(gateway, 'ada'),
  }),
);

test('a limit that is no number → refused, and named', async () => {
  for (const limit of ['many', '-1', '0', '1.5']) {
    const { status, body } = await ada.get(`/journal?limit=${limit}`);
    expect([status, body]).toEqual([
      422,
      expect.objectContaining({ error_code: 'field_format', location: ['query', 'limit'] }),
    ]);
  }
  expect((await ada.get('/journal?limit=1')).body).toHaveLength(1);
});

test('a field that may be null, with a value of another type → the message names the right type', async () => {
  const wrong = await ada.post('/users/owner', { from_addresses: '10.0.0.0/8' });
  expect([wrong.status, wrong.body]).toEqual([
    422,
    expect.objectContaining({
      error_message: 'This field must be of type array.',
      location: ['body', 'from_addresses'],
    }),
  ]);
});

const today = new Date().toISOString().slice(0, 10);

test.each([
  ['/organisations', 'organisation list'],
  ['/merchants', 'merchant list'],
  ['/users', 'user list'],
  ['/operators', 'operator list'],
  ['/routes?merchant=1', 'route show --merchant 1'],
  ['/acquirers', 'acquirer list'],
  ['/surcharges?merchant=1', 'surcharge show --merchant 1'],
  ['/webhooks', 'webhook list'],
  ['/webhooks?merchant=4', 'webhook list --merchant 4'],
  ['/webhooks/1/deliveries', 'webhook deliveries 1'],
  ['/keys', 'keys status'],
  ['/directdebit', 'directdebit status'],
  ['/directdebit?merchant=1', 'directdebit status --merchant 1'],
  [`/settlement?date=${today}`, `settlement show --date ${today}`],
])('GET %s → as tollgate %s prints it', async (path, command) => {
  const { status, body } = await ada.get(path);
  const printed = await json(command);
  expect([status, body]).toEqual([200, printed]);
});

test('GET /journal → as the command prints it, by user, action and time', async () => {
  const { body } = await ada.get('/journal?action=webhook.added&user=ada&limit=5');
  expect(body).toHaveLength(2);
  expect(body).toEqual(await json('journal --action webhook.added --user ada --limit 5'));
  expect((await ada.get('/journal?from=2999-01-01')).body).toEqual([]);
  expect(await ada.get('/journal?from=yesterday')).toMatchObject({
    status: 422,
    body: { error_code: 'field_format', location: ['query', 'from'] },
  });
});

describe('an operator of one organisation', () => {
  test.each([
    ['/merchants', 'organisation', [2]],
    ['/users', 'organisation', [2]],
    ['/webhooks', 'merchant', [4]],
    ['/directdebit', 'merchant', [4]],
  ])('GET %s → only what belongs to it', async (path, member, own) => {
    const { status, body } = await fenced.get(path);
    expect(status).toBe(200);
    expect([...new Set(body.map((line: Record<string, unknown>) => line[member]))]).toEqual(own);
  });

  test.each([
    '/merchants?organisation=1',
    '/routes?merchant=1',
    '/surcharges?merchant=1',
    '/webhooks?merchant=1',
    '/webhooks/1/deliveries',
    '/directdebit?merchant=1',
    `/settlement?date=${today}&merchant=1`,
    '/journal?merchant=1',
  ])('GET %s of another organisation → 404', async (path) => {
    expect(await fenced.get(path)).toMatchObject({ status: 404 });
  });

  test.each([
    '/organisations',
    '/operators',
    '/acquirers',
    '/acquirers/simulator',
    '/keys',
    '/journal',
    `/settlement?date=${today}`,
  ])('GET %s of the whole installation → 403', async (path) => {
    expect(await fenced.get(path)).toMatchObject({ status: 403 });
  });
});

test('GET /settlement of an invalid day → 422 that names it; /routes without a merchant → 404', async () => {
  expect(await ada.get('/settlement?date=2026-02-30')).toMatchObject({
    status: 422,
    body: { error_code: 'field_format', location: ['query', 'date'] },
  });
  expect(await ada.get('/routes')).toMatchObject({ status: 404 });
});
