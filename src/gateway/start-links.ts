// Opens the acquirer links of a gateway, and follows the operators' changes to them. A link that fails does not keep the
// gateway from starting: the log says so.
import type { Logger } from 'pino';
import { ConfiguredLinks } from '../acquirers/configured.js';
import type { AcquirerLink } from '../acquirers/contract.js';
import { forgetReversals } from '../acquirers/iso8583/reversals.js';
import { AcquirerLinks } from '../acquirers/links.js';
import { makeLinks } from '../acquirers/registry.js';
import type { SimulatorLedger } from '../acquirers/simulator/ledger.js';
import { StoredAcceptors } from '../organisations/acceptors.js';
import type { ClosingStack } from './closing-stack.js';
import { reasonOf } from './database/connection.js';
import type { Databases } from './database/databases.js';
import { Loop } from './loop.js';
import type { DatabaseWatch } from './observability/database-watch.js';
import { linkLog } from './observability/link-log.js';
import type { Settings } from './settings/settings.js';
import type { Vault } from './vault.js';

export interface StartLinksParts {
  readonly settings: Settings;
  readonly ledger: SimulatorLedger;
  readonly databases: Databases;
  readonly vault: Vault;
  readonly watch: DatabaseWatch;
  readonly log: Logger;
  /** A test's links, which add to or replace the registry's. */
  readonly furtherLinks: readonly AcquirerLink[];
  /** The acquirer approved a transaction after its reversal. */
  readonly onApprovedAfterReversal: () => void;
}

/** As often as users and merchants are read again. */
const FOLLOW_EVERY_MS = 1_000;
const FORGET_EVERY_MS = 3_600_000;
/** A host that is back is found soon. */
const LONGEST_PAUSE_MS = 10_000;

export async function startLinks(parts: StartLinksParts, stack: ClosingStack): Promise<AcquirerLinks> {
  const { settings, ledger, databases, vault, watch, log, furtherLinks } = parts;
  const links = new AcquirerLinks([...makeLinks(settings, ledger), ...furtherLinks], {
    patienceMs: settings.acquirerDeadlineMs,
    firstPauseMs: settings.resolverFirstPauseMs,
    longestPauseMs: Math.min(settings.resolverLongestPauseMs, LONGEST_PAUSE_MS),
    onRefused: (link, reason) =>
      log.error(
        { link, reason: reasonOf(reason) },
        'acquirer link cannot be opened, payments over it are not sent; tried again',
      ),
    onOpened: (link) => log.warn({ link }, 'acquirer link open'),
    onFailing: (link) => log.error({ link }, 'acquirer link is failing; payments with another route take it'),
    onAnswering: (link) => log.warn({ link }, 'acquirer link answers again'),
  });
  stack.opened(links, (all) => all.close());
  const configured = new ConfiguredLinks({
    vital: databases.vital,
    acceptors: new StoredAcceptors(databases.vital),
    others: databases.others,
    looks: databases.looks,
    provider: vault.provider,
    inProduction: settings.environment === 'production',
    onApprovedAfterReversal: parts.onApprovedAfterReversal,
    ...linkLog(log),
  });
  const [{ opened }] = await Promise.all([configured.follow(links), links.open()]);
  await opened;
  const following = new Loop(
    () => configured.follow(links),
    FOLLOW_EVERY_MS,
    (error) => watch.jobFailed('acquirer links', error),
    { pausesFirst: true },
  );
  const forgetting = new Loop(
    () => forgetReversals(databases.background),
    FORGET_EVERY_MS,
    (error) => watch.jobFailed('acquirer reversals', error),
  );
  for (const loop of [following, forgetting]) stack.opened(loop.start(), (each) => each.stop());
  return links;
}
