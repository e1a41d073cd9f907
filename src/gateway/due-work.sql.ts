import { REVERSAL_AGAIN_IS_DUE } from '../acquirers/iso8583/reversals.sql.js';
import { CLEARING_IS_DUE } from '../directdebit/clearing.sql.js';
import { COUNT_IS_DUE } from '../figures/day-figures.sql.js';
import { BLOCK_IS_DUE } from '../journal/chain.sql.js';
import { CARD_REVIEW_IS_DUE } from '../payments/cards/card-destruction.sql.js';
import { DOUBT_IS_DUE, PROCESS_IS_DEAD } from '../payments/doubt/resolver.sql.js';
import { SWEEP_IS_DUE } from '../payments/doubt/sweep.sql.js';
import { REQUEST_IS_DUE } from '../payments/requests/operator-requests.sql.js';
import type { Statement } from '../postgres/database.js';

const OTHER_WORK = `OR ${REVERSAL_AGAIN_IS_DUE} OR ${PROCESS_IS_DEAD} AS resolving,
      ${REQUEST_IS_DUE} AS requests, ${SWEEP_IS_DUE} AS sweeping, ${CLEARING_IS_DUE} AS clearing,
      ${CARD_REVIEW_IS_DUE} AS destroying, ${BLOCK_IS_DUE} AS chaining, ${COUNT_IS_DUE} AS counting`;

/** For a process ($1), at a time by the gateway's clock ($2). */
export const DUE_WORK: Statement = {
  name: 'due-work',
  text: `
    SELECT ${DOUBT_IS_DUE} ${OTHER_WORK}`,
  spread: `
    SELECT EXISTS (SELECT FROM organisation_in_doubt) ${OTHER_WORK}`,
};
