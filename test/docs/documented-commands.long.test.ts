// Every command that README and docs/ show in a block is run, page by page and in order, on databases with nothing in them before.
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeDemo } from '../../src/demo/demo.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { Database } from '../../src/postgres/database.js';
import { makeCertificate } from '../../testkit/certificates.js';
import { credentialKeyOf, testDatabase } from '../../testkit/gateway.js';
import { dataDirectory, freePort } from '../../testkit/gateway-process.js';
import { copyPreparedCluster } from '../../testkit/prepared-cluster.js';
import { environmentWithoutSettings, TOLLGATE } from '../../testkit/project.js';
import { filesUnder } from '../../testkit/project-files.js';
import { type ShellBlock, shellBlocks } from '../../testkit/shell-blocks.js';
import { startReceiver, type WebhookReceiver } from '../../testkit/webhook-receiver.js';

const PAGES = ['README.md', ...filesUnder('docs').filter((path) => path.endsWith('.md'))];
const BLOCKS = PAGES.flatMap(shellBlocks);

/** What the blocks need that are not run here, and how many of each page do: their first line says it to the reader, too. */
const NOT_RUN: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'docs/acquirers.md': { 'the host of an acquirer': 2 },
  'docs/api.md': { 'the network, to fetch generators': 1 },
  'docs/backups.md': {
    'a database that was restored': 1,
    'a PostgreSQL of your own that was just restored': 1,
  },
  'docs/console.md': { 'a token from the console': 1 },
  'docs/directdebit.md': { 'a returns file of the bank': 1 },
  'docs/deploying.md': { Docker: 3, systemd: 3, 'a Kubernetes cluster': 2 },
  'docs/moving-organisations.md': { 'a second cell': 1 },
  'docs/production.md': {
    root: 15,
    'a token from the console': 1,
    systemd: 2,
    'a second machine': 1,
    'the secret of a user': 1,
    'the host of an acquirer': 2,
  },
  'docs/python.md': { pip: 1 },
  'docs/shop.md': { 'a gateway that runs in another shell': 1, 'a project of your own': 1, 'ten minutes': 1 },
  'docs/settlement.md': { 'a difference with this number': 1 },
  'docs/vault-moving.md': {
    age: 2,
    'age, and cards of another vault': 1,
    'gpg, and cards of another vault': 1,
    'cards of another vault': 1,
    'age and gpg': 1,
  },
  'docs/releasing.md': { 'Docker and cosign': 1, Docker: 1 },
  'docs/wallets.md': { 'files of Apple': 1, 'files of Google': 1 },
};

/** Run by a test of their own, which also holds what they print against the page. */
const RUN_ELSEWHERE: readonly (readonly [page: string, command: string])[] = [
  ['docs/acquirers.md', 'npx tollgate merchant set 4 --acquirer bank\n'],
];

/** Pages that go on with what the one before has left. Every other page begins anew, with the demo on a PostgreSQL of its own. */
const ONE_AFTER_ANOTHER = [
  'README.md',
  'docs/first-steps.md',
  'docs/api.md',
  'docs/commands.md',
  'docs/operations.md',
  'docs/backups.md',
  'docs/console.md',
];

/** Four gateways are started, and a database is backed up and restored: on a slow machine that takes its time. */
const SLOW_MS = 600_000;

/** What a page takes for granted. */
const BEFORE: Readonly<Record<string, string>> = {
  'docs/first-steps.md': 'npm start',
  'docs/api.md': 'npm start',
  'docs/console.md': 'npm start',
  'docs/backups.md': 'npm start',
  'docs/commands.md': 'npm start',
  'docs/checkout.md': 'npx tollgate organisation add Shop; npx tollgate merchant add Shop --organisation 1',
  'docs/operations.md': 'npm start; npx tollgate user add shop --merchant 1',
};

async function inTurn<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}

test('blocks that cannot be run here say so to the reader, and are in the list above', () => {
  const counted: Record<string, Record<string, number>> = {};
  for (const { page, needs } of BLOCKS) {
    if (needs === undefined) continue;
    counted[page] ??= {};
    const those = counted[page] as Record<string, number>;
    those[needs] = (those[needs] ?? 0) + 1;
  }
  expect(counted).toEqual(NOT_RUN);
});

/** The shell of a reader: `npx` and `npm` without the network, and gateways that end with it. */
const SHELL = `
npx() { [ "$1" = tollgate ] || return 1; shift; if [ "$1" = serve ]; then serving; else node "$TOLLGATE" "$@"; fi; }
# What \`npm ci\` installs is there, and \`npm test\` is run by itself.
npm() { case "$1" in ci|test) ;; start) serving ;; *) return 1 ;; esac; }
stop() { [ -z "\${gateway-}" ] || { kill "$gateway"; wait "$gateway" || true; }; gateway=; }
serving() {
  stop
  # At once: what starts behind would find the file of the gateway before it, in which one listens already.
  : > serving.log
  node "$TOLLGATE" serve >> serving.log 2>&1 & gateway=$!
  until grep -q 'listens on http' serving.log; do
    kill -0 "$gateway" || { cat serving.log >&2; return 1; }
    sleep 0.1
  done
}
trap stop EXIT
`;

