// An intruder with a login of the database changes every table while two gateways trade. Afterwards no card has left for anywhere but a
// sealed link, no payment has changed its outcome, nobody has gained a right, and every change that matters was reported.
import { Chance, newSeed } from '../../testkit/chance.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { brokenPromises } from '../arena/promises.js';
import { verdict } from '../arena/verdict.js';
import { install, tradeWith } from './installed.js';
import { alarms } from './reports.js';
import { Rounds } from './rounds.js';
import { readTables, type Table } from './rows.js';
import { Thief } from './thief.js';

const DECISION_LIMIT_MS = 120_000;
const LOOKUPS_AT_ONCE = 8;

const values = programOptions({
  /** Attempted; the server refuses about half of them. */
  changes: 400,
  seed: newSeed(),
  traders: 6,
  /** How long the changes of a round stay. */
  seconds: 4,
  /** Seconds of trade before the attack. Only these payments are changed. */
  old: 20,
  /** The intruder owns the tables and bypasses all triggers. Then only cards, money and reports are judged. */
  owner: false,
  /** Random changes to this table alone, or this attack alone: to find out what broke a promise. */
  only: undefined,
});
const { seed } = values;
const random = new Chance(seed);
say(`writer: seed ${seed}`);

const thief = await Thief.withPort();
let tables: ReadonlyMap<string, Table> = new Map();
const installed = await install({
  thief,
  random,
  oldSeconds: values.old,
  readTables: async (superuser) => {
    tables = await readTables(superuser);
    return tables;
  },
});
const { installation, acquirer, gateways, shops, virtualPans, people, receiver, logins } = installed;
const rounds = new Rounds({
  installed,
  tables,
  thief,
  chance: random.fork(),
  holdMs: values.seconds * 1_000,
  only: values.only,
  logins: values.owner
    ? { owner: installation.database.url }
    : { application: logins.serving, operator: logins.operating },
  begin: values.owner ? 'SET session_replication_role = replica' : '',
});
const unable = await people.unable();
let isOver = false;
const trading = tradeWith(shops, {
  random,
  virtualPans,
  traders: values.traders,
  name: 'new',
  isOver: () => isOver,
});
const progress = setInterval(() => {
  const orders = shops.reduce((sum, shop) => sum + shop.orders.length, 0);
  say(`… ${JSON.stringify(rounds.counts)}, ${orders} orders`);
}, 20_000);
await rounds.run(values.changes);
isOver = true;
await trading;
clearInterval(progress);

const rows = await installation.decidedTransactions(DECISION_LIMIT_MS);
const [shop] = shops as [(typeof shops)[number]];
const orders = shops.flatMap((each) => each.orders);
const lookups = await shop.lookUpAll(
  rows.filter(({ reference }) => /^(old|new)-/.test(reference)).map(({ audit }) => audit),
  LOOKUPS_AT_ONCE,
);
const entries = [...(await installation.ledger()), ...(await acquirer.entries(rows))];
// An intruder can always have requests refused, and that breaks no promise.
const { 'proper requests are served': refused, ...kept } = brokenPromises({ orders, lookups, rows, entries });
const counted = await alarms(gateways.map(({ operatorsUrl }) => operatorsUrl));
const books = { 'the books agree to the cent': kept['the books agree to the cent'] };
const { findings, counts } = rounds;
const broken = {
  'no card and no event reaches the thief': thief.caught,
  'every payment is at the host of the link that it is stored with': await acquirer.strangers(),
  ...(values.owner
    ? books
    : {
        ...kept,
        'what was said is found again': refused.filter((one) => / told /.test(one)),
        'nobody gains a right, and no attack is obeyed': findings.gained,
      }),
  'every change that matters is reported': findings.unreported,
  'doctor and the verifications fail': findings.unalarmed,
  'metrics count it': counts.mattering > 0 && counted === 0 ? ['no metric has counted anything'] : [],
  'operators could sign in': unable,
};
for (const gateway of gateways) gateway.leave();
const restarts = gateways.reduce((sum, each) => sum + each.restarts, 0);
await installed.superuser.end();
await installation.close();
await acquirer.close();
await receiver.close();
thief.close();
process.exitCode = verdict(
  broken,
  `writer: seed ${seed}, ${counts.made} changes to ${tables.size} tables in ${counts.rounds} rounds, ${counts.refused} refused by the ` +
    `server, ${counts.effectless} without effect, ${counts.mattering} to be reported; ${orders.length} orders, ${rows.length} transactions, ` +
    `${refused.length} requests refused, ${receiver.received.length} webhooks, ${restarts} gateways started again`,
);
