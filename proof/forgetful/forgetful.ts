// Nothing stays charged that the gateway does not call approved, although the host forgets early reversals. The host answers 25 to the
// reversal of a payment that it has not read yet, and does not remember the reversal. In each round payments are held up until the
// gateway has given them up and reversed them; then the host reads and charges them.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { paymentBody } from '../../testkit/bodies.js';
import { call, Unanswered } from '../../testkit/caller.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { Installation } from '../../testkit/installation.js';
import { HostProcess } from '../../testkit/iso8583-host/host-process.js';
import type { Entry } from '../../testkit/iso8583-host/ledger.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { addLink, differences, hostBooks, positionsByKey } from '../arena/link-arena.js';
import { SentNumbers } from '../arena/sent-numbers.js';
import { verdict } from '../arena/verdict.js';

const values = programOptions({
  rounds: 200,
  // At the same time, in each round.
  purchases: 20,
  seed: newSeed(),
});
const { rounds, purchases, seed } = values;
const random = new Chance(seed);
say(`forgetful: seed ${seed}`);

const DEADLINE_MS = 400;
/** Longer than the gateway takes to give up a payment and to reverse it. */
const HELD_UP_MS = 1_500;
const DECISION_LIMIT_MS = 60_000;
/** What is charged after its reversal has to be reversed again within this. */
const AGREEMENT_LIMIT_MS = 60_000;
const REFUSALS = ['30', '68', '91', '96', '05'];

/** What happens to the payments of a round. */
const STORIES = [
  // One of the two connections stands still with what is in it.
  'stalled connection',
  // Half of the payments are overtaken by what comes after them, on the same connection.
  'overtaken',
  // And the first reversals that find a payment are refused.
  'overtaken, refused reversals',
  // And each late approval comes twice.
  'overtaken, answered twice',
] as const;
type Story = (typeof STORIES)[number];

const folder = temporaryFolder('forgetful');
const host = await HostProcess.start({ ledgerPath: join(folder, 'ledger') });
await host.set({ unseenReversals: 'forgotten', slowMs: HELD_UP_MS, lateMs: HELD_UP_MS, seed });
const installation = await Installation.open({
  RESOLVER_INTERVAL_MS: '50',
  RESOLVER_FIRST_PAUSE_MS: '50',
  RESOLVER_LONGEST_PAUSE_MS: '500',
  MAX_DELAY_MS: '3000',
});
await installation.prepare(undefined, { isInRealTime: true });
await addLink(
  installation,
  `--address ${host.address} --dialect as2805 --deadline ${DEADLINE_MS} --connections 2`,
);
const gateway = await installation.startedGateway();
await signedOn();

const told: Record<string, number> = {};
const startedMs = performance.now();
for (let round = 0; round < rounds; round += 1) {
  await play(STORIES[round % STORIES.length] as Story, round);
  if (round % 10 === 9) say(`… ${round + 1} of ${rounds} rounds`);
}

const untilMs = performance.now() + AGREEMENT_LIMIT_MS;
let wrong = await disagreements();
while (wrong.length > 0 && performance.now() < untilMs) {
  await sleep(500);
  wrong = await disagreements();
}
const seconds = (performance.now() - startedMs) / 1000;
const entries = host.entries();
const late = chargedAfterReversal(entries);
const complaints = (await host.complaints()).map((complaint) => JSON.stringify(complaint));
const rows = await installation.transactions();
await installation.close();
await host.stop();
process.exitCode = verdict(
  {
    'nothing is charged that the gateway does not call approved': wrong,
    'nothing is in doubt in the end': rows
      .filter(({ status }) => status === 'unknown')
      .map(({ audit }) => `audit ${audit}`),
    'the story is told: payments are charged after their reversals': late > 0 ? [] : ['none was'],
    'the host has nothing to complain of': complaints,
  },
  `forgetful: seed ${seed}, ${rounds} rounds of ${purchases} purchases in ${seconds.toFixed(0)} s: ${JSON.stringify(told)}; ` +
    `${late} charged after they were reversed, ${wrong.length} of them still`,
);

async function play(story: Story, round: number): Promise<void> {
  if (story === 'stalled connection') {
    const { connections } = await host.status();
    await host.stall({ of: 'reads', connections: [random.pick(connections).number], ms: HELD_UP_MS });
  } else {
    await host.rule({ mti: '0200', fault: 'slow', percent: 50 });
    if (story === 'overtaken, answered twice')
      await host.rule({ mti: '0200', fault: 'answered again later', percent: 50 });
  }
  await Promise.all(Array.from({ length: purchases }, (_, number) => buy(`round-${round}-${number}`)));
  if (story === 'overtaken, refused reversals') {
    // From here on: a reversal that was not refused has forgotten its payment by now.
    await host.rule({ kind: 'reversal', code: random.pick(REFUSALS), timesEach: 2 });
  }
  await sleep(HELD_UP_MS);
  await installation.decidedTransactions(DECISION_LIMIT_MS);
  await host.clearRules();
}

async function buy(reference: string): Promise<void> {
  const { merchantId, authorization } = installation;
  const body = paymentBody({ merchant: merchantId, reference, amount: random.between(100, 99_999) });
  const path = '/transactions/purchase';
  const came = await call({ ...gateway, authorization }, 'POST', path, { body }).catch((error: unknown) => {
    if (error instanceof Unanswered) return { status: 0, code: error.message, body: undefined };
    throw error;
  });
  const words =
    came.status === 201 ? came.body.status.transaction_status_code : `${came.status} ${came.code}`;
  told[words] = (told[words] ?? 0) + 1;
}

/** Until a purchase gets through, and both connections are there. */
async function signedOn(): Promise<void> {
  const limitMs = performance.now() + DECISION_LIMIT_MS;
  for (;;) {
    const { connections } = await host.status();
    if (connections.filter((connection) => connection.signedOn).length === 2) return;
    if (performance.now() > limitMs) throw new Error('the link is not there');
    await sleep(50);
  }
}

async function disagreements(): Promise<string[]> {
  const stored = await installation.transactions();
  const sent = await SentNumbers.read(installation);
  const { positions } = await hostBooks(host).books();
  const ours = positionsByKey(
    stored.filter(({ reference }) => reference !== 'before-everything'),
    sent,
  );
  const byAudit = new Map(stored.map((row) => [row.audit, row]));
  return differences(ours, positions).map((difference) => {
    const row = byAudit.get(sent.auditOf(difference.split(':')[0] as string) ?? 0);
    return `${difference}; audit ${row?.audit} is ${row?.status}, code ${row?.gatewayStatusCode}`;
  });
}

/** Approved by the host after it had acknowledged a reversal of it. */
function chargedAfterReversal(all: readonly Entry[]): number {
  const reversed = new Set<string>();
  let count = 0;
  for (const entry of all) {
    if (entry.kind === 'acknowledged' && entry.mti.startsWith('042')) reversed.add(entry.original ?? '');
    if (entry.kind === 'decided' && entry.responseCode === '00' && reversed.has(entry.key)) count += 1;
  }
  return count;
}
