// No acknowledged payment is denied while a primary and its synchronous standby change places under two gateways. Their addresses lead
// to the wrong server for some seconds, and shops trade and recover as the specification says. After every 201 the proof asks each
// gateway for the payment, by audit and by correlation ID: the gateway may be unable to answer, but must never say no.
import { setTimeout as sleep } from 'node:timers/promises';
import { paymentBody } from '../../testkit/bodies.js';
import { type CallAnswer, type CallRequest, call, Unanswered } from '../../testkit/caller.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { Installation } from '../../testkit/installation.js';
import { programOptions } from '../../testkit/program-options.js';
import { percentile, say } from '../../testkit/report.js';
import type { CalledGateway } from '../../testkit/several-gateways.js';
import { FailingDatabase, KINDS, type Kind } from '../arena/failover-scenes.js';
import { brokenPromises } from '../arena/promises.js';
import { type Attempt, Shop } from '../arena/shop.js';
import { storeCards, tradeTogether, type VirtualPans } from '../arena/trade.js';
import { verdict } from '../arena/verdict.js';

const GATEWAYS = 2;
const DECISION_LIMIT_MS = 60_000;
const TRADE_LIMIT_MS = 10_000;
const LOOKUPS_AT_ONCE = 8;

const values = programOptions({
  failovers: 20,
  seed: newSeed(),
  traders: 8,
  kinds: KINDS.join(),
  // Percent of the payments by cards that make the acquirer fail.
  faults: 3,
  // Trade in peace between two failovers.
  'pause-ms': 1500,
  // How long after a failover each gateway may take until it serves again.
  'service-within-ms': 3000,
});
const { seed, failovers } = values;
const random = new Chance(seed);
say(`failover: seed ${seed}`);

const installation = await Installation.on(
  { killable: true, openDatabase: (directory) => FailingDatabase.open(directory, GATEWAYS) },
  { RESOLVER_INTERVAL_MS: '200', RESOLVER_FIRST_PAUSE_MS: '200', ACQUIRER_DEADLINE_MS: '2500' },
);
const { database } = installation;
let virtualPans: VirtualPans = new Map();
await installation.prepare(async (client) => {
  virtualPans = await storeCards(client);
});
const gateways = await Promise.all(
  database.ways.map((_, number) => installation.startedGateway({}, database.urlOf(number))),
);
const ended: string[] = [];
for (const [number, gateway] of gateways.entries()) {
  void gateway.ended.then(({ code, signal }) =>
    ended.push(`gateway ${number} ended by itself with ${signal ?? code}: ${gateway.output()}`),
  );
}

const denied: Record<404 | 'empty', string[]> = { 404: [], empty: [] };
const internal: string[] = [];
let acknowledged = 0;
/** Of the acknowledged, those that each gateway was asked for. */
let asked = 0;
const shop = new Shop({
  gateways,
  random: random.fork(),
  authorization: installation.authorization,
  merchantId: installation.merchantId,
  onAnswered: async (attempt) => {
    acknowledged += 1;
    await Promise.all(gateways.map((gateway, number) => expectToBeFound(gateway, number, attempt)));
    asked += 1;
  },
});

async function expectToBeFound(
  gateway: CalledGateway,
  number: number,
  { audit, correlationId }: Attempt,
): Promise<void> {
  const query = new URLSearchParams({
    merchant_id: String(installation.merchantId),
    correlation_id_lookup: correlationId,
  });
  const [byAudit, search] = await Promise.all([
    ask(gateway, 'GET', `/transactions/${audit}`),
    ask(gateway, 'GET', `/transactions?${query}`),
  ]);
  const what = `${correlationId}, audit ${audit}, at gateway ${number}`;
  if (byAudit?.status === 404) denied[404].push(what);
  if (search?.status === 200 && search.body.results.length === 0) denied.empty.push(what);
  for (const answer of [byAudit, search]) if (answer?.status === 500) internal.push(what);
}

/** Undefined without an answer. */
async function ask(
  { baseUrl }: CalledGateway,
  method: string,
  path: string,
  request: CallRequest = {},
): Promise<CallAnswer | undefined> {
  try {
    return await call({ baseUrl, authorization: installation.authorization }, method, path, {
      timeoutMs: 10_000,
      ...request,
    });
  } catch (error) {
    if (error instanceof Unanswered) return undefined;
    throw error;
  }
}

