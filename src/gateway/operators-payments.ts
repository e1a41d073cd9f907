// The pipeline of payments for what operators ask for: the same steps and the same two commits as for a request, in a process that may
// serve no requests at all. It is opened for one operation, registers as a process of its own, knows the one link that is needed, and
// is closed again. What it leaves in doubt is resolved by the gateways, as what any other process leaves.
import type { Logger } from 'pino';
import { SimulatorLedger } from '../acquirers/simulator/ledger.js';
import type { OperatorsPipeline } from '../admin/operator-requests.js';
import type { TargetedWish } from '../transactions/command.js';
import type { Transaction } from '../transactions/transaction.js';
import { TransactionFigures } from '../transactions/transaction-figures.js';
import { fault } from '../values/faults.js';
import { Shares } from '../values/shares.js';
import { openJournal } from './callers.js';
import { ClosingStack } from './closing-stack.js';
import { DatabaseWatch } from './database-watch.js';
import { Databases } from './databases.js';
import { openLinks } from './links.js';
import { Loop } from './loop.js';
import { type Membership, register } from './membership.js';
import { assemblePayments, type Payments } from './pipeline.js';
import type { Settings } from './settings.js';
import { openVault } from './vault.js';

export interface OperatorsPaymentsStart {
  readonly settings: Settings;
  /** Under the login that serves. */
  readonly databaseUrl: string;
  readonly log: Logger;
}

/** So many pipelines are open at once; who comes later waits. */
const MOST_AT_ONCE = 4;
const PATIENCE = { maxWaiting: 100, maxWaitMs: 30_000, refusal: () => fault('not_processed') };

export function operatorsPayments(start: OperatorsPaymentsStart): OperatorsPipeline {
  const shares = new Shares({ inAll: MOST_AT_ONCE, perOrganisation: MOST_AT_ONCE - 1, patience: PATIENCE });
  return {
    create: (wish, acquirer) =>
      shares.run(wish.caller.organisationId, () => createThrough(start, wish, acquirer)),
  };
}

async function createThrough(
  start: OperatorsPaymentsStart,
  wish: TargetedWish,
  acquirer: string,
): Promise<Transaction> {
  const stack = new ClosingStack();
  const { creation, membership } = await stack.open(() => open(start, acquirer, stack));
  const { correlationId, caller, merchant } = wish;
  const inFlight = membership.searchFence.arrive(correlationId);
  Object.assign(inFlight, { organisationId: caller.organisationId, merchantId: merchant.id, begun: true });
  try {
    return await creation.create({ ...wish, inFlight });
  } finally {
    membership.searchFence.leave(inFlight);
    // What was done is done, and is answered.
    await stack.close().catch(() => {});
  }
}

async function open(
  { settings, databaseUrl, log }: OperatorsPaymentsStart,
  acquirer: string,
  stack: ClosingStack,
): Promise<Payments & { readonly membership: Membership }> {
  const watch = new DatabaseWatch(log);
  const databases = stack.opened(
    await Databases.open(databaseUrl, settings, { onError: () => watch.suspect() }),
    (pools) => pools.close(),
  );
  const ledger = stack.opened(await SimulatorLedger.open(settings.simulatorLedger), (file) => file.close());
  const vault = await openVault(settings, databases, log);
  stack.opened(vault.brokenSeals, (seals) => seals.written());
  await openJournal(databases, vault);
  const links = await openLinks(
    {
      settings,
      ledger,
      databases,
      vault,
      watch,
      log,
      furtherLinks: [],
      only: acquirer,
      onApprovedAfterReversal: () => {},
    },
    stack,
  );
  const membership = await register(
    { processTimeoutMs: settings.processTimeoutMs, databases, links, watch, backlog: 0 },
    stack,
  );
  const { times, registry, leases, searchFence, clock } = membership;
  const heartbeats = new Loop(
    async () => {
      const reply = await registry.heartbeat(leases, searchFence.epochs);
      watch.heartbeatCommitted();
      searchFence.advance(reply);
      clock.advancedBy(reply.advancedMs);
    },
    times.heartbeatEveryMs,
    (error) => watch.heartbeatFailed(error),
    { pausesFirst: true },
  );
  watch.goBy(() => heartbeats.wake());
  stack.opened(heartbeats.start(), (loop) => loop.stop());
  const figures = new TransactionFigures(new Set());
  // The resolvers of the gateways look by themselves.
  const payments = assemblePayments(
    { settings, log, databases, links, vault, membership, figures },
    () => {},
  );
  stack.opened(payments.finisher, (finisher) => finisher.close());
  return { ...payments, membership };
}
