// The lines of the log about transactions in doubt: what was decided about each, and that an acquirer gives no answer.
import type { Logger } from 'pino';
import type { ResolverParts } from '../transactions/resolver.js';
import type { TransactionFigures } from '../transactions/transaction-figures.js';

export function resolverLog(
  log: Logger,
  figures: TransactionFigures,
): Pick<ResolverParts, 'onResolved' | 'onNoAnswer'> {
  return {
    onResolved: (resolved) => {
      figures.noteResolved(resolved);
      const { organisationId: organisation, merchantId: merchant, acquirer: link } = resolved;
      const { audit, found, by, attempt, seconds } = resolved;
      if (found === 'reversal begun')
        log.warn(
          { organisation, merchant, audit, link, by, attempt, seconds },
          'transaction in doubt: reversal begun',
        );
      else
        log.warn(
          { organisation, merchant, audit, link, found, by, attempt, seconds },
          'transaction in doubt resolved',
        );
    },
    onNoAnswer: (unanswered) => {
      for (const [link, transactions] of unanswered)
        log.warn(
          { link, transactions },
          'transactions in doubt: no answer from the acquirer, asked again later',
        );
    },
  };
}
