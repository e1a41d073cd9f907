// `tollgate doctor`: its results for a healthy and an unhealthy installation; and that it changes nothing.
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CheckResult } from '../../src/gateway/doctor/check-result.js';
import { examine } from '../../src/gateway/doctor/doctor.js';
import { makeCertificate } from '../../testkit/certificates.js';
import type { Json } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import { dataDirectory, removeDataDirectory, run, smallDisk } from '../../testkit/gateway-process.js';
import { asEnvironment } from '../../testkit/project.js';
import { type StandaloneGateway, startStandalone } from '../../testkit/standalone.js';

let gateway: StandaloneGateway;
let sql: pg.Client;

beforeAll(async () => {
  gateway = await startStandalone();
  sql = new pg.Client(await gateway.databaseUrl());
  await sql.connect();
});
afterAll(async () => {
  await sql.end();
  await gateway.stop();
});

const settings = () => ({ DATA_DIR: gateway.dataDir, PORT: String(gateway.port) });

interface Report {
  readonly code: 0 | 1;
  readonly findings: readonly CheckResult[];
}

/** In this process, which is quicker than in one of its own. */
async function doctor(more: Record<string, string> = {}): Promise<Report> {
  const findings = await examine({ ...asEnvironment(settings()), ...more });
  return { findings, code: findings.some(({ result }) => result === 'failed') ? 1 : 0 };
}

/** The results by check. */
function byCheck({ findings }: Report): Record<string, CheckResult> {
  return Object.fromEntries(findings.map((finding) => [finding.check, finding]));
}

/** Breaks something while the doctor runs. */
async function during(wrong: string, right: string): Promise<Report> {
  await sql.query(wrong);
  try {
    return await doctor();
  } finally {
    await sql.query(right);
  }
}

test('a healthy installation → nothing fails, and the only warnings are those of a new installation', async () => {
  const report = await doctor();
  const { code, findings } = report;
  expect([code, findings.filter(({ result }) => result === 'failed')]).toEqual([0, []]);
  // No expectations about the machine that runs the tests.
  const warnings = findings.filter(
    ({ check, result }) => result === 'warning' && !/^(disk|inodes)$/.test(check),
  );
  expect(warnings.map(({ check }) => check)).toEqual(['backups']);
  for (const { todo } of warnings) expect(todo).toBeTruthy();
  const looked = [
    'settings',
    'disk',
    'certificate',
    'key-encryption key',
    'gateway',
    'database',
    'clock',
    'schema',
  ];
  expect(Object.keys(byCheck(report))).toEqual(expect.arrayContaining(looked));
});

test('payers’ pages → a warning where links would lead to an address that payers do not reach', async () => {
  const check = 'payers’ pages';
  const found = (report: Report) => [byCheck(report)[check]?.result, byCheck(report)[check]?.found];
  const live = [
    `INSERT INTO merchant (organisation_id, name, mode, acquirer) SELECT min(id), 'Live', 'live', 'bank' FROM organisation`,
    `DELETE FROM merchant WHERE name = 'Live'`,
  ] as const;
  expect(found(await doctor())).toEqual(['ok', 'are at http://127.0.0.1:8082']);
  const atLoopback = found(await during(...live));
  expect(atLoopback).toEqual(['warning', expect.stringContaining('lead to http://127.0.0.1:8082')]);
  const { certificate, key } = makeCertificate();
  const tls = { TOLLGATE_TLS_CERTIFICATE: certificate, TOLLGATE_TLS_KEY: key };
  const away = { ...tls, TOLLGATE_CHECKOUT_HOST: '0.0.0.0' };
  expect(found(await doctor(away))).toEqual([
    'warning',
    expect.stringContaining('lead to https://0.0.0.0:8082'),
  ]);
  const named = { ...away, TOLLGATE_CHECKOUT_URL: 'https://pay.example' };
  expect(found(await doctor(named))).toEqual(['ok', 'are at https://pay.example']);
  expect(found(await doctor({ TOLLGATE_CHECKOUT_PORT: 'off' }))).toEqual(['ok', 'there are none']);
});

test('for a program → JSON, and exit code 1 if something failed', async () => {
  const well = await run(['doctor', '--json'], asEnvironment(settings()));
  expect([well.code, well.stderr, JSON.parse(well.stdout)]).toEqual([
    0,
    '',
    { failed: 0, warnings: expect.any(Number), findings: expect.any(Array) },
  ]);
  const ill = await runHere(['doctor', '--json'], asEnvironment({ ...settings(), PORT: '1' }));
  expect([ill.code, JSON.parse(ill.stdout).failed]).toEqual([1, 1]);
});

