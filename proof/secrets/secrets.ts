// After mixed trade no card number and no CVV is in clear in any answer, row, file, log or in memory. The trade runs over the simulated
// acquirer and ISO 8583 links, and memory is read a minute later. Sealed cards exist only where they can still be used.
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Chance, newSeed } from '../../testkit/chance.js';
import { Installation } from '../../testkit/installation.js';
import { HostProcess } from '../../testkit/iso8583-host/host-process.js';
import { isReadable, readMemory } from '../../testkit/process-memory.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { rowsOf } from '../../testkit/secret-scan.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { SecretBytes } from '../arena/secret-bytes.js';
import { Secrets } from '../arena/secrets.js';
import { verdict } from '../arena/verdict.js';
import { AMOUNTS, SecretsShop } from './shop.js';

/** By what is stored and the days of this run alone, in other words than the gateway's. All of it is younger than an hour. */
const SEALED_WRONGLY = `
  SELECT transaction_type || ' ' || audit || ', ' || status || CASE WHEN sealed THEN ', has a card' ELSE ', has none' END AS what
  FROM (
    SELECT *, payment_details_sealed IS NOT NULL AS sealed,
      transaction_type IN ('purchase', 'preauthorisation', 'standalone_refund')
        -- What was reversed by messages may have to be reversed again, for a day.
        AND (status = 'approved' OR (status = 'error' AND reversing AND prepared IS NOT NULL)) AS usable
    FROM transaction WHERE reference <> 'before-everything') looked
  WHERE sealed <> usable
  UNION ALL
  SELECT 'token ' || id || ', deleted, has a card' FROM token WHERE deleted_at IS NOT NULL AND sealed IS NOT NULL`;

const SEALED_CARDS = `
  SELECT transaction_type || ' ' || audit || ' has a card' AS what FROM transaction
  WHERE payment_details_sealed IS NOT NULL AND card_mask IS NOT NULL LIMIT 20`;

/** As if all of it had happened long ago: the clock cannot be moved where there are real links. */
const AGE_EVERYTHING = `
  UPDATE transaction SET created_at = created_at - interval '130 days', completable_until = completable_until - interval '130 days',
    voidable_until = voidable_until - interval '130 days', decided_at = decided_at - interval '130 days'`;

const REVIEW_CARDS = `UPDATE card_review SET next_at = '-infinity'`;

const values = programOptions({
  requests: 5000,
  /** Of the shop, at the same time. */
  lanes: 16,
  /** How long after the last request the memory is read; 0: it is not. */
  seconds: 60,
  seed: newSeed(),
});
const { seed } = values;
const chance = new Chance(seed);
const secrets = new Secrets(chance.fork());
/** In names of fields, addresses, headers, log-ins and what is no JSON. Nothing is written of them either; memory may keep them. */
const misplaced = new Secrets(chance.fork());
/** One that the search itself is tried with. */
const planted = new Secrets(chance.fork());
const DECISION_LIMIT_MS = 60_000;
const DESTRUCTION_LIMIT_MS = 60_000;
const HELD_CENTS = 1_414;
const isToBeRead = values.seconds > 0;
say(`secrets: seed ${seed}`);

const folder = temporaryFolder('secrets');
const installation = await Installation.open({
  ACQUIRER_DEADLINE_MS: '1000',
  RESOLVER_INTERVAL_MS: '100',
  RESOLVER_FIRST_PAUSE_MS: '100',
});
await installation.prepare(undefined, { isInRealTime: true });
const merchants = [installation.merchantId, installation.merchantId + 1, installation.merchantId + 2];
await installation.command('surcharge', 'off', '--merchant', `${merchants[1]}`);
const hosts = await Promise.all(['as2805', 'ascii87'].map(startHost));
const gateway = await installation.startedGateway({ LOG_LEVEL: 'debug' }, undefined, 'everything');
const { baseUrl } = gateway;
const shop = new SecretsShop({
  baseUrl,
  authorization: installation.authorization,
  chance,
  secrets,
  misplaced,
  merchants,
});
await shop.ready();
await shop.trade(values.requests, values.lanes);
const heldInMemory = await whileHeld();
const transactions = await installation.decidedTransactions(DECISION_LIMIT_MS);
say(`… ${transactions.length} transactions, answers ${JSON.stringify(shop.answered)}`);

