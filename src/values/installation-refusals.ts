// What an operator can be refused about an installation as a whole: its demo, and where its tables are.
import { DEMO_REFUSALS } from './demo-refusals.js';
import { DISTRIBUTION_REFUSALS } from './distribution-refusals.js';

export const INSTALLATION_REFUSALS = { ...DEMO_REFUSALS, ...DISTRIBUTION_REFUSALS } as const;
