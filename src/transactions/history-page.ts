// The statements for a page of transactions: one for each index that can be walked along.
import type { Statement } from '../postgres/database.js';
import {
  AND_LANE,
  BY_REFERENCE,
  END_OF_LANE,
  END_OF_PAGE,
  EVERY_TRANSACTION,
  IN_LANE,
  LANE,
  OF_BANK_ACCOUNT,
  OF_TARGET,
  OF_TOKEN,
  OF_TYPE,
  ONCE_IN_DOUBT,
  PAGE,
  SINCE,
  WAITED_FOR_A_FILE,
} from './history.sql.js';

function lane(...conditions: readonly string[]): string {
  return laneOf(EVERY_TRANSACTION, ...conditions);
}

function laneOf(source: string, ...conditions: readonly string[]): string {
  return [LANE, source, IN_LANE, ...conditions, END_OF_LANE].join('');
}

function page(name: string, ...lanes: readonly string[]): Statement {
  return { name: `history-${name}`, text: PAGE + lanes.join(AND_LANE) + END_OF_PAGE };
}

export const HISTORY_PAGES = {
  time: page('time', lane(SINCE)),
  /** Older ones only where they were once in doubt, or waited for a file. */
  lately: page('lately', lane(SINCE), lane(ONCE_IN_DOUBT), lane(WAITED_FOR_A_FILE)),
  token: page('token', lane(SINCE, OF_TOKEN)),
  target: page('target', lane(SINCE, OF_TARGET)),
  reference: page('reference', laneOf(BY_REFERENCE, SINCE)),
  type: page('type', lane(SINCE, OF_TYPE)),
  bankAccount: page('bank-account', lane(SINCE, OF_BANK_ACCOUNT)),
} as const;

export type HistoryPath = keyof typeof HISTORY_PAGES;
