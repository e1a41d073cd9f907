// What a purchase costs the processor where many organisations trade at the same time, against one: gateway and PostgreSQL, in turns.
// Another single organisation is the control: no smaller difference means anything. With CITUS_URL the bench runs on a Citus cluster
// on this machine, too, of which the processor's time of every server counts.
import { paymentBody } from '../testkit/bodies.js';
import { CITUS_URL, CitusDatabase, serverPids } from '../testkit/citus.js';
import { cpuSeconds, cpuSecondsOfDatabase, cpuSecondsOfServer } from '../testkit/cpu-seconds.js';
import { type AttackedGateway, Installation, type InstalledDatabase } from '../testkit/installation.js';
import { KillableDatabase } from '../testkit/killable-database.js';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, say } from '../testkit/report.js';
import { addTraders } from '../testkit/traders.js';

const values = programOptions({
  organisations: ['64', '1000'],
  rounds: 3,
  requests: 8_000,
  connections: 64,
});

interface Caller {
  readonly authorization: string;
  readonly body: string;
}

interface Crowd {
  readonly name: string;
  readonly callers: readonly Caller[];
  /** Of each round. */
  readonly figures: Figures[];
}

interface Figures {
  readonly gatewayMs: number;
  readonly databaseMs: number;
  readonly perSecond: number;
}

interface Ready {
  readonly engine: string;
  readonly installation: Installation<InstalledDatabase>;
  readonly gateway: AttackedGateway;
  readonly databaseSeconds: () => Promise<number>;
  readonly crowds: readonly Crowd[];
}

async function open<Database extends InstalledDatabase>(
  engine: string,
  openDatabase: (directory: string) => Promise<Database>,
  secondsOf: (database: Database, directory: string) => Promise<number>,
): Promise<Ready> {
  let directory = '';
  const installation = await Installation.on({
    openDatabase: (own) => {
      directory = own;
      return openDatabase(own);
    },
  });
  await installation.prepare();
  const sizes = values.organisations.map(Number);
  const traders = await addTraders(installation, Math.max(2, ...sizes));
  const callers = traders.map(({ merchantId, authorization }) => ({
    authorization,
    body: JSON.stringify(paymentBody({ merchant: merchantId, reference: 'bench', amount: 1995 })),
  }));
  const gateway = await installation.startedGateway();
  const crowd = (name: string, some: readonly Caller[]): Crowd => ({ name, callers: some, figures: [] });
  return {
    engine,
    installation,
    gateway,
    databaseSeconds: () => secondsOf(installation.database, directory),
    crowds: [
      crowd('one', callers.slice(0, 1)),
      crowd('control', callers.slice(1, 2)),
      ...sizes.map((size) => crowd(String(size), callers.slice(0, size))),
    ],
  };
}

async function trade({ gateway, databaseSeconds }: Ready, { callers }: Crowd): Promise<Figures> {
  const [first] = callers as [Caller];
  const port = Number(new URL(gateway.baseUrl).port);
  const { connections, requests: count } = values;
  const before = [await cpuSeconds(gateway.pid), await databaseSeconds()] as const;
  const options = { ...PURCHASE, connections, count, callers };
  const { statuses, requests, perSecond } = await load({ port, authorization: first.authorization }, options);
  const after = [await cpuSeconds(gateway.pid), await databaseSeconds()] as const;
  if (statuses['201'] !== requests) say(`  answered otherwise: ${JSON.stringify(statuses)}`);
  const eachMs = (from: number, until: number) => ((until - from) * 1_000) / requests;
  return {
    gatewayMs: eachMs(before[0], after[0]),
    databaseMs: eachMs(before[1], after[1]),
    perSecond,
  };
}

const engines = [
  await open('plain PostgreSQL', KillableDatabase.open, (_, directory) => cpuSecondsOfDatabase(directory)),
];
if (CITUS_URL === undefined)
  say('Citus: skipped; set CITUS_URL to a database on the coordinator of a cluster');
else
  engines.push(
    await open('Citus', CitusDatabase.open, async ({ url }) => {
      const seconds = await Promise.all((await serverPids(url)).map(cpuSecondsOfServer));
      return seconds.reduce((sum, each) => sum + each, 0);
    }),
  );
try {
  // Compiled, and everybody known.
  for (const ready of engines) for (const crowd of ready.crowds) await trade(ready, crowd);
  for (let round = 0; round < values.rounds; round += 1) {
    for (const ready of engines) {
      const { crowds } = ready;
      // Nobody is always the first.
      for (let turn = 0; turn < crowds.length; turn += 1) {
        const crowd = crowds[(round + turn) % crowds.length] as Crowd;
        crowd.figures.push(await trade(ready, crowd));
      }
    }
  }
  for (const { engine, crowds } of engines) {
    const sum = ({ figures }: Crowd) =>
      median(figures.map(({ gatewayMs, databaseMs }) => gatewayMs + databaseMs));
    const [one] = crowds as [Crowd];
    for (const crowd of crowds) {
      const of = (part: keyof Figures) => median(crowd.figures.map((figures) => figures[part]));
      say(
        `${engine}, ${crowd.name}: ms of the processor a purchase: gateway ${of('gatewayMs').toFixed(3)}, PostgreSQL ${of('databaseMs').toFixed(3)}, ` +
          `${(sum(crowd) / sum(one)).toFixed(2)} of one; ${of('perSecond').toFixed(0)} a second`,
      );
    }
  }
} finally {
  for (const { installation } of engines) await installation.close();
}
