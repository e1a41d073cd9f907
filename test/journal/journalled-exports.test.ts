// Every export, and every secret that is shown, is in the journal under the operator's name.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { tokenFor } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { dataDirectory } from '../../testkit/gateway-process.js';

let gateway: TestGateway;
let folder: string;
beforeAll(async () => {
  [gateway, folder] = await Promise.all([testGateway(), dataDirectory()]);
  await ada.json('operator add ada --role administrator');
});
afterAll(() => gateway.close());

const ada = commands(async (line) =>
  runHere(wordsOf(line), {
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_DATA_DIR: gateway.dataDir,
    // Nobody adds the first operator.
    ...(line.startsWith('operator add ada')
      ? {}
      : { TOLLGATE_OPERATOR_TOKEN: await tokenFor(gateway, 'ada') }),
  }),
);

interface Told {
  readonly id: string;
  readonly actor: string;
  readonly action: string;
  readonly merchant: number | null;
  readonly detail: string | null;
  readonly marked: boolean;
}

const entriesAfter = (id: string) =>
  gateway.sql<Told & Record<string, unknown>>(
    `SELECT id::text, actor, action, merchant_id AS merchant, detail, mark IS NOT NULL AS marked FROM journal
     WHERE id > $1 AND actor LIKE 'operator:%' ORDER BY journal.id`,
    [id],
  );

test('files that are written and secrets that are shown → an entry each, with who, whose and the destination', async () => {
  const SET =
    "directdebit set --merchant 1 --bank CBA --user-name 'OURS PTY LTD' --user-id 301500 --trace-bsb 062111 --trace-account 87654321 --remitter OURS";
  await ada.json(SET);
  await gateway.api.purchase({ bankAccount: {} });
  const { audit } = (await gateway.api.purchase({ reference: 'paid by card' })).body;
  const { settlement_date: day } = await ada.json(`transaction show ${audit} --organisation 1`);
  const file = (name: string) => join(folder, name);

  const steps: readonly (readonly [line: string, action: string, merchant: number | null, detail: RegExp])[] =
    [
      [`directdebit export --merchant 1 --out ${file('bank.aba')}`, 'directdebit.exported', 1, /^file 1$/],
      [
        `directdebit export --merchant 1 --out ${file('again.aba')} --file 1`,
        'directdebit.exported',
        1,
        /^file 1, again$/,
      ],
      [
        `transaction list --merchant 1 --from 2026-01-01 --reference 4111111111111111 --csv ${file('some.csv')}`,
        'transaction.exported',
        1,
        /^to .*some\.csv, from 2025-12-31T13:00:00\.000Z, by reference$/,
      ],
      [
        `transaction list --organisation 1 --csv ${file('all.csv')}`,
        'transaction.exported',
        null,
        /all\.csv$/,
      ],
      [
        `settlement show --date ${day} --merchant 1 --csv ${file('day.csv')}`,
        'settlement.exported',
        1,
        new RegExp(`^${day}, to .*day\\.csv$`),
      ],
      [`journal export --merchant 1 --out ${file('journal')}`, 'journal.exported', null, /^to .*journal$/],
      [`journal checkpoint --out ${file('checkpoint')}`, 'journal.checkpoint_made', null, /^$/],
      [
        `archive --before 2020-01-01 --to ${file('archive')}`,
        'archive.written',
        null,
        /archive: 0 transactions/,
      ],
      ['user add till --merchant 1', 'user.added', 1, /till/],
      ['user rotate till', 'user.rotated', 1, /till/],
      ['webhook add https://example.com/hook --merchant 1', 'webhook.added', 1, /./],
      ['webhook rotate 1', 'webhook.rotated', 1, /./],
      ['operator add olga --role operator', 'operator.added', null, /^olga/],
      ['operator link olga', 'operator.link_made', null, /^olga/],
    ];
  let after = (await entriesAfter('0')).at(-1)?.id ?? '0';
  for (const [line, action, merchant, detail] of steps) {
    const shown = await ada.json(line);
    const told = await entriesAfter(after);
    expect([line, told]).toEqual([
      line,
      [expect.objectContaining({ actor: 'operator:ada', action, merchant, marked: true })],
    ]);
    expect(told[0]?.detail ?? '').toMatch(detail);
    // The entry says that a secret was shown, and not which.
    const secret = shown.secret ?? shown.link;
    if (secret !== undefined) expect(JSON.stringify(told)).not.toContain(secret);
    after = told[0]?.id ?? after;
  }
  expect(await readFile(file('again.aba'))).toEqual(await readFile(file('bank.aba')));
  expect(await ada.json('journal verify')).toMatchObject({ problems: [] });
});

test('commands that only read → leave the journal as it is', async () => {
  const after = (await entriesAfter('0')).at(-1)?.id ?? '0';
  for (const line of ['transaction list --organisation 1', 'settlement show --date 2026-01-05', 'user list'])
    await ada.json(line);
  expect(await entriesAfter(after)).toEqual([]);
});
