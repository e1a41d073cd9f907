// Keys of wallets: made, brought along, rotated and removed by operators, sealed, and not used once somebody has changed them.
import { createHash, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeAppleToken } from '../../testkit/apple-pay.js';
import { makeCertificate } from '../../testkit/certificates.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { googleRoots, makeGooglePair, makeGoogleToken } from '../../testkit/google-pay.js';
import { appleShop, fileOf, googleShop, recipientKeyOf, walletBody } from '../../testkit/wallets.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const here = (line: string) =>
  runHere(wordsOf(line), { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir });
const { text, json, refusal } = commands((line) => here(`wallet ${line}`));
const pay = (type: 'apple_pay' | 'google_pay', token: unknown) =>
  gateway.api.post('/transactions/purchase', walletBody(type, token));
const problems = async () =>
  JSON.parse((await here('keys verify --json')).stdout).problems.map(
    ({ where, problem }: { where: string; problem: string }) => `${where} ${problem}`,
  );

describe('an operator', () => {
  test('adds a key for Apple Pay → gets a request for Apple’s certificate; the private key is nowhere', async () => {
    const { added } = await appleShop(gateway, 2);
    expect(added).toMatchObject({ merchant: 2, key: 1, type: 'apple_pay', gateway_merchant: null });
    expect(added.signing_request).toMatch(/^-----BEGIN CERTIFICATE REQUEST-----\n/);
    const request = Buffer.from(added.signing_request.replaceAll(/-----[^-]+-----|\n/g, ''), 'base64');
    expect(request.includes(Buffer.from(added.public_key, 'base64'))).toBe(true);
    expect(JSON.stringify(added)).not.toContain('PRIVATE');
    const entries = await gateway.sql(
      `SELECT merchant_id, detail FROM journal WHERE action = 'wallet.added'`,
    );
    expect(entries).toEqual([{ merchant_id: 2, detail: 'key 1, apple_pay, merchant.com.example.shop' }]);
    await text('remove --merchant 2 --key 1');
  });

  test('rotates a key → payloads for either are opened, until the old one is removed', async () => {
    const shop = await googleShop(gateway);
    const { key } = shop.added;
    const second = await json(`rotate --merchant 1 --key ${key}`);
    expect(second.key).toBe(key + 1);
    const forSecond = () =>
      makeGoogleToken({ ...shop, recipientKey: recipientKeyOf(second), recipient: second.recipient });
    expect((await pay('google_pay', shop.token())).status).toBe(201);
    expect((await pay('google_pay', forSecond())).status).toBe(201);
    expect((await json('list --merchant 1')).map((one: { key: number }) => one.key)).toEqual([key, key + 1]);
    await text(`remove --merchant 1 --key ${key}`);
    expect((await pay('google_pay', shop.token())).code).toBe('wallet_token_refused');
    expect((await pay('google_pay', forSecond())).status).toBe(201);
    await text(`remove --merchant 1 --key ${key + 1}`);
  });

  test('brings a key along, with the identifier of its certificate → payloads for it are opened', async () => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = pair.privateKey.export({ type: 'sec1', format: 'pem' }).toString();
    const keyFile = await fileOf(gateway, 'own.pem', pem);
    const { chain } = await appleShop(gateway, 2);
    const rootsFile = await fileOf(gateway, 'root.pem', chain.root.certificate);
    const identifier = 'merchant.com.example.own';
    const hash = createHash('sha256').update(identifier).digest('hex');
    const added = await json(
      `add --merchant 1 --type apple_pay --recipient ${hash} --roots-file ${rootsFile} --key-file ${keyFile}`,
    );
    const merchantKey = createPublicKey(pem).export({ type: 'spki', format: 'der' });
    const token = makeAppleToken(chain, { merchantKey, merchantIdentifier: identifier });
    expect((await pay('apple_pay', token)).status).toBe(201);
    expect(await refusal(`rotate --merchant 1 --key ${added.key} --key-file ${keyFile}`)).toMatch(/this key/);
    await text(`remove --merchant 1 --key ${added.key}`);
    await text('remove --merchant 2 --key 1');
  });

  test('gives a merchant the certificate by which Apple knows it → the key is sealed, and nothing is encrypted for it', async () => {
    const [one, other] = [makeCertificate({ name: 'one' }), makeCertificate({ name: 'other' })];
    // As some programs write it: the key beside the certificate.
    const both = await fileOf(gateway, 'both.pem', `${one.key}\n${one.certificate}`);
    const keyOfOther = await fileOf(gateway, 'other-key.pem', other.key);
    const identify = `identify --merchant 1 --recipient merchant.com.example.shop --certificate-file ${both} --key-file`;
    expect(await refusal(`${identify} ${keyOfOther}`)).toMatch(/not a certificate and its private key/);
    const { key, type } = await json(`${identify} ${both}`);
    expect(type).toBe('apple_pay_identity');
    const [row] = await gateway.sql<{ row: string; roots: string }>(
      'SELECT w::text AS row, roots FROM wallet_key w WHERE merchant_id = 1 AND number = $1',
      [key],
    );
    expect(row?.row).not.toMatch(/PRIVATE/);
    expect(row?.roots.trim()).toBe(one.certificate.trim());
    expect(await refusal(`rotate --merchant 1 --key ${key}`)).toMatch(/wallet identify/);
    expect(await refusal(`trust --merchant 1 --key ${key} --roots-file ${both}`)).toMatch(/wallet identify/);
    await text(`remove --merchant 1 --key ${key}`);
  });

  test('trusts other roots from now on → what was signed below the old ones is refused', async () => {
    const shop = await googleShop(gateway);
    const { key } = shop.added;
    const root = makeGooglePair();
    const roots = await fileOf(gateway, 'new-roots.json', googleRoots([root]));
    await text(`trust --merchant 1 --key ${key} --roots-file ${roots}`);
    expect((await pay('google_pay', shop.token())).code).toBe('wallet_token_refused');
    expect((await pay('google_pay', shop.token({ root }))).status).toBe(201);
    await text(`remove --merchant 1 --key ${key}`);
  });

  test('gives what cannot be used → is told so, and nothing is stored', async () => {
    const leaf = makeCertificate({ isAuthority: false });
    const apple = await fileOf(gateway, 'a.pem', makeCertificate().certificate);
    const google = await fileOf(gateway, 'g.json', googleRoots([makeGooglePair()]));
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    });
    const files = {
      leaf: await fileOf(gateway, 'leaf.pem', leaf.certificate),
      text: await fileOf(gateway, 'text.pem', 'nothing'),
      other: await fileOf(gateway, 'other.json', '{"keys":[{"protocolVersion":"ECv1","keyValue":"AAAA"}]}'),
      rsa: await fileOf(gateway, 'rsa.pem', rsa.toString()),
    };
    const asApple = '--type apple_pay --recipient merchant.example';
    for (const [line, said] of [
      [`${asApple} --roots-file ${files.leaf}`, /nothing to trust/],
      [`${asApple} --roots-file ${files.text}`, /nothing to trust/],
      [`${asApple} --roots-file ${google}`, /nothing to trust/],
      [`--type google_pay --recipient merchant:1 --roots-file ${apple}`, /nothing to trust/],
      [`--type google_pay --recipient merchant:1 --roots-file ${files.other}`, /nothing to trust/],
      [`${asApple} --roots-file ${apple} --key-file ${files.rsa}`, /not a private key on the curve P-256/],
      [`--type google_pay --recipient 1 --roots-file ${google}`, /recipient/],
      [`--type google_pay --recipient gateway:me --roots-file ${google}`, /gateway:ID/],
      [`--type google_pay --recipient merchant:1 --gateway-merchant x --roots-file ${google}`, /gateway:ID/],
    ] as const) {
      expect(await refusal(`add --merchant 3 ${line}`), line).toMatch(said);
    }
    expect(await json('list --merchant 3')).toEqual([]);
    expect(await refusal('remove --merchant 3 --key 1')).toMatch(/has no key 1/);
  });
});

