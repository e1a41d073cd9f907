// The acquirer links of a gateway, opened. One that refuses does not keep the gateway from starting: the operator is told.
import type { Logger } from 'pino';
import type { AcquirerLink } from '../acquirers/contract.js';
import { AcquirerLinks } from '../acquirers/links.js';
import { makeLinks } from '../acquirers/registry.js';
import type { SimulatorLedger } from '../acquirers/simulator/ledger.js';
import { reasonOf } from './connection.js';
import type { Settings } from './settings.js';

export interface LinksParts {
  readonly settings: Settings;
  readonly ledger: SimulatorLedger;
  readonly log: Logger;
  /** Those of a test, beside the registry's or in their place. */
  readonly furtherLinks: readonly AcquirerLink[];
}

export async function openLinks({ settings, ledger, log, furtherLinks }: LinksParts): Promise<AcquirerLinks> {
  const links = new AcquirerLinks([...makeLinks(settings, ledger), ...furtherLinks], {
    patienceMs: settings.acquirerDeadlineMs,
    firstPauseMs: settings.resolverFirstPauseMs,
    longestPauseMs: settings.resolverLongestPauseMs,
    onRefused: (link, reason) =>
      log.error(
        { link, reason: reasonOf(reason) },
        'acquirer link cannot be opened, payments over it are not sent; tried again',
      ),
    onOpened: (link) => log.warn({ link }, 'acquirer link open'),
  });
  await links.open();
  return links;
}
