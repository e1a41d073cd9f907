// What a stream of checkouts costs the purchases that run at the same time: so many made a second, and as many pages shown. In turns with
// purchases alone, twice: what those two differ by is the least that means anything. The fee is the processor's time for one checkout.
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, say } from '../testkit/report.js';
import { startStandalone } from '../testkit/standalone.js';
import { cpuSeconds } from './measuring/measured.js';

const values = programOptions({
  // Checkouts a second.
  rate: 200,
  seconds: 6,
  rounds: 5,
});
const { rate, seconds, rounds } = values;
const WARM_UP_SECONDS = 15;
const CHECKOUT = {
  merchant: { id: 1 },
  checkout: { reference: 'bench', amount_details: { total_amount: '1995', currency: 'AUD' } },
};

interface Round {
  readonly perSecond: number;
  /** Of all that was done in it. */
  readonly gatewayMs: number;
  readonly databaseMs: number;
  readonly checkouts: number;
}

const gateway = await startStandalone({ CHECKOUT_PORT: '0' });
const rows = { alone: [] as Round[], control: [] as Round[], beside: [] as Round[] };
try {
  const pages = await Promise.all(
    Array.from({ length: 100 }, async () => new URL((await gateway.client.checkouts.create(CHECKOUT)).url)),
  );
  const payers = { port: Number(pages[0]?.port), authorization: '' };
  const paths = pages.map(({ pathname }) => pathname);
  const checkouts = async (): Promise<number> => {
    const stream = { connections: 64, rate, seconds };
    const body = JSON.stringify(CHECKOUT);
    const [made, shown] = await Promise.all([
      load(gateway, { ...stream, method: 'POST', paths: ['/v1/checkouts'], body }),
      load(payers, { ...stream, method: 'GET', paths }),
    ]);
    say(
      `${made.requests} made, p50 ${made.p50Ms} ms, p99 ${made.p99Ms} ms; ${shown.requests} shown, p50 ${shown.p50Ms} ms, p99 ${shown.p99Ms} ms; ` +
        `answers ${JSON.stringify([made.statuses, shown.statuses])}`,
    );
    return made.requests;
  };
  await load(gateway, { ...PURCHASE, connections: 64, seconds: WARM_UP_SECONDS });
  await checkouts();
  for (let round = 0; round < rounds; round += 1) {
    rows.alone.push(await measure());
    rows.beside.push(await measure(checkouts));
    rows.control.push(await measure());
    say(`round ${round + 1} of ${rounds}`);
  }
} finally {
  await gateway.stop();
}

const perSecond = (each: readonly Round[]) => median(each.map((round) => round.perSecond));
const base = [...rows.alone, ...rows.control];
say(
  `purchases alone ${perSecond(base).toFixed(0)}/s, control ${(perSecond(rows.control) / perSecond(rows.alone)).toFixed(2)}; ` +
    `beside ${rate} checkouts/s ${perSecond(rows.beside).toFixed(0)}/s: ${(perSecond(rows.beside) / perSecond(base)).toFixed(2)}`,
);
for (const part of ['gatewayMs', 'databaseMs'] as const) {
  const each = (round: Round) => (round[part] * 1_000) / (round.perSecond * seconds);
  const purchase = median(base.map(each));
  // What is left of the time once its purchases are paid for.
  const fee = median(
    rows.beside.map(
      (round) => (round[part] * 1_000 - purchase * round.perSecond * seconds) / round.checkouts,
    ),
  );
  say(
    `${part === 'gatewayMs' ? 'gateway' : 'PostgreSQL'}: a purchase ${purchase.toFixed(0)} µs, a checkout made and shown ${fee.toFixed(0)} µs`,
  );
}

async function measure(beside: () => Promise<number> = async () => 0): Promise<Round> {
  const before = await cpuSeconds(gateway);
  const [purchases, checkouts] = await Promise.all([
    load(gateway, { ...PURCHASE, connections: 64, seconds }),
    beside(),
  ]);
  const after = await cpuSeconds(gateway);
  return {
    perSecond: purchases.perSecond,
    gatewayMs: (after.gateway - before.gateway) * 1_000,
    databaseMs: (after.database - before.database) * 1_000,
    checkouts,
  };
}
