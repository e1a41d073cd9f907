// Client certificates as a second factor: a user that is bound to one must show it, and nobody learns from the answer what was wrong.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Callers } from '../../src/organisations/users/callers.js';
import { addUser, limitUser, revokeUser } from '../../src/organisations/users/users.js';
import type { Database } from '../../src/postgres/database.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import {
  type CertificateOptions,
  daysFromNow,
  makeCertificate,
  type TestCertificate,
} from '../../testkit/certificates.js';
import { type Client, client } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { type Credentials, type TestGateway, testGateway } from '../../testkit/gateway.js';
import { dataDirectory } from '../../testkit/gateway-process.js';
import { logLines } from '../../testkit/requests.js';

const { certificate, key } = makeCertificate();
const ours = makeCertificate({ name: 'shop' });
const next = makeCertificate({ name: 'shop' });
const theirs = makeCertificate({ name: 'shop' });

const fingerprintOf = ({ fingerprint }: TestCertificate) =>
  Buffer.from(fingerprint.replaceAll(':', ''), 'hex');

const SILENT = { onBrokenSeal: () => {}, onPutBack: () => {} };

let gateway: TestGateway;
let database: Database;
let bound: Credentials;
beforeAll(async () => {
  gateway = await testGateway({ settings: { TLS_CERTIFICATE: certificate, TLS_KEY: key } });
  database = operatorsDatabase(gateway);
  bound = await addUser(database, 'operator:test', gateway.credentialKey, 'bound', {
    merchant: 1,
    clientCertificates: [fingerprintOf(ours)],
  });
});
afterAll(async () => {
  await database.close();
  await gateway.close();
});

/** Each on connections of its own. */
function as(credentials: Credentials, shown?: Pick<TestCertificate, 'certificate' | 'key'>): Client {
  return client(gateway.baseUrl, credentials, {
    trusted: certificate,
    ...(shown && { certificate: shown.certificate, key: shown.key }),
  });
}

/** Reading an audit that is not there takes a proper user. */
const log = (api: Client) => api.lookUp(2_147_483_647);

const bind = (username: string, ...certificates: TestCertificate[]) =>
  limitUser(database, 'operator:test', gateway.credentialKey, username, {
    clientCertificates: certificates.map(fingerprintOf),
  });

describe('a user bound to a certificate', () => {
  test('with it → accepted, and pays', async () => {
    expect((await as(bound, ours).purchase()).status).toBe(201);
  });

  test('with it and a wrong secret → 401', async () => {
    expect((await log(as({ ...bound, password: 'wrong' }, ours))).status).toBe(401);
  });

  const expired: CertificateOptions = { from: daysFromNow(-9), until: daysFromNow(-1) };
  const early: CertificateOptions = { from: daysFromNow(1) };
  test.each<[string, () => TestCertificate | undefined, CertificateOptions?]>([
    ['none', () => undefined],
    ['another of the same name', () => theirs],
    ['the right one, when it has expired', () => makeCertificate(expired), expired],
    ['the right one, before it is valid', () => makeCertificate(early), early],
    // catches(client certificates: it is in force)
    // catches(client certificates: it is the right one)
    // catches(client certificates: a user that is bound to one must show it)
  ])('with %s → 401, byte for byte that of a wrong secret', async (_, make, special) => {
    const shown = make();
    const { username } = bound;
    if (special !== undefined && shown !== undefined) await bind(username, ours, shown);
    const call = (password: string) =>
      as({ username, password }, shown).call('/transactions/1', { correlationId: 'same' });
    const refused = await call(bound.password);
    const wrong = await call('wrong');
    expect(refused.status).toBe(401);
    const answer = ({ status, text, headers }: typeof wrong) => {
      const { date, ...others } = Object.fromEntries(headers);
      return { status, text, others };
    };
    expect(answer(refused)).toEqual(answer(wrong));
    expect(refused.headers.get('www-authenticate')).toMatch(/^Basic /);
    await bind(username, ours);
  });

  // catches(client certificates: credentials that were right with it are known with it only)
  test('another client with the same secret and no certificate, after the owner was accepted → 401', async () => {
    expect((await log(as(bound, ours))).status).toBe(404);
    expect((await log(as(bound))).status).toBe(401);
    expect((await log(as(bound, theirs))).status).toBe(401);
    // And none of that has cost the owner anything.
    expect((await log(as(bound, ours))).status).toBe(404);
  });

  test('a certificate without its key → no handshake', async () => {
    await expect(log(as(bound, { certificate: ours.certificate, key: theirs.key }))).rejects.toThrow(
      /key values mismatch/,
    );
  });

  test('without TLS → 401, with any headers', async () => {
    const plain = await testGateway({ shareWith: gateway });
    const inOneLine = ours.certificate.replaceAll(/-----[A-Z ]+-----|\n/g, '');
    const answer = await client(plain.baseUrl, bound).call('/transactions/1', {
      headers: { 'x-forwarded-client-cert': ours.fingerprint, 'client-cert': `:${inOneLine}:` },
    });
    expect(answer.status).toBe(401);
    await plain.close();
  });

  test('the log has who failed, and which certificate was shown', async () => {
    await log(as(bound, theirs));
    await expect
      .poll(() => logLines(gateway).filter((line) => line.msg === 'failed log-in' && line.certificate), {
        timeout: 300_000,
      })
      .toContainEqual(
        expect.objectContaining({ username: 'bound', certificate: theirs.fingerprint, address: '127.0.0.1' }),
      );
  });
});

