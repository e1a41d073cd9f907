// An organisation moves in the middle of its days: what was paid, held or lodged in one cell is voided, settled, cleared and returned in the
// other, whose keys are in AWS KMS.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { bankDayOf, moveClock } from '../../testkit/bank-day.js';
import { type DirectEntryFile, itemOf, read, returnsFile } from '../../testkit/bank-file-layout.js';
import type { Answer, Client, Json } from '../../testkit/client.js';
import { type KmsServer, kmsServer } from '../../testkit/kms-server.js';
import { inShort, openDay, passClose, settlementOf, untilClosed } from '../../testkit/settlement-days.js';
import { type TwoCells, twoCells } from '../../testkit/two-cells.js';
import { type NewToken, vaultOf } from '../../testkit/vault-client.js';

const SOON = { timeout: 300_000, interval: 50 };
/** Lodges with a bank of its own; merchant 1 does with the simulated one. */
const REAL = 2;
const SUSPENDED = 3;
const DISPUTE_DAYS = 40;

let cells: TwoCells;
let kms: KmsServer;
let installation: string;
/** What the first cell has lodged. */
let lodged: DirectEntryFile;
/** The settlement day on which it moves. */
let day: string;
let suspended: Answer;
let before: {
  readonly toVoid: number;
  readonly tooLateToVoid: number;
  readonly cleared: number;
  readonly returned: number;
  readonly tooLate: number;
  readonly waiting: number;
  readonly kept: NewToken;
};

const auditOf = async (paying: Promise<Answer>) => {
  const { status, body, text } = await paying;
  if (status !== 201) throw new Error(text);
  return body.audit as number;
};
const debit = (api: Client, account_name: string) =>
  auditOf(api.purchase({ merchant: REAL, bankAccount: { account_name, account_number: '1234567' } }));
const statusOf = async (audit: number) =>
  (await cells.two.api.lookUp(audit)).body.status.transaction_status_code;

async function command(cell: 'one' | 'two', ...words: string[]): Promise<Json> {
  const { stdout, stderr } = await cells.command(cell, ...words, '--json');
  if (stderr !== '') throw new Error(stderr);
  return JSON.parse(stdout);
}

async function prepareMerchants(): Promise<void> {
  const { one } = cells;
  const bank = bankDayOf(one);
  await bank.setDirectEntry(REAL, { disputeDays: DISPUTE_DAYS });
  await bank.close();
  await command('one', 'merchant', 'suspend', String(SUSPENDED));
  await vi.waitFor(async () => {
    suspended = await one.api.purchase({ merchant: SUSPENDED });
    expect(suspended.status).not.toBe(201);
  }, SOON);
}

beforeAll(async () => {
  kms = await kmsServer();
  cells = await twoCells({
    second: {
      KEY_PROVIDER: 'aws-kms',
      KMS_KEY: 'alias/tollgate',
      KMS_REGION: kms.region,
      KMS_ENDPOINT: kms.endpoint,
      AWS_ACCESS_KEY_ID: kms.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: kms.credentials.secretAccessKey,
      AWS_SESSION_TOKEN: kms.credentials.sessionToken,
    },
  });
  const { one } = cells;
  const { api } = one;
  await prepareMerchants();
  day = await openDay(one);
  installation = (await one.sql<{ installation: string }>('SELECT installation FROM gateway'))[0]
    ?.installation as string;
  const returned = await debit(api, 'RETURNED');
  const tooLate = await debit(api, 'TOO LATE');
  const out = join(cells.folder, 'lodged-in-one');
  await command('one', 'directdebit', 'export', '--merchant', String(REAL), '--out', out);
  lodged = read(await readFile(out, 'latin1'));
  before = {
    returned,
    tooLate,
    waiting: await debit(api, 'WAITING'),
    toVoid: await auditOf(api.purchase({ amount: 300 })),
    tooLateToVoid: await auditOf(api.purchase({ amount: 400 })),
    cleared: await auditOf(api.purchase({ amount: 900, bankAccount: {} })),
    kept: await vaultOf(api).newToken(),
  };
  expect(await command('one', 'organisation', 'move', '1', '--to', 'two')).toMatchObject({
    outcome: 'moved',
  });
  await vi.waitFor(async () => expect((await cells.two.api.purchase({ amount: 50 })).status).toBe(201), SOON);
});
afterAll(async () => {
  await cells?.close();
  await kms?.close();
});

test('a merchant that is suspended stays so', async () => {
  const answer = await cells.two.api.purchase({ merchant: SUSPENDED });
  expect([answer.status, answer.code]).toEqual([suspended.status, suspended.code]);
  await command('two', 'merchant', 'resume', String(SUSPENDED));
  await vi.waitFor(
    async () => expect((await cells.two.api.purchase({ merchant: SUSPENDED })).status).toBe(201),
    SOON,
  );
});

test('keys are those of AWS KMS, and cards that the first cell has sealed open', async () => {
  const { two } = cells;
  const wrapped = await two.sql<{ key: string }>('SELECT DISTINCT key_encryption_key AS key FROM data_key');
  expect(wrapped).toEqual([{ key: expect.stringContaining(':kms:') }]);
  expect((await two.api.purchase({ pan: before.kept.virtualPan })).status).toBe(201);
});

