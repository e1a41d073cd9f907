// What an operator can be refused about an installation as a whole: its demo, where its tables are, and what it has lost.
import { DEMO_REFUSALS } from './demo-refusals.js';
import { DISTRIBUTION_REFUSALS } from './distribution-refusals.js';

/** A settlement day over one link that is not reconciled, or of which payments are missing. */
interface OpenDay {
  readonly acquirer: string;
  readonly date: string;
  readonly reconciled: boolean;
  readonly missingHere: number;
}

export const INSTALLATION_REFUSALS = {
  ...DEMO_REFUSALS,
  ...DISTRIBUTION_REFUSALS,
  nothing_lost: () => 'nothing is lost, or all of it was reconciled',
  lost_time_not_reconciled: ({ days }: { days: readonly OpenDay[] }) =>
    days
      .map(({ acquirer, date, reconciled, missingHere }) =>
        reconciled
          ? `${missingHere} payments of ${acquirer} on ${date} are not here, and nobody has looked at them`
          : `no file of ${acquirer} for ${date} was reconciled since the restore`,
      )
      .join('; '),
} as const;