test('for a person → a line each, and a summary at the end', async () => {
  const { stdout } = await runHere(['doctor'], asEnvironment(settings()));
  expect(stdout).toMatch(/^ok +settings +can be read; this is not production$/m);
  expect(stdout).toMatch(/^warning +backups +none was ever made → `tollgate backup FOLDER`, every day$/m);
  expect(stdout).toMatch(/\n0 failed, \d warnings?\.\n$/);
});

test('nothing is changed, and no secret is shown', async () => {
  const tables = `SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FILTER (WHERE relname NOT IN ('process', 'event_sequencer', 'card_review'))
    FROM pg_stat_user_tables`;
  const state = async () => [(await sql.query(tables)).rows, (await readdir(gateway.dataDir)).sort()];
  let shown = '';
  // The gateway works meanwhile, and its figures come late: a change by the doctor would show every time.
  const change = async () => {
    const before = await state();
    shown = JSON.stringify(await doctor());
    return { before, after: await state() };
  };
  await expect.poll(change).toSatisfy(({ before, after }) => isDeepStrictEqual(before, after));
  const password = (await readFile(join(gateway.dataDir, 'postgres-password'), 'utf8')).trim();
  for (const secret of [password, gateway.password]) expect(shown).not.toContain(secret);
});

const WRONGS: [string, string, string, string, Json][] = [
  [
    'the journal can be changed',
    'ALTER TABLE journal DISABLE TRIGGER journal_append_only',
    'ALTER TABLE journal ENABLE TRIGGER journal_append_only',
    'journal',
    { result: 'failed' },
  ],
  [
    'a transaction waits for its acquirer',
    `INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, transaction_type, currency, correlation_id,
       reference, acquirer, resolve_at) VALUES (9, 1, now() - interval '3 days', 1, 9, 'purchase', 'AUD', 'x', 'x', 'none', 'infinity')`,
    'DELETE FROM transaction WHERE organisation_id = 9',
    'in doubt',
    { result: 'failed', found: '1 transactions, the oldest for 3 days' },
  ],
  [
    'a reversal is not acknowledged',
    `INSERT INTO acquirer_reversal (organisation_id, acquirer, reference, stan, begun_at) VALUES (9, 'none', 'x', 1, now() - interval '1 hour')`,
    'DELETE FROM acquirer_reversal WHERE organisation_id = 9',
    'reversals',
    { result: 'warning' },
  ],
  [
    'the clock is ahead',
    // Less than an hour: an event without a position would otherwise be so late that its check fails, too.
    'UPDATE gateway SET advanced_ms = 1800000',
    'UPDATE gateway SET advanced_ms = 0',
    'gateway’s clock',
    { result: 'warning', found: 'is 30 minutes ahead' },
  ],
  [
    'a log is kept for a standby that is gone',
    `SELECT pg_create_physical_replication_slot('gone', true)`,
    `SELECT pg_drop_replication_slot('gone')`,
    'replication slots',
    { result: 'warning' },
  ],
  [
    'the schema is that of a later release',
    `UPDATE schema_migration SET version = version + 9000`,
    `UPDATE schema_migration SET version = version - 9000`,
    'schema',
    { result: 'failed', found: expect.stringMatching(/schema version 90\d\d/) },
  ],
  // Last: a gateway may chain it before it is removed, and then it is missing.
  [
    'an entry of the journal was put in',
    `INSERT INTO journal (actor, action) VALUES ('operator:nobody', 'user.added')`,
    `SET session_replication_role = replica; DELETE FROM journal WHERE actor = 'operator:nobody';
     SET session_replication_role = origin`,
    'journal’s chain',
    {
      result: 'failed',
      found: expect.stringMatching(/^1 problems in the last \d+ entries; entry \d+: inserted/),
    },
  ],
];
test.each(WRONGS)('%s → found', async (_, wrong, right, check, expected) => {
  const ended = await during(wrong, right);
  expect(byCheck(ended)[check]).toMatchObject(expected);
  expect(ended.code).toBe(expected.result === 'failed' ? 1 : 0);
});

test('a backdated event, like those of the demo → not late, since it gets its position at once', async () => {
  const dated = `INSERT INTO event (created_at, organisation_id, merchant_id, subject, version, type)
    VALUES (now() - interval '20 days', 9, 9, 1, 1, 'transaction.approved')`;
  // An event is always on its way while the doctor runs.
  let goesOn = true;
  const writing = (async () => {
    while (goesOn) await sql.query(dated);
  })();
  try {
    for (let looks = 0; looks < 2; looks += 1)
      expect(byCheck(await doctor())['feed of events']).toMatchObject({ result: 'ok' });
  } finally {
    goesOn = false;
    await writing;
  }
});