describe('every page', () => {
  let receiver: WebhookReceiver;
  let port: number;
  const dropped: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    receiver = await startReceiver();
    port = await freePort();
  });
  afterAll(async () => {
    await receiver.close();
    for (const drop of dropped) await drop();
  });

  /** A folder to work in, and what is expected to lie in it. */
  async function folder(): Promise<string> {
    const made = await dataDirectory('tollgate-docs-');
    await Promise.all(['backups', 'archives'].map((name) => mkdir(join(made, name))));
    await writeFile(join(made, 'shop.pem'), makeCertificate({}).certificate);
    await writeFile(join(made, 'FILE'), 'reference,transaction_type,amount_cents,currency\n');
    return made;
  }

  async function freshDatabase(dataDir: string): Promise<string> {
    const { url, drop } = await testDatabase();
    dropped.push(drop);
    const database = new Database(url, { maxConnections: 1 });
    await mkdir(dataDir, { mode: 0o700 });
    const settings = readSettings({ TOLLGATE_DATA_DIR: dataDir, DATABASE_URL: url });
    await makeDemo(database, await credentialKeyOf(database, settings), dataDir);
    await database.close();
    return url;
  }

  /** What a page names that is not on this machine, by what stands in for it. */
  const onThisMachine = (text: string, place: string, ownDatabase: string) =>
    text
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
      .replaceAll(
        'TOLLGATE_DATA_DIR=live TOLLGATE_PORT=8090',
        `TOLLGATE_DATA_DIR=live TOLLGATE_PORT=${port} DATABASE_URL=${ownDatabase}`,
      )
      .replaceAll('https://shop.example/webhooks', receiver.url)
      .replaceAll('postgres://tollgate:secret@db.example/tollgate', ownDatabase)
      .replaceAll(/(?<=[\s=])\/(?=backups\/|archives\/)/g, `${place}/`)
      // A month of made-up trade is no other than a day of it, and takes longer.
      .replaceAll('demo fill --days 30', 'demo fill --days 1')
      .replaceAll('/var/lib/tollgate-new', `${place}/restored`);

  const runnable = (page: string) =>
    BLOCKS.filter(
      (block) =>
        block.page === page &&
        block.needs === undefined &&
        !RUN_ELSEWHERE.some(([where, command]) => where === page && block.text.startsWith(command)),
    );
  const before = (page: string): ShellBlock[] => {
    const text = BEFORE[page];
    return text === undefined ? [] : [{ page, line: 0, text, needs: undefined }];
  };

  async function run(page: string, environment: Record<string, string>, place: string): Promise<string> {
    const own = await testDatabase();
    dropped.push(own.drop);
    const program = [...before(page), ...runnable(page)].map(
      ({ line, text }) => `echo "@@ ${page}:${line}" >&2\n${onThisMachine(text, place, own.url)}\n`,
    );
    try {
      const { stdout } = await promisify(execFile)(
        'bash',
        ['-eo', 'pipefail', '-c', SHELL + program.join('\n')],
        {
          cwd: place,
          maxBuffer: 1 << 24,
          env: {
            ...environmentWithoutSettings(),
            TOLLGATE,
            TOLLGATE_PORT: String(port),
            TOLLGATE_CONSOLE_PORT: '0',
            TOLLGATE_CHECKOUT_PORT: '0',
            TOLLGATE_DEMO_DAYS: '0',
            TOLLGATE_WEBHOOK_NETWORKS: '127.0.0.0/8',
            // Of what the page says takes ten seconds nothing else is different.
            TOLLGATE_ACQUIRER_DEADLINE_MS: '2000',
            ...environment,
          },
        },
      );
      return stdout;
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      throw new Error(`${stdout.slice(-1_500)}\n${stderr.slice(-3_000)}`);
    }
  }

  test(
    `${ONE_AFTER_ANOTHER.join(', ')} → each command succeeds, and prints what the page shows`,
    async () => {
      const place = await folder();
      // To make a PostgreSQL takes seconds; that a gateway does it, test/processes/data-directory.long.test.ts shows.
      await mkdir(join(place, 'data'), { mode: 0o700 });
      await copyPreparedCluster(join(place, 'data'));
      const printed = (await inTurn(ONE_AFTER_ANOTHER, (page) => run(page, {}, place))).slice(0, 2).join('');
      for (const said of [
        '"audit":1,',
        '"transaction_status_code":"voided"',
        '"GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT":"3800"',
        '"CARD.PAN":"411111******1111"',
        '"GATEWAY.REQUEST.KVP.SURCHARGE.TOTAL_AMOUNT":"10150"',
        '"transaction":{"href":"/v1/transactions/7"}',
      ])
        expect(printed).toContain(said);
      expect([...printed.matchAll(/"error_code":"(\w+)"/g)].map(([, code]) => code)).toEqual([
        'acquirer_timeout',
      ]);
    },
    SLOW_MS,
  );

  const alone = PAGES.filter((page) => !ONE_AFTER_ANOTHER.includes(page) && runnable(page).length > 0);
  test.each(alone)('%s → each command succeeds', async (page) => {
    const place = await folder();
    const databaseUrl = await freshDatabase(join(place, 'data'));
    await run(page, { DATABASE_URL: databaseUrl, TOLLGATE_DEMO: 'false' }, place);
  });
});
