// A worker that is killed, and stays away for some seconds while organisations of every worker are paid. Whoever is elsewhere must not notice
// it; its own must be told so, nothing of theirs may be charged that they were told was not, and they are served again once it is back.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { paymentBody } from '../../testkit/bodies.js';
import { differences, positionsOfLedger } from '../../testkit/books.js';
import { call, Unanswered } from '../../testkit/caller.js';
import { dropCitusDatabase, makeCitusDatabase } from '../../testkit/citus.js';
import type { CitusCluster } from '../../testkit/citus-cluster.js';
import { Installation } from '../../testkit/installation.js';
import { median, say } from '../../testkit/report.js';
import { addTraders, type Trader } from '../../testkit/traders.js';
import type { Broken } from '../arena/verdict.js';

const ORGANISATIONS = 8;
const UNDISTURBED_MS = 2_000;
const AWAY_MS = 6_000;
const BACK_LIMIT_MS = 60_000;

/** As a client sees it: the server says that nothing was done, or that nobody knows yet. */
const NOT_DONE = 503;
const IN_DOUBT = [502, 504];

interface Purchase {
  readonly organisationId: number;
  readonly correlationId: string;
  readonly begunMs: number;
  readonly tookMs: number;
  /** Undefined where no answer came. */
  readonly status: number | undefined;
}

/** Where the transactions of each organisation are, by the port of the server. */
const SERVERS_OF_ORGANISATIONS = `
  SELECT o.id AS "organisationId", n.nodeport AS port
  FROM unnest($1::integer[]) o(id)
  JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('transaction', o.id)
  JOIN pg_dist_node n ON n.groupid = p.groupid`;

export async function brokenWhileAway(cluster: CitusCluster, name: string): Promise<Broken> {
  const url = await makeCitusDatabase(cluster.adminUrl, name);
  const installation = await Installation.on(
    {
      openDatabase: async () => ({
        url,
        lastingUrl: url,
        stop: () => dropCitusDatabase(cluster.adminUrl, name),
      }),
    },
    { RESOLVER_INTERVAL_MS: '200', RESOLVER_FIRST_PAUSE_MS: '200', RESOLVER_LONGEST_PAUSE_MS: '1000' },
  );
  await installation.prepare();
  const traders = await addTraders(installation, ORGANISATIONS);
  const placed = await installation.sql<{ organisationId: number; port: number }>(SERVERS_OF_ORGANISATIONS, [
    traders.map(({ organisationId }) => organisationId),
  ]);
  const { baseUrl } = await installation.startedGateway();

  const purchases: Purchase[] = [];
  let isOver = false;
  const trading = Promise.all(
    traders.map(async (trader) => {
      while (!isOver) purchases.push(await buy(baseUrl, trader));
    }),
  );
  await sleep(UNDISTURBED_MS);
  const killedMs = performance.now();
  await cluster.kill('SIGKILL');
  const affected = new Set(
    placed.filter(({ port }) => port === cluster.portOfKilled).map(({ organisationId }) => organisationId),
  );
  await sleep(AWAY_MS);
  const startedMs = performance.now();
  await cluster.start();
  const backMs = performance.now();
  const unserved = () =>
    [...affected].filter(
      (id) =>
        !purchases.some(
          ({ organisationId, begunMs, status }) =>
            organisationId === id && begunMs > startedMs && status === 201,
        ),
    );
  while (unserved().length > 0 && performance.now() - backMs < BACK_LIMIT_MS) await sleep(50);
  const servedMs = performance.now();
  isOver = true;
  await trading;

  const rows = await installation.decidedTransactions(BACK_LIMIT_MS);
  const entries = await installation.ledger();
  const charged = positionsOfLedger(entries);
  const rowOf = new Map(rows.map((row) => [row.correlationId, row]));
  const isAffected = ({ organisationId }: Purchase) => affected.has(organisationId);
  const before = purchases.filter(({ begunMs }) => begunMs < killedMs);
  const whileAway = purchases.filter(({ begunMs }) => begunMs > killedMs && begunMs < startedMs);
  const others = (some: readonly Purchase[]) => some.filter((one) => !isAffected(one));
  const broken = {
    'organisations of other workers do not notice': purchases
      .filter((one) => !isAffected(one) && one.status !== 201)
      .map(inWords),
    'a payment of its own is answered with what is true': purchases
      .filter((one) => isAffected(one) && ![201, NOT_DONE, ...IN_DOUBT].includes(one.status ?? 0))
      .map(inWords),
    'what was acknowledged is stored and charged': purchases
      .filter(({ status }) => status === 201)
      .filter(({ correlationId }) => {
        const row = rowOf.get(correlationId);
        return row?.status !== 'approved' || !charged.has(row.acquirerReference);
      })
      .map(inWords),
    'what was said not to be done is not charged': purchases
      .filter(({ status }) => status === NOT_DONE)
      .filter(({ correlationId }) => charged.has(rowOf.get(correlationId)?.acquirerReference ?? ''))
      .map(inWords),
    'the books agree to the cent': differences(rows, entries),
    'every doubt is resolved': rows
      .filter(({ status }) => status === 'unknown')
      .map(({ audit }) => `audit ${audit} is still unknown`),
    'its organisations are served again': unserved().map((id) => `organisation ${id}`),
    'there are organisations on both sides':
      affected.size > 0 && affected.size < placed.length ? [] : [`${affected.size} of ${placed.length}`],
  };
  await installation.close();
  say(
    `away: ${affected.size} of ${placed.length} organisations for ${((startedMs - killedMs) / 1_000).toFixed(1)} s: ` +
      `answers of theirs ${counted(whileAway.filter(isAffected))}, of the others ${counted(others(whileAway))}, ` +
      `which took ${medianMs(others(before))} ms before and ${medianMs(others(whileAway))} ms meanwhile; ` +
      `all served again ${((servedMs - startedMs) / 1_000).toFixed(1)} s after it was started`,
  );
  return broken;
}

async function buy(
  baseUrl: string,
  { organisationId, merchantId, authorization }: Trader,
): Promise<Purchase> {
  const correlationId = randomUUID();
  const begunMs = performance.now();
  const body = paymentBody({ merchant: merchantId, amount: 100 });
  const status = await call({ baseUrl, authorization }, 'POST', '/transactions/purchase', {
    correlationId,
    body,
  }).then(
    (answer) => answer.status,
    (error) => {
      if (!(error instanceof Unanswered)) throw error;
      return undefined;
    },
  );
  return { organisationId, correlationId, begunMs, tookMs: performance.now() - begunMs, status };
}

function inWords({ organisationId, correlationId, status }: Purchase): string {
  return `organisation ${organisationId}, ${correlationId}: ${status ?? 'no answer'}`;
}

function medianMs(purchases: readonly Purchase[]): number {
  return Math.round(median(purchases.map(({ tookMs }) => tookMs)));
}

function counted(purchases: readonly Purchase[]): string {
  const counts: Record<string, number> = {};
  for (const { status = 'none' } of purchases) counts[status] = (counts[status] ?? 0) + 1;
  return JSON.stringify(counts);
}
