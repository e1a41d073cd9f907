// What an operator can be refused: every code, what it names, and one plain sentence. The sentences know neither the
// command line nor a page; whoever shows one may add what to do there, by its code.
import { INSTALLATION_REFUSALS } from './installation-refusals.js';
import { moneyText } from './money.js';
import { REQUEST_REFUSALS } from './request-refusals.js';
import { SETTLEMENT_REFUSALS } from './settlement-refusals.js';
import { SIGN_IN_REFUSALS } from './sign-in-refusals.js';
import { VAULT_REFUSALS } from './vault-refusals.js';

/** A field that was given wrongly, and what it takes. */
export interface FieldProblem {
  readonly field: string;
  readonly rule: string;
}

/** A line of a returns file that says something else than we know. */
export interface DifferingLine {
  readonly line: number;
  readonly lodgementReference: string;
  readonly reason: string;
}

interface OperatorLacksRole {
  readonly name: string;
  readonly role: string;
  /** What was asked for, as a command calls it. */
  readonly task: string;
  readonly least: string;
}

/** Why an address is none that a webhook may be sent to. The address stands in none of them: it may hold a secret. */
const WEBHOOK_URL_PROBLEMS = {
  unreadable: 'a webhook’s URL must be one such as https://example.com/webhooks',
  too_long: 'a webhook’s URL takes at most 2048 characters',
  not_https: 'a webhook’s URL must begin with https://, except in a network that the operator has allowed',
  with_credentials: 'a webhook’s URL must not hold a user name or a password: signatures say who sends',
  with_fragment: 'a webhook’s URL must not hold a #',
  address_forbidden:
    'a webhook’s URL must not lead to an address that is not public, unless the operator has allowed its network',
} as const;

export type WebhookUrlProblem = keyof typeof WEBHOOK_URL_PROBLEMS;

type Rest = { readonly audit: number; readonly leftCents: number; readonly currency: string };

