// Purchases of a thousand organisations at the same time, against those of one, in turns. With CITUS_URL the bench runs on a Citus
// cluster, too.
import { paymentBody } from '../testkit/bodies.js';
import { CITUS_URL, CitusDatabase } from '../testkit/citus.js';
import { Installation, type InstalledDatabase } from '../testkit/installation.js';
import { KillableDatabase } from '../testkit/killable-database.js';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, say } from '../testkit/report.js';
import { addTraders } from '../testkit/traders.js';

const values = programOptions({
  organisations: 1000,
  rounds: 3,
  seconds: 5,
  connections: 64,
});

interface Caller {
  readonly authorization: string;
  readonly body: string;
}

interface Ready {
  readonly engine: string;
  readonly installation: Installation<InstalledDatabase>;
  readonly port: number;
  readonly callers: readonly Caller[];
  readonly rates: { readonly one: number[]; readonly many: number[] };
}

async function open(
  engine: string,
  openDatabase: (directory: string) => Promise<InstalledDatabase>,
): Promise<Ready> {
  const installation = await Installation.on({ openDatabase });
  await installation.prepare();
  const traders = await addTraders(installation, values.organisations);
  const callers = traders.map(({ merchantId, authorization }) => ({
    authorization,
    body: JSON.stringify(paymentBody({ merchant: merchantId, reference: 'bench', amount: 1995 })),
  }));
  const gateway = await installation.startedGateway();
  say(`${engine}: ${callers.length} organisations, each with a merchant and a user`);
  return {
    engine,
    installation,
    port: Number(new URL(gateway.baseUrl).port),
    callers,
    rates: { one: [], many: [] },
  };
}

async function purchases({ port, callers }: Ready, seconds: number): Promise<number> {
  const [first] = callers as [Caller];
  const { perSecond, statuses } = await load(
    { port, authorization: first.authorization },
    { ...PURCHASE, connections: values.connections, seconds, callers },
  );
  const others = Object.keys(statuses).filter((status) => status !== '201');
  if (others.length > 0) say(`  answered otherwise: ${JSON.stringify(statuses)}`);
  return perSecond;
}

const engines = [await open('plain PostgreSQL', KillableDatabase.open)];
if (CITUS_URL === undefined)
  say('Citus: skipped; set CITUS_URL to a database on the coordinator of a cluster');
else engines.push(await open('Citus', CitusDatabase.open));
try {
  // Compiled, and everybody known.
  for (const ready of engines) await purchases(ready, 3);
  for (let round = 1; round <= values.rounds; round += 1) {
    for (const ready of engines) {
      const { engine, callers, rates } = ready;
      rates.one.push(await purchases({ ...ready, callers: callers.slice(0, 1) }, values.seconds));
      rates.many.push(await purchases(ready, values.seconds));
      say(
        `round ${round}, ${engine}: one organisation ${rates.one.at(-1)}/s, all of them ${rates.many.at(-1)}/s`,
      );
    }
  }
  for (const { engine, rates } of engines) {
    const [one, many] = [median(rates.one), median(rates.many)];
    say(
      `${engine}: one organisation ${one}/s, ${values.organisations} organisations ${many}/s, ${(many / one).toFixed(2)} of it (medians)`,
    );
  }
} finally {
  for (const { installation } of engines) await installation.close();
}
