// Logs transactions in doubt: what was decided about each, and that an acquirer does not answer.
import type { Logger } from 'pino';
import type { ResolverParts } from '../../payments/doubt/resolver.js';
import type { TransactionFigures } from '../../payments/transaction-figures.js';

export function resolverLog(
  log: Logger,
  figures: TransactionFigures,
): Pick<ResolverParts, 'onResolved' | 'onNoAnswer'> {
  return {
    onResolved: (resolved) => {
      figures.noteResolved(resolved);
      const { organisationId: organisation, merchantId: merchant, acquirer: link } = resolved;
      const { audit, found, by, attempt, seconds } = resolved;
      switch (found) {
        case 'reversal begun':
          log.warn(
            { organisation, merchant, audit, link, by, attempt, seconds },
            'transaction in doubt: reversal begun',
          );
          break;
        case 'approved after reversal':
          log.error(
            { organisation, merchant, audit, link, seconds },
            'acquirer approved a payment after its reversal; it is reversed again',
          );
          break;
        case 'reversed again':
          log.warn(
            { organisation, merchant, audit, link, attempt, seconds },
            'payment that was approved after its reversal is reversed',
          );
          break;
        default:
          log.warn(
            { organisation, merchant, audit, link, found, by, attempt, seconds },
            'transaction in doubt resolved',
          );
      }
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
