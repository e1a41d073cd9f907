// Exports killed with `kill -9` at every step and at any moment: run again, they leave every item in exactly one file,
// and that file whole on the disk.
import { randomInt } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { directEntryOf } from '../../src/directdebit/direct-entry.js';
import { exportFile } from '../../src/directdebit/files/export.js';
import { DirectDebitFiles } from '../../src/directdebit/files/files.js';
import { lodgementReference } from '../../src/directdebit/files/lodgement-reference.js';
import type { Audit, OrganisationId } from '../../src/values/ids.js';
import { DataKeys } from '../../src/vault/keys/keys.js';
import { type DirectEntryFile, read } from '../../testkit/bank-file-layout.js';
import { runHere } from '../../testkit/command-here.js';
import { type Gates, gatesOf } from '../../testkit/gates.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type Environment, eventually, type RunningProcess, start } from '../../testkit/gateway-process.js';
import * as many from '../../testkit/many-items.js';
import { type Operator, operatorOf } from '../../testkit/sealed-rows.js';

// Many processes, one after the other, on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

/** More than a page of a file. */
const ITEMS = 300;
const RANDOM_KILLS = 2;

let gateway: TestGateway;
let gates: Gates;
let operator: Operator;
let home: many.Home;
let environment: Environment;
let folder: string;
let serial = 0;

beforeAll(async () => {
  gateway = await testGateway();
  gates = await gatesOf(gateway.databaseUrl);
  operator = await operatorOf(gateway);
  home = { databaseUrl: gateway.databaseUrl, dataDir: dirname(gateway.ledgerPath) };
  environment = many.environmentOf(home);
  folder = await many.bankFolder(home);
  await many.lodgeWithRealBank(home);
});
afterAll(async () => {
  await gates.close();
  await operator.close();
  await gateway.close();
});

/** Further items that wait, and the serial number that the next file may take as its name. */
async function moreItems(count = ITEMS): Promise<string> {
  await many.waitingItems(home, gateway.api, { count, from: serial });
  serial += count;
  return join(folder, `file-${serial}.aba`);
}

const lodged = async (path: string): Promise<DirectEntryFile> => read(await readFile(path, 'latin1'));

async function exists(path: string): Promise<boolean> {
  return (await readdir(folder)).includes(path.slice(folder.length + 1));
}

/** The references of the items that the database has in this file, by line. */
async function referencesIn(number: number): Promise<string[]> {
  const rows = await gateway.sql<{ installation: string; audit: number }>(
    `SELECT g.installation, i.audit FROM directdebit_item i, gateway g 
     WHERE i.merchant_id = 1 AND i.file_number = $1 ORDER BY i.line`,
    [number],
  );
  return rows.map(({ installation, audit }) =>
    lodgementReference({ installation, organisationId: 1 as OrganisationId, audit: audit as Audit }),
  );
}

async function filesOf(): Promise<{ number: number; items: number; written: boolean }[]> {
  return gateway.sql(
    'SELECT number, items, written_at IS NOT NULL AS written FROM directdebit_file WHERE merchant_id = 1 ORDER BY number',
  );
}

