// Direct debit as a link: both banks, the merchant's own and the simulated one, keep the contract of links.
import { DirectDebit } from '../../src/acquirers/direct-debit.js';
import { cardAnsweredWith } from '../../testkit/test-cards.js';
import { linkContract } from './contract-suite.js';

/** It has nothing that could break, and writes nothing: items stand in the database. */
const around = {
  cardAnsweredWith,
  written: async () => '',
  breakDown: async () => {},
  cleanUp: async () => {},
};
const TRAITS = { takes: 'bank_account', inquiries: true, prepares: false } as const;

linkContract('direct debit by the own bank', TRAITS, async () => ({
  link: DirectDebit.toOwnBank(),
  ...around,
}));
linkContract('direct debit by the simulated bank', TRAITS, async () => ({
  link: DirectDebit.toSimulatedBank(),
  ...around,
}));
