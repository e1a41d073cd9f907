// The end of the journal, kept outside of the database: where it goes, and what it finds of an intruder who owns the database.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { problemsOfSettings } from '../../src/gateway/settings/production.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { type Destination, JournalAnchor } from '../../src/journal/anchor.js';
import { ChainKey } from '../../src/journal/blocks.js';
import { signedCheckpoint } from '../../src/journal/checkpoints.js';
import { knownFrom, verifyEndOfJournal, verifyJournal } from '../../src/journal/journal-tasks.js';
import { ChainedJournal } from './chained-journal.js';

let own: ChainedJournal;
let folder: string;
let path: string;
const said: string[] = [];
beforeEach(async () => {
  own = await ChainedJournal.open();
  await own.intruder
    .query(`INSERT INTO gateway (installation) VALUES ('${'1'.repeat(12)}') ON CONFLICT DO NOTHING`)
    .catch(() => {});
  folder = await mkdtemp(join(tmpdir(), 'tollgate-anchor-'));
  path = join(folder, 'journal');
  said.length = 0;
  onTestFinished(() => rm(folder, { recursive: true }));
});

function anchorTo(...destinations: Destination[]): JournalAnchor {
  return new JournalAnchor(destinations, () => signedCheckpoint(own.database, new ChainKey(own.key)), {
    onFailing: (destination) => said.push(`failing ${destination}`),
    onWorking: (destination) => said.push(`working ${destination}`),
  });
}

const linesIn = async () => (await readFile(path, 'utf8')).trimEnd().split('\n');
const verified = async () =>
  (await verifyJournal(own.database, own.key, await knownFrom(own.database, own.key, [path]))).problems;

test('a file → a line for each end of the chain, none where it has not grown', async () => {
  const anchor = anchorTo({ kind: 'file', path });
  await anchor.run();
  const chain = await own.filled(3);
  await anchor.run();
  await anchor.run();
  await own.filled(3, chain);
  await anchor.run();
  expect((await linesIn()).map((line) => JSON.parse(line).number)).toEqual([1, 2]);
  expect(await verified()).toEqual([]);
  expect([anchor.behindMs, said]).toEqual([0, []]);
});

describe('an intruder who owns the database', () => {
  // catches(journal: a chain that ends before a checkpoint is found)
  test('cuts off the end, blocks and entries → found by the anchor, also by a look at the end only', async () => {
    const anchor = anchorTo({ kind: 'file', path });
    await own.filled(9);
    await anchor.run();
    await own.intruder.query('DELETE FROM journal_block WHERE number > 1; DELETE FROM journal WHERE id > 3');
    await own.intruder.query('UPDATE journal_chain SET chained_up_to = 3');
    await own.intruder.query(`SELECT setval('journal_id_seq', 3)`);
    expect((await verifyJournal(own.database, own.key)).problems).toEqual([]);
    const removed = { block: 3, problem: 'removed: the checkpoint knows it, and the chain ends before it' };
    expect(await verified()).toEqual([removed]);
    const known = await knownFrom(own.database, own.key, [path]);
    expect((await verifyEndOfJournal(own.database, own.key, 2, known)).problems).toEqual([removed]);
    // The gateway goes on with other entries.
    await own.filled(9);
    expect(await verified()).toEqual([{ block: 3, problem: 'changed: the checkpoint knows another' }]);
  });

  // catches(journal: a checkpoint of somebody else’s is refused)
  test('changes the file as well → refused, since the line is not signed', async () => {
    const anchor = anchorTo({ kind: 'file', path });
    await own.filled(3);
    await anchor.run();
    const [line = ''] = await linesIn();
    await writeFile(path, `${line.replace(/"hash":"../, '"hash":"00')}\n`);
    await expect(verified()).rejects.toMatchObject({ code: 'checkpoint_of_another' });
    await rm(path);
    await expect(verified()).rejects.toThrow(path);
  });
});

test('lines of a collector, with what stands before and between them, and of other installations → read', async () => {
  await own.filled(3);
  const checkpoint = JSON.stringify(await signedCheckpoint(own.database, new ChainKey(own.key)));
  const foreign = checkpoint.replace(/"installation":"?[^",]*"?/, '"installation":"another"');
  await appendFile(
    path,
    `Nov 18 host sshd: hello\n<109>1 2026 host tollgate 7 anchor - ${checkpoint}\n${foreign}\n`,
  );
  expect(await knownFrom(own.database, own.key, [path])).toMatchObject([{ number: 1 }]);
});

