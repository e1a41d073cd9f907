// Which changes of the database must be reported, and under which name: those of rows that direct cards or money, give rights, or hold the
// outcome of a payment.
import type { Difference, Row } from './rows.js';

interface Mattering {
  /** A change of one of these matters. So does a row that is inserted or deleted. */
  readonly columns: readonly string[] | 'all';
  /** How reports may name the row. */
  readonly named: (row: Row) => readonly string[];
  /** Exceptions. */
  readonly unless?: (difference: Difference) => boolean;
}

const merchantOf = ({ merchant_id }: Row) => [`merchant/${merchant_id}`];
const userOf = ({ username }: Row) => [`user/${username}`];

const OUTCOME = [
  'status',
  'gateway_status_code',
  'response_code',
  'authorisation_code',
  'preauthorisation_code',
];
const ASKED = ['amount_cents', 'currency', 'transaction_type', 'target_audit', 'correlation_id', 'acquirer'];
const PLACE = ['organisation_id', 'merchant_id', 'audit'];
const DETAILS = ['payment_details_sealed', 'payment_details_key_version'];
const COUNTED = ['refunded_cents', 'completed_by', 'voided_by'];

const MATTERS: Readonly<Record<string, Mattering>> = {
  acquirer: {
    columns: [
      ...['host', 'port', 'tls', 'trusted', 'dialect', 'connections', 'institution', 'deadline_ms'],
      ...['kind', 'mode', 'key_encryption_key', 'mac_keys', 'plaintext_known'],
    ],
    named: ({ name }) => [`acquirer/${name}`],
  },
  merchant: {
    columns: [
      ...['organisation_id', 'mode', 'vault', 'acquirer', 'acceptor_id', 'terminals', 'category_code'],
      ...['card_days', 'preauthorisation_days', 'suspended_at'],
    ],
    named: ({ id }) => [`merchant/${id}`],
  },
  wallet_key: {
    columns: 'all',
    named: ({ merchant_id, number }) => [`wallet/${merchant_id}/${number}`, `wallet key ${number}`],
  },
  merchant_brand: { columns: 'all', named: ({ merchant_id }) => [`brand/${merchant_id}`] },
  route: { columns: 'all', named: ({ merchant_id }) => [`route/${merchant_id}`, `routes/${merchant_id}`] },
  surcharge_rule: { columns: 'all', named: merchantOf },
  plugin_setting: { columns: 'all', named: merchantOf },
  direct_entry: { columns: 'all', named: ({ merchant_id }) => [`bank/${merchant_id}`] },
  webhook_endpoint: {
    columns: ['organisation_id', 'merchant_id', 'url', 'types', 'sealed', 'key_version'],
    named: ({ id }) => [`webhook/${id}`, `webhook ${id}`],
  },
  gateway_user: {
    columns: [
      ...['username', 'organisation_id', 'merchant_id', 'revoked_at', 'client_certificates', 'permissions'],
      ...[
        'from_addresses',
        'expires_at',
        'secret_tag',
        'previous_secret_tag',
        'previous_until',
        'version',
        'seal',
      ],
    ],
    named: userOf,
  },
  user_grant: { columns: 'all', named: userOf },
  operator: {
    columns: [
      ...[
        'name',
        'role',
        'organisation_id',
        'link_tag',
        'link_until',
        'version',
        'seal',
        'removed_at',
        'password',
      ],
      ...['totp', 'passkeys', 'provider_subject'],
    ],
    named: ({ name }) => [`operator/${name}`],
  },
  operator_session: {
    columns: [
      'tag',
      'operator',
      'stage',
      'method',
      'address',
      'agent',
      'ends_at',
      'seen_at',
      'proved_at',
      'seal',
    ],
    named: ({ id }) => [`session/${id}`],
    // Somebody is signed out; or a row is put back as it was, which is not changed, and ends by itself.
    unless: ({ before, after }) => before === undefined || after === undefined,
  },
  task_request: { columns: 'all', named: ({ id }) => [`request/${id}`] },
  approval_rules: { columns: 'all', named: () => ['approval/rules'] },
  directdebit_file: {
    columns: ['merchant_id', 'number', 'processing_day', 'settings', 'items', 'debit_cents', 'credit_cents'],
    named: ({ merchant_id, number }) => [`file/${merchant_id}/${number}`],
    unless: ({ before, after }) => (before ?? after)?.row.simulated === true,
  },
  token: {
    columns: [
      'merchant_id',
      'customer_id',
      'key_version',
      'virtual_pan',
      'account_type',
      'seal_version',
      'sealed',
      'deleted_at',
    ],
    named: ({ id }) => [`token ${id}`],
    // Without a sealed card its key does not matter.
    unless: ({ before, after }) => before?.row.sealed === null && after?.row.sealed === null,
  },
  transaction: {
    columns: [...OUTCOME, ...ASKED, ...PLACE, ...DETAILS, ...COUNTED],
    named: ({ audit }) => [`transaction ${audit}`],
    unless: isOnlyForgotten,
  },
  journal: { columns: 'all', named: ({ id }) => [`entry ${id}`] },
};

/** A card that is gone can be sent nowhere, and it moves no money which operation a completed or voided payment names. */
function isOnlyForgotten({ columns, before, after }: Difference): boolean {
  if (before === undefined || after === undefined) return false;
  const isHarmless = (column: string) =>
    (DETAILS.includes(column) && after.row.payment_details_sealed === null) ||
    (['completed_by', 'voided_by'].includes(column) &&
      (before.row[column] === null) === (after.row[column] === null));
  const concerned = columns.filter((column) =>
    [...OUTCOME, ...ASKED, ...PLACE, ...DETAILS, ...COUNTED].includes(column),
  );
  return concerned.every(isHarmless);
}

/** The names of which a report has to have one; undefined if the change does not matter. */
export function namesToReport(difference: Difference): readonly string[] | undefined {
  const { table, columns, before, after } = difference;
  const mattering = MATTERS[table];
  if (mattering === undefined || mattering.unless?.(difference)) return undefined;
  const isWhole = before === undefined || after === undefined || mattering.columns === 'all';
  if (!isWhole && !columns.some((column) => mattering.columns.includes(column))) return undefined;
  // With another key, a row is missing under its former name.
  const { row } = before ?? after ?? { row: {} };
  return mattering.named(row);
}

/** Whether one of the reports names one of these. */
export function isReported(names: readonly string[], reports: readonly string[]): boolean {
  return names.some((name) => {
    const escaped = name.replaceAll(/[^\w/ -]/g, '\\$&');
    const asWord = new RegExp(`(^|[^\\w/-])${escaped}($|[^\\w-])`);
    return reports.some((report) => asWord.test(report));
  });
}
