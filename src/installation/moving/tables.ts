// Every table with rows of organisations, and how those go along when an organisation moves to another cell.

/** Pages in the order of a key, again and again while the organisation trades: first all, then what has changed since. */
interface InPages {
  readonly how: 'pages';
  /** Beside the organisation. */
  readonly key: readonly string[];
  /** Rows go away, and their keys are compared at the end. */
  readonly removable?: true;
  /** Rows are only ever added, and no constraint says that each is there once. */
  readonly appended?: { readonly by: readonly string[] };
  /** Columns that the destination makes anew, because they are authenticated under keys of the installation. */
  readonly made?: readonly string[];
}

type Way =
  | InPages
  // Few rows: replaced as a whole once nothing can be written at the source any more.
  | { readonly how: 'whole' }
  | { readonly how: 'own'; readonly by: string }
  | { readonly how: 'left'; readonly because: string };

type Table = Way & {
  /** Background work writes it for many organisations at once, and loses nothing by it. */
  readonly unfenced?: true;
};

/** In the order in which rows can be written: what others refer to comes first. */
export const TABLES: Readonly<Record<string, Table>> = {
  merchant: { how: 'own', by: 'when a move begins and ends, sealed' },
  data_key: { how: 'own', by: 'wrapped by the key-encryption key of the destination', unfenced: true },
  customer: { how: 'pages', key: ['id'], removable: true },
  token: { how: 'pages', key: ['id'], made: ['network_transaction_mark'] },
  former_token_id: { how: 'pages', key: ['merchant_id', 'former_id', 'source'], made: ['recognition'] },
  transaction: { how: 'pages', key: ['audit'], made: ['outcome_seal', 'attestation'] },
  directdebit_file: { how: 'pages', key: ['merchant_id', 'number'] },
  directdebit_item: { how: 'pages', key: ['audit'] },
  card_held: { how: 'pages', key: ['audit'], removable: true },
  checkout: { how: 'pages', key: ['number'], made: ['seal'] },
  checkout_attempt: { how: 'pages', key: ['checkout', 'n'] },
  schedule: { how: 'pages', key: ['number'] },
  schedule_date: { how: 'pages', key: ['schedule', 'n'] },
  settlement_entry: {
    how: 'pages',
    key: ['settlement_date', 'merchant_id', 'audit', 'transaction_type'],
    appended: { by: ['settlement_date', 'merchant_id', 'audit', 'transaction_type'] },
  },
  event_feed: {
    how: 'pages',
    key: ['merchant_id', 'position'],
    appended: { by: ['slot', 'merchant_id', 'position'] },
    unfenced: true,
  },
  surcharge_rule: { how: 'whole' },
  plugin_setting: { how: 'whole' },
  acquirer_terminal: { how: 'whole' },
  route: { how: 'whole' },
  acquirer_reversal: { how: 'whole' },
  direct_entry: { how: 'whole' },
  merchant_brand: { how: 'whole' },
  wallet_key: { how: 'whole' },
  wallet_payload: { how: 'whole' },
  gateway_user: { how: 'whole' },
  user_grant: { how: 'whole' },
  webhook_endpoint: { how: 'whole' },
  webhook_delivery: { how: 'whole' },
  card_review: { how: 'whole' },
  card_of_deleted_customer: { how: 'whole' },
  data_key_use: { how: 'whole', unfenced: true },
  figures_undecided: { how: 'whole', unfenced: true },
  figures_by_minute: { how: 'own', by: 'with the totals of the destination', unfenced: true },
  figures_by_hour: { how: 'own', by: 'with the totals of the destination', unfenced: true },
  journal: { how: 'own', by: 'signed by the destination', unfenced: true },
  former_installation: { how: 'own', by: 'with the source itself', unfenced: true },
  one_time_card: { how: 'left', because: 'it is good for some minutes, in the cell that was given it' },
  limit_attempt: { how: 'left', because: 'counting begins anew in the destination' },
  limit_reached: { how: 'left', because: 'it was told of, and events go along' },
  declined_card: {
    how: 'left',
    because: 'cards are found by a key of the source: what was declined there may be tried once more',
  },
  event: { how: 'left', because: 'every event gets its position at the source' },
  audit_lease: {
    how: 'left',
    because: 'audits are leased by the processes of a cell; the next audit goes along',
  },
  sweep: { how: 'left', because: 'the destination sweeps when it opens' },
  absence: { how: 'left', because: 'it holds back requests that the source has received, which it refuses' },
  operator: { how: 'left', because: 'operators are the people of a cell' },
  operator_request: {
    how: 'left',
    because: 'nothing waits when a move begins; the journal has what was done',
  },
  task_request: { how: 'left', because: 'nothing waits when a move begins; the journal has what was done' },
  settlement_difference: { how: 'left', because: 'it is about a file that the source was given' },
  webhook_attempt: { how: 'left', because: 'the log of the source, kept for some days' },
  organisation_move: { how: 'left', because: 'each cell has a row of its own' },
  commit_together: { how: 'left', because: 'with Citus only, where no organisation moves' },
  organisation_in_doubt: { how: 'left', because: 'with Citus only, where no organisation moves' },
};

export interface TableInPages extends InPages {
  readonly name: string;
}

export const IN_PAGES: readonly TableInPages[] = Object.entries(TABLES).flatMap(([name, table]) =>
  table.how === 'pages' ? [{ name, ...table }] : [],
);

export const WHOLE: readonly string[] = Object.entries(TABLES).flatMap(([name, { how }]) =>
  how === 'whole' ? [name] : [],
);

/** Nobody but a move writes to these while the organisation is elsewhere. */
export const FENCED: readonly string[] = Object.entries(TABLES).flatMap(([name, { how, unfenced }]) =>
  how === 'left' || unfenced === true ? [] : [name],
);
