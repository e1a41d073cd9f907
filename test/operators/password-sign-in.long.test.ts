// Signing in to the console by a password and a code, and how often it may be tried.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sessionsAgo } from '../../testkit/console.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { passkeyDevice } from '../../testkit/passkey-device.js';
import { codesOf, PASSWORD, type SignInDesk, signInDesk } from '../../testkit/sign-in-desk.js';

let gateway: TestGateway;
let desk: SignInDesk;
beforeAll(async () => {
  gateway = await testGateway();
  desk = await signInDesk(gateway);
  await gateway.sql(`UPDATE organisation SET name = 'Harbour Group' WHERE id = 1`);
});
afterAll(async () => {
  await desk.close();
  await gateway.close();
});

/** The last attempt, so many times more: to look at a password takes the processor long, on purpose. */
async function asIfTriedBefore(times: number): Promise<void> {
  await gateway.sql(
    `INSERT INTO operator_attempt (id, network, made_at, name_tag)
     SELECT gen_random_uuid(), network, made_at, name_tag
     FROM (SELECT * FROM operator_attempt ORDER BY made_at DESC LIMIT 1) last, generate_series(1, $1)`,
    [times],
  );
}

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

  // catches(passwords: none that is easily guessed)
  test('weak passwords, or a code of another secret → refused with what to do, and nothing is set', async () => {
    const enrolling = await desk.opened(await desk.add('weak-operator'));
    const { sealed, secret } = (await enrolling.post('/enrol/codes')).body;
    const codes = codesOf(secret);
    const set = async (password: string, code = codes.next(), from = sealed) =>
      (await enrolling.post('/enrol/password', { password, sealed: from, code })).body;
    expect(await set('elevenchars')).toMatchObject({
      error_code: 'password_too_short',
      error_message: 'A password takes 12 characters or more.',
    });
    await expectEach(
      [
        ['password12345678', /much like a common password/],
        ['P@ssw0rd2026!', /common password/],
        ['I am weak-operator', /has your name, or that of the company/],
        ['Tollgate-2026', /has your name, or that of the company/],
        ['Harbour Group 1', /has your name, or that of the company/],
        ['qwertyuiop[]asd', /row of keys/],
        ['aaaaaaaaaaaaaaaaaaaa', /repeats/],
        ['abcdefghijklmnop', /sequence|common/],
        ['01/02/1990 abc', /easily guessed/],
      ],
      async ([password, words]) =>
        expect(await set(password as string)).toMatchObject({
          error_code: 'password_too_easy',
          error_message: expect.stringMatching(words as RegExp),
        }),
    );
    expect((await set(PASSWORD, '123456')).error_code).toBe('code_refused');
    const other = await desk.opened(await desk.add('other-operator'));
    const theirs = (await other.post('/enrol/codes')).body;
    expect((await set(PASSWORD, codesOf(theirs.secret).next(), theirs.sealed)).error_code).toBe(
      'code_refused',
    );
    expect(await gateway.sql(`SELECT password FROM operator WHERE name = 'weak-operator'`)).toEqual([
      { password: null },
    ]);
  });

  // catches(passwords: none of the last four)
  test('one of the last four → refused, also after a passkey in between; the fifth before is allowed', async () => {
    const passwords = ['first', 'second', 'third', 'fourth', 'fifth'].map((word) => `${PASSWORD} ${word}`);
    const [one = '', two = '', three = '', four = '', five = ''] = passwords;
    await desk.add('renewing');
    const set = async (password: string) => {
      // A code of the same half minute was used just now.
      await gateway.sql(`UPDATE operator SET totp_step = 0 WHERE name = 'renewing'`);
      return (await desk.setPassword(await desk.linkAgain('renewing'), password)).answer;
    };
    for (const password of [one, two, three]) expect((await set(password)).status).toBe(204);
    // Without a password for a while.
    const enrolling = await desk.opened(await desk.linkAgain('renewing'));
    const options = (await enrolling.post('/enrol/passkey/options')).body;
    const response = passkeyDevice().create(options, desk.url);
    expect((await enrolling.post('/enrol/passkey', { label: 'a device', response })).status).toBe(204);
    expect((await set(four)).status).toBe(204);
    for (const password of [one, four]) {
      const { status, body } = await set(password);
      expect([status, body.error_code]).toEqual([422, 'password_used_before']);
    }
    expect((await set(five)).status).toBe(204);
    expect((await set(one)).status).toBe(204);
    const [row] = await gateway.sql(
      `SELECT former_passwords::text AS text FROM operator WHERE name = 'renewing'`,
    );
    expect(row?.text).toMatch(/^\["scrypt\$/);
    expect(row?.text).not.toContain(PASSWORD);
  });

  // catches(sign-in: ten wrong passwords lock a name)
  test('ten wrong ones → the same answers for a name that nobody has; the eleventh is not even looked at', async () => {
    await desk.withPassword('target');
    const tried = async (name: string) => {
      const answers = [];
      const body = { name, password: 'a wrong guess', code: '000000' };
      for (let attempt = 1; attempt <= 4; attempt += 1) {
        if (attempt === 3) await asIfTriedBefore(7);
        answers.push(await desk.nobody.post('/sign-in/password', body));
      }
      // Each name from its own network: twenty from one are too many.
      await gateway.sql(`UPDATE operator_attempt SET network = $1 WHERE network = '127.0.0.1'`, [
        `elsewhere ${name.length}`,
      ]);
      return answers.map(({ status, headers, text }) => {
        const shown = [...headers].filter(([header]) => header !== 'date' && header !== 'set-cookie');
        const cookies = headers.getSetCookie().map((cookie) => cookie.replace(/=[\w-]{22};/, '=…;'));
        return { status, text, shown, cookies };
      });
    };
    const [known, unknown] = [await tried('target'), await tried('no-such-operator')];
    expect(known.map(({ status }) => status)).toEqual([401, 401, 401, 429]);
    expect(unknown).toEqual(known);
    // What was typed as a name is stored nowhere.
    const stored = await gateway.sql(`SELECT row_to_json(a)::text AS text FROM operator_attempt a`);
    const journalled = await gateway.sql(`SELECT row_to_json(j)::text AS text FROM journal j`);
    expect(JSON.stringify([stored, journalled]) + gateway.logged()).not.toContain('no-such-operator');
    // Noticed, under both names.
    const entries = await gateway.sql(
      `SELECT detail FROM journal WHERE detail LIKE '%locked for half an hour' ORDER BY id`,
    );
    expect(entries.map(({ detail }) => detail)).toEqual([
      'target: password, locked for half an hour',
      'unknown: password, locked for half an hour',
    ]);
    const lines = gateway
      .logged()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    const locked = lines.filter(({ msg }) => msg.startsWith('ten wrong passwords under one name'));
    expect(locked.map(({ level, from }) => [level, from])).toEqual([
      [50, '127.0.0.1'],
      [50, '127.0.0.1'],
    ]);
  });

  test('locked by others → refused for half an hour from everywhere, but not on the device of the colleague', async () => {
    const { codes, operator } = await desk.withPassword('guessed');
    const { nobody } = desk;
    const wrong = { name: 'guessed', password: 'a wrong guess', code: '000000' };
    await nobody.post('/sign-in/password', wrong);
    await asIfTriedBefore(8);
    await nobody.post('/sign-in/password', wrong);
    const elsewhere = `UPDATE operator_attempt SET network = 'elsewhere ' || id, made_at = made_at - $1 * interval '1 minute'`;
    await gateway.sql(elsewhere, [0]);
    const right = { name: 'guessed', password: PASSWORD, code: codes.next() };
    expect((await nobody.post('/sign-in/password', right)).status).toBe(429);
    const signed = await operator.post('/sign-in/password', right);
    expect(signed.status).toBe(204);
    expect((await desk.withCookies(signed).get('/session')).body).toMatchObject({ operator: 'guessed' });
    await gateway.sql(elsewhere, [29]);
    expect((await nobody.post('/sign-in/password', right)).status).toBe(429);
    await gateway.sql(elsewhere, [2]);
    expect((await nobody.post('/sign-in/password', right)).status).toBe(401);
  });

  test('all at once → ten are looked at', async () => {
    const wrong = { name: 'nobody-at-all', password: 'a wrong guess', code: '000000' };
    const answers = await Promise.all(
      Array.from({ length: 14 }, () => desk.nobody.post('/sign-in/password', wrong)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...new Array(10).fill(401),
      ...new Array(4).fill(429),
    ]);
  });

  test('prove identity again', async () => {
    const { codes, operator } = await desk.withPassword('prover');
    await sessionsAgo(gateway, 'prover', { proved: 6 });
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