test('data keys are rotated → private keys are sealed under the new one, and the old one can go', async () => {
  const shop = await appleShop(gateway);
  await here('keys rotate --merchant 1');
  const [row] = await gateway.sql<{ version: number; newest: number }>(
    `SELECT key_version AS version, (SELECT max(version) FROM data_key WHERE merchant_id = 1) AS newest
     FROM wallet_key WHERE merchant_id = 1`,
  );
  expect(row?.version).toBe(row?.newest);
  expect((await pay('apple_pay', shop.token())).status).toBe(201);
  await text(`remove --merchant 1 --key ${shop.added.key}`);
});

// catches(directions: a key of a wallet is sealed with what is trusted)
// catches(directions: a key of a wallet that somebody has changed is not used)
// catches(roles: who serves does not say whom to trust with payments by wallet)
test('somebody changes, replaces or puts back a key in the database → it is not used, and everybody is told', async () => {
  const shop = await googleShop(gateway);
  const { key } = shop.added;
  const thief = makeGooglePair();
  const columns =
    'organisation_id, merchant_id, number, type, recipient, gateway_merchant, public_key, roots, key_version, sealed';
  const [before] = await gateway.sql<{ row: string }>('SELECT row_to_json(w)::text AS row FROM wallet_key w');
  const putBack = `INSERT INTO wallet_key (${columns}) SELECT ${columns} FROM json_populate_record(NULL::wallet_key, $1)`;
  const restore = async () => {
    await gateway.sql('DELETE FROM wallet_key');
    await gateway.sql(putBack, [before?.row]);
  };
  for (const change of [
    `roots = '${googleRoots([thief])}'`,
    `recipient = 'merchant:6'`,
    `gateway_merchant = 'x'`,
    `public_key = '\\x00'`,
  ]) {
    await gateway.sqlAs('tollgate_operator', `UPDATE wallet_key SET ${change}`);
    expect((await pay('google_pay', shop.token({ root: thief }))).code, change).toBe('wallet_token_refused');
    expect((await pay('google_pay', shop.token())).code, change).toBe('wallet_token_refused');
    expect(await problems(), change).toContain(`wallet/1/${key} changed`);
    expect(await refusal(`rotate --merchant 1 --key ${key}`)).toMatch(/is not as it was sealed/);
    await restore();
    expect((await pay('google_pay', shop.token())).status).toBe(201);
  }
  expect(gateway.logged()).toContain(`"subject":"wallet/1/${key}","problem":"changed"`);
  await gateway.sqlAs('tollgate_operator', 'DELETE FROM wallet_key');
  expect(await problems()).toEqual([`wallet/1/${key} is gone`]);
  await restore();
  await text(`remove --merchant 1 --key ${key}`);
  await gateway.sqlAs('tollgate_operator', putBack, [before?.row]);
  expect((await pay('google_pay', shop.token())).code).toBe('wallet_token_refused');
  expect(await problems()).toEqual([`wallet/1/${key} removed, and is back`]);
  await text(`remove --merchant 1 --key ${key}`);
  for (const statement of [`UPDATE wallet_key SET roots = 'x'`, 'DELETE FROM wallet_key'])
    await expect(gateway.sqlAs('tollgate_application', statement)).rejects.toMatchObject({ code: '42501' });
});