describe('an external PostgreSQL', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.drop());

  const without = async () => byCheck(await doctor({ DATABASE_URL: database.url, TOLLGATE_PORT: '1' }));

  test('empty, and no gateway → the only failure is that none runs', async () => {
    const found = await without();
    const failed = Object.values(found).filter(({ result }) => result === 'failed');
    expect(failed.map(({ check }) => check)).toEqual(['gateway', 'processes']);
    expect(found.settlement).toMatchObject({ result: 'ok', found: 'there is no day to close yet' });
    expect(found['feed of events']).toMatchObject({ result: 'ok', found: 'is up to date' });
  });

  test('with transactions from days ago and no gateway since → the gateways’ own jobs are not reported as failed', async () => {
    const own = new pg.Client(database.url);
    await own.connect();
    await own.query(`INSERT INTO event (created_at, organisation_id, merchant_id, subject, version, type)
      VALUES (now() - interval '3 days', 9, 9, 1, 1, 'transaction.approved')`);
    await own.query(`UPDATE gateway SET closed_day = current_date - 5`);
    await own.end();
    const { settlement, 'feed of events': feed } = await without();
    for (const finding of [settlement, feed])
      expect(finding).toMatchObject({
        result: 'not checked',
        found: 'no gateway is running; it goes on when one is started',
      });
  });
});

const canMount = await smallDisk('1m')
  .then(removeDataDirectory)
  .then(
    () => true,
    () => false,
  );

test.skipIf(!canMount).each([
  ['more than half of a small volume is free → well', 45, 'ok'],
  ['less than PostgreSQL needs for its log is free → failed', 90, 'failed'],
])('%s', async (_, usedMegabytes, result) => {
  const disk = await smallDisk('120m');
  await writeFile(join(disk, 'data'), Buffer.alloc(usedMegabytes * 1024 ** 2));
  expect(byCheck(await doctor({ TOLLGATE_DATA_DIR: disk })).disk).toMatchObject({
    result,
    found: expect.stringMatching(/^\d\d MB \(\d\d %\) are free for /),
  });
});

test('a misspelt setting → found, with the right name, and exit code 1', async () => {
  const ended = await doctor({ TOLLGATE_MAX_DELAY_MSEC: '5' });
  expect(byCheck(ended).settings).toMatchObject({
    result: 'failed',
    found: expect.stringContaining('TOLLGATE_MAX_DELAY_MS?'),
  });
  expect(ended.code).toBe(1);
});

test('a key file that others can read → found', async () => {
  const key = join(gateway.dataDir, 'key-encryption-key');
  await chmod(key, 0o644);
  const ended = await doctor();
  await chmod(key, 0o600);
  expect(byCheck(ended)['key-encryption key']).toMatchObject({
    result: 'failed',
    found: expect.stringContaining('mode 644'),
  });
});

test('a different key → found', async () => {
  const ended = await doctor({ TOLLGATE_KEY_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') });
  expect(byCheck(ended)['key of this database']).toMatchObject({ result: 'failed' });
});

test('no gateway and no database → reported, the rest is checked, and nothing is created', async () => {
  const empty = join(await dataDirectory(), 'nothing');
  const ended = await doctor({ TOLLGATE_DATA_DIR: empty, TOLLGATE_PORT: '1' });
  const found = byCheck(ended);
  expect([ended.code, found.gateway?.result, found.database?.result]).toEqual([1, 'failed', 'failed']);
  expect(found['everything in the database']).toMatchObject({ result: 'not checked' });
  await expect(stat(empty)).rejects.toThrow('ENOENT');
});

test('an external database that does not answer → reported', async () => {
  const found = byCheck(await doctor({ DATABASE_URL: 'postgres://tollgate:secret@127.0.0.1:1/tollgate' }));
  expect(found.database).toMatchObject({ result: 'failed', found: expect.stringContaining('ECONNREFUSED') });
  expect(JSON.stringify(found)).not.toContain('secret');
});

test('the PostgreSQL of the data directory is down → reported, and not started', async () => {
  const dataDir = await dataDirectory();
  await mkdir(join(dataDir, 'postgres'));
  const found = byCheck(await doctor({ TOLLGATE_DATA_DIR: dataDir }));
  expect(found.database).toMatchObject({
    result: 'failed',
    found: expect.stringContaining('is not running'),
  });
  expect(await readdir(dataDir)).toEqual(['postgres']);
});
