// What an acquirer knows a merchant by: set by operators of the whole installation only, and one merchant's alone. Whoever could set it for
// one organisation could have its refunds debited to a merchant of another.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OperatorRole } from '../../src/tasks/task.js';
import { runHere } from '../../testkit/command-here.js';
import { type Commands, commands, wordsOf } from '../../testkit/commands.js';
import { type ConsoleClient, signedIn, tokenFor } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

/** Of organisation 2. */
let foreignMerchant: number;
let gateway: TestGateway;
let ada: ConsoleClient;
let foreign: ConsoleClient;

const ACCEPTOR = { acquirer: 'bank', acceptor_id: 'SHOP', terminals: ['T1', 'T2'], category_code: '5999' };

beforeAll(async () => {
  gateway = await testGateway();
  ada = await signedIn(gateway);
  foreign = await signedIn(gateway, { organisation: 2 });
  for (const name of ['bank', 'other'])
    await ada.post('/acquirers', { name, address: '127.0.0.1:1', test: true });
  foreignMerchant = (await ada.post('/merchants', { organisation: 2, name: 'Theirs' })).body.id;
  expect((await ada.post('/merchants/1', ACCEPTOR)).status).toBe(200);
});
afterAll(() => gateway.close());

const as = (name: string): Commands =>
  commands(async (line) =>
    runHere(wordsOf(line), {
      DATABASE_URL: gateway.databaseUrl,
      TOLLGATE_DATA_DIR: gateway.dataDir,
      TOLLGATE_OPERATOR_TOKEN: await tokenFor(gateway, name),
    }),
  );

const setOf = async (merchant: number) =>
  (
    await gateway.sql('SELECT acquirer, acceptor_id, terminals, category_code FROM merchant WHERE id = $1', [
      merchant,
    ])
  )[0];
const UNSET = { acquirer: 'simulator', acceptor_id: null, terminals: null, category_code: null };

describe('an operator of one organisation', () => {
  test.each(Object.entries({ ...ACCEPTOR, none: null }))(
    'sets %s of a merchant, or adds one with it → refused, with the field, and journalled',
    async (field, value) => {
      const body = field === 'none' ? { acquirer: null } : { [field]: value };
      for (const answer of [
        await foreign.post(`/merchants/${foreignMerchant}`, body),
        await foreign.post('/merchants', { organisation: 2, name: 'Another', ...body }),
      ]) {
        expect(answer).toMatchObject({ status: 403, body: { error_code: 'acceptor_not_permitted' } });
        expect(answer.body.error_message).toMatch(/is set by operators of the whole installation only/i);
      }
      expect(await setOf(foreignMerchant)).toEqual(UNSET);
      const [entry] = await gateway.sql('SELECT actor, action FROM journal ORDER BY id DESC LIMIT 1');
      expect(entry).toEqual({ actor: `operator:${foreign.name}`, action: 'operator.refused' });
    },
  );

  // catches(acquirers: an operator of one organisation does not say what an acquirer knows a merchant by)
  test('on the command line → refused, with the option', async () => {
    const line = `merchant set ${foreignMerchant} --acceptor-id SHOP --terminals T1`;
    expect(await as(foreign.name).refusal(line)).toBe(
      '--acceptor-id is set by operators of the whole installation only; --terminals is set by operators of the whole installation only',
    );
    const added = 'merchant add Another --organisation 2 --acquirer bank';
    expect(await as(foreign.name).refusal(added)).toMatch(/^--acquirer is set by/);
    expect(await setOf(foreignMerchant)).toEqual(UNSET);
  });

  test('sets fields that it may set → done', async () => {
    expect(await foreign.post(`/merchants/${foreignMerchant}`, { name: 'Renamed' })).toMatchObject({
      status: 200,
    });
    expect(await as(foreign.name).json(`merchant set ${foreignMerchant} --name Theirs`)).toMatchObject({
      name: 'Theirs',
    });
  });

  test.each(['operator', 'administrator'] as const)(
    // catches(acquirers: an operator of one organisation sets no routes)
    '%s, sets a route or takes it off → refused',
    async (role: OperatorRole) => {
      const limited = await signedIn(gateway, { role, organisation: 2 });
      for (const what of ['set', 'off'])
        expect(await limited.post(`/routes/${foreignMerchant}/${what}`, { acquirer: 'bank' })).toMatchObject({
          status: 403,
          body: { error_code: 'organisation_not_permitted' },
        });
      expect(
        await as(limited.name).refusal(`route set --merchant ${foreignMerchant} --acquirer bank`),
      ).toMatch(/“route set” concerns the whole installation/);
    },
  );
});

