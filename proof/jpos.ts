// `npm run test:jpos`: a host of others, made of jPOS, on the other side of the wire. It packs every message of the corpus to the same
// bytes, and a gateway whose link leads to it trades with it; in the end both have the same books.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AS2805, ASCII87 } from '../testkit/iso8583-host/dialects.js';
import { programOptions } from '../testkit/program-options.js';
import { say } from '../testkit/report.js';
import { Missing } from './clients-tools.js';
import { differentlyPacked, misunderstandings } from './jpos-conversation.js';
import { Jpos } from './jpos-host.js';
import { LATE_MS, LinkArena } from './link-arena.js';
import { verdict } from './verdict.js';

const values = programOptions({
  // A folder with jPOS 2.1.10 and the libraries that it needs.
  jars: { type: 'string', default: process.env.TOLLGATE_TEST_JPOS ?? '' },
  // as2805 or ascii87; both unless one is named.
  dialect: { type: 'string' },
  purchases: { type: 'string', default: '40000' },
  // Of the link, and how many purchases are under way at once.
  connections: { type: 'string', default: '2' },
  clients: { type: 'string', default: '512' },
});

const dialects = values.dialect === undefined ? [AS2805.name, ASCII87.name] : [values.dialect];

const folder = await mkdtemp(join(tmpdir(), 'tollgate-jpos-'));
process.once('exit', () => void rm(folder, { recursive: true, force: true }));
const jpos = await Jpos.prepare(values.jars, folder).catch((error: unknown) => {
  if (!(error instanceof Missing)) throw error;
  say(
    `jpos: skipped: ${error.message}; --jars or TOLLGATE_TEST_JPOS names a folder with jPOS and its libraries`,
  );
  process.exit(0);
});

const broken: Record<string, string[]> = {};
const note = (promise: string, cases: readonly string[]) => {
  broken[promise] = [...(broken[promise] ?? []), ...cases];
};
const figures: string[] = [];
for (const dialect of dialects) {
  const { packed, different } = await differentlyPacked(jpos, dialect);
  note('jPOS packs messages to the same bytes', different);
  const host = await jpos.start(dialect, LATE_MS);
  note('jPOS understands what is said, and is understood', await misunderstandings(host));
  await host.stop();
  say(`${dialect}: ${packed} messages packed by jPOS, and a conversation`);
  const traded = await jpos.start(dialect, LATE_MS);
  const arena = await LinkArena.open(traded, { connections: Number(values.connections) });
  await arena.shop.tradeOneOfEach();
  // How many it can do is asked of the dialect that is in use.
  if (dialect === AS2805.name) await arena.load(Number(values.purchases), Number(values.clients));
  const trade = await arena.judge();
  await traded.stop();
  for (const [promise, cases] of Object.entries(trade.broken)) {
    note(
      promise,
      cases.map((one) => `${dialect}: ${one}`),
    );
  }
  figures.push(`${dialect}: ${packed} messages packed alike, ${trade.figures}`);
}
await rm(folder, { recursive: true, force: true });
process.exitCode = verdict(broken, `jpos: ${figures.join('; ')}`);
