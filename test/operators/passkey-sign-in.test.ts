// Signing in to the console by a link, once, and then by a passkey.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sealOfOperator } from '../../src/operators/operator.js';
import { removeOperator } from '../../src/operators/operators.js';
import { type ConsoleAnswer, sessionsAgo } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { passkeyDevice } from '../../testkit/passkey-device.js';
import { type SignInDesk, signInDesk } from '../../testkit/sign-in-desk.js';

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

describe('a link', () => {
  test('works once, for the first who opens it, and signs nobody in before a passkey or password is set', async () => {
    const link = await desk.add('once');
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => desk.nobody.post('/sign-in/link', link)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401]);
    const [opener] = answers.filter(({ status }) => status === 200) as [ConsoleAnswer];
    expect((await desk.withCookies(opener).get('/session')).status).toBe(401);
    expect(opener.headers.getSetCookie()[0]).toMatch(
      /^__Host-tollgate=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    );
  });

  test.each([
    ['of another', async () => ({ ...(await desk.add('victim')), name: 'first' })],
    ['of nobody', async () => ({ name: 'nobody', token: 'x'.repeat(32) })],
    [
      'that is too old',
      async () => {
        const link = await desk.add('late');
        const key = gateway.credentialKey;
        const until = Date.now() - 1_000;
        const [row] = await gateway.sql<{ link_tag: Buffer; version: number; enabled: number }>(
          `SELECT link_tag, version, round(extract(epoch FROM enabled_at) * 1000)::float8 AS enabled FROM operator WHERE name = 'late'`,
        );
        const sealed = {
          name: 'late',
          role: 'administrator',
          organisationId: null,
          linkTag: row?.link_tag as Buffer,
          linkUntilMs: until,
          version: row?.version as number,
          removed: false,
          isDemo: false,
          history: [],
          password: null,
          totp: null,
          passkeys: [],
          providerSubject: null,
          formerPasswords: [],
          enabledMs: row?.enabled as number,
        } as const;
        await gateway.sql(
          `UPDATE operator SET link_until = to_timestamp($1::float8 / 1000), seal = $2 WHERE name = 'late'`,
          [until, sealOfOperator(key, sealed)],
        );
        return link;
      },
    ],
    [
      'that was replaced',
      async () => {
        const link = await desk.add('renewed');
        await desk.linkAgain('renewed');
        return link;
      },
    ],
    [
      'of one who was removed',
      async () => {
        const link = await desk.add('removed');
        await removeOperator(desk.database, 'operator:test', gateway.credentialKey, 'removed');
        return link;
      },
    ],
  ])('%s → 401, with the same message', async (_, made) => {
    const { status, body } = await desk.nobody.post('/sign-in/link', await made());
    expect([status, body]).toEqual([
      401,
      {
        error_code: 'sign_in_link_refused',
        error_message: 'This link was used already, is more than 15 minutes old, or is not valid.',
      },
    ]);
  });
});