test('syslog over UDP and TCP, and a collector over HTTP → each gets it', async () => {
  const heard: string[] = [];
  const udp = createSocket('udp4').bind(0, '127.0.0.1');
  udp.on('message', (message) => heard.push(`udp ${message}`));
  const tcp = createServer((socket) => socket.on('data', (data) => heard.push(`tcp ${data}`)));
  const http = createHttpServer((request, response) => {
    request.on('data', (data) => heard.push(`http ${data}`)).on('end', () => response.writeHead(204).end());
  });
  tcp.listen(0, '127.0.0.1');
  http.listen(0, '127.0.0.1');
  await Promise.all([udp, tcp, http].map((each) => once(each, 'listening')));
  onTestFinished(() => {
    for (const each of [udp, tcp, http]) each.close();
  });
  const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
  await own.filled(3);
  await anchorTo(
    { kind: 'syslog', protocol: 'udp', host: '127.0.0.1', port: portOf(udp) },
    { kind: 'syslog', protocol: 'tcp', host: '127.0.0.1', port: portOf(tcp) },
    { kind: 'http', url: `http://127.0.0.1:${portOf(http)}/journal` },
  ).run();
  await expect.poll(() => heard.length).toBe(3);
  expect(said).toEqual([]);
  const checkpoint = JSON.stringify(await signedCheckpoint(own.database, new ChainKey(own.key)));
  expect(heard.sort()).toEqual([
    `http ${checkpoint}`,
    expect.stringMatching(/^tcp \d+ <109>1 \S+Z \S+ tollgate \d+ anchor - \{"installation"/),
    expect.stringMatching(/^udp <109>1 \S+Z \S+ tollgate \d+ anchor - \{"installation"/),
  ]);
});

test('a destination that fails → said once, tried again, and the others have it', async () => {
  let status = 500;
  const http = createHttpServer((request, response) => {
    request.resume().on('end', () => response.writeHead(status).end());
  }).listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => void http.close());
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const anchor = anchorTo({ kind: 'http', url: `${url}/secret` }, { kind: 'file', path });
  await own.filled(3);
  await anchor.run();
  await anchor.run();
  expect(said).toEqual([`failing ${url}`]);
  expect(anchor.behindMs).toBeGreaterThan(0);
  expect(await linesIn()).toHaveLength(1);
  status = 200;
  await anchor.run();
  expect(said).toEqual([`failing ${url}`, `working ${url}`]);
  expect(anchor.behindMs).toBe(0);
});

describe('settings', () => {
  test('several destinations → read; what is none, or goes over a network in clear → refused', () => {
    const anchors = (text: string) => readSettings({ TOLLGATE_JOURNAL_ANCHOR: text }).journalAnchors;
    expect(
      anchors(
        '/var/log/journal, syslog,syslog+udp://[::1]:1514,syslog+tcp://logs.example,https://c.example/x',
      ),
    ).toEqual([
      { kind: 'file', path: '/var/log/journal' },
      { kind: 'logger' },
      { kind: 'syslog', protocol: 'udp', host: '::1', port: 1_514 },
      { kind: 'syslog', protocol: 'tcp', host: 'logs.example', port: 514 },
      { kind: 'http', url: 'https://c.example/x' },
    ]);
    for (const text of ['journal', 'http://c.example', 'syslog://x', 'ftp://x', 'syslog+tcp://'])
      expect(() => anchors(text)).toThrow(/^TOLLGATE_JOURNAL_ANCHOR must be a file/);
  });

  // catches(production: the journal is anchored outside of the database)
  test('production without an anchor → refused in one line', () => {
    const lines = (settings: Record<string, string>) =>
      problemsOfSettings(readSettings(settings), 1).filter((line) =>
        line.startsWith('TOLLGATE_JOURNAL_ANCHOR'),
      );
    expect(lines({})).toHaveLength(1);
    expect(lines({ TOLLGATE_JOURNAL_ANCHOR: 'syslog' })).toEqual([]);
  });
});
