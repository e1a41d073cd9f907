// Somebody tries stolen cards on checkouts, from many addresses and over two gateways, while honest payers pay: no more reach the acquirer
// than limits let through, every honest payer pays, and what was caught is told.
import { luhnDigit, maskPan } from '../../src/values/card.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { Installation } from '../../testkit/installation.js';
import { Payer } from '../../testkit/payer.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { clientOfSeveral } from '../../testkit/several-gateways.js';
import { cardAnsweredWith } from '../../testkit/test-cards.js';
import { verdict } from '../arena/verdict.js';

const values = programOptions({
  cards: 2_000,
  addresses: 300,
  // Beside the one that the attack begins with.
  links: 700,
  honest: 60,
  // How many cards are tried at a time.
  testers: 16,
  seed: newSeed(),
});
const random = new Chance(values.seed);
say(`card testing: seed ${values.seed}`);

const OF_ONE_LINK = 10;
const MOST = { card: 5, address: 20, bin: 100 };
/** Among a thousand cards of one the mask tells which it is. */
const STOLEN_BINS = ['40128801', '51000012', '51000112', '40128901', '51000212', '40129001'];
const CARDS_OF_BIN = 1_000;
const HONEST_BIN = '45640012';
/** Every so many cards one is tried over and over, and every so many addresses one tries far more cards than the others. */
const [OFTEN, TIMES, BUSY] = [50, 9, 60];

const installation = await Installation.open({ CHECKOUT_PORT: '0', TRUSTED_PROXIES: '127.0.0.1' });
await installation.prepare();
const { merchantId } = installation;
const gateways = [await installation.startedGateway(), await installation.startedGateway()];
const client = clientOfSeveral({ gateways, random: random.fork(), ...installation.credentials });

interface Tried {
  readonly pan: string;
  readonly address: string;
  readonly reference: string;
  readonly said: string;
}
const tried: Tried[] = [];
const complaints: string[] = [];

const cardOf = (bin: string, n: number) => {
  const digits = bin + String(n).padStart(7, '0');
  return digits + luhnDigit(digits);
};
/** Most banks know already that they were stolen. */
const DECLINED = Array.from({ length: 90 }, (_, n) => cardAnsweredWith(String(n + 1).padStart(2, '0')));
const stolen = Array.from(
  { length: values.cards },
  (_, n) =>
    DECLINED[n] ??
    cardOf(STOLEN_BINS[Math.floor(n / CARDS_OF_BIN) % STOLEN_BINS.length] as string, n % CARDS_OF_BIN),
);
/** Of the card with this number in the list. */
const addressOf = (n: number) => {
  const address = n % BUSY === 0 ? 0 : n % values.addresses;
  return `198.18.${address >> 8}.${address & 255}`;
};

async function link(reference: string, attempts: number): Promise<string> {
  const amount_details = { total_amount: '100', currency: 'AUD' };
  const body = { merchant: { id: merchantId }, checkout: { reference, amount_details, attempts } };
  return (await client.checkouts.create(body, { correlationId: reference })).id;
}

/** On the page of one gateway or the other. */
async function attempt(id: string, reference: string, pan: string, address: string): Promise<void> {
  const { url } = await client.checkouts.get(id);
  const payer = new Payer(url, { 'x-forwarded-for': address });
  const page = await payer.pay({ number: pan, expiry: '12/39', cvv: '123' });
  const [, status = `answer ${page.status}`] = /data-status="(\w+)"/.exec(page.text) ?? [];
  const said = page.text.includes('tried too often') ? 'limited' : status;
  if (!/^(limited|open|complete|expired|usedUp|processing)$/.test(said))
    complaints.push(`${reference}: ${said}`);
  tried.push({ pan, address, reference, said });
}

