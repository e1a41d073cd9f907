// An external PostgreSQL, set up as docs/operations.md says: three logins, none of them a superuser.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEmbeddedPostgres } from '../../src/embedded-postgres/server.js';
import { client } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { administer } from '../../testkit/database-server.js';
import { dataDirectory, startGatewayProcess } from '../../testkit/gateway-process.js';
import { copyPreparedCluster } from '../../testkit/prepared-cluster.js';
import { vaultOf } from '../../testkit/vault-client.js';

const PAGE = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const CHAPTER = PAGE.slice(PAGE.indexOf('### Roles in the database'));
const block = (language: string) =>
  new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(CHAPTER)?.[1] ?? '';

const password = randomBytes(12).toString('hex');
const REFUSED = { code: '42501' };
let server: Awaited<ReturnType<typeof openEmbeddedPostgres>>;
let superuser: string;
let environment: Record<string, string>;

beforeAll(async () => {
  const dataDir = await dataDirectory();
  await copyPreparedCluster(dataDir);
  server = await openEmbeddedPostgres({ dataDir });
  const { host } = new URL(server.url);
  superuser = server.url.replace(/\/tollgate$/, '/postgres');
  // Like a server that has never seen Tollgate.
  await administer(superuser, 'DROP DATABASE tollgate WITH (FORCE)');
  for (const role of ['owner', 'serving', 'operating', 'application', 'operator'])
    await administer(superuser, `DROP ROLE tollgate_${role}`);

  const setUp = block('sql').replaceAll('…', password).split(';\n');
  for (const statement of setUp.filter((text) => text.trim() !== '')) await administer(superuser, statement);
  const settings = block('sh')
    .replaceAll('…', password)
    .replaceAll('@db1/', `@${host}/`)
    .replaceAll('?sslmode=verify-full', '')
    .trim()
    .split('\n');
  environment = Object.fromEntries(settings.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  environment.TOLLGATE_DATA_DIR = await dataDirectory();
});
afterAll(() => server.stop());

const tollgate = commands((line) => runHere(wordsOf(line), environment));

async function asLogin(url: string | undefined, statement: string): Promise<pg.QueryResult['rows']> {
  const session = new pg.Client(url);
  await session.connect();
  return session
    .query(statement)
    .then(({ rows }) => rows)
    .finally(() => session.end());
}

// catches(roles: an operator’s command works as the login of operators) slow, processes
// catches(roles: a gateway serves as the login that may only serve) slow, processes
test('three logins, set up as documented → one migrates, one serves, one operates, and none can do another’s work', async () => {
  const {
    DATABASE_URL: serving,
    TOLLGATE_MIGRATING_DATABASE_URL: migrating,
    TOLLGATE_OPERATING_DATABASE_URL: operating,
  } = environment;
  expect((await tollgate.json('migrate')).applied).not.toEqual([]);
  await tollgate.json('organisation add Ours');
  await tollgate.json('merchant add Shop --organisation 1 --vault');
  const user = await tollgate.json('user add till --merchant 1');

  // With a current schema, neither gateways nor operators need the owner, who cannot log in from the second run on.
  const { DATABASE_URL, TOLLGATE_DATA_DIR } = environment as Record<string, string>;
  for (const settings of [environment, { DATABASE_URL, TOLLGATE_DATA_DIR } as Record<string, string>]) {
    const gateway = await startGatewayProcess(settings);
    const api = client(gateway.baseUrl, user);
    const { status, body } = await api.purchase();
    expect([status, body.status?.transaction_status_code]).toEqual([201, 'approved']);
    expect((await api.refund(body.audit, 100)).status).toBe(201);
    const { virtualPan } = await vaultOf(api).newToken();
    expect((await api.purchase({ pan: virtualPan })).status).toBe(201);
    const sessions = await asLogin(
      superuser,
      `SELECT DISTINCT usename AS login FROM pg_stat_activity
       WHERE datname = 'tollgate' AND application_name = 'tollgate' AND backend_type = 'client backend'`,
    );
    expect(sessions).toEqual([{ login: 'tollgate_serving' }]);
    expect((await gateway.stop()).code).toBe(0);
    await administer(superuser, 'ALTER ROLE tollgate_owner NOLOGIN');
  }

  await tollgate.json('merchant set 1 --name Store');
  await tollgate.json('keys rotate');
  expect(await tollgate.json('journal verify')).toMatchObject({ problems: [] });
  // No gateway runs, so not every check passes.
  const { stdout } = await runHere(['doctor', '--json'], environment);
  expect(JSON.parse(stdout).findings).toContainEqual(
    expect.objectContaining({ check: 'roles', result: 'ok' }),
  );

  await administer(superuser, 'ALTER ROLE tollgate_owner LOGIN');
  const ofTheServer = [
    `SELECT pg_read_file('/etc/passwd')`,
    `COPY (SELECT 1) TO PROGRAM 'true'`,
    `COPY journal FROM '/etc/passwd'`,
    'CREATE ROLE mine SUPERUSER LOGIN',
  ];
  const ofTheOwner = [
    'ALTER TABLE journal ADD mine text',
    'ALTER TABLE token DISABLE TRIGGER ALL',
    'DROP TABLE event',
    'CREATE TABLE mine (id integer)',
    'DELETE FROM journal',
    `UPDATE journal SET actor = 'nobody'`,
    'TRUNCATE journal',
    'DELETE FROM token',
    'SET ROLE tollgate_owner',
  ];
  const ofOperators = [
    `UPDATE gateway_user SET merchant_id = 1`,
    `INSERT INTO user_grant VALUES (1, 'till', 1)`,
    'DELETE FROM gateway_user',
    `UPDATE merchant SET acquirer = 'mine'`,
    `INSERT INTO operator (name, role) VALUES ('mine', 'administrator')`,
    'SET ROLE tollgate_operator',
  ];
  for (const statement of ofTheServer)
    await expect(asLogin(migrating, statement), statement).rejects.toMatchObject(REFUSED);
  for (const statement of [...ofTheServer, ...ofTheOwner])
    await expect(asLogin(operating, statement), statement).rejects.toMatchObject(REFUSED);
  for (const statement of [...ofTheServer, ...ofTheOwner, ...ofOperators])
    await expect(asLogin(serving, statement), statement).rejects.toMatchObject(REFUSED);
});
