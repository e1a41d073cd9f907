// Files that commands write, when the command is interrupted in the middle: whole or not at all, and never in the way of the next run.
import { randomUUID } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runHere } from '../../testkit/command-here.js';
import { wordsOf } from '../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type RunningProcess, start } from '../../testkit/gateway-process.js';
import { locker } from '../../testkit/locks.js';
import { openDay } from '../../testkit/settlement-days.js';

let gateway: TestGateway;
let day: string;
const environment = () => ({
  DATABASE_URL: gateway.databaseUrl,
  TOLLGATE_DATA_DIR: gateway.dataDir,
});

beforeAll(async () => {
  gateway = await testGateway();
  await gateway.api.purchase({ amount: 1_000 });
  await gateway.api.purchase({ bankAccount: {}, amount: 700 });
  day = await openDay(gateway);
});
afterAll(() => gateway.close());

/** The command, the table without which it cannot go on, and what the file begins with. */
const EXPORTS: readonly [name: string, line: () => string, table: string, beginning: string][] = [
  ['settlement show', () => `settlement show --date ${day} --csv`, 'transaction', 'settlement_date,'],
  ['transaction list', () => 'transaction list --organisation 1 --csv', 'transaction', 'organisation,'],
  ['archive', () => 'archive --before 2020-01-01 --to', 'transaction', '{"kind":"archive"'],
  ['journal export', () => 'journal export --out', 'journal', '{'],
];

/** In the middle of its file. Nothing else in the folder begins like this. */
async function inTheMiddle(
  line: string,
  table: string,
  path: string,
  interrupt: (running: RunningProcess) => Promise<void>,
): Promise<void> {
  const lock = await locker(gateway);
  await lock.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  const running = start(wordsOf(`${line} ${path}`), environment());
  await expect.poll(() => filesOf(path)).toHaveLength(1);
  await interrupt(running);
  await lock.rollback();
}

async function filesOf(path: string): Promise<string[]> {
  return (await readdir(gateway.dataDir))
    .map((name) => join(gateway.dataDir, name))
    .filter((each) => each.startsWith(path));
}

describe.each(EXPORTS)('%s', (_, line, table, beginning) => {
  // catches(whole files: what is interrupted leaves nothing) processes: in the middle → no file is left
  test.each(['SIGINT', 'SIGTERM'] as const)('%s in the middle → no file is left', async (signal) => {
    const path = join(gateway.dataDir, randomUUID());
    await inTheMiddle(line(), table, path, async (running) => {
      running.kill(signal);
      expect((await running.ended).signal).toBe(signal);
    });
    expect(await filesOf(path)).toEqual([]);
  });

  // catches(whole files: a file appears when it is whole) processes
  test('killed in the middle, run again → the whole file, and the partial file is removed; run once more → refused, the file stays', async () => {
    const path = join(gateway.dataDir, randomUUID());
    await inTheMiddle(line(), table, path, async (running) => {
      running.kill('SIGKILL');
      await running.ended;
    });
    const again = await runHere(wordsOf(`${line()} ${path}`), environment());
    expect([again.code, again.stderr]).toEqual([0, '']);
    expect(await filesOf(path)).toEqual([path]);
    const whole = await readFile(path, 'utf8');
    expect(whole).toMatch(new RegExp(`^${beginning}.*\n$`, 's'));
    const once = await runHere(wordsOf(`${line()} ${path}`), environment());
    expect([once.code, once.stderr]).toEqual([1, expect.stringContaining('exists already')]);
    expect(await readFile(path, 'utf8')).toBe(whole);
  });
});

test('a partial file of a running process → stays; not a folder, or no permission → refused, nothing is left', async () => {
  const path = join(gateway.dataDir, randomUUID());
  const others = `${path}.${process.ppid}-0123abcd.part`;
  await writeFile(others, 'being written');
  expect(
    (await runHere(wordsOf(`transaction list --organisation 1 --csv ${path}`), environment())).code,
  ).toBe(0);
  expect((await filesOf(path)).sort()).toEqual([path, others]);
  for (const wrong of [`${path}/in/it`, `${path}-none/in/it`]) {
    const { code, stderr } = await runHere(
      wordsOf(`settlement show --date ${day} --csv ${wrong}`),
      environment(),
    );
    expect([code, stderr]).toEqual([1, expect.stringMatching(/cannot be written|ENOTDIR|ENOENT/)]);
  }
});
