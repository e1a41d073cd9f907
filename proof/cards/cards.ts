// Gateways destroy exactly the cards that nobody needs any more, while PostgreSQL is killed and fails over. No card goes that is still
// needed, none stays that is not, and each destroyed card is counted once.
import { setTimeout as sleep } from 'node:timers/promises';
import { OutcomeUnknown } from '../../client/src/index.js';
import { paymentBody } from '../../testkit/bodies.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { type AttackedGateway, Installation } from '../../testkit/installation.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { FailingDatabase, KINDS } from '../arena/failover-scenes.js';
import { verdict } from '../arena/verdict.js';

const GATEWAYS = 2;
const SERVICE_LIMIT_MS = 60_000;
const END_LIMIT_MS = 300_000;
/** Killed, and started again in its place; or the standby takes over, in its several ways. */
const DEEDS = ['restart', ...KINDS] as const;

const values = programOptions({
  strikes: 10,
  cards: 500_000,
  deeds: DEEDS.join(),
  seed: newSeed(),
});
const { seed, strikes, cards } = values;
const random = new Chance(seed);
say(`cards: seed ${seed}`);

const installation = await Installation.on(
  { killable: true, openDatabase: (directory) => FailingDatabase.open(directory, GATEWAYS) },
  { RESOLVER_INTERVAL_MS: '200', RESOLVER_FIRST_PAUSE_MS: '200' },
);
const { database } = installation;
await installation.prepare();
await installation.sql('UPDATE organisation SET next_audit = $1 WHERE id = 1', [1_000_000 + 2 * cards + 1]);
await installation.sql(
  // The reference says what is to become of the card. Of ten there are seven old purchases, one that can be refunded, and two
  // preauthorisations that were completed: one lately, so that it can be refunded, and one long ago.
  `WITH numbered AS (
     SELECT n, 1000000 + n AS audit, n % 10 = 7 AS refundable, n % 10 IN (8, 9) AS completed, n % 10 = 8 AS lately,
       now() - interval '200 days' + n * interval '1 second' AS old
     FROM generate_series(1, $1::integer) n
   ), paid AS (
     SELECT audit, n, 'purchase' AS type, NULL::integer AS target, NULL::integer AS completed_by, '\\x01'::bytea AS sealed,
       CASE WHEN refundable THEN old + interval '140 days' ELSE old END AS at,
       CASE WHEN refundable THEN 'kept' ELSE 'ends' END AS reference
     FROM numbered WHERE NOT completed
     UNION ALL
     SELECT audit, n, 'preauthorisation', NULL, audit + $1, '\\x02', old, CASE WHEN lately THEN 'kept' ELSE 'ends' END
     FROM numbered WHERE completed
     UNION ALL
     SELECT audit + $1, n, 'completion', audit, NULL, NULL, CASE WHEN lately THEN old + interval '140 days' ELSE old END,
       'completion'
     FROM numbered WHERE completed
   )
   INSERT INTO transaction (organisation_id, merchant_id, audit, target_audit, created_at, voidable_until, completable_until,
     amount_cents, completed_cents, completed_by, gateway_status_code, transaction_type, status, currency, correlation_id,
     reference, acquirer, card_mask, card_type, decided_at, payment_details_key_version, payment_details_sealed)
   SELECT 1, $2, audit, target, at, at, CASE WHEN type = 'preauthorisation' THEN at END, 100,
     CASE WHEN completed_by IS NULL THEN 0 ELSE 100 END, completed_by, 0, type, 'approved', 'AUD', 'old-' || type || n,
     reference, 'simulator', '411111******1111', 'visa', at, CASE WHEN sealed IS NOT NULL THEN 1 END, sealed
   FROM paid`,
  [cards, installation.merchantId],
);
// The gateway before has looked at everything there was, and would come back to it later.
await installation.sql(`UPDATE card_review SET next_at = '-infinity'`);
await installation.sql('ANALYZE transaction');

interface State {
  /** Of those that are to go. */
  readonly gone: number;
  readonly left: number;
  /** Of those that are kept. */
  readonly lost: number;
  /** As the gateways have counted. */
  readonly counted: number;
}

async function state(): Promise<State> {
  const [row] = await installation.sql<{ gone: number; left: number; lost: number; counted: number }>(
    `SELECT count(*) FILTER (WHERE reference = 'ends' AND payment_details_sealed IS NULL)::integer AS gone,
       count(*) FILTER (WHERE reference = 'ends' AND payment_details_sealed IS NOT NULL)::integer AS left,
       count(*) FILTER (WHERE reference = 'kept' AND payment_details_sealed IS NULL)::integer AS lost,
       (SELECT coalesce(sum(destroyed), 0)::integer FROM card_review) AS counted FROM transaction`,
  );
  return row as State;
}

