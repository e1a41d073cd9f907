// Callers: credentials, and the merchants that a user may use.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Callers } from '../../src/organisations/users/callers.js';
import { addUser } from '../../src/organisations/users/users.js';
import type { Database } from '../../src/postgres/database.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { type Answer, client } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type Credentials, type TestGateway, testGateway } from '../../testkit/gateway.js';
import { ANY_BODY, bodyWith, CREATING_PATHS, storedRows, TARGETED } from '../../testkit/requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({
    settings: { ACQUIRER_DEADLINE_MS: '20000', FAILED_LOG_INS_PER_SECOND: '10' },
  });
});
afterAll(() => gateway.close());

/** All that a client sees of an answer, but for what is new in every response. */
function seen({ status, headers, text }: Answer): string {
  const lasting = [...headers].filter(([name]) => !['date', 'x-correlation-id'].includes(name));
  return JSON.stringify({ status, headers: lasting, text });
}

const SILENT = { onBrokenSeal: () => {}, onPutBack: () => {} };

const base64 = (text: string | Uint8Array) => Buffer.from(text).toString('base64');

describe('credentials', () => {
  const wrong: [string, (owner: Credentials) => string | undefined][] = [
    ['none', () => undefined],
    ['a wrong secret', ({ username }) => `Basic ${base64(`${username}:wrong`)}`],
    ['no secret', ({ username }) => `Basic ${base64(`${username}:`)}`],
    [
      'a secret with something behind it',
      ({ username, password }) => `Basic ${base64(`${username}:${password}x`)}`,
    ],
    [
      'a secret in another case',
      ({ username, password }) => `Basic ${base64(`${username}:${password.toUpperCase()}`)}`,
    ],
    ['an unknown user', ({ password }) => `Basic ${base64(`nobody:${password}`)}`],
    ['an empty user name', ({ password }) => `Basic ${base64(`:${password}`)}`],
    ['a user name in another case', ({ password }) => `Basic ${base64(`OWNER:${password}`)}`],
    ['a user name that no user can have', ({ password }) => `Basic ${base64(`own\u0000er:${password}`)}`],
    ['a user name of 8 kB', ({ password }) => `Basic ${base64(`${'o'.repeat(8_000)}:${password}`)}`],
    ['no colon', ({ username }) => `Basic ${base64(username)}`],
    ['bytes that are no text', () => `Basic ${base64(Uint8Array.of(0xff, 0xfe, 0x3a, 0xff))}`],
    ['no base64', ({ username, password }) => `Basic ${username}:${password}`],
    ['only the scheme', () => 'Basic'],
    ['another scheme', ({ password }) => `Bearer ${password}`],
    ['an empty header', () => ''],
    [
      'two credentials',
      ({ username, password }) => `Basic ${base64(`${username}:${password}`)}, Basic ${base64('a:b')}`,
    ],
    ['SQL', () => `Basic ${base64("' OR 1=1 --:x")}`],
  ];
  test('any wrong credentials → 401 with WWW-Authenticate, exactly the same response every time', () =>
    expectEach(wrong, async ([_, header]) => {
      const nobody = client(gateway.baseUrl);
      const authorization = header(gateway.owner);
      const expected = await nobody.get('/transactions/1');
      const answer = await nobody.call('/transactions/1', {
        headers: authorization === undefined ? {} : { authorization },
      });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm="/);
      expect(answer.errors).toEqual(['unauthenticated header/Authorization']);
      expect(seen(answer)).toBe(seen(expected));
    }));

  test.each(CREATING_PATHS)(
    'POST %s without credentials → 401 before anything else is checked',
    async (path) => {
      const nobody = client(gateway.baseUrl);
      const before = await storedRows(gateway);
      expect((await nobody.post(path, ANY_BODY)).status).toBe(401);
      expect((await nobody.call(path, { raw: '{', correlationId: null })).status).toBe(401);
      expect(await storedRows(gateway)).toBe(before);
    },
  );

  test('GET of the search without credentials → 401', async () => {
    expect((await client(gateway.baseUrl).search('x')).status).toBe(401);
  });

  test.each(['Basic', 'basic', 'BASIC'])('%s is the same scheme in any case → accepted', async (scheme) => {
    const { username, password } = gateway.owner;
    const authorization = `${scheme} ${base64(`${username}:${password}`)}`;
    const answer = await client(gateway.baseUrl).call('/transactions/2147483647', {
      headers: { authorization },
    });
    expect(answer.status).toBe(404);
  });

  test('secrets are stored only as tags', async () => {
    const rows = await gateway.sql('SELECT * FROM gateway_user');
    expect(rows).toHaveLength(3);
    for (const { password } of [gateway.owner, gateway.colleague, gateway.stranger]) {
      expect(Buffer.from(password, 'base64url').length * 8).toBeGreaterThanOrEqual(128);
      for (const row of rows) {
        expect(row.secret_tag.toString('latin1')).not.toContain(password);
        expect(JSON.stringify({ ...row, secret_tag: row.secret_tag.toString('hex') })).not.toContain(
          password,
        );
      }
    }
  });
});