test.each(['viewer', 'operator'] as const)(
  '%s of the whole installation → refused because of the role',
  async (role) => {
    const other = await signedIn(gateway, { role });
    expect((await other.post('/merchants/1', { acceptor_id: 'ELSE' })).status).toBe(403);
    expect(await setOf(1)).toEqual(ACCEPTOR);
  },
);

describe('an acceptor ID with a terminal of another merchant on the link', () => {
  const taken = {
    error_code: 'acceptor_not_allowed',
    error_message: expect.stringMatching(/^Terminals belong to another merchant/i),
  };
  const mine = { acquirer: 'bank', acceptor_id: 'SHOP', terminals: ['T9', 'T2'] };

  // catches(acquirers: a terminal with its acceptor ID is one merchant’s)
  test('set, or added with → refused with the field, without a hint of the other merchant', async () => {
    expect(await ada.post('/merchants/2', mine)).toMatchObject({ status: 422, body: taken });
    expect(await ada.post('/merchants', { organisation: 1, name: 'New', ...mine })).toMatchObject({
      status: 422,
      body: taken,
    });
    const line = 'merchant set 2 --acquirer bank --acceptor-id SHOP --terminals T9,T2';
    expect(await as(ada.name).refusal(line)).toBe(
      '--terminals belong to another merchant of this acquirer, with this acceptor ID',
    );
    expect(await setOf(2)).toMatchObject({ acquirer: 'simulator', acceptor_id: null });
  });

  test('given to two at once → one gets it', async () => {
    const wanted = { acquirer: 'bank', acceptor_id: 'RACE', terminals: ['R1'] };
    const answers = await Promise.all([2, 3].map((id) => ada.post(`/merchants/${id}`, wanted)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
  });

  test('at another link, with another acceptor ID, or another terminal → set; then routed there → refused', async () => {
    const other = { acquirer: 'other', acceptor_id: 'SHOP', terminals: ['T1'] };
    expect((await ada.post(`/merchants/${foreignMerchant}`, other)).status).toBe(200);
    expect(
      await ada.post(`/routes/${foreignMerchant}/set`, { acquirer: 'bank', card: 'visa' }),
    ).toMatchObject({
      status: 422,
      body: { error_code: 'route_not_allowed' },
    });
    expect(
      await as(ada.name).refusal(`route set --merchant ${foreignMerchant} --acquirer bank --card visa`),
    ).toMatch(/^--acquirer knows a terminal of this merchant/);
    expect((await ada.post(`/merchants/${foreignMerchant}`, { acceptor_id: 'THEIRS' })).status).toBe(200);
    expect(
      (await ada.post(`/routes/${foreignMerchant}/set`, { acquirer: 'bank', card: 'visa' })).status,
    ).toBe(200);
  });

  // catches(acquirers: a terminal stays one merchant’s at the links that it has left)
  test('of a merchant that left the link → still taken, until that merchant has other terminals', async () => {
    expect((await ada.post('/merchants/1', { acquirer: 'other', terminals: ['T2'] })).status).toBe(200);
    const again = { acquirer: 'bank', acceptor_id: 'SHOP', terminals: ['T2'] };
    const added = () => ada.post('/merchants', { organisation: 1, name: 'Heir', ...again });
    expect(await added()).toMatchObject({ status: 422, body: taken });
    expect((await ada.post('/merchants/1', { terminals: ['T8'] })).status).toBe(200);
    expect((await added()).status).toBe(200);
  });
});
