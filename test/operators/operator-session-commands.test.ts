// Commands about operators who are signed in to the console: another role, where they are signed in, and the end of it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runHere } from '../../testkit/command-here.js';
import { type Commands, commands, wordsOf } from '../../testkit/commands.js';
import { signedIn, tokenFor } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

let gateway: TestGateway;
let first: Commands;
beforeAll(async () => {
  gateway = await testGateway();
  first = commands(async (line) =>
    runHere(wordsOf(line), {
      DATABASE_URL: gateway.databaseUrl,
      TOLLGATE_DATA_DIR: gateway.dataDir,
      TOLLGATE_OPERATOR_TOKEN: await tokenFor(gateway, 'first'),
    }),
  );
});
afterAll(() => gateway.close());

test('operator sessions → where an operator is signed in; operator sign-out → signed out', async () => {
  const operator = await signedIn(gateway, { name: 'ada' });
  expect(await first.json('operator sessions ada')).toEqual([
    {
      id: expect.stringMatching(/^[\w-]{36}$/),
      stage: 'signed_in',
      method: 'passkey',
      address: '127.0.0.1',
      agent: 'test',
      created_at: expect.any(String),
      seen_at: expect.any(String),
      ends_at: expect.any(String),
    },
  ]);
  expect(await first.json('operator sign-out ada')).toEqual({ name: 'ada', ended: 1 });
  expect((await operator.get('/session')).status).toBe(401);
  expect(await first.json('operator sessions ada')).toEqual([]);
});

test('operator set → another role or organisation; the operator is signed out', async () => {
  const operator = await signedIn(gateway, { name: 'grace', role: 'viewer' });
  expect(await first.json('operator set grace --role operator --organisation 2')).toMatchObject({
    role: 'operator',
    organisation: 2,
    sealed: true,
  });
  expect((await operator.get('/session')).status).toBe(401);
  expect(await first.json('operator set grace --whole-installation')).toMatchObject({
    role: 'operator',
    organisation: null,
  });
  expect(await first.refusal('operator set grace --organisation 99')).toBe('there is no organisation 99');
  await first.json('operator set ada --role viewer');
  expect(await first.refusal('operator set first --role viewer')).toMatch(
    /^the operator first is the last administrator/,
  );
  const entries = await first.json('journal --user first');
  expect(entries.map(({ detail }: { detail: string }) => detail)).toContain(
    'grace: operator, of organisation 2',
  );
});
