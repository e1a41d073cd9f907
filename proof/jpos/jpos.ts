// A host made of jPOS understands the gateway's ISO 8583 link, and both keep the same books. The host packs every message of the corpus
// to the same bytes.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { following, IsoClient, networkMessage, payment } from '../../testkit/iso8583-host/client.js';
import { AS2805, ASCII87, dialectNamed } from '../../testkit/iso8583-host/dialects.js';
import { programOptions } from '../../testkit/program-options.js';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import {
  cardAnsweredLaterWith,
  cardAnsweredWith,
  LOST_ANSWER_CARD,
  LOST_REQUEST_CARD,
} from '../../testkit/test-cards.js';
import { LATE_MS, LinkArena } from '../arena/link-arena.js';
import { Missing } from '../arena/tools.js';
import { verdict } from '../arena/verdict.js';
import { Jpos, type JposHost } from './host.js';

const CORPUS = join(PROJECT_ROOT, 'test', 'iso8583-host', 'pyiso8583-corpus.jsonl');

const values = programOptions({
  // A folder with jPOS 2.1.10 and the libraries that it needs.
  jars: process.env.TOLLGATE_TEST_JPOS ?? '',
  // as2805 or ascii87; both unless one is named.
  dialect: undefined,
  purchases: 40_000,
  // Of the link, and how many purchases are under way at once.
  connections: 2,
  clients: 512,
});

const dialects = values.dialect === undefined ? [AS2805.name, ASCII87.name] : [values.dialect];

const folder = temporaryFolder('jpos');
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
  const arena = await LinkArena.open(traded, { connections: values.connections });
  await arena.shop.tradeOneOfEach();
  // How many it can do is asked of the dialect that is in use.
  if (dialect === AS2805.name) await arena.load(values.purchases, values.clients);
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
process.exitCode = verdict(broken, `jpos: ${figures.join('; ')}`);

interface Packed {
  readonly dialect: string;
  readonly hex: string;
}

/** Messages that jPOS does not pack to the bytes it read them from. */
async function differentlyPacked(
  jpos: Jpos,
  dialect: string,
): Promise<{ packed: number; different: string[] }> {
  const messages = readFileSync(CORPUS, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Packed)
    .filter((one) => one.dialect === dialect)
    .map(({ hex }) => hex);
  const repacked = await jpos.repacked(dialect, messages);
  return {
    packed: messages.length,
    different: messages.flatMap((hex, index) =>
      repacked[index] === hex ? [] : [`${dialect}: ${hex} became ${repacked[index]}`],
    ),
  };
}

/** What jPOS says differently from what it should, in words. */
async function misunderstandings(host: JposHost): Promise<string[]> {
  const dialect = dialectNamed(host.dialect);
  const wrong: string[] = [];
  const expect = (what: string, said: unknown, expected: unknown) => {
    if (said !== expected) wrong.push(`${host.dialect}, ${what}: ${said} instead of ${expected}`);
  };
  const client = await IsoClient.signedOn({ port: host.port, dialect });
  const ask = async (message: Parameters<IsoClient['ask']>[0]) => {
    const answer = await client.ask(message);
    expect('STAN of an answer', answer?.fields.get(11), message.fields.get(11));
    return answer;
  };
  const codeOf = async (message: Parameters<IsoClient['ask']>[0]) => (await ask(message))?.fields.get(39);

  expect('echo', await codeOf(networkMessage('301')), '00');
  const purchase = payment('0200', { 4: '000000000101' });
  expect('purchase', await codeOf(purchase), '00');
  expect('decline', await codeOf(payment('0200', { 2: cardAnsweredWith('51') })), '51');
  const agreed = 'NT015016153570198200CI019merchant/instalment';
  const kept = await ask(payment('0200', { 4: '000000000106', 22: '102', 48: agreed }));
  expect('payment by agreement', kept?.fields.get(39), '00');
  expect('private data, said again', kept?.fields.get(48), agreed);
  const voided = payment('0200', { 4: '000000000102' });
  expect('purchase to be voided', await codeOf(voided), '00');
  const reversal = following(dialect.reversal, voided);
  expect('void', await codeOf(reversal), '00');
  expect('void, repeated', await codeOf({ ...reversal, mti: reversal.mti.replace(/0$/, '1') }), '00');
  const preauthorisation = payment('0100', { 4: '000000000103' });
  const authorisation = (await ask(preauthorisation))?.fields.get(38);
  expect('authorisation code', /^[0-9]{6}$/.test(authorisation ?? ''), true);
  const completion = following('0220', preauthorisation, { 4: '000000000099', 38: authorisation });
  expect('completion', await codeOf(completion), '00');
  expect('completion, repeated', await codeOf({ ...completion, mti: '0221' }), '00');
  expect('refund', await codeOf(following('0200', purchase, { 3: '200000', 4: '000000000001' })), '00');
  const later = payment('0200', { 2: cardAnsweredLaterWith('05'), 4: '000000000104' });
  expect('payment of card 43', await codeOf(later), '00');
  expect('void of card 43', await codeOf(following(dialect.reversal, later)), '05');
  for (const pan of [LOST_REQUEST_CARD, LOST_ANSWER_CARD])
    client.send(payment('0200', { 2: pan, 4: '000000000105' }));
  expect('echo after lost ones', await codeOf(networkMessage('301')), '00');
  expect(
    'STAN used twice',
    await codeOf(payment('0200', { 7: purchase.fields.get(7), 11: purchase.fields.get(11) })),
    '94',
  );
  client.close();

  const { positions, complaints } = await host.books();
  const booked = '-1 charged, 101 charged, 104 charged, 105 charged, 106 charged, 99 charged';
  expect('books', [...positions.values()].sort().join(', '), booked);
  expect('complaints', complaints.length, 1);
  return wrong;
}
