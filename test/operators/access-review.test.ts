// The half-yearly review of access: who may do what, since when, and what looks wrong.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examine } from '../../src/gateway/doctor/doctor.js';
import { runHere } from '../../testkit/command-here.js';
import { type Commands, commands, wordsOf } from '../../testkit/commands.js';
import { signedIn, tokenFor } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type SignInDesk, signInDesk } from '../../testkit/sign-in-desk.js';

let gateway: TestGateway;
let desk: SignInDesk;
let first: Commands;
beforeAll(async () => {
  gateway = await testGateway();
  desk = await signInDesk(gateway);
  const token = await tokenFor(gateway, 'first');
  first = commands((line) =>
    runHere(wordsOf(line), {
      DATABASE_URL: gateway.databaseUrl,
      TOLLGATE_DATA_DIR: gateway.dataDir,
      TOLLGATE_OPERATOR_TOKEN: token,
    }),
  );
  await desk.withPasskey('ada');
  await first.json('user add used --merchant 1 --grant 2 --allow read');
  await first.json('user add gone --merchant 1');
  await first.json('user revoke gone');
  await first.json('operator add left --role viewer');
  await first.json('operator remove left');
});
afterAll(async () => {
  await desk.close();
  await gateway.close();
});

/** What the doctor of a production installation says of reviews. */
async function found() {
  const findings = await examine({
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_DATA_DIR: gateway.dataDir,
    TOLLGATE_PORT: '0',
    TOLLGATE_DEMO: 'false',
    TOLLGATE_ENVIRONMENT: 'production',
  });
  const { result, todo } = findings.find(({ check }) => check === 'review of access') ?? {};
  return [result, todo];
}

test('doctor in production → warns six months after the first operator, or the last review, and not before', async () => {
  expect(await found()).toEqual(['ok', undefined]);
  await gateway.sql(
    `INSERT INTO journal (at, actor, action, detail) VALUES (now() - interval '190 days', 'operator:test', 'operator.added', 'old: viewer')`,
  );
  expect(await found()).toEqual(['warning', expect.stringContaining('`tollgate operator review`')]);
  await first.json('operator review');
  expect(await found()).toEqual(['ok', undefined]);
});

test('operator review → every operator and API user with rights, origin, last use and what looks wrong; the journal has it', async () => {
  const reviewed = await first.json('operator review');
  const named = (wanted: string) => reviewed.find(({ name }: { name: string }) => name === wanted);
  expect(named('ada')).toEqual({
    kind: 'operator',
    name: 'ada',
    organisation: null,
    rights: ['administrator'],
    merchants: [],
    signs_in_by: ['passkey'],
    added_at: expect.any(String),
    added_by: 'operator:test',
    last_used: expect.any(String),
    looks_wrong: [],
  });
  expect(named('first').looks_wrong).toEqual(['has never signed in', 'an administrator without a passkey']);
  expect(named('used')).toMatchObject({
    kind: 'user',
    organisation: 1,
    rights: ['read'],
    merchants: [1, 2],
    signs_in_by: ['secret'],
    added_by: 'operator:first',
    last_used: null,
    looks_wrong: ['was never used'],
  });
  expect([named('gone'), named('left')]).toEqual([undefined, undefined]);
  const entries = await gateway.sql(
    `SELECT actor, detail FROM journal WHERE action = 'operator.reviewed' ORDER BY id DESC LIMIT 1`,
  );
  const users = reviewed.filter(({ kind }: { kind: string }) => kind === 'user').length;
  expect(entries).toEqual([
    {
      actor: 'operator:first',
      detail: expect.stringMatching(
        `^2 operators, ${users} API users, \\d+ with something that looks wrong$`,
      ),
    },
  ]);
});

test('--csv → the same as a file, which overwrites none; a formula in a name is harmless', async () => {
  await first.json('operator add @sum --role viewer');
  const path = join(gateway.dataDir, 'review.csv');
  await first.json(`operator review --csv ${path}`);
  const lines = (await readFile(path, 'utf8')).split('\r\n');
  expect(lines[0]).toBe(
    'kind,name,organisation,rights,merchants,signs_in_by,added_at,added_by,last_used,looks_wrong',
  );
  expect(lines.find((line) => line.startsWith('user,used,'))).toMatch(
    /^user,used,1,read,1; 2,secret,[\dTZ:.-]+,operator:first,,was never used$/,
  );
  expect(lines.find((line) => line.includes('@sum'))).toMatch(/^operator,'@sum,/);
  expect(await first.refusal(`operator review --csv ${path}`)).toMatch(
    /exists already and is not overwritten/,
  );
});

test('on the console → a file; administrators of the whole installation alone', async () => {
  const administrator = await signedIn(gateway);
  const answer = await administrator.get('/operators/review.csv');
  expect([answer.status, answer.headers.get('content-disposition')]).toEqual([
    200,
    'attachment; filename="access-review.csv"',
  ]);
  expect(answer.text).toContain('\r\noperator,ada,,administrator,');
  for (const options of [{ role: 'operator' }, { organisation: 1 }] as const) {
    const other = await signedIn(gateway, options);
    expect((await other.get('/operators/review.csv')).status).toBe(403);
  }
});