/** A few payments were acknowledged, and asked for; or it does not come to that. */
async function untilTraded() {
  const enough = asked + 3;
  const limitMs = performance.now() + TRADE_LIMIT_MS;
  while (asked < enough && performance.now() < limitMs) await sleep(20);
}

const servicesMs: number[] = [];
const late: string[] = [];
let probes = 0;

/** How long it takes until a gateway takes payments. A probe that is lost is forgotten: nobody waits until it cannot arrive any more. */
async function untilServed(kind: Kind, gateway: CalledGateway, number: number): Promise<void> {
  const beganMs = performance.now();
  for (;;) {
    probes += 1;
    const reference = `probe-${probes}`;
    const body = paymentBody({ merchant: installation.merchantId, reference, amount: 100 });
    const answer = await ask(gateway, 'POST', '/transactions/purchase', {
      correlationId: `probe-${probes}`,
      body,
    });
    if (answer?.status === 500) internal.push(`${reference} at gateway ${number}`);
    if (answer?.status === 201) break;
    await sleep(50);
  }
  const tookMs = performance.now() - beganMs;
  servicesMs.push(tookMs);
  if (tookMs > values['service-within-ms'])
    late.push(`gateway ${number} served ${Math.round(tookMs)} ms after a ${kind}`);
}

const startedMs = performance.now();
let over = false;
const trading = tradeTogether(values.traders, {
  shop,
  random,
  virtualPans,
  faultPercent: values.faults,
  isOver: () => over,
});

const done: Partial<Record<Kind, number>> = {};
const plan = planOf(values.kinds.split(','), failovers);
for (const kind of plan) {
  await sleep(values['pause-ms']);
  await database.failOver(kind, random, {
    served: async () => {
      await Promise.all(gateways.map((gateway, number) => untilServed(kind, gateway, number)));
    },
    traded: untilTraded,
  });
  done[kind] = (done[kind] ?? 0) + 1;
  say(`… ${kind}; ${shop.orders.length} orders, ${acknowledged} acknowledged`);
}
over = true;
await trading;

const rows = await installation.decidedTransactions(DECISION_LIMIT_MS);
const seconds = (performance.now() - startedMs) / 1000;
const { orders } = shop;
const ofOrders = rows.filter(({ reference }) => !/^(before-everything|probe-)/.test(reference));
const audits = new Set(rows.filter((row) => !ofOrders.includes(row)).map((row) => row.acquirerReference));
const broken = {
  ...brokenPromises({
    orders,
    lookups: await shop.lookUpAll(
      ofOrders.map(({ audit }) => audit),
      LOOKUPS_AT_ONCE,
    ),
    rows: ofOrders,
    entries: (await installation.ledger()).filter(({ reference }) => !audits.has(reference)),
  }),
  'what was acknowledged is never 404': denied[404],
  'what was acknowledged is never missing from a search': denied.empty,
  'nothing is answered 500': [
    ...internal,
    ...Object.entries(shop.failures)
      .filter(([failure]) => failure.startsWith('500'))
      .map(([failure, times]) => `${failure}, ${times} times`),
  ],
  [`service within ${values['service-within-ms']} ms`]: late,
  'gateways run until they are told to end': [...ended],
};
await installation.close();

const doubled =
  broken['no order is paid twice'].length + broken['what was not found is not processed'].length;
say(`failures seen: ${JSON.stringify(shop.failures)}`);
process.exitCode = verdict(
  broken,
  `failover: seed ${seed}, ${plan.length} failovers ${JSON.stringify(done)}, ${orders.length} orders, ` +
    `${rows.length} transactions in ${seconds.toFixed(0)} s; ${acknowledged} acknowledged, ` +
    `${broken['what was said stays true'].length} lost, ${doubled} doubled, ${denied[404].length} false 404, ` +
    `${denied.empty.length} false empty, ${broken['nothing is answered 500'].length} answered 500; ` +
    `service after ms p50 ${percentile(servicesMs, 0.5)} max ${percentile(servicesMs, 1)}`,
);

/** Each kind as often as the others, in an order of chance. */
function planOf(names: readonly string[], count: number): Kind[] {
  const kinds = KINDS.filter((kind) => names.includes(kind));
  if (kinds.length !== names.length) throw new Error(`--kinds takes ${KINDS.join(', ')}, not ${names}`);
  const order: Kind[] = [];
  while (order.length < count) order.push(...random.shuffled(kinds));
  return order.slice(0, count);
}