const lastRequestMs = performance.now();
const inRows = await rowsWithSecrets(secrets, misplaced);
const sealedWrongly = (await installation.sql<{ what: string }>(SEALED_WRONGLY)).map(({ what }) => what);
await installation.sql('CHECKPOINT');
const inFiles = await filesWithSecrets(secrets, misplaced);
const inLog = linesWithSecrets(gateway.output());
const overdue = await overdueCards();
const inScan = await plantedUnseen();

const waitMs = values.seconds * 1_000 - (performance.now() - lastRequestMs);
if (waitMs > 0) await sleep(waitMs);
const inMemory = isToBeRead && isReadable(gateway.pid) ? memoryWithSecrets(secrets) : undefined;
if (isToBeRead && inMemory === undefined) say('SKIPPED: the memory of the gateway cannot be read here');
if (inMemory !== undefined) say(`… in memory: ${JSON.stringify(tally(inMemory.found))}`);
const misplacedInMemory = inMemory === undefined ? [] : memoryWithSecrets(misplaced).found;

await installation.sql(AGE_EVERYTHING);
await installation.sql(REVIEW_CARDS);
const left = await sealedAfterAll();
const inFilesInTheEnd = await filesWithSecrets(secrets, misplaced);

for (const host of hosts) await host.stop();
await installation.close();
process.exitCode = verdict(
  {
    'no answer holds a secret, and none is a 500': shop.wrong,
    'no row holds a secret': inRows,
    'no file holds a secret': [...inFiles, ...inFilesInTheEnd],
    'no line of the log holds a secret': inLog,
    'the memory holds no CVV, and of a hundred card numbers one at most': tooManyOf(inMemory?.found ?? []),
    'a card is sealed where something can be done with it, and nowhere else': [...sealedWrongly, ...overdue],
    'when nothing can be done any more, no card is sealed but those of tokens': left,
    'the search finds what is there': [...heldInMemory, ...inScan],
  },
  `secrets: seed ${seed}, ${secrets.cardCount} cards, ${transactions.length} transactions, ` +
    `${inMemory === undefined ? 'memory not read' : `${Math.round(inMemory.bytes / 2 ** 20)} MB of memory after ${values.seconds} s with ${inMemory.found.length} of them, misplaced ones there ${misplacedInMemory.length} times`}`,
);

async function startHost(dialect: string, place: number): Promise<HostProcess> {
  const host = await HostProcess.start({ ledgerPath: join(folder, dialect), dialect });
  await host.rule({ amountCents: AMOUNTS.declined, code: '05' });
  await host.rule({ amountCents: AMOUNTS.failed, code: '96' });
  await host.rule({ amountCents: AMOUNTS.lostRequest, fault: 'lost request', mti: '0200' });
  await host.rule({ amountCents: AMOUNTS.lostAnswer, fault: 'lost answer', mti: '0200' });
  await host.rule({ amountCents: HELD_CENTS, fault: 'held answer', mti: '0200' });
  const command = (line: string) => installation.command(...line.split(' '));
  await command(
    `acquirer add ${dialect} --kind iso8583 --test --address ${host.address} --dialect ${dialect} ` +
      '--institution 61000001 --deadline 1000 --connections 2',
  );
  await command(
    `merchant set ${merchants[place + 1]} --acquirer ${dialect} --acceptor-id SHOP${place} --terminals T${place}1,T${place}2`,
  );
  return host;
}