describe('many wrong secrets', () => {
  const ofOwner = (secret: string) => gateway.as({ username: gateway.owner.username, password: secret });

  test('→ all 401; the owner is served meanwhile, even with a secret used for the first time', async () => {
    const database = operatorsDatabase(gateway);
    const fresh = await addUser(database, 'operator:test', gateway.credentialKey, 'fresh', { merchant: 1 });
    await database.close();
    const guesses = Array.from({ length: 60 }, (_, at) => ofOwner(`guess ${at}`).search('x'));
    const more = Array.from({ length: 60 }, (_, at) =>
      gateway.as({ username: 'fresh', password: `guess ${at}` }).search('x'),
    );
    expect((await gateway.api.purchase()).status).toBe(201);
    expect((await gateway.as(fresh).purchase()).status).toBe(201);
    const statuses = (await Promise.all([...guesses, ...more])).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401]));
    await expect.poll(() => gateway.logged()).toContain('too many failed log-ins');
  });

  test('→ only the digest of the user is read, and known users stay known', async () => {
    const database = operatorsDatabase(gateway);
    const statements: string[] = [];
    const counting = {
      origin: database,
      query: (...query: Parameters<Database['query']>) => {
        statements.push(query[0].name);
        return database.query(...query);
      },
    };
    const callers = new Callers(counting as Database, gateway.credentialKey, SILENT);
    const { username, password } = gateway.owner;
    const owner = await callers.authenticate('right', { username, secret: password, certificate: undefined });
    expect(owner?.username).toBe('owner');
    expect(statements).toEqual(['find-secrets', 'find-users']);
    const guesses = Array.from({ length: 300 }, (_, at) =>
      callers.authenticate(`wrong ${at}`, {
        username: at % 3 === 0 ? 'nobody' : username,
        secret: `guess ${at}`,
        certificate: undefined,
      }),
    );
    expect(callers.known('right')).toBe(owner);
    expect(new Set(await Promise.all(guesses))).toEqual(new Set([undefined]));
    await database.close();
    // Together, and the same for a name that is nobody's.
    expect(statements.slice(2)).toEqual(['find-secrets', 'find-secrets']);
    expect(callers.known('wrong 1')).toBeUndefined();
  });
});

describe('merchants', () => {
  test.each([1, 2, 3])('owner, for merchant %i (assigned or granted) → accepted', async (merchant) => {
    const answer = await gateway.api.purchase({ merchant });
    expect(answer.status).toBe(201);
    expect(answer.body.merchant).toEqual({ id: merchant });
  });

  test('colleague, for the assigned merchant → accepted', async () => {
    expect((await gateway.as(gateway.colleague).purchase({ merchant: 2 })).status).toBe(201);
  });

  test.each(CREATING_PATHS)(
    'POST %s for a foreign merchant → 403, the same whether it exists or not',
    async (path) => {
      const before = await storedRows(gateway);
      const post = (credentials: Credentials, merchant: number) =>
        gateway.as(credentials).post(path, bodyWith('merchant.id', merchant));
      const answers = [
        await post(gateway.owner, 4),
        await post(gateway.owner, 5),
        await post(gateway.owner, 2_147_483_647),
        await post(gateway.colleague, 1),
        await post(gateway.colleague, 3),
        await post(gateway.stranger, 1),
      ];
      expect(answers[0]?.status).toBe(403);
      expect(answers[0]?.errors).toEqual(['merchant_not_permitted body/merchant/id']);
      expect(new Set(answers.map(seen)).size).toBe(1);
      expect(await storedRows(gateway)).toBe(before);
    },
  );
});

