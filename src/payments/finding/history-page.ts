// The statements for a page of transactions: one for each index that can be walked along, for one organisation or for several.
import type { Statement } from '../../postgres/database.js';
import {
  AND_LANE,
  ANYWHERE,
  AT_PLACE_ANYWHERE,
  AT_PLACE_IN_ORGANISATION,
  BY_REFERENCE,
  END_OF_LANE,
  END_OF_PAGE,
  EVERY_TRANSACTION,
  IN_LANE,
  IN_ORDER,
  IN_ORGANISATION,
  LANE,
  LANES_ANYWHERE,
  LANES_OF_ORGANISATION,
  OF_BANK_ACCOUNT,
  OF_REFERENCE,
  OF_TARGET,
  OF_TOKEN,
  OF_TYPE,
  ONCE_IN_DOUBT,
  PAGE,
  SINCE,
  WAITED_FOR_A_FILE,
  WHERE,
} from './history.sql.js';

/** Whose transactions: where the lanes come from, what a row must be, and how it is found again. */
interface Scope {
  readonly name: string;
  readonly lanes: string;
  readonly within: string;
  readonly atPlace: string;
}

const ONE_ORGANISATION: Scope = {
  name: '',
  lanes: LANES_OF_ORGANISATION,
  within: IN_ORGANISATION,
  atPlace: AT_PLACE_IN_ORGANISATION,
};
const SEVERAL_ORGANISATIONS: Scope = {
  name: 'anywhere-',
  lanes: LANES_ANYWHERE,
  within: ANYWHERE,
  atPlace: AT_PLACE_ANYWHERE,
};

type Lane = (scope: Scope) => string;

function lane(...conditions: readonly string[]): Lane {
  return ({ lanes, within }) =>
    [lanes, LANE, EVERY_TRANSACTION, WHERE, within, IN_LANE, ...conditions, END_OF_LANE].join('');
}

function laneByReference({ lanes, within }: Scope): string {
  const source = [BY_REFERENCE, within, OF_REFERENCE].join('');
  return [lanes, LANE, source, WHERE, within, IN_LANE, SINCE, END_OF_LANE].join('');
}

const LANES = {
  time: [lane(SINCE)],
  /** Older ones only where they were once in doubt, or waited for a file. */
  lately: [lane(SINCE), lane(ONCE_IN_DOUBT), lane(WAITED_FOR_A_FILE)],
  token: [lane(SINCE, OF_TOKEN)],
  target: [lane(SINCE, OF_TARGET)],
  reference: [laneByReference],
  type: [lane(SINCE, OF_TYPE)],
  bankAccount: [lane(SINCE, OF_BANK_ACCOUNT)],
} as const satisfies Readonly<Record<string, readonly Lane[]>>;

export type HistoryPath = keyof typeof LANES;
type HistoryPages = Readonly<Record<HistoryPath, Statement>>;

function pagesIn(scope: Scope): HistoryPages {
  const pages = Object.entries(LANES).map(([path, lanes]): [string, Statement] => {
    const kept = lanes.map((laneIn) => laneIn(scope)).join(AND_LANE);
    const name = `history-${scope.name}${path}`;
    return [path, { name, text: [PAGE, kept, END_OF_PAGE, scope.atPlace, IN_ORDER].join('') }];
  });
  return Object.fromEntries(pages) as HistoryPages;
}

export const HISTORY_PAGES = pagesIn(ONE_ORGANISATION);
export const HISTORY_PAGES_ANYWHERE = pagesIn(SEVERAL_ORGANISATIONS);