describe('export', () => {
  /** The number of the latest file that was expected. */
  let fileNumber: number;

  beforeEach(async () => {
    fileNumber = (await filesOf()).at(-1)?.number ?? 0;
  });

  /** The next file holds all that waited, is on the disk as it is in the database, and nothing else lies about. */
  async function expectFile(out: string): Promise<void> {
    fileNumber += 1;
    expect((await filesOf()).at(-1)).toEqual({ number: fileNumber, items: ITEMS, written: true });
    const references = await referencesIn(fileNumber);
    expect(references.length).toBe(ITEMS);
    expect((await lodged(out)).items.map(({ reference }) => reference)).toEqual(references);
    const files = new DirectDebitFiles(operator.database, new DataKeys(operator.database, operator.provider));
    const copy = `${out}.copy`;
    await exportFile(files, await directEntryOf(operator.database, 1), {
      out: copy,
      number: fileNumber,
      nowMs: Date.now(),
      actor: 'operator:test',
      progress: () => {},
    });
    expect((await readFile(copy)).equals(await readFile(out))).toBe(true);
    expect((await readdir(folder)).filter((name) => name.endsWith('.part'))).toEqual([]);
    expect(
      await gateway.sql(`SELECT audit FROM directdebit_item WHERE merchant_id = 1 AND state = 'waiting'`),
    ).toEqual([]);
  }

  const partsOf = async (out: string) =>
    (await readdir(folder)).filter((name) => name.startsWith(`${basename(out)}.`) && name.endsWith('.part'));

  /** A file under its final name is whole. */
  async function expectNothingHalf(out: string): Promise<void> {
    if (await exists(out)) expect((await lodged(out)).items.length).toBeGreaterThan(0);
  }

  /** What a command had sent before it was killed is still carried out. */
  async function sessionsOfCommands(): Promise<number> {
    const sessions = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tollgate-cli'`;
    return (await gateway.sql(sessions)).length;
  }

  async function killedBy(kill: (begin: () => RunningProcess, out: string) => Promise<void>): Promise<void> {
    const out = await moreItems();
    await kill(() => start(many.EXPORT(1, out), environment), out);
    await eventually(async () => ((await sessionsOfCommands()) === 0 ? true : undefined));
    await expectNothingHalf(out);
    if (
      (await filesOf()).at(-1)?.number === fileNumber + 1 &&
      (await filesOf()).every(({ written }) => written)
    ) {
      // It was too late to kill it.
      return expectFile(out);
    }
    expect(many.printed(await runHere(many.EXPORT(1, out), environment))).toMatchObject({
      items: ITEMS,
      left: 0,
    });
    await expectFile(out);
  }

  test('killed at every step and run again → one whole file', async () => {
    await killedBy(async (begin) => {
      const running = begin();
      running.kill('SIGKILL');
      await running.ended;
    });
    await killedBy((begin) => gates.killAt('making a file', begin));
    await killedBy((begin) => gates.killAt('changing transactions', begin));
    await killedBy((begin) => gates.killAt('writing the journal', begin));
    // The file has its name, and the database does not know yet.
    await killedBy(async (begin, out) => {
      await gates.killAt('marking a file', begin);
      expect([await exists(out), await partsOf(out)]).toEqual([true, []]);
    });
  });

  test('killed while it writes and run again → one whole file, and no partial file', async () => {
    await killedBy(async (begin, out) => {
      const running = begin();
      await eventually(async () =>
        (await partsOf(out)).length > 0 || (await exists(out)) ? true : undefined,
      );
      running.kill('SIGKILL');
      await running.ended;
    });
  });

  test('killed at any moment and run again → one whole file', async () => {
    for (let kill = 0; kill < RANDOM_KILLS; kill += 1) {
      // The time that passes is what is tried.
      const delayMs = randomInt(1_500);
      await killedBy(async (begin) => {
        const running = begin();
        await Promise.race([sleep(delayMs), running.ended]);
        running.kill('SIGKILL');
        await running.ended;
      });
    }
  });

  // catches(export: one at a time) slow, processes
  test('two at once → the second waits for the first, and then has nothing to export', async () => {
    const out = await moreItems();
    const other = `${out}.other`;
    const both = [start(many.EXPORT(1, out), environment)] as RunningProcess[];
    // The first has written its file and not said so yet: to the second it must not look like one that was left behind.
    await gates.gather('marking a file', both.slice(), async () => {
      both.push(start(many.EXPORT(1, other), environment));
      await eventually(async () => ((await waitingForAnother()) || (await exists(other)) ? true : undefined));
    });
    const results = (await Promise.all(both.map((running) => running.ended))).map(many.printed);
    expect(results.map(({ items }) => items)).toEqual([ITEMS, 0]);
    expect(await exists(other)).toBe(false);
    await expectFile(out);
  });

  test('two at once, one killed before it recorded that the file is written → the other finds that it is', async () => {
    const out = await moreItems();
    const begin = () => start(many.EXPORT(1, out), environment);
    let other: RunningProcess | undefined;
    await gates.killAt('marking a file', begin, {
      meanwhile: async () => {
        other = begin();
        await eventually(async () => ((await waitingForAnother()) ? true : undefined));
      },
    });
    expect(many.printed(await (other as RunningProcess).ended)).toMatchObject({ items: ITEMS });
    await expectFile(out);
  });

  test('two merchants at once with the same file name → none is overwritten', async () => {
    await many.lodgeWithRealBank(home, 2);
    const { audit } = await many.payByBank(gateway.api, 2);
    const out = await moreItems();
    const both = [1, 2].map((merchant) => start(many.EXPORT(merchant, out), environment));
    await gates.gather('making a file', both);
    const ended = await Promise.all(both.map((running) => running.ended));
    expect(ended.map(({ code }) => code).sort()).toEqual([0, 1]);
    const refused = ended.findIndex(({ code }) => code === 1);
    expect(ended[refused]?.stderr).toContain('exists already');
    const again = `${out}.again`;
    await runHere(many.EXPORT(refused + 1, again), environment).then(many.printed);
    const [ours, theirs] = refused === 0 ? [again, out] : [out, again];
    await expectFile(ours);
    const [{ installation } = { installation: '' }] = await gateway.sql('SELECT installation FROM gateway');
    expect((await lodged(theirs)).items.map(({ reference }) => reference)).toEqual([
      lodgementReference({ installation, organisationId: 1 as OrganisationId, audit: audit as Audit }),
    ]);
  });

  test('killed before the file was written → none of its items clears until it is', async () => {
    const earlier = await moreItems();
    many.printed(await runHere(many.EXPORT(1, earlier), environment));
    await expectFile(earlier);
    const out = await moreItems();
    await gates.killAt('marking a file', () => start(many.EXPORT(1, out), environment));
    const due = (file: number) =>
      `UPDATE directdebit_item SET next_at = now() WHERE merchant_id = 1 AND file_number = ${file}`;
    const statuses = (file: number) =>
      gateway.sql(
        `SELECT t.status, count(*) FROM transaction t JOIN directdebit_item i USING (organisation_id, audit)
         WHERE i.merchant_id = 1 AND i.file_number = $1 GROUP BY t.status`,
        [file],
      );
    const approved = (file: number) =>
      eventually(async () => {
        const [only, ...others] = await statuses(file);
        return only?.status === 'approved' && others.length === 0 ? true : undefined;
      });
    await gates.sql(`${due(fileNumber + 1)}; ${due(fileNumber)}`);
    await approved(fileNumber);
    expect(await statuses(fileNumber + 1)).toEqual([{ status: 'pending', count: ITEMS }]);
    many.printed(await runHere(many.EXPORT(1, out), environment));
    await approved(fileNumber + 1);
    await expectFile(out);
  });
});

/** Whether an export waits until another one of the merchant has ended. */
async function waitingForAnother(): Promise<boolean> {
  const rows = await gates.sql(
    `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = 1
       AND classid::bigint = hashtext('tollgate exports')::bigint & 4294967295`,
  );
  return rows.length > 0;
}