describe('transactions of merchants that the user may not use', () => {
  /** Audits that exist in the first organisation and in no other, one purchase and one preauthorisation. */
  let ours: { purchase: number; preauthorisation: number };
  beforeAll(async () => {
    for (let made = 0; made < 3; made += 1) await gateway.api.purchase();
    ours = {
      purchase: (await gateway.api.purchase()).body.audit,
      preauthorisation: (await gateway.api.preauthorise()).body.audit,
    };
  });

  test.each(['colleague', 'stranger'] as const)(
    // catches(callers: only merchants that the user was given)
    // catches(look-up by audit: only of merchants that the caller may use)
    'lookup by the %s → 404, byte for byte that of none',
    async (who) => {
      const api = gateway.as(gateway[who]);
      const none = await api.lookUp(2_147_483_647);
      expect(none.status).toBe(404);
      expect(none.errors).toEqual(['transaction_not_found path/audit']);
      expect(seen(await api.lookUp(ours.purchase))).toBe(seen(none));
      const head = await api.call(`/transactions/${ours.purchase}`, { method: 'HEAD' });
      expect(head.status).toBe(404);
    },
  );

  test.each(
    TARGETED.flatMap((operation) =>
      (['colleague', 'stranger'] as const).map((who) => [operation, who] as const),
    ),
  )('%s by the %s → 404, byte for byte that of none, and nothing happens', async (operation, who) => {
    const api = gateway.as(gateway[who]);
    const body = bodyWith('merchant.id', who === 'colleague' ? 2 : 4);
    const target = operation === 'completion' ? ours.preauthorisation : ours.purchase;
    const before = await storedRows(gateway);
    const none = await api.post(`/transactions/2147483647/${operation}`, body);
    expect(none.status).toBe(404);
    expect(seen(await api.post(`/transactions/${target}/${operation}`, body))).toBe(seen(none));
    expect(await storedRows(gateway)).toBe(before);
  });

  test.each(TARGETED)(
    '%s under another merchant than the target’s, both permitted → 404',
    async (operation) => {
      const body = bodyWith('merchant.id', 2);
      const target = operation === 'completion' ? ours.preauthorisation : ours.purchase;
      const none = await gateway.api.post(`/transactions/2147483647/${operation}`, body);
      const answer = await gateway.api.post(`/transactions/${target}/${operation}`, body);
      expect(answer.status).toBe(404);
      expect(seen(answer)).toBe(seen(none));
      const { _links } = (await gateway.api.lookUp(target)).body;
      expect(_links).toHaveProperty(operation);
    },
  );

  test('everybody looks for everything at once → each user finds only their own transactions', async () => {
    const correlationId = 'the-same-for-all';
    for (const [who, merchant] of [
      ['owner', 1],
      ['colleague', 2],
      ['stranger', 4],
    ] as const) {
      const bought = await gateway.as(gateway[who]).purchase({ merchant, correlationId });
      expect(bought.status).toBe(201);
    }
    const all = (['owner', 'colleague', 'stranger'] as const).flatMap((who) => {
      const api = gateway.as(gateway[who]);
      const lookUps = Array.from({ length: 30 }, (_, at) => () => api.lookUp(at + 1));
      const searches = [1, 2, 3, 4].map((merchant) => () => api.search(correlationId, merchant));
      return [...lookUps, ...searches];
    });
    const alone: string[] = [];
    for (const ask of all) alone.push(seen(await ask()));
    const together = await Promise.all(all.map(async (ask) => seen(await ask())));
    expect(together).toEqual(alone);
    // Found, not found and not permitted, each more than once.
    expect(new Set(alone).size).toBeGreaterThan(10);
  });

  test('the same audit in two organisations → each sees its own', async () => {
    const theirs = await gateway
      .as(gateway.stranger)
      .purchase({ merchant: 4, reference: 'theirs', amount: 77 });
    const { audit } = theirs.body;
    expect((await gateway.as(gateway.stranger).lookUp(audit)).body.transaction.reference).toBe('theirs');
    const mine = await gateway.api.lookUp(audit);
    expect(mine.status).toBe(200);
    expect(mine.body.transaction.reference).not.toBe('theirs');
  });
});

test('a user that calls → the day of its last use is stored once, by the login that serves; one that only tries has none', async () => {
  const database = operatorsDatabase(gateway);
  const callers = new Callers(database, gateway.credentialKey, SILENT);
  const { username, password } = gateway.colleague;
  const shown = { username, secret: password, certificate: undefined };
  const used = () =>
    gateway.sql(`SELECT username, used_on::text AS day FROM gateway_user WHERE used_on IS NOT NULL`);
  await gateway.sql(`UPDATE gateway_user SET used_on = NULL`);
  await callers.authenticate('wrong', { ...shown, secret: 'wrong' });
  await callers.storeUse(database);
  expect(await used()).toEqual([]);
  await callers.authenticate('right', shown);
  await database.query({ name: '', text: 'SET ROLE tollgate_application' });
  await callers.storeUse(database);
  const today = new Date().toISOString().slice(0, 10);
  expect(await used()).toEqual([{ username, day: today }]);
  await gateway.sql(`UPDATE gateway_user SET used_on = NULL`);
  await callers.storeUse(database);
  expect(await used()).toEqual([]);
  await database.close();
});