async function each<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item, n: number) => Promise<void>,
) {
  let next = 0;
  const worker = async () => {
    for (let n = next++; n < items.length; n = next++) await work(items[n] as Item, n);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

const startedMs = performance.now();
const one = await link('one-link', OF_ONE_LINK);
await each(stolen, values.testers, (pan, n) => attempt(one, 'one-link', pan, addressOf(n)));
say(`… ${tried.length} cards were tried on one link`);

const binLimit = ['--per', 'bin', '--attempts', String(MOST.bin), '--within', '1h', '--mode', 'block'];
await installation.command('limit', 'set', '--merchant', String(merchantId), ...binLimit);
// In force at the latest after two seconds.
await new Promise((resolve) => setTimeout(resolve, 2_500));
const ids: string[] = [];
await each(Array.from({ length: values.links }), 8, async (_, n) => {
  ids[n] = await link(`link-${n}`, 5);
});
const attack = each(stolen, values.testers, async (pan, n) => {
  for (let time = 0; time < (n % OFTEN === 0 ? TIMES : 1); time += 1) {
    const where = random.below(ids.length);
    await attempt(ids[where] as string, `link-${where}`, pan, addressOf(n));
  }
});
const honest = each(Array.from({ length: values.honest }), 2, async (_, n) => {
  const reference = `honest-${n}`;
  await attempt(await link(reference, 5), reference, cardOf(HONEST_BIN, n), `203.0.113.${n % 250}`);
});
await Promise.all([attack, honest]);
const seconds = (performance.now() - startedMs) / 1_000;

await installation.decidedTransactions(60_000);
type Sent = { readonly reference: string; readonly mask: string; readonly audit: number };
const sent = await installation.sql<Sent>(
  `SELECT reference, card_mask AS mask, audit FROM transaction WHERE merchant_id = $1 AND reference <> 'before-everything'`,
  [merchantId],
);
const asked = new Set(
  (await installation.ledger()).map(({ reference }) => Number(reference.split('-').at(-1))),
);
const addressByMask = new Map(stolen.map((pan, n) => [maskPan(pan), addressOf(n)]));
const counted = (rows: readonly Sent[], keyOf: (row: Sent) => string) => {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(keyOf(row), (counts.get(keyOf(row)) ?? 0) + 1);
  return counts;
};
const beyond = (counts: ReadonlyMap<string, number>, most: number) =>
  [...counts].filter(([, count]) => count > most).map(([key, count]) => `${key}: ${count}`);
const ofTesters = sent.filter(({ reference }) => !reference.startsWith('honest-'));
const onMany = ofTesters.filter(({ reference }) => reference !== 'one-link');
const listed = await installation.command(
  'limit',
  'reached',
  '--merchant',
  String(merchantId),
  '--limit',
  '100000',
  '--json',
);
const caught = JSON.parse(listed) as { readonly per: string; readonly times: number }[];
const said = (what: string) => tried.filter((each) => each.said === what);
const most = (counts: ReadonlyMap<string, number>) => Math.max(0, ...counts.values());
const byCard = counted(ofTesters, ({ mask }) => mask);
const byAddress = counted(ofTesters, ({ mask }) => addressByMask.get(mask) ?? 'nobody');
const byBin = counted(onMany, ({ mask }) => mask.slice(0, 6));
const isWithinTheTime = seconds < 540;
const caughtTimes = caught.reduce((sum, { times }) => sum + times, 0);
const broken = {
  'no more cards on one link than it has attempts': beyond(
    counted(
      ofTesters.filter(({ reference }) => reference === 'one-link'),
      ({ reference }) => reference,
    ),
    OF_ONE_LINK,
  ),
  // Windows of ten minutes: on a machine that takes longer, more may be right.
  'no card more often than its limit': isWithinTheTime ? beyond(byCard, MOST.card) : [],
  'no address more often than its limit': isWithinTheTime ? beyond(byAddress, MOST.address) : [],
  'no issuer more often than its limit': beyond(byBin, MOST.bin),
  'the acquirer was asked for what was let through, and for nothing else': sent
    .filter(({ audit }) => !asked.has(audit))
    .map(({ reference }) => reference),
  'every honest payer pays': tried
    .filter(({ reference, said }) => reference.startsWith('honest-') && said !== 'complete')
    .map(({ reference, said }) => `${reference}: ${said}`),
  'what is blocked is told':
    caughtTimes >= said('limited').length ? [] : [`${caughtTimes} of ${said('limited').length}`],
  'something is blocked': said('limited').length > 0 ? [] : ['nothing'],
  'pages say what they mean': complaints,
};
await installation.close();
process.exitCode = verdict(
  broken,
  `card testing: seed ${values.seed}, ${tried.length} tries of ${values.cards} cards from ${values.addresses} addresses in ${seconds.toFixed(0)} s; ` +
    `${ofTesters.length} reached the acquirer, ${ofTesters.length - onMany.length} of them over one link; ${said('limited').length} blocked; ` +
    `most of a card ${most(byCard)}, of an address ${most(byAddress)}, of an issuer ${most(byBin)}; ${values.honest} honest payers paid`,
);