describe('the settlement day on which it has moved', () => {
  let open: Json;
  test('has what was paid in both cells', async () => {
    const { api } = cells.two;
    expect((await api.void(before.toVoid)).body.status.transaction_status_code).toBe('approved');
    open = await settlementOf(api, day, 1);
    const [paid] = await cells.two.sql(
      `SELECT count(*)::integer AS count, sum(amount_cents)::integer AS cents, bool_or(audit = $1) AS before, bool_or(audit > $2) AS after
       FROM transaction WHERE merchant_id = 1 AND transaction_type = 'purchase' AND bank_account IS NULL`,
      [before.tooLateToVoid, before.cleared],
    );
    expect(paid).toMatchObject({ before: true, after: true });
    expect(inShort(open)).toEqual(
      expect.arrayContaining([`visa purchase ${paid?.count} ${paid?.cents}`, 'visa void 1 -300']),
    );
  });

  test('closes with that, and its file names each payment as the cell has sent it', async () => {
    const { two } = cells;
    expect(await passClose(two)).toBe(day);
    await untilClosed(two, day);
    const closed = await settlementOf(two.api, day, 1);
    expect(closed).toMatchObject({ closed: true });
    expect(inShort(closed)).toEqual(expect.arrayContaining(inShort(open)));
    const csv = join(cells.folder, 'day.csv');
    await command('two', 'settlement', 'show', '--date', day, '--merchant', '1', '--csv', csv);
    const lines = (await readFile(csv, 'utf8')).split('\n');
    expect(lines.some((line) => line.includes(`${installation}-1-${before.tooLateToVoid},`))).toBe(true);
    expect(lines.some((line) => line.includes(`SECOND-1-`))).toBe(true);
    expect(lines.some((line) => line.includes(`SECOND-1-${before.tooLateToVoid},`))).toBe(false);
  });

  test('is over → what was paid on it in the first cell can be refunded, and not voided', async () => {
    const { api } = cells.two;
    expect((await api.void(before.tooLateToVoid)).code).toBe('target_not_voidable');
    expect((await api.refund(before.tooLateToVoid, 400)).body.status.transaction_status_code).toBe(
      'approved',
    );
  });
});

describe('direct debits', () => {
  let latter: DirectEntryFile;

  async function imported(file: DirectEntryFile, name: string): Promise<Json> {
    const path = join(cells.folder, `returned ${name}`);
    await writeFile(path, returnsFile(file.header, [{ item: itemOf(file, name), returnCode: 6 }]));
    return command('two', 'directdebit', 'import-returns', path);
  }

  test('what waited in the first cell is lodged by the second, under the name of the first', async () => {
    const { two } = cells;
    await debit(two.api, 'LATER');
    const out = join(cells.folder, 'lodged-in-two');
    const made = await command('two', 'directdebit', 'export', '--merchant', String(REAL), '--out', out);
    expect(made).toMatchObject({ file: 2, items: 2 });
    latter = read(await readFile(out, 'latin1'));
    expect(itemOf(latter, 'WAITING').reference.slice(0, 6)).toBe(installation);
    expect(itemOf(latter, 'LATER').reference.slice(0, 6)).toBe('SECOND');
    // The bank gets each once.
    expect(latter.items.filter(({ title }) => ['RETURNED', 'TOO LATE'].includes(title))).toEqual([]);
  });

  test('clear in the second cell', async () => {
    await moveClock(cells.two, 12);
    for (const audit of [before.cleared, before.returned, before.tooLate, before.waiting])
      expect(await statusOf(audit)).toBe('approved');
  });

  test('what the first cell has lodged comes back → returned in the second; what waited, too', async () => {
    for (const [file, name, audit] of [
      [lodged, 'RETURNED', before.returned],
      [latter, 'WAITING', before.waiting],
    ] as const) {
      expect(await imported(file, name)).toMatchObject({ returned: 1, unmatched: [] });
      expect(await statusOf(audit)).toBe('declined');
      expect(await imported(file, name)).toMatchObject({ returned: 0, returned_already: 1 });
    }
  });

  test('dispute days count from the file of the first cell', async () => {
    await moveClock(cells.two, DISPUTE_DAYS);
    const { returned, unmatched } = JSON.parse((await importedLate(lodged, 'TOO LATE')).stdout) as Json;
    expect([returned, unmatched]).toEqual([0, [expect.objectContaining({ reason: 'too late' })]]);
    expect(await statusOf(before.tooLate)).toBe('approved');
  });

  /** Ends with 1, because not everything could be taken. */
  async function importedLate(file: DirectEntryFile, name: string) {
    const path = join(cells.folder, `returned ${name}`);
    await writeFile(path, returnsFile(file.header, [{ item: itemOf(file, name), returnCode: 6 }]));
    return cells.command('two', 'directdebit', 'import-returns', path, '--json');
  }
});

test('back to the cell whose keys are in a file → what was sealed under AWS KMS opens there', async () => {
  const { one, two } = cells;
  const token = await vaultOf(two.api).newToken();
  const [clock] = await two.sql<{ advanced: string }>('SELECT advanced_ms::text AS advanced FROM gateway');
  await one.sql('UPDATE gateway SET advanced_ms = $1', [clock?.advanced]);
  expect(await command('two', 'organisation', 'move', '1', '--to', 'one')).toMatchObject({
    outcome: 'moved',
  });
  for (const { virtualPan } of [before.kept, token])
    await vi.waitFor(
      async () => expect((await one.api.purchase({ pan: virtualPan })).status).toBe(201),
      SOON,
    );
  expect((await one.api.refund(before.tooLateToVoid, 1)).code).toBe('refund_exceeds_original');
});
