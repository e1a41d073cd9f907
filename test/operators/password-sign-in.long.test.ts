// Signing in to the console by a password and a code, and how often it may be tried.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { codesOf, PASSWORD, type SignInDesk, signInDesk } from '../../testkit/sign-in-desk.js';

let gateway: TestGateway;
let desk: SignInDesk;
beforeAll(async () => {
  gateway = await testGateway();
  desk = await signInDesk(gateway);
});
afterAll(async () => {
  await desk.close();
  await gateway.close();
});

describe('a password and a code', () => {
  test('are set through a link and sign in; a code works once', async () => {
    const { codes, operator } = await desk.withPassword('grace');
    expect((await operator.get('/session')).body).toMatchObject({ operator: 'grace', method: 'password' });
    const { nobody } = desk;
    const used = { name: 'grace', password: PASSWORD, code: codes.again() };
    expect((await nobody.post('/sign-in/password', used)).body.error_code).toBe('sign_in_failed');
    const fresh = { ...used, code: codes.next() };
    const answers = await Promise.all([fresh, fresh].map((body) => nobody.post('/sign-in/password', body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 401]);
    const [stored] = await gateway.sql(`SELECT password, totp FROM operator WHERE name = 'grace'`);
    expect(stored?.password).toMatch(/^scrypt\$65536\$8\$2\$[\w-]{22}\$[\w-]{43}$/);
    const written = await gateway.sql(`SELECT row_to_json(journal)::text AS text FROM journal`);
    expect(JSON.stringify(written) + gateway.logged()).not.toContain(PASSWORD);
  });

  test('that are wrong → the same answer as for an unknown name; the journal has nothing of what was typed', async () => {
    await desk.withPassword('heidi');
    const { nobody } = desk;
    const wrong = { password: 'wrong password', code: '000000' };
    const known = await nobody.post('/sign-in/password', { name: 'heidi', ...wrong });
    const unknown = await nobody.post('/sign-in/password', { name: 'hunter2', ...wrong });
    expect([known.status, known.body]).toEqual([unknown.status, unknown.body]);
    expect((await desk.entriesOf('heidi')).at(-1)).toMatchObject({
      action: 'operator.sign_in_failed',
      detail: 'heidi: password',
    });
    expect(JSON.stringify(await gateway.sql(`SELECT * FROM journal`))).not.toMatch(/hunter2|wrong password/);
  });

  test('weak passwords, or a code of another secret → refused, and nothing is set', async () => {
    const enrolling = await desk.opened(await desk.add('weak-operator'));
    const { sealed, secret } = (await enrolling.post('/enrol/codes')).body;
    const codes = codesOf(secret);
    const set = async (password: string, code = codes.next(), from = sealed) =>
      (await enrolling.post('/enrol/password', { password, sealed: from, code })).body?.error_code;
    expect(await set('short')).toBe('password_too_short');
    expect(await set('password12345678')).toBe('password_too_easy');
    expect(await set('I am weak-operator')).toBe('password_too_easy');
    expect(await set(PASSWORD, '123456')).toBe('code_refused');
    const other = await desk.opened(await desk.add('other-operator'));
    const theirs = (await other.post('/enrol/codes')).body;
    expect(await set(PASSWORD, codesOf(theirs.secret).next(), theirs.sealed)).toBe('code_refused');
    expect(await gateway.sql(`SELECT password FROM operator WHERE name = 'weak-operator'`)).toEqual([
      { password: null },
    ]);
  });

  test('too many wrong ones, all at once → most are not even checked; a colleague on a known device can sign in', async () => {
    const { codes, operator } = await desk.withPassword('target');
    const { nobody } = desk;
    const wrong = { name: 'target', password: 'a wrong guess', code: '000000' };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => nobody.post('/sign-in/password', wrong)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    const right = { name: 'target', password: PASSWORD, code: codes.next() };
    // From there, without a device that is known, not even the right one.
    expect((await nobody.post('/sign-in/password', right)).status).toBe(429);
    // The colleague's browser has signed in before.
    const signed = await operator.post('/sign-in/password', right);
    expect(signed.status).toBe(204);
    expect((await desk.withCookies(signed).get('/session')).body).toMatchObject({ operator: 'target' });
  });

  test('prove identity again', async () => {
    const { codes, operator } = await desk.withPassword('prover');
    const before = `UPDATE operator_session SET proved_at = now() - interval '6 minutes' WHERE operator = 'prover'`;
    await gateway.sql(before);
    expect((await operator.get('/session')).body.recent).toBe(false);
    const prove = (password: string, code: string) =>
      operator.post('/re-authenticate/password', { password, code });
    const code = codes.next();
    expect((await prove('wrong password', code)).status).toBe(401);
    expect((await prove(PASSWORD, code)).status).toBe(204);
    expect((await operator.get('/session')).body.recent).toBe(true);
    expect((await desk.entriesOf('prover')).slice(-2)).toMatchObject([
      { action: 'operator.sign_in_failed' },
      { action: 'operator.proved', detail: 'prover: password' },
    ]);
  });
});
