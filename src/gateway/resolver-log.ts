// The lines of the log about transactions in doubt: what was decided about each, and that an acquirer gives no answer.
import type { Logger } from 'pino';
import type { ResolverParts } from '../transactions/resolver.js';

export function resolverLog(log: Logger): Pick<ResolverParts, 'onResolved' | 'onNoAnswer'> {
  return {
    onResolved: ({
      organisationId: organisation,
      merchantId: merchant,
      audit,
      acquirer: link,
      found,
      by,
      attempt,
      seconds,
    }) => {
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
