// `npm run test:jpos`: a host of others, made of jPOS, on the other side of the wire. It packs every message of the corpus to the same
// bytes, and a gateway whose link leads to it trades with it; in the end both have the same books.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programOptions } from '../testkit/program-options.js';
import { say } from '../testkit/report.js';
import { Missing } from './clients-tools.js';
import { differentlyPacked, misunderstandings } from './jpos-conversation.js';
import { Jpos } from './jpos-host.js';
import { tradeOverJpos } from './jpos-trade.js';
import { verdict } from './verdict.js';

const DIALECTS = ['as2805', 'ascii87'];

const values = programOptions({
  // A folder with jPOS 2.1.10 and the libraries that it needs.
  jars: { type: 'string', default: process.env.TOLLGATE_TEST_JPOS ?? '' },
  purchases: { type: 'string', default: '20000' },
  // Of the link, and how many purchases are under way at once.
  connections: { type: 'string', default: '4' },
  clients: { type: 'string', default: '128' },
});

const folder = await mkdtemp(join(tmpdir(), 'tollgate-jpos-'));
process.once('exit', () => void rm(folder, { recursive: true, force: true }));
const jpos = await Jpos.prepare(values.jars, folder).catch((error: unknown) => {
  if (!(error instanceof Missing)) throw error;
  say(
    `jpos: skipped: ${error.message}; --jars or TOLLGATE_TEST_JPOS names a folder with jPOS and its libraries`,
  );
  process.exit(0);
});

const broken: Record<string, string[]> = {
  'jPOS packs messages to the same bytes': [],
  'jPOS understands what is said, and is understood': [],
};
let packed = 0;
for (const dialect of DIALECTS) {
  const corpus = await differentlyPacked(jpos, dialect);
  packed += corpus.packed;
  broken['jPOS packs messages to the same bytes']?.push(...corpus.different);
  const host = await jpos.start(dialect, 0);
  broken['jPOS understands what is said, and is understood']?.push(
    ...(await misunderstandings(host, dialect)),
  );
  await host.stop();
  say(`${dialect}: ${corpus.packed} messages packed by jPOS, and a conversation`);
}

const trade = await tradeOverJpos(jpos, {
  purchases: Number(values.purchases),
  connections: Number(values.connections),
  clients: Number(values.clients),
});
await rm(folder, { recursive: true, force: true });
process.exitCode = verdict(
  { ...broken, ...trade.broken },
  `jpos: ${packed} messages packed alike, ${trade.figures}`,
);