/** While a payment is under way its card is in memory: a search that does not find it then finds nothing later either. */
async function whileHeld(): Promise<string[]> {
  if (!isToBeRead || !isReadable(gateway.pid)) return [];
  shop.begin(merchants[1] as number, HELD_CENTS);
  await sleep(300);
  const { found } = memoryWithSecrets(secrets);
  say(`… in memory under way: ${JSON.stringify(tally(found))}`);
  return found.some((one) => one.includes('card number'))
    ? []
    : ['the card of a payment under way is not found in memory'];
}

function memoryWithSecrets(wanted: Secrets): { readonly found: string[]; readonly bytes: number } {
  const bytes = new SecretBytes(wanted);
  const found = new Set<string>();
  const total = readMemory(gateway.pid, (piece, region, at) => {
    for (const { what, form, at: place } of bytes.find(piece)) {
      found.add(`${what} as ${form} in ${region.name || 'memory'} at ${(at + BigInt(place)).toString(16)}`);
    }
  });
  return { found: [...found], bytes: total };
}

/** A text that JavaScript has made old before it was dropped cannot be reached: now and then there is one. */
function tooManyOf(found: readonly string[]): readonly string[] {
  const cards = found.filter((one) => one.startsWith('card number'));
  return cards.length === found.length && cards.length <= Math.ceil(secrets.cardCount / 100) ? [] : found;
}

function tally(found: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const one of found) {
    const kind = one.slice(0, one.lastIndexOf(' at '));
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

async function rowsWithSecrets(...wanted: readonly Secrets[]): Promise<string[]> {
  const rows = await rowsOf({ sql: (text, given) => installation.sql(text, given) });
  return rows.flatMap((row) => {
    const found = wanted.map((one) => one.foundIn(row)).find((one) => one !== undefined);
    return found === undefined ? [] : [`${found} in ${row.slice(0, row.indexOf(' '))}`];
  });
}

async function filesWithSecrets(...wanted: readonly Secrets[]): Promise<string[]> {
  const searches = wanted.map((one) => new SecretBytes(one));
  const found: string[] = [];
  for (const root of [installation.dataDir, folder]) {
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      // A file that the server removed meanwhile holds nothing.
      const content = await readFile(path).catch(() => Buffer.alloc(0));
      for (const { what, form } of searches.flatMap((search) => search.find(content)))
        found.push(`${what} as ${form} in ${relative(root, path)}`);
    }
  }
  return found;
}

function linesWithSecrets(output: string): string[] {
  return output.split('\n').flatMap((line) => {
    const told = line.replace(/"(time|duration_ms|pid)":[0-9.]+/g, '');
    const found = secrets.foundIn(told) ?? misplaced.foundIn(told);
    return found === undefined ? [] : [`${found} in ${line.slice(0, 60)}…`];
  });
}

async function overdueCards(): Promise<string[]> {
  const status = JSON.parse(await installation.command('cards', 'status', '--json'));
  return status.overdue === 0 ? [] : [`${status.overdue} cards are overdue`];
}

/** What is written into the database in clear has to be found in its rows, its files and its log. */
async function plantedUnseen(): Promise<string[]> {
  await installation.sql('CREATE TABLE planted (digits text)');
  await installation.sql('INSERT INTO planted VALUES ($1)', [planted.card()]);
  await installation.sql('CHECKPOINT');
  const rows = await rowsWithSecrets(planted);
  const files = await filesWithSecrets(planted);
  await installation.sql('DROP TABLE planted');
  const seen = {
    'in a row': rows,
    'in a file of its table': files.filter((one) => one.includes('/base/')),
    'in the write-ahead log': files.filter((one) => one.includes('/pg_wal/')),
  };
  return Object.entries(seen).flatMap(([where, found]) =>
    found.length > 0 ? [] : [`planted ${where}, and not found`],
  );
}

/** Everything is over by now: refunds, completions, voids. */
async function sealedAfterAll(): Promise<string[]> {
  const untilMs = performance.now() + DESTRUCTION_LIMIT_MS;
  for (;;) {
    const rows = await installation.sql<{ what: string }>(SEALED_CARDS);
    if (rows.length === 0 || performance.now() > untilMs) return rows.map(({ what }) => what);
    await sleep(500);
  }
}
