// Refunds, voids and completions that race for few transactions have the outcome of some order. They are sent to two gateways on one
// database, and the ledger must agree to the cent.
import fc from 'fast-check';
import { askedAgain, differences, wrongReservations } from '../../testkit/books.js';
import { newSeed } from '../../testkit/chance.js';
import { Installation } from '../../testkit/installation.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { verdict } from '../arena/verdict.js';
import { Arena, type CardName } from './arena.js';

const SHRINKING_LIMIT_MS = 60_000;

const values = programOptions({ rounds: 200, seed: newSeed() });
const { seed } = values;
say(`races: seed ${seed}`);

/** Which of those that the operation is meant for; now and then of all, to be refused. */
const of = fc.nat(9);
const wild = fc.integer({ min: 0, max: 9 }).map((number) => number === 9);
const tenths = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 11 }));
const CARDS: CardName[] = ['good', 'good', 'declined', 'faulty', 'unreachable', 'lost', 'unreadable'];
const command = fc.record({
  root: fc.nat(1),
  gateway: fc.nat(1),
  pauseMs: fc.nat(3),
  action: fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('refund' as const), of, wild, tenths }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('completion' as const), of, wild, tenths }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('void' as const), of, wild, tenths }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('card' as const), card: fc.constantFrom(...CARDS) }),
    },
  ),
});
// Without a bias towards small ones: short sequences do not race, and shrinking finds them anyway.
const round = fc.noBias(
  fc.record({
    roots: fc.array(
      fc.record({
        kind: fc.constantFrom('purchase' as const, 'preauthorisation' as const),
        amountCents: fc.integer({ min: 10, max: 9_999 }),
      }),
      { minLength: 1, maxLength: 2 },
    ),
    lanes: fc.array(fc.array(command, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 6 }),
  }),
);

const installation = await Installation.open({
  // Neither takes the other for dead, however busy the machine is.
  PROCESS_TIMEOUT_MS: '600000',
  ACQUIRER_DEADLINE_MS: '300',
  RESOLVER_INTERVAL_MS: '20',
  RESOLVER_FIRST_PAUSE_MS: '20',
});
const gateways = [await installation.firstGateway(), await installation.startedGateway()];
const arena = new Arena(installation, gateways);

const startedMs = performance.now();
let firstFailureMs: number | undefined;
const details = await fc.check(
  fc.asyncProperty(round, async (plan) => {
    // Enough is known by then, however much shorter the sequence could still be made.
    if (firstFailureMs !== undefined && performance.now() - firstFailureMs > SHRINKING_LIMIT_MS) return;
    try {
      await arena.play(plan);
    } catch (error) {
      firstFailureMs ??= performance.now();
      throw error;
    }
  }),
  { numRuns: values.rounds, seed },
);
const seconds = (performance.now() - startedMs) / 1000;

const rows = await installation.transactions();
const entries = await installation.ledger();
const broken = {
  'answers are those of some order': details.failed
    ? [
        `shrunk to ${JSON.stringify(details.counterexample?.[0])}`,
        details.errorInstance instanceof Error
          ? details.errorInstance.message
          : String(details.errorInstance),
      ]
    : [],
  'the books agree to the cent': differences(rows, entries),
  'nothing is asked twice': askedAgain(entries),
  'every doubt is resolved': rows
    .filter(({ status }) => status === 'unknown')
    .map(({ audit }) => `audit ${audit} is still unknown`),
  'reservations are the sum of what is live': wrongReservations(rows),
};
await installation.close();
const { tally } = arena;
process.exitCode = verdict(
  broken,
  `races: seed ${seed}, ${details.numRuns} rounds in ${seconds.toFixed(0)} s, ${tally.commands} operations, ` +
    `${tally.overlaps} pairs of them at the same time at different gateways; accepted ${JSON.stringify(tally.accepted)}, ` +
    `refused ${JSON.stringify(tally.refused)}, ${tally.doubtful} answered in doubt`,
);