describe('a passkey', () => {
  test('is set by a link and signs in; the link’s session ends, and the journal has each step with the address', async () => {
    const { device, enrolling, answer, operator } = await desk.withPasskey('ada');
    expect(answer.status).toBe(204);
    expect((await operator.get('/session')).body).toMatchObject({ operator: 'ada', recent: true });
    expect((await enrolling.post('/enrol/codes')).status).toBe(401);
    const signed = await desk.signInBy(device);
    expect(signed.status).toBe(204);
    expect((await desk.withCookies(signed).get('/session')).body).toMatchObject({ method: 'passkey' });
    const address = expect.stringMatching(/^(127\.0\.0\.1|::1)$/);
    expect(await desk.entriesOf('ada')).toEqual([
      { action: 'operator.link_used', detail: 'ada', address },
      { action: 'operator.enrolled', detail: 'ada: passkey', address },
      { action: 'operator.signed_in', detail: 'ada: passkey', address },
      { action: 'operator.signed_in', detail: 'ada: passkey', address },
    ]);
  });

  test('signs in once if its answer is sent again, or twice at the same time', async () => {
    const { device } = await desk.withPasskey('replayed');
    const { nobody } = desk;
    const { body: options } = await nobody.post('/sign-in/passkey/options');
    const response = device.get(options, desk.url);
    const answers = await Promise.all([1, 2, 3].map(() => nobody.post('/sign-in/passkey', { response })));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 401, 401]);
    expect((await nobody.post('/sign-in/passkey', { response })).status).toBe(401);
  });

  test('that signed for another page, without user verification, with another key or an older count → 401', async () => {
    const { device } = await desk.withPasskey('careful');
    expect((await desk.signInBy(device, 'https://attacker.example')).status).toBe(401);
    expect((await desk.signInBy(passkeyDevice())).status).toBe(401);
    device.counter = 5;
    expect((await desk.signInBy(device)).status).toBe(204);
    device.counter = 4;
    expect((await desk.signInBy(device)).status).toBe(401);
    const unverified = await desk.withPasskey('hasty', passkeyDevice(0x01));
    expect([unverified.answer.status, unverified.answer.body.error_code]).toEqual([401, 'passkey_refused']);
  });

  test('that was written into the database → not valid, and its operator can no longer sign in', async () => {
    const { device } = await desk.withPasskey('sealed');
    const attacker = await desk.withPasskey('insider');
    await gateway.sql(
      `UPDATE operator SET passkeys = (SELECT passkeys FROM operator WHERE name = 'insider') WHERE name = 'sealed'`,
    );
    await gateway.sql(`UPDATE operator SET passkeys = '[]' WHERE name = 'insider'`);
    expect((await desk.signInBy(attacker.device)).status).toBe(401);
    expect((await desk.signInBy(device)).status).toBe(401);
  });

  test('a second passkey is added after a recent proof; the last way to sign in cannot be removed', async () => {
    const { device, operator } = await desk.withPasskey('several');
    const [{ id: first } = { id: '' }] = (await operator.get('/passkeys')).body;
    expect((await operator.post(`/passkeys/${first}/remove`)).body.error_code).toBe('last_passkey');
    await sessionsAgo(gateway, 'several', { proved: 6 });
    expect((await operator.post('/passkeys/options')).body.error_code).toBe('authentication_not_recent');
    const { body: asked } = await operator.post('/re-authenticate/passkey/options');
    const proof = { response: device.get(asked, desk.url) };
    // A challenge to prove it is none to sign in by.
    expect((await desk.nobody.post('/sign-in/passkey', proof)).status).toBe(401);
    expect((await operator.post('/re-authenticate/passkey', proof)).status).toBe(204);
    const second = passkeyDevice();
    const { body: options } = await operator.post('/passkeys/options');
    const added = await operator.post('/passkeys', {
      label: 'spare',
      response: second.create(options, desk.url),
    });
    expect(added.body).toMatchObject([{ label: 'a device' }, { label: 'spare' }]);
    expect((await desk.signInBy(second)).status).toBe(204);
    expect((await operator.post(`/passkeys/${first}/remove`)).body).toMatchObject([{ label: 'spare' }]);
    expect((await desk.signInBy(device)).status).toBe(401);
  });

  test('that was lost: a new link sets up everything again, and ends the earlier passkeys and sessions', async () => {
    const { device, operator } = await desk.withPasskey('lost');
    const enrolling = await desk.opened(await desk.linkAgain('lost'));
    expect((await operator.get('/session')).status).toBe(200);
    const options = (await enrolling.post('/enrol/passkey/options')).body;
    const found = passkeyDevice();
    const body = { label: 'new', response: found.create(options, desk.url) };
    expect((await enrolling.post('/enrol/passkey', body)).status).toBe(204);
    expect((await operator.get('/session')).status).toBe(401);
    expect([(await desk.signInBy(device)).status, (await desk.signInBy(found)).status]).toEqual([401, 204]);
  });
});