describe('operators bind users', () => {
  test('to a second certificate → both work; to the new one only → the old one is refused within two seconds', async () => {
    const user = await addUser(database, 'operator:test', gateway.credentialKey, 'renewing', {
      merchant: 1,
      clientCertificates: [fingerprintOf(ours)],
    });
    const [old, renewed] = [as(user, ours), as(user, next)];
    expect([(await log(old)).status, (await log(renewed)).status]).toEqual([404, 401]);
    await bind('renewing', ours, next);
    await expect.poll(async () => (await log(renewed)).status).toBe(404);
    expect((await log(old)).status).toBe(404);
    await bind('renewing', next);
    await expect.poll(async () => (await log(old)).status).toBe(401);
    expect((await log(renewed)).status).toBe(404);
  });

  // catches(client certificates: a user that is bound later is asked at once)
  test('a user that needed none is bound → refused without it on its open connection; unbound → accepted again', async () => {
    const user = await addUser(database, 'operator:test', gateway.credentialKey, 'later', { merchant: 1 });
    const without = as(user);
    expect((await log(without)).status).toBe(404);
    await bind('later', ours);
    await expect.poll(async () => (await log(without)).status).toBe(401);
    await bind('later');
    await expect.poll(async () => (await log(without)).status).toBe(404);
    const [entry] = await gateway.sql<{ detail: string }>(
      `SELECT detail FROM journal WHERE action = 'user.certificates_bound' AND detail LIKE 'later:%' ORDER BY id LIMIT 1`,
    );
    expect(entry?.detail).toBe(`later: certificates ${ours.fingerprint}`);
  });

  test('a user without a binding that shows a certificate → accepted', async () => {
    expect((await log(as(gateway.owner, theirs))).status).toBe(404);
  });

  // catches(client certificates: the end of one ends what it has proved)
  test('a certificate that expires while its connection is open → refused from then on', async () => {
    const callers = new Callers(database, gateway.credentialKey, SILENT);
    const { username, password: secret } = bound;
    const expiresAtMs = Date.now() + 60_000;
    const shown = { fingerprint: fingerprintOf(ours), validFromMs: 0, expiresAtMs };
    const logIn = () => callers.authenticate('theirs', { username, secret, certificate: shown });
    expect(await logIn()).toMatchObject({ username });
    expect(callers.known('theirs')).toMatchObject({ username });
    vi.useFakeTimers({ toFake: ['Date'] }).setSystemTime(expiresAtMs);
    try {
      expect(callers.known('theirs')).toBeUndefined();
      expect(await logIn()).toBeUndefined();
    } finally {
      vi.useRealTimers();
    }
  });

  test('too many certificates → refused; a revoked user → refused', async () => {
    const many = Array.from({ length: 6 }, () => makeCertificate());
    await expect(bind('bound', ...many)).rejects.toThrow('a user can be bound to 5 certificates at most');
    const user = await addUser(database, 'operator:test', gateway.credentialKey, 'gone', { merchant: 1 });
    await revokeUser(database, 'operator:test', gateway.credentialKey, user.username);
    await expect(bind('gone', ours)).rejects.toMatchObject({ code: 'user_revoked' });
  });
});

describe('the command line', () => {
  test('user add and user set, by file and by fingerprint → bound; an invalid one is refused', async () => {
    const folder = await dataDirectory();
    const file = join(folder, 'shop.pem');
    const old = join(folder, 'old.pem');
    await writeFile(file, ours.key + ours.certificate);
    await writeFile(old, makeCertificate({ from: daysFromNow(-9), until: daysFromNow(-1) }).certificate);
    await writeFile(join(folder, 'nonsense'), 'nonsense');
    const command = async (text: string) => {
      const { code, stdout, stderr } = await runHere(text.split(' '), {
        DATABASE_URL: gateway.databaseUrl,
        TOLLGATE_DATA_DIR: gateway.dataDir,
      });
      return { code, said: stdout + stderr };
    };
    const added = await command(`user add typed --merchant 1 --client-certificate ${file} --json`);
    const { username, password, client_certificates } = JSON.parse(added.said);
    expect(client_certificates).toEqual([ours.fingerprint]);
    expect((await log(as({ username, password }, ours))).status).toBe(404);
    expect((await log(as({ username, password }))).status).toBe(401);

    const plain = next.fingerprint.replaceAll(':', '').toLowerCase();
    const both = `--client-certificate ${ours.fingerprint} --client-certificate ${plain}`;
    expect(JSON.parse((await command(`user set typed ${both} --json`)).said)).toMatchObject({
      client_certificates: [ours.fingerprint, next.fingerprint],
    });
    expect(await command('user set typed --no-client-certificate')).toEqual({
      code: 0,
      said: 'User typed needs no certificate any more.\n',
    });
    const refused = [
      [`user set typed --client-certificate ${folder}/nonsense`, /nonsense is neither a certificate /],
      [`user set typed --client-certificate ${folder}/nowhere`, /nowhere cannot be read \(ENOENT\)/],
      [`user set typed --client-certificate ${old}`, /the certificate in \S+old\.pem has expired \(/],
      [`user set typed --client-certificate ${file} --no-client-certificate`, /contradict each other/],
      ['user set typed', /Name an --allow, .* or a --client-certificate, or the --no-… of one/],
      [`user set nobody --client-certificate ${file}`, /there is no user nobody/],
    ] as const;
    const answers = await Promise.all(refused.map(([asked]) => command(asked)));
    expect(answers).toEqual(refused.map(([, line]) => ({ code: 1, said: expect.stringMatching(line) })));
  });
});
