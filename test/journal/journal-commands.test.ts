// Who did what, as an operator finds it: lists, the check of the chain, checkpoints, exports, and operators by name.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { tokenFor } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { dataDirectory } from '../../testkit/gateway-process.js';
import { vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let folder: string;
beforeAll(async () => {
  [gateway, folder] = await Promise.all([testGateway(), dataDirectory()]);
});
afterAll(() => gateway.close());

const tollgate = (line: string, more: Record<string, string> = {}) =>
  runHere(wordsOf(line), { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir, ...more });
const { json, text, refusal } = commands((line) => tollgate(line));

test('a payment by virtual PAN and commands → the journal has who and from where; verify → valid; a changed entry → exit code 1, and which one', async () => {
  const { virtualPan } = await vaultOf(gateway.api, 1).newToken();
  const { audit } = (await gateway.api.purchase({ pan: virtualPan })).body;
  await json('user grant colleague 1');
  const checkpoint = join(folder, 'checkpoint.json');
  expect(await text(`journal checkpoint --out ${checkpoint}`)).toMatch(
    /^Block \d+ of the journal is signed\./,
  );

  expect(await json('journal --user owner --action token.opened')).toMatchObject([
    { actor: 'user:owner', audit, address: '127.0.0.1' },
  ]);
  expect(await json('journal list --action user')).toMatchObject([
    // The merchant that was granted, not the one that it is assigned to.
    {
      action: 'user.granted',
      merchant: 1,
      detail: 'colleague',
      actor: expect.stringMatching(/^operator:account:./),
    },
    { action: 'user.added' },
    { action: 'user.added' },
    { action: 'user.added' },
  ]);
  expect(await json('journal --to 2001-01-01')).toEqual([]);
  // Each key of the installation is made once, when something needs it for the first time.
  expect(await json('journal --from 2001-01-01 --action keys.made')).toMatchObject([
    { detail: 'attestation' },
    { detail: 'credentials' },
  ]);
  expect(await json(`transaction show ${audit}`)).toMatchObject({ user: 'owner' });

  expect(await json(`journal verify --checkpoint ${checkpoint}`)).toMatchObject({ problems: [] });
  expect(await text('journal verify')).toMatch(/^The journal is whole: \d+ entries, \d+ blocks\.$/m);

  const out = join(folder, 'journal.ndjson');
  const { entries } = await json(`journal export --out ${out} --action user`);
  expect(await refusal(`journal export --out ${out}`)).toBe(`${out} exists already and is not overwritten`);
  const lines = (await readFile(out, 'utf8')).split('\n').slice(0, -1);
  expect([entries, lines]).toEqual([4, expect.objectContaining({ length: 5 })]);
  const end = JSON.parse(lines.at(-1) ?? '');
  const { public_key: pem } = await json('journal key');
  const isSigned = (parts: unknown[], signature: string) =>
    verify(null, Buffer.from(JSON.stringify(parts)), createPublicKey(pem), Buffer.from(signature, 'base64'));
  const sha256 = createHash('sha256')
    .update(`${lines.slice(0, -1).join('\n')}\n`)
    .digest('hex');
  expect(end.sha256).toBe(sha256);
  expect(isSigned(['tollgate journal export', 4, sha256], end.signature)).toBe(true);
  const { installation, number, hash, made, lineage, signature } = end.checkpoint;
  const signed = ['tollgate journal checkpoint', installation, number, hash, made, lineage];
  expect(isSigned(signed, signature)).toBe(true);

  const [granted] = await gateway.sql<{ id: number }>(
    `SELECT id::int FROM journal WHERE action = 'user.granted'`,
  );
  await gateway.sql(`ALTER TABLE journal DISABLE TRIGGER journal_append_only`);
  await gateway.sql(`UPDATE journal SET merchant_id = 2 WHERE action = 'user.granted'`);
  const found = await tollgate('journal verify --json');
  expect([found.code, JSON.parse(found.stdout).problems]).toEqual([
    1,
    [{ entry: granted?.id, problem: 'changed' }],
  ]);
  const { code, stdout } = await tollgate('journal verify');
  expect([code, stdout]).toEqual([1, expect.stringContaining(`\nentry ${granted?.id}: changed\n`)]);
});

// catches(journal: a checkpoint of somebody else’s is refused)
test('a checkpoint that was changed → refused', async () => {
  const path = join(folder, 'changed.json');
  await text(`journal checkpoint --out ${path}`);
  const checkpoint = JSON.parse(await readFile(path, 'utf8'));
  await writeFile(path, JSON.stringify({ ...checkpoint, number: checkpoint.number - 1 }));
  expect(await refusal(`journal verify --checkpoint ${path}`)).toBe(
    `the checkpoint in ${path} was not signed by this installation`,
  );
});

test('operators → named in the journal from then on; commands without a name, or with a wrong one, are refused', async () => {
  const added = await json('operator add ada --role administrator');
  expect(added).toEqual({
    name: 'ada',
    link: expect.stringMatching(/^http:\/\/localhost:8081\/sign-in#ada:[\w-]{32}$/),
  });
  expect(await refusal('merchant suspend 3')).toBe(
    'this installation has operators: prove which of them you are, by a token that the console gives you on the page “Sign-in and sessions”, in TOLLGATE_OPERATOR_TOKEN',
  );
  const by = (token: string) => commands((line) => tollgate(line, { TOLLGATE_OPERATOR_TOKEN: token }));
  expect(await by('eve').refusal('merchant suspend 3')).toMatch(
    /^the token of the command line is not right/,
  );
  const ada = by(await tokenFor(gateway, 'ada'));
  await ada.json('merchant suspend 3');
  expect(await ada.json('journal --user ada')).toMatchObject([
    { actor: 'operator:ada', action: 'merchant.suspended', merchant: 3 },
  ]);
  expect(await ada.refusal('operator add ada --role viewer')).toMatch(/^there is or was an operator ada/);
  const { link } = await ada.json('operator add grace --role viewer --organisation 1');
  const again = await ada.json('operator link grace');
  expect(again.link).not.toBe(link);
  // Not as it is, and not as a digest of it.
  const [stored] = await gateway.sql(
    `SELECT encode(link_tag, 'hex') AS tag FROM operator WHERE name = 'grace'`,
  );
  const token = again.link.split(':').at(-1);
  expect(stored?.tag).not.toBe(createHash('sha256').update(token).digest('hex'));
  const grace = by(await tokenFor(gateway, 'grace'));
  await gateway.sql(`UPDATE operator SET role = 'administrator' WHERE name = 'grace'`);
  expect(await ada.json('operator list')).toMatchObject([
    { name: 'ada', role: 'administrator', organisation: null, removed: false, sealed: true },
    { name: 'grace', organisation: 1, removed: false, sealed: false },
  ]);
  expect(await ada.refusal('operator link grace')).toMatch(/^the operator grace has a broken seal/);
  expect(await ada.json('operator remove grace')).toMatchObject({ removed: true });
  expect(await grace.refusal('merchant resume 3')).toMatch(/^the token of the command line is not right/);
  await ada.json('operator remove ada');
});
