// Lost time after a restore, through the commands: no client is told that a payment was not made until an operator has
// reconciled, and the journal records the restore, even if its key comes later.
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { client, type Json } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { dataDirectory, startGatewayProcess } from '../../testkit/gateway-process.js';
import { asEnvironment } from '../../testkit/project.js';
import { type StandaloneGateway, startStandalone } from '../../testkit/standalone.js';

let gateway: StandaloneGateway;
let folder: string;
let made: Json;

const environmentOf = (dataDir: string) => asEnvironment({ DATA_DIR: dataDir });
const inLife = (dataDir: string) => commands((line) => runHere(wordsOf(line), environmentOf(dataDir)));

beforeAll(async () => {
  gateway = await startStandalone();
  folder = join(await dataDirectory(), 'backup');
  await client(gateway.baseUrl, gateway).purchase();
  made = await inLife(gateway.dataDir).json(`backup ${folder}`);
});
afterAll(() => gateway.stop());

/** Restored first; the key is brought later, as the printed lines ask. */
async function restoredBeforeItsKey(): Promise<{ dataDir: string; printed: string }> {
  const dataDir = await dataDirectory();
  const printed = await inLife(dataDir).text(`restore ${folder}`);
  await cp(join(gateway.dataDir, 'key-encryption-key'), join(dataDir, 'key-encryption-key'));
  return { dataDir, printed };
}

const startOn = (dataDir: string) =>
  startGatewayProcess({
    ...environmentOf(dataDir),
    TOLLGATE_SIMULATOR_LEDGER: join(gateway.dataDir, 'simulator-ledger.ndjson'),
  });

// catches(lost time: an entry of the journal waits for its key) slow
test('restored, then the key is added → the journal is valid, and has the restore', async () => {
  const { dataDir, printed } = await restoredBeforeItsKey();
  expect(printed).toContain('The key-encryption key is not in the backup');
  const restored = await startOn(dataDir);
  const life = inLife(dataDir);
  await expect.poll(() => life.json('journal verify')).toMatchObject({ unchained: 0 });
  expect(await life.json('journal verify')).toMatchObject({ problem_count: 0 });
  const told = (await life.json('journal --action gateway.restored')) as unknown as Json[];
  expect(told).toEqual([expect.objectContaining({ actor: 'gateway:start' })]);
  expect(told[0]?.detail).toMatch(/^what was processed from .* is lost; noted without the key by operator:/);
  await restored.stop();
});

// catches(lost time: not done before it is reconciled) slow
test('restored → searches that find nothing are 503 until the lost time is reconciled, and a shop does not pay again', async () => {
  const api = client(gateway.baseUrl, gateway);
  const lost = await api.purchase({ correlationId: 'paid-in-the-lost-time' });
  const { dataDir, printed } = await restoredBeforeItsKey();
  expect(printed).toMatch(/^Until you have reconciled it .*`tollgate restored done`/m);
  const life = inLife(dataDir);
  const restored = await startOn(dataDir);
  const again = client(restored.baseUrl, gateway);
  const found = async () => {
    const { status, body } = await again.search('paid-in-the-lost-time');
    return status === 200 ? body.results : status;
  };
  expect(await found()).toBe(503);
  expect((await again.lookUp(lost.body.audit)).status).toBe(503);
  expect((await again.purchase()).status).toBe(201);

  const { lost: shown } = await life.json('restored show');
  expect(shown.from).toBe(made.taken);
  const days = shown.days as { date: string; acquirer: string }[];
  expect(days).toContainEqual(expect.objectContaining({ acquirer: 'simulator', reconciled: false }));
  expect(await life.refusal('restored done')).toMatch(
    /^no file of simulator for \d{4}-\d\d-\d\d was reconciled since the restore.*--note/,
  );
  for (const { date } of days) {
    // What the acquirer has: the payment that is lost here.
    const file = join(dataDir, `${date}.csv`);
    const lines = ['reference,transaction_type,amount_cents,currency', `LOST-${date},purchase,1995,AUD`];
    await writeFile(file, `${lines.join('\n')}\n`);
    await runHere(
      wordsOf(`settlement reconcile ${file} --acquirer simulator --date ${date}`),
      environmentOf(dataDir),
    );
  }
  expect(await life.refusal('restored done')).toMatch(/^1 payments of simulator on .* are not here/);
  expect(await found()).toBe(503);
  for (const { id } of (await life.json('settlement differences')) as unknown as { id: number }[])
    await life.json(`settlement looked-at ${id} --note refunded-there`);
  expect(await life.json('restored done')).toEqual({ from: shown.from, until: shown.until });
  expect(await found()).toEqual([]);
  expect((await again.lookUp(lost.body.audit)).status).toBe(404);
  expect(await life.json('journal --limit 1')).toMatchObject([{ action: 'gateway.restore_reconciled' }]);
  expect(await life.refusal('restored done')).toMatch(/^nothing is lost/);
  expect(await life.json('restored show')).toEqual({ lost: null });
  await restored.stop();
});

test('PostgreSQL recovered to an earlier moment by other means → the gateway notices by itself, and an operator can record how the missing part is known', async () => {
  const dataDir = await dataDirectory();
  // What pg_basebackup would have copied, with its log; recovered as from an archive.
  for (const name of ['postgres', 'postgres-password'])
    await cp(join(folder, name), join(dataDir, name), { recursive: true });
  await cp(join(gateway.dataDir, 'key-encryption-key'), join(dataDir, 'key-encryption-key'));
  await writeFile(join(dataDir, 'postgres', 'recovery.signal'), '', { mode: 0o600 });
  const configuration = join(dataDir, 'postgres', 'postgresql.auto.conf');
  await writeFile(configuration, `${await readFile(configuration, 'utf8')}restore_command = 'exit 1'\n`);
  const recovered = await startOn(dataDir);
  const again = client(recovered.baseUrl, gateway);
  expect((await again.search('nobody-knows')).status).toBe(503);
  const life = inLife(dataDir);
  const { lost } = await life.json('restored show');
  expect(Date.parse(lost.from)).toBeLessThanOrEqual(Date.parse(made.taken));
  expect(await life.json('journal --action gateway.restored')).toMatchObject([
    { actor: 'gateway:heartbeat' },
  ]);
  await life.json('restored done --note asked-the-acquirer');
  expect((await again.search('nobody-knows')).body).toMatchObject({ results: [] });
  expect((await life.json('journal --limit 1'))[0].detail).toMatch(/: asked-the-acquirer$/);
  await recovered.stop();
});