const REFUSALS = {
  ...SIGN_IN_REFUSALS,
  ...INSTALLATION_REFUSALS,
  ...REQUEST_REFUSALS,
  ...SETTLEMENT_REFUSALS,
  ...VAULT_REFUSALS,
  organisation_not_found: ({ organisation }: { organisation: number }) =>
    `there is no organisation ${organisation}`,
  merchant_not_found: ({ merchant }: { merchant: number }) => `there is no merchant ${merchant}`,
  merchant_of_another_organisation: ({
    merchant,
    organisation,
  }: {
    merchant: number;
    organisation: number;
  }) => `there is no merchant ${merchant} in organisation ${organisation}`,
  no_merchants: ({ organisation }: { organisation?: number | undefined }) =>
    organisation === undefined
      ? 'there are no merchants yet'
      : `organisation ${organisation} has no merchants`,
  several_organisations: () => 'there are several organisations; name one of them, or a merchant',

  transaction_not_found: ({ audit }: { audit: number }) => `there is no transaction ${audit}`,
  audit_in_several_organisations: ({
    audit,
    organisations,
  }: {
    audit: number;
    organisations: readonly number[];
  }) => `several organisations have a transaction ${audit}: ${organisations.join(', ')}`,

  transaction_not_completable: ({ audit }: { audit: number }) =>
    `transaction ${audit} cannot be completed: it is no approved preauthorisation, or was completed, voided, or is too old`,
  transaction_not_refundable: ({ audit }: { audit: number }) =>
    `transaction ${audit} cannot be refunded: it is no approved purchase or completion, or was voided, refunded in full, or is too old`,
  transaction_not_voidable: ({ audit }: { audit: number }) =>
    `transaction ${audit} cannot be voided: it has settled, or was refunded, completed or voided, or was not approved`,
  refund_exceeds_rest: ({ audit, leftCents, currency }: Rest) =>
    `${moneyText(leftCents, currency)} are left to refund of transaction ${audit}`,
  completion_exceeds_rest: ({ audit }: { audit: number }) =>
    `transaction ${audit} was preauthorised for less`,
  merchant_suspended: ({ merchant }: { merchant: number }) => `merchant ${merchant} is suspended`,
  acquirer_gone: ({ audit }: { audit: number }) =>
    `the link over which transaction ${audit} went cannot be used for this`,
  not_processed: () => 'it was certainly not processed: the gateway or its database has no room just now',
  transaction_decided: ({ audit, status }: { audit: number; status: string }) =>
    `transaction ${audit} is not in doubt: it is ${status}`,
  transaction_under_way: ({ audit }: { audit: number }) =>
    `transaction ${audit} is still under way, or its process has just died: the acquirer is asked within seconds`,

  period_ends_before_it_begins: () => 'the period ends before it begins',

  user_not_found: ({ username }: { username: string }) => `there is no user ${username}`,
  user_exists: ({ username }: { username: string }) => `the user ${username} exists already`,
  user_revoked: ({ username }: { username: string }) => `the user ${username} is revoked`,
  operator_name_not_allowed: () => 'the name of an operator takes 1 to 64 letters, digits, and . _ @ -',
  operator_exists: ({ name }: { name: string }) =>
    `there is or was an operator ${name}; names are not given twice`,
  operator_not_found: ({ name }: { name: string }) => `there is no operator ${name}`,
  operator_removed: ({ name }: { name: string }) => `the operator ${name} was removed`,
  operator_unnamed: () => 'this installation has operators: say which of them you are',
  operator_seal_broken: ({ name }: { name: string }) =>
    `the operator ${name} is not as it was sealed: somebody has changed it in the database`,
  operator_role_too_low: ({ name, role, task, least }: OperatorLacksRole) =>
    `the operator ${name} has the role ${role}; “${task}” takes the role ${least}`,
  operator_of_one_organisation: ({
    name,
    organisationId,
    task,
  }: {
    name: string;
    organisationId: number;
    task: string;
  }) =>
    `the operator ${name} may act only for organisation ${organisationId}; “${task}” concerns the whole installation`,
  operator_must_name_organisation: ({ name, organisationId }: { name: string; organisationId: number }) =>
    `the operator ${name} may act only for organisation ${organisationId}: name it, or a merchant of it`,
  // The same whether what was named belongs to another, or is not there at all.
  operator_of_another_organisation: ({ name, organisationId }: { name: string; organisationId: number }) =>
    `the operator ${name} may act only for organisation ${organisationId}, and not for everything that was named`,
  first_operator_not_administrator: () =>
    'the first operator must be an administrator of the whole installation: nobody could add another',
  last_administrator: ({ name }: { name: string }) =>
    `the operator ${name} is the last administrator of the whole installation: add another first, or remove the other operators`,
  checkpoint_unreadable: ({ path }: { path: string }) => `${path} is no checkpoint of a journal`,
  checkpoint_of_another: ({ path }: { path: string }) =>
    `the checkpoint in ${path} was not signed by this installation`,
  user_seal_broken: ({ username }: { username: string }) =>
    `the user ${username} is not as it was sealed: somebody has changed it in the database, or an earlier release has`,
  merchant_assigned: ({ username, merchant }: { username: string; merchant: number }) =>
    `the user ${username} is assigned to merchant ${merchant}, which cannot be taken from it`,
  merchant_not_granted: ({ username, merchant }: { username: string; merchant: number }) =>
    `the user ${username} was not granted merchant ${merchant}`,
  permissions_empty: () => 'a user needs at least one permission',
  expiry_in_the_past: () => 'a user cannot expire in the past',
  network_unreadable: ({ network }: { network: string }) =>
    `${network} is no address and no network such as 203.0.113.0/24`,
  too_many_networks: ({ most }: { most: number }) => `a user can be given ${most} networks at most`,
  too_many_client_certificates: ({ most }: { most: number }) =>
    `a user can be bound to ${most} certificates at most`,
  client_certificate_unreadable: ({ path }: { path: string }) =>
    `${path} is neither a certificate in PEM or DER nor a SHA-256 fingerprint`,
  client_certificate_expired: ({ path, expired }: { path: string; expired: string }) =>
    `the certificate in ${path} has expired (${expired})`,
  // What was given stands in neither: it may hold a card number.
  name_not_allowed: () => 'a name takes 1 to 60 characters of plain ASCII, and no card number',
  username_not_allowed: () => 'a user name takes 1 to 64 letters, digits, and . _ @ -',

  live_merchant_needs_real_time: () => 'no live merchant can be added while the clock is ahead of real time',
  live_merchant_needs_processes_in_time: ({ retryAfterSeconds }: { retryAfterSeconds: number }) =>
    `no live merchant can be added while a process of the gateway has a clock that is ahead; try again in ${retryAfterSeconds} seconds`,

  surcharge_without_rules: () => 'there is no rule to set',
  surcharge_ends_before_it_begins: ({ from, until }: { from: string; until: string }) =>
    `the first day, ${from}, is after the last day, ${until}`,
  surcharge_perhaps_forbidden: ({ scopes }: { scopes: readonly string[] }) =>
    `since 1 October 2026 eftpos, Visa and Mastercard may forbid surcharges in Australia (here: ${scopes.join(', ')})`,

  bank_not_set: ({ merchant }: { merchant: number }) => `merchant ${merchant} is live and has no bank yet`,
  bank_needs_real_time: () => 'a real bank’s files need real time, and the clock is ahead of it',
  live_merchant_needs_real_bank: ({ merchant }: { merchant: number }) =>
    `merchant ${merchant} is live, and cannot bank with the simulated bank`,
  direct_entry_not_allowed: ({ problems }: { problems: readonly FieldProblem[] }) =>
    problems.map(({ field, rule }) => `${field} ${rule}`).join('; '),

  file_not_found: ({ merchant, number }: { merchant: number; number: number }) =>
    `merchant ${merchant} has no file ${number}`,
  path_taken: ({ path }: { path: string }) => `${path} exists already and is not overwritten`,
  path_not_writable: ({ path, reason }: { path: string; reason: string }) =>
    `${path} cannot be written (${reason})`,
  path_not_readable: ({ path, reason }: { path: string; reason: string }) =>
    `${path} cannot be read (${reason})`,
  returns_not_readable_twice: ({ path }: { path: string }) =>
    `${path} is no file that can be read twice; nothing was imported`,
  returns_changed_meanwhile: ({ path }: { path: string }) =>
    `${path} was changed while it was read; nothing was imported`,
  returns_cut_short: ({ path }: { path: string }) =>
    `${path} is cut short, or was changed (no trailer speaks of exactly its items); nothing was imported`,
  returns_line_unreadable: ({ path, line }: { path: string; line: number }) =>
    `${path} is no returns file, or is cut short (line ${line} cannot be read); nothing was imported`,
  returns_differ: ({
    path,
    lines,
    more,
  }: {
    path: string;
    lines: readonly DifferingLine[];
    more: number;
  }) => {
    const named = lines.map(
      ({ line, lodgementReference, reason }) => `line ${line} ${lodgementReference}: ${reason}`,
    );
    const all = more > 0 ? [...named, `and ${more} more`] : named;
    return `${path} differs from what was lodged or imported before (${all.join('; ')}); nothing was imported`;
  },

  gateways_at_work: ({ processes }: { processes: number }) =>
    `${processes} processes of the gateway work on this database, or did a moment ago: stop them, and try again after 20 seconds`,
  counters_exhausted: ({ organisation }: { organisation: number | undefined }) =>
    `${organisation === undefined ? 'an organisation' : `organisation ${organisation}`} would have hardly any audits or IDs left; say by how many to move`,

  archive_too_young: ({ days }: { days: number }) =>
    `only what is at least ${days} days old can be archived: events of later transactions may still be asked for`,
  archive_damaged: ({ path }: { path: string }) =>
    `${path} is no archive, is cut short, or was changed; nothing was removed`,

  clock_needs_simulated_acquirers: ({ acquirers }: { acquirers: readonly string[] }) =>
    `the clock can be moved only where every acquirer is simulated, not with ${acquirers.join(', ')}`,
  clock_has_live_merchant: () => 'the clock cannot be moved while a live merchant exists',
  clock_too_far_ahead: () => 'the clock can be at most ten years ahead',
  clock_has_dates_ahead: ({ transactions, files }: { transactions: number; files: number }) =>
    `the clock cannot go back: ${transactions} transactions and ${files} direct-debit files are dated ahead of real ` +
    'time. Wait until then, or begin a new installation',

  webhook_not_found: ({ endpoint }: { endpoint: number }) => `there is no webhook endpoint ${endpoint}`,
  webhook_url_not_allowed: ({ problem }: { problem: WebhookUrlProblem }) => WEBHOOK_URL_PROBLEMS[problem],
  webhook_types_unknown: ({ unknown, known }: { unknown: readonly string[]; known: readonly string[] }) =>
    `there is no event type ${unknown.join(', ')}; there are ${known.join(', ')}`,
  webhook_types_missing: ({ known }: { known: readonly string[] }) =>
    `no event type is named; there are ${known.join(', ')}`,
  webhook_too_many: ({ merchant, most }: { merchant: number; most: number }) =>
    `merchant ${merchant} has ${most} webhook endpoints, and can have no more`,
  webhook_event_not_found: ({ event }: { event: string }) =>
    `there is no event ${event} of this merchant; it may be older than events are kept`,

  acquirer_not_found: ({ acquirer }: { acquirer: string }) => `there is no acquirer ${acquirer}`,
  acquirer_exists: ({ acquirer }: { acquirer: string }) => `the acquirer ${acquirer} exists already`,
  acquirer_not_allowed: ({ problems }: { problems: readonly FieldProblem[] }) =>
    problems.map(({ field, rule }) => `${field} ${rule}`).join('; '),
  acquirer_in_use: ({ acquirer, merchants }: { acquirer: string; merchants: readonly number[] }) =>
    `merchants pay over ${acquirer}: ${merchants.join(', ')}`,
  acquirer_in_doubt: ({ acquirer, inDoubt }: { acquirer: string; inDoubt: number }) =>
    `${inDoubt} transactions are in doubt at ${acquirer}: nobody could find out about them any more`,
  acquirer_does_not_answer: ({ acquirer, reason }: { acquirer: string; reason: string }) =>
    `${acquirer}: ${reason}`,
  acquirer_of_other_mode: ({ acquirer, mode }: { acquirer: string; mode: string }) =>
    `${acquirer} is a ${mode} link, and the merchant is not ${mode}`,
  acquirer_needs_real_time: () => 'a real acquirer needs real time, and the clock is ahead of it',
  acquirer_needs_terminals: ({ merchant }: { merchant: number }) =>
    `merchant ${merchant} needs an acceptor ID and terminals to pay over this acquirer`,
  route_not_allowed: ({ problems }: { problems: readonly FieldProblem[] }) =>
    problems.map(({ field, rule }) => `${field} ${rule}`).join('; '),
  route_not_found: ({ merchant }: { merchant: number }) => `merchant ${merchant} has no such route`,
  route_shares_exceed: ({ percent }: { percent: string }) =>
    `the shares of routes for the same payments and in the same place would add up to ${percent} %, which is more than 100`,
  route_too_many: ({ merchant, most }: { merchant: number; most: number }) =>
    `merchant ${merchant} would have more than ${most} routes`,
  acquirer_routed: ({ acquirer, merchants }: { acquirer: string; merchants: readonly number[] }) =>
    `routes of merchants lead to ${acquirer}: ${merchants.join(', ')}`,
  acceptor_not_permitted: ({ problems }: { problems: readonly FieldProblem[] }) =>
    problems.map(({ field, rule }) => `${field} ${rule}`).join('; '),
  acceptor_not_allowed: ({ problems }: { problems: readonly FieldProblem[] }) =>
    problems.map(({ field, rule }) => `${field} ${rule}`).join('; '),

  key_encryption_key_being_renewed: () => 'another process is renewing the key-encryption key',
  key_version_not_destroyable: ({ merchant, version }: { merchant: number; version: number }) =>
    `version ${version} of merchant ${merchant} cannot be destroyed: it must exist, have been replaced for a minute, and seal nothing`,
} satisfies Record<string, (details: never) => string>;

export type RefusalCode = keyof typeof REFUSALS;

/** What a refusal of this code names. */
export type RefusalDetails<Code extends RefusalCode> =
  Parameters<(typeof REFUSALS)[Code]> extends [infer Details] ? Details : undefined;

/** What the operator asked for cannot be done. */
export class Refusal<Code extends RefusalCode = RefusalCode> extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly code: Code,
    readonly details: RefusalDetails<Code>,
  ) {
    super((REFUSALS[code] as (details: RefusalDetails<Code>) => string)(details));
  }
}

export function refuse<Code extends RefusalCode>(
  code: Code,
  ...[details]: Parameters<(typeof REFUSALS)[Code]>
): never {
  throw new Refusal(code, details as RefusalDetails<Code>);
}
