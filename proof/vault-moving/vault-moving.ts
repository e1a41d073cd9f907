// A vault is imported, exported and imported again while commands are killed, and no card is lost, doubled or in clear. Payments go on
// meanwhile, another merchant imports the export, and in the end every token pays.
import { createWriteStream, existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Decrypter, type Encrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import type { PaymentRequest } from '../../client/src/index.js';
import { luhnDigit } from '../../src/values/card.js';
import { decrypted, encrypted, identitiesOf, recipientsOf } from '../../src/vault/moving/age.js';
import { paymentBody } from '../../testkit/bodies.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import type { Ended, RunningProcess } from '../../testkit/gateway-process.js';
import { Installation } from '../../testkit/installation.js';
import { programOptions } from '../../testkit/program-options.js';
import { percentile, say } from '../../testkit/report.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { SecretBytes } from '../arena/secret-bytes.js';
import { Secrets } from '../arena/secrets.js';
import { verdict } from '../arena/verdict.js';

const TOKENS_OF_CUSTOMER = 3;
/** One line in so many. */
const DUPLICATE_EVERY = 50;
const WRONG_EVERY = 97;

const DIGITS_OF_PAN = 16;

const values = programOptions({
  tokens: 100_000,
  /** Of each import, and of the export. */
  kills: 10,
  /** How many tokens pay in the end; all of them unless told otherwise. */
  pay: undefined,
  seed: newSeed(),
});
const { seed, kills } = values;
const chance = new Chance(seed);
const secrets = new Secrets(chance.fork());
/** One that the search itself is tried with. */
const planted = new Secrets(chance.fork());
const PAYERS = 8;
say(`vault-moving: seed ${seed}`);

const folder = temporaryFolder('moving');
const installation = await Installation.open();
// Whatever the commands put aside is looked through as well.
process.env.TMPDIR = join(folder, 'tmp');
await mkdir(process.env.TMPDIR);
const secretKey = await generateIdentity();
const recipient = await identityToRecipient(secretKey);
const identity = join(folder, 'key.txt');
await writeFile(identity, secretKey, { mode: 0o600 });
const gateway = await installation.firstGateway({ settings: { LOG_LEVEL: 'debug' }, keep: 'everything' });
const client = installation.clientAt(gateway.baseUrl, { requestTimeoutMs: 60_000 });
const folders = [installation.dataDir, folder];
const [first, second] = [installation.merchantId, installation.merchantId + 1];
const broken = {
  'every command that is not killed succeeds': [] as string[],
  'nothing is lost, and nothing is there twice': [] as string[],
  'a file appears whole, or not at all': [] as string[],
  'every token has its card, and pays': [] as string[],
  'payments go on meanwhile': [] as string[],
  'no file holds a card number': [] as string[],
  'nothing that is printed or logged holds one': [] as string[],
  'the search finds what is there': [] as string[],
};
const printed: string[] = [];
let [killed, peakMegabytes] = [0, 0];

const cards = movedCards(values.tokens, secrets, chance.fork());
const cardsFile = join(folder, 'cards.age');
await pipeline(
  await encrypted(fileOf(cards), recipientsOf([recipient]) as Encrypter),
  createWriteStream(cardsFile),
);
const wanted = new Map(cards.filter(({ ending }) => ending !== 'refused').map((one) => [one.oldId, one]));
const tokens = cards.filter(({ ending }) => ending === 'imported').length;
say(`… ${cards.length} lines, ${tokens} tokens`);

let over = false;
const served = serving();
const importedPerSecond = await moveIn(cardsFile, first);
await expectTokens(first);
const exported = join(folder, 'exported.age');
const exportedPerSecond = await moveOut(first, exported);
await moveIn(exported, second);
await expectTokens(second);
over = true;
const latencies = await served;
say('… moved twice');

const last = join(folder, 'last.age');
await moveOut(second, last);
const virtualPans = await expectCards(last);
const paid = await payWith(virtualPans);
say(`… ${paid} tokens have paid`);

await installation.sql('CHECKPOINT');
broken['no file holds a card number'].push(...(await filesWith(folders, secrets, await likeCards())));
broken['nothing that is printed or logged holds one'].push(
  ...[...printed, ...gateway.output().split('\n')].flatMap((line) => {
    const found = secrets.foundIn(line.replace(/"(time|duration_ms|pid)":[0-9.]+/g, ''));
    return found === undefined ? [] : [`${found} in ${line.slice(0, 60)}…`];
  }),
);
await plantAndFind();

await installation.close();
process.exitCode = verdict(
  broken,
  `vault-moving: seed ${seed}, ${tokens} tokens in ${cards.length} lines, ${killed} kills, imported ${importedPerSecond}/s, exported ${exportedPerSecond}/s, ` +
    `${peakMegabytes} MB at most, ${paid} tokens paid, ${latencies.length} purchases meanwhile with p99 ${percentile(latencies, 0.99)} ms`,
);

/** Killed as often as was asked for, then two at once to the end. Returns how many a second, all of it taken together. */
async function moveIn(file: string, merchant: number): Promise<number> {
  const words = ['vault', 'import', file, '--merchant', `${merchant}`, '--identity', identity, '--json'];
  const startedMs = performance.now();
  for (let left = kills; left > 0; left -= 1) {
    const before = await stored(merchant);
    const share = Math.floor((wanted.size - before) / (left + 1));
    await endedOrKilled(
      installation.begun(...words),
      async () => (await stored(merchant)) > before + chance.below(share + 1),
    );
  }
  const results = await Promise.all([1, 2].map(() => finished(words, [0, 1])));
  const seconds = (performance.now() - startedMs) / 1_000;
  const refused = cards.length - wanted.size;
  for (const { refused: told } of results)
    if (told !== (merchant === first ? refused : 0))
      broken['nothing is lost, and nothing is there twice'].push(`${told} lines were refused`);
  return Math.round(tokens / seconds);
}

/** Killed while it writes, then whole. Returns how many a second. */
async function moveOut(merchant: number, out: string): Promise<number> {
  const words = [
    'vault',
    'export',
    '--merchant',
    `${merchant}`,
    '--recipient',
    recipient,
    '--out',
    out,
    '--json',
  ];
  const parts = async () => (await readdir(folder)).filter((name) => name.endsWith('.part'));
  let left = 0;
  if (kills > 0) {
    const isWriting = async () => (await parts()).length > 0;
    const { signal } = await endedOrKilled(installation.begun(...words), isWriting);
    // Killed a moment after it had appeared, it is there, and all of it opens.
    if (signal !== null && existsSync(out))
      await expectCards(out).catch(() => broken['a file appears whole, or not at all'].push(out));
    await rm(out, { force: true });
    left = (await parts()).length;
  }
  const startedMs = performance.now();
  const result = await finished(words, [0]);
  if (result.removed?.length !== left || (await parts()).length > 0)
    broken['a file appears whole, or not at all'].push(`${left} parts were left, ${result.removed} removed`);
  if (result.tokens !== tokens)
    broken['nothing is lost, and nothing is there twice'].push(`${result.tokens} tokens were exported`);
  return Math.round(tokens / ((performance.now() - startedMs) / 1_000));
}

async function endedOrKilled(running: RunningProcess, isDue: () => Promise<boolean>): Promise<Ended> {
  let done = false;
  void running.ended.then(() => {
    done = true;
  });
  while (!done && !(await isDue())) await sleep(5);
  if (!done) running.kill('SIGKILL');
  const ended = await running.ended;
  if (ended.signal !== null) killed += 1;
  printed.push(ended.stdout, ended.stderr);
  return ended;
}

async function finished(words: readonly string[], codes: readonly number[]) {
  const running = installation.begun(...words);
  const watching = setInterval(() => watchMemory(running.pid), 100);
  const { code, stdout, stderr } = await running.ended;
  clearInterval(watching);
  printed.push(stdout, stderr);
  if (code === null || !codes.includes(code) || stdout === '')
    broken['every command that is not killed succeeds'].push(`${words[1]} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout || '{}');
}

function watchMemory(pid: number): void {
  try {
    const [, kilobytes = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    peakMegabytes = Math.max(peakMegabytes, Math.round(Number(kilobytes) / 1024));
  } catch {
    // It has ended, or this system does not tell.
  }
}

async function stored(merchant: number): Promise<number> {
  const text = 'SELECT count(*)::integer AS stored FROM former_token_id WHERE merchant_id = $1';
  return (await installation.sql<{ stored: number }>(text, [merchant]))[0]?.stored ?? 0;
}

/** One token for each card, and an old ID for each line. */
async function expectTokens(merchant: number): Promise<void> {
  const [found] = await installation.sql<{ tokens: number; customers: number }>(
    `SELECT count(*)::integer AS tokens, count(DISTINCT customer_id)::integer AS customers FROM token
     WHERE merchant_id = $1 AND deleted_at IS NULL`,
    [merchant],
  );
  const customers = new Set(cards.map(({ reference }) => reference)).size;
  const wrong = broken['nothing is lost, and nothing is there twice'];
  if (found?.tokens !== tokens) wrong.push(`merchant ${merchant} has ${found?.tokens} tokens of ${tokens}`);
  if (found?.customers !== customers)
    wrong.push(`merchant ${merchant} has ${found?.customers} customers of ${customers}`);
}

/** Every old ID stands for the card that it stood for in the beginning. Returns the virtual PANs. */
async function expectCards(file: string): Promise<string[]> {
  const virtualPans: string[] = [];
  const left = new Map<string, MovedCard>(wanted);
  let text = '';
  const content = (async function* () {
    yield await readFile(file);
  })();
  for await (const piece of await decrypted(content, identitiesOf(secretKey) as Decrypter)) {
    text += Buffer.from(piece).toString('utf8');
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const { virtual_pan, card_number, customer_reference, former_token_ids } = JSON.parse(line);
      virtualPans.push(virtual_pan);
      for (const oldId of former_token_ids) {
        const one = left.get(oldId);
        if (one?.card === card_number && one?.reference === customer_reference) left.delete(oldId);
      }
    }
  }
  const wrong = broken['every token has its card, and pays'];
  for (const oldId of left.keys()) wrong.push(`${oldId} does not stand for its card`);
  return virtualPans;
}

async function payWith(virtualPans: readonly string[]): Promise<number> {
  const chosen =
    values.pay === undefined ? [...virtualPans] : chance.shuffled(virtualPans).slice(0, Number(values.pay));
  let next = 0;
  const pay = async () => {
    while (next < chosen.length) {
      const body = paymentBody({ merchant: second, pan: chosen[next++] as string, amount: 100 });
      const outcome = await paidWith(body);
      if (outcome !== 'approved') broken['every token has its card, and pays'].push(outcome);
    }
  };
  await Promise.all(Array.from({ length: PAYERS }, pay));
  return chosen.length;
}

/** Virtual PANs that have the digits of this run's cards. */
async function likeCards(): Promise<Set<string>> {
  const text = `SELECT virtual_pan AS pan FROM token WHERE strpos(virtual_pan, $1) > 0`;
  return new Set((await installation.sql<{ pan: string }>(text, [secrets.mark])).map(({ pan }) => pan));
}

function paidWith(body: PaymentRequest): Promise<string> {
  return client.purchase(body).then(
    ({ outcome }) => outcome,
    (error: Error) => error.message,
  );
}

/** Somebody buys all the while. */
async function serving(): Promise<number[]> {
  const latencies: number[] = [];
  while (!over) {
    const startedMs = performance.now();
    const outcome = await paidWith(paymentBody({ merchant: first }));
    latencies.push(performance.now() - startedMs);
    if (outcome !== 'approved') broken['payments go on meanwhile'].push(outcome);
    await sleep(20);
  }
  return latencies;
}

async function plantAndFind(): Promise<void> {
  await installation.sql('CREATE TABLE planted (digits text)');
  await installation.sql('INSERT INTO planted VALUES ($1)', [planted.card()]);
  await installation.sql('CHECKPOINT');
  await writeFile(join(folder, 'tmp', 'planted'), planted.card());
  const files = await filesWith(folders, planted);
  for (const place of ['/base/', '/pg_wal/', 'tmp/planted'])
    if (!files.some((one) => one.includes(place)))
      broken['the search finds what is there'].push(`planted in ${place}, and not found`);
}

interface MovedCard {
  readonly oldId: string;
  readonly reference: string;
  readonly card: string;
  /** What the import has to make of it. */
  readonly ending: 'imported' | 'duplicate' | 'refused';
}

/** Cards of customers, of whom each has several; some twice under two IDs, some with a wrong digit. */
function movedCards(tokens: number, secrets: Secrets, chance: Chance): MovedCard[] {
  const cards: MovedCard[] = [];
  let ofCustomer = new Set<string>();
  for (let place = 0; place < tokens; place += 1) {
    const reference = `customer-${Math.floor(place / TOKENS_OF_CUSTOMER)}`;
    if (place % TOKENS_OF_CUSTOMER === 0) ofCustomer = new Set();
    let card = secrets.card();
    while (ofCustomer.has(card)) card = secrets.card();
    ofCustomer.add(card);
    const moved = { oldId: `card_${place}`, reference, card, ending: 'imported' } as const;
    cards.push(moved);
    if (place % DUPLICATE_EVERY === 0) cards.push({ ...moved, oldId: `again_${place}`, ending: 'duplicate' });
    if (place % WRONG_EVERY === 0) cards.push({ ...withWrongDigit(moved, chance), oldId: `wrong_${place}` });
  }
  return cards;
}

function withWrongDigit(moved: MovedCard, chance: Chance): MovedCard {
  const digits = moved.card.slice(0, -1);
  const wrong = (Number(luhnDigit(digits)) + chance.between(1, 9)) % 10;
  return { ...moved, card: digits + wrong, ending: 'refused' };
}

/** As JSON lines, a piece at a time. */
async function* fileOf(cards: readonly MovedCard[]): AsyncGenerator<Buffer> {
  const piece = 1_000;
  for (let from = 0; from < cards.length; from += piece) {
    const lines = cards.slice(from, from + piece).map(({ oldId, reference, card }) =>
      JSON.stringify({
        old_token_id: oldId,
        customer_reference: reference,
        card_number: card,
        expiry: '1239',
        card_name: 'Ada Lovelace',
      }),
    );
    yield Buffer.from(`${lines.join('\n')}\n`);
  }
}

/** `innocent`: virtual PANs in which the digits of a card stand by chance, as they do in one of some millions. */
async function filesWith(
  folders: readonly string[],
  wanted: Secrets,
  innocent: ReadonlySet<string> = new Set(),
): Promise<string[]> {
  const search = new SecretBytes(wanted);
  const found: string[] = [];
  for (const root of folders) {
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      // A file that the server removed meanwhile holds nothing.
      const content = await readFile(path).catch(() => Buffer.alloc(0));
      for (const { what, form, at } of search.find(content))
        if (!isInside(innocent, content, at)) found.push(`${what} as ${form} in ${relative(root, path)}`);
    }
  }
  return found;
}

function isInside(pans: ReadonlySet<string>, bytes: Buffer, at: number): boolean {
  for (let start = Math.max(at - DIGITS_OF_PAN, 0); start <= at; start += 1)
    if (pans.has(bytes.toString('latin1', start, start + DIGITS_OF_PAN))) return true;
  return false;
}