async function counted(): Promise<number> {
  const [row] = await installation.sql<{ counted: number }>(
    'SELECT coalesce(sum(destroyed), 0)::integer AS counted FROM card_review',
  );
  return row?.counted ?? 0;
}
const { left: ending } = await state();

const gateways = await Promise.all(
  database.ways.map((_, number) => installation.startedGateway({}, database.urlOf(number))),
);
const broken: Record<string, string[]> = {
  'no card goes that is needed': [],
  'none is left that is not': [],
  'what goes is counted once': [],
  'cards are being destroyed when it strikes': [],
  [`every gateway serves within ${SERVICE_LIMIT_MS / 1000} s`]: [],
  'gateways run until they are told to end': [],
};
const complain = (promise: keyof typeof broken, what: string) => broken[promise]?.push(what);
for (const [number, gateway] of gateways.entries()) {
  void gateway.ended.then(({ code, signal }) =>
    complain('gateways run until they are told to end', `gateway ${number}, with ${signal ?? code}`),
  );
}

async function served(): Promise<void> {
  await Promise.all(gateways.map((gateway, number) => untilServed(gateway, number)));
}

async function untilServed({ baseUrl }: AttackedGateway, number: number): Promise<void> {
  const client = installation.clientAt(baseUrl, {
    requestTimeoutMs: 10_000,
    outcomeTimeoutMs: SERVICE_LIMIT_MS,
    firstPauseMs: 50,
    longestPauseMs: 50,
  });
  const body = paymentBody({ merchant: installation.merchantId, reference: 'probe', amount: 100 });
  await client.purchase(body).catch((error: unknown) => {
    if (!(error instanceof OutcomeUnknown)) throw error;
    complain(`every gateway serves within ${SERVICE_LIMIT_MS / 1000} s`, `gateway ${number}`);
  });
}

async function check(when: string): Promise<State> {
  const now = await state();
  if (now.lost > 0) complain('no card goes that is needed', `${now.lost} cards, ${when}`);
  if (now.counted !== now.gone)
    complain('what goes is counted once', `${now.gone} have gone, ${now.counted} are counted, ${when}`);
  return now;
}

/** A few more have gone, unless there are none left. */
async function untilDestroying(): Promise<boolean> {
  const before = await counted();
  const untilMs = performance.now() + SERVICE_LIMIT_MS;
  while (performance.now() < untilMs) {
    const now = await counted();
    if (now >= ending) return false;
    if (now > before) return true;
    await sleep(10);
  }
  return false;
}

const startedMs = performance.now();
const done: Record<string, number> = {};
const wished = values.deeds.split(',');
const deeds = DEEDS.filter((deed) => wished.includes(deed));
if (deeds.length !== wished.length) throw new Error(`--deeds takes ${DEEDS.join(', ')}, not ${values.deeds}`);
let plan: (typeof DEEDS)[number][] = [];
for (let strike = 1; strike <= strikes; strike += 1) {
  if (plan.length === 0) plan = random.shuffled([...deeds]);
  const deed = plan.pop() ?? 'restart';
  if (!(await untilDestroying())) {
    complain('cards are being destroyed when it strikes', `before strike ${strike}, a ${deed}`);
    break;
  }
  // At any moment of a run, which takes a quarter of each second.
  await sleep(random.below(1_000));
  if (deed === 'restart') await database.restart(served);
  else await database.failOver(deed, random, { served, traded: async () => {} });
  done[deed] = (done[deed] ?? 0) + 1;
  const { gone, left } = await check(`after strike ${strike}, a ${deed}`);
  say(`… ${strike}: ${deed}; ${gone} gone, ${left} left`);
}

const untilMs = performance.now() + END_LIMIT_MS;
while ((await counted()) < ending && performance.now() < untilMs) await sleep(200);
const seconds = (performance.now() - startedMs) / 1000;
const end = await check('in the end');
if (end.left > 0) complain('none is left that is not', `${end.left} cards`);
// Ends with 1 where one should be gone.
await installation
  .command('cards', 'status')
  .catch((error: Error) => complain('none is left that is not', error.message));
// What ends from here on was told to.
const judged = structuredClone(broken);
await installation.close();

process.exitCode = verdict(
  judged,
  `cards: seed ${seed}, ${Object.values(done).reduce((sum, times) => sum + times, 0)} strikes ${JSON.stringify(done)}, ` +
    `${end.gone} cards destroyed and counted, ${end.left} left, ${end.lost} lost of those that are needed, in ${seconds.toFixed(0)} s`,
);
