// Every refusal an operator can get: its code, its details and one plain sentence. The sentences name neither the command line nor the
// console; each of these may add advice by code.
import { moneyText } from './money.js';

/** A field with a wrong value, and the rule for it. */
export interface FieldProblem {
  readonly field: string;
  readonly rule: string;
}

/** A line of a returns file that contradicts our records. */
export interface DifferingLine {
  readonly line: number;
  readonly lodgementReference: string;
  readonly reason: string;
}

/** A settlement day of one link that is not reconciled, or that lacks payments. */
interface OpenDay {
  readonly acquirer: string;
  readonly date: string;
  readonly reconciled: boolean;
  readonly missingHere: number;
}

/** Why a URL is not allowed for a webhook. No sentence quotes the URL, which may hold a secret. */
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
type Differing = { readonly path: string; readonly lines: readonly DifferingLine[]; readonly more: number };

function inWords({ problems }: { readonly problems: readonly FieldProblem[] }): string {
  return problems.map(({ field, rule }) => `${field} ${rule}`).join('; ');
}

/** Quotes an empty name, which would be invisible. */
export function named(acquirer: string): string {
  return acquirer === '' ? "''" : acquirer;
}

/** A sentence with details in braces, or a function that builds one. */
const REFUSALS = {
  organisation_not_found: 'there is no organisation {organisation}',
  organisation_not_here: 'organisation {organisation} moves, or has moved, to another cell ({residence})',
  host_name_not_allowed:
    'a host name takes labels of letters, digits and hyphens with dots between, such as acme.pay.example, and no card number',
  host_name_taken: 'another organisation has this host name',
  cell_name_not_allowed:
    'the name of a cell takes 1 to 31 lower-case letters, digits and hyphens, and begins with a letter',
  cell_has_organisations: 'this cell has organisations already, and keeps the number {number}',
  cell_is_moving: 'an organisation moves into this cell or out of it: its name is kept until that is done',
  cell_past_its_range:
    'this installation has given out more IDs than cell {number} may: it cannot be one of several cells',
  organisation_cannot_move: ({
    organisation,
    obstacles,
  }: {
    organisation: number;
    obstacles: readonly string[];
  }) => `organisation ${organisation} cannot move: ${obstacles.join('; ')}`,
  organisation_moves_elsewhere: 'its move to cell {cell} is not ended: go on with that one, or take it back',
  organisation_is_being_moved: 'another command moves organisation {organisation} at the moment',
  organisation_does_not_move: 'organisation {organisation} has no move that this could be about',
  organisation_has_moved:
    'organisation {organisation} pays in cell {cell} by now: it comes back by a move in the other direction',
  organisation_still_pays:
    '{underWay} payments of organisation {organisation} were not decided in time, so it pays on here; run the same again',
  organisation_cannot_be_fenced:
    'others write to the tables of organisation {organisation} without a pause; run the same again',
  organisation_events_wait:
    'events of organisation {organisation} get no position: a transaction of the database stays open; run the same again once it has ended',
  organisation_row_broken:
    '{what} of organisation {organisation} is not as it was sealed: find out who has changed it; if you name it, it goes along as it is, and stays broken',
  organisation_differs: ({
    organisation,
    differences,
  }: {
    organisation: number;
    differences: readonly { table: string; source: string; destination: string }[];
  }) =>
    `organisation ${organisation} is not opened, because the copy differs: ${differences.map(({ table, source, destination }) => `${table} (${source} there, ${destination} here)`).join('; ')}`,
  cell_is_not_this_one: 'this command runs on cell {cell}, and the fleet has no cell of that name',
  cell_is_another: 'the settings of cell {cell} in the fleet lead to cell {found}',
  cell_without_settings:
    'the fleet file names no settings for cell {cell}: its database is not reached from here',
  other_cells_unread: ({ problems }: { readonly problems: readonly FieldProblem[] }) =>
    `which organisations have moved to another cell since the backup cannot be known: ${inWords({ problems })}. Bring those cells back, or unset TOLLGATE_FLEET_FILE if none of them can pay`,
  organisations_left_need_key:
    'organisations have moved to another cell since the backup, and without the key-encryption key that cannot be sealed: bring it first',
  organisation_is_there: 'organisation {organisation} is in cell {cell} already',
  fleet_unreadable: 'the fleet file {path} {reason}',
  fleet_wrong: ({ path, problems }: { readonly path: string; readonly problems: readonly FieldProblem[] }) =>
    `the fleet file ${path} is wrong: ${inWords({ problems })}`,
  fleet_map_unclear: ({ problems }: { readonly problems: readonly FieldProblem[] }) =>
    `no map is made: ${inWords({ problems })}`,
  cell_not_found: 'the fleet has no cell {cell}; it has {names}',
  merchant_not_found: 'there is no merchant {merchant}',
  merchant_of_another_organisation: 'there is no merchant {merchant} in organisation {organisation}',
  no_merchants: ({ organisation }: { organisation?: number | undefined }) =>
    organisation === undefined
      ? 'there are no merchants yet'
      : `organisation ${organisation} has no merchants`,
  several_organisations: 'there are several organisations; name one of them, or a merchant',

  transaction_not_found: 'there is no transaction {audit}',
  audit_in_several_organisations: 'several organisations have a transaction {audit}: {organisations}',

  transaction_not_completable:
    'transaction {audit} cannot be completed: it is no approved preauthorisation, or was completed, voided, or is too old',
  transaction_not_refundable:
    'transaction {audit} cannot be refunded: it is no approved purchase or completion, or was voided, refunded in full, or is too old',
  transaction_not_voidable:
    'transaction {audit} cannot be voided: it has settled, or was refunded, completed or voided, or was not approved',
  refund_exceeds_rest: ({ audit, leftCents, currency }: Rest) =>
    `${moneyText(leftCents, currency)} can still be refunded of transaction ${audit}`,
  completion_exceeds_rest: 'transaction {audit} was preauthorised for less',
  merchant_suspended: 'merchant {merchant} is suspended',
  acquirer_gone: 'the acquirer link of transaction {audit} cannot be used for this',
  not_processed: 'it was not processed: the gateway or its database is overloaded',
  transaction_decided: 'transaction {audit} is not in doubt: it is {status}',
  transaction_under_way:
    'transaction {audit} is still under way, or its process has just died: the acquirer is asked within seconds',

  period_ends_before_it_begins: 'the period ends before it begins',

  user_not_found: 'there is no user {username}',
  user_exists: 'the user {username} exists already',
  user_revoked: 'the user {username} is revoked',
  operator_name_not_allowed: 'the name of an operator takes 1 to 64 letters, digits, and . _ @ -',
  operator_exists: 'there is or was an operator {name}; names are not given twice',
  operator_not_found: 'there is no operator {name}',
  operator_removed: 'the operator {name} was removed',
  operator_not_proved:
    'this installation has operators: prove which of them you are, by a token that the console gives you on the page “Sign-in and sessions”',
  command_line_token_refused:
    'the token of the command line is not right, or has ended: the console gives you another, for 15 minutes',
  sign_in_link_opened_by_inviter:
    '{by} made this link for {name}: open it in a browser in which {by} has never signed in',
  operator_disabled:
    'the operator {name} has not signed in for 90 days and is disabled: another administrator can enable them',
  operator_enables_themselves: 'nobody enables themselves: ask another administrator',
  operator_seal_broken: 'the operator {name} has a broken seal: somebody has changed it in the database',
  operator_role_too_low: 'the operator {name} has the role {role}; “{task}” takes the role {least}',
  operator_of_one_organisation:
    'the operator {name} may act only for organisation {organisationId}; “{task}” concerns the whole installation',
  operator_must_name_organisation:
    'the operator {name} may act only for organisation {organisationId}: name it, or a merchant of it',
  // The same answer for a thing of another organisation and for one that does not exist.
  operator_of_another_organisation:
    'the operator {name} may act only for organisation {organisationId}, and not for everything that was named',
  first_operator_not_administrator:
    'the first operator must be an administrator of the whole installation: nobody could add another',
  last_administrator:
    'the operator {name} is the last administrator of the whole installation: add another first, or remove the other operators',
  previous_key_provider_unset: 'no key provider is named that is to be left',
  checkpoint_unreadable: '{path} is not a checkpoint of a journal',
  checkpoint_of_another: 'the checkpoint in {path} was not signed by this installation',
  user_seal_broken:
    'the user {username} has a broken seal: somebody, or an earlier release, has changed it in the database',
  acquirer_unprotected:
    'the live link {acquirer} would go without TLS or without MAC keys: cards could be read on their way, or answers be made up',
  journal_changed_before_sealing:
    'what an earlier release has stored is not sealed yet, and the journal is not whole ({problem}): somebody may have taken away that it was sealed',
  gateways_serve_before_sealing:
    'what an earlier release has stored is to be sealed, and gateways are still running ({processes}): they store without seals',
  subject_not_found:
    'there is nothing called {subject}, and there never was; such names are merchant/17 and acquirer/visa',
  subject_not_sealable:
    '{subject} cannot be sealed as it is: rights, approvals or an organisation that were taken away would come back',
  seal_broken: '{subject} is not as it was sealed ({misfit}): somebody has written to the database',
  merchant_assigned: 'the user {username} is assigned to merchant {merchant}, which cannot be taken from it',
  merchant_not_granted: 'the user {username} was not granted merchant {merchant}',
  permissions_empty: 'a user needs at least one permission',
  expiry_in_the_past: 'a user cannot expire in the past',
  network_unreadable: '{network} is neither an address nor a network such as 203.0.113.0/24',
  too_many_networks: 'a user can be given {most} networks at most',
  too_many_client_certificates: 'a user can be bound to {most} certificates at most',
  client_certificate_unreadable: '{path} is neither a certificate in PEM or DER nor a SHA-256 fingerprint',
  client_certificate_expired: 'the certificate in {path} has expired ({expired})',
  // These do not quote the name, which may hold a card number.
  name_not_allowed: 'a name takes 1 to 60 characters of plain ASCII, and no card number',
  username_not_allowed: 'a user name takes 1 to 64 letters, digits, and . _ @ -',

  live_merchant_needs_real_time: 'no live merchant can be added while the clock is ahead of real time',
  live_merchant_needs_processes_in_time:
    'no live merchant can be added while a process of the gateway has a clock that is ahead; try again in {retryAfterSeconds} seconds',

  surcharge_without_rules: 'there is no rule to set',
  surcharge_ends_before_it_begins: 'the first day, {from}, is after the last day, {until}',
  surcharge_perhaps_forbidden:
    'since 1 October 2026 eftpos, Visa and Mastercard may forbid surcharges in Australia (here: {scopes})',

  limit_declines_beyond: 'of {attempts} attempts {declines} cannot be declined: give fewer declines, or none',
  limit_too_short: 'a limit counts for one minute at least',
  limit_too_many: 'merchant {merchant} has {most} limits, and can have no more',

  bank_not_set: 'merchant {merchant} is live and has no bank yet',
  bank_needs_real_time: 'a real bank’s files need real time, and the clock is ahead of it',
  live_merchant_needs_real_bank: 'merchant {merchant} is live, and cannot bank with the simulated bank',
  direct_entry_not_allowed: inWords,

  file_not_found: 'merchant {merchant} has no file {number}',
  path_taken: '{path} exists already and is not overwritten',
  path_not_writable: '{path} cannot be written ({reason})',
  path_not_readable: '{path} cannot be read ({reason})',
  returns_not_readable_twice: '{path} cannot be read twice; nothing was imported',
  returns_changed_meanwhile: '{path} was changed while it was read; nothing was imported',
  returns_cut_short:
    '{path} is cut short, or was changed (no trailer speaks of exactly its items); nothing was imported',
  returns_line_unreadable:
    '{path} is not a returns file, or is cut short (line {line} cannot be read); nothing was imported',
  returns_differ: ({ path, lines, more }: Differing) => {
    const named = lines.map(
      ({ line, lodgementReference, reason }) => `line ${line} ${lodgementReference}: ${reason}`,
    );
    const all = more > 0 ? [...named, `and ${more} more`] : named;
    return `${path} differs from what was lodged or imported before (${all.join('; ')}); nothing was imported`;
  },

  gateways_at_work:
    '{processes} processes of the gateway work on this database, or did a moment ago: stop them, and try again after 20 seconds',
  counters_exhausted: ({ organisation }: { organisation: number | undefined }) =>
    `${organisation === undefined ? 'an organisation' : `organisation ${organisation}`} would have hardly any audits or IDs left; say by how many to move`,

  archive_too_young:
    'only what is at least {days} days old can be archived: events of later transactions may still be asked for',
  archive_damaged: '{path} is not an archive, is cut short, or was changed; nothing was removed',

  clock_needs_simulated_acquirers:
    'the clock can be moved only where every acquirer is simulated, not with {acquirers}',
  clock_has_live_merchant: 'the clock cannot be moved while a live merchant exists',
  clock_too_far_ahead: 'the clock can be at most ten years ahead',
  clock_has_dates_ahead:
    'the clock cannot go back: {transactions} transactions and {files} direct-debit files are dated ahead of real time. Wait until then, or begin a new installation',

  webhook_not_found: 'there is no webhook endpoint {endpoint}',
  webhook_url_not_allowed: ({ problem }: { problem: WebhookUrlProblem }) => WEBHOOK_URL_PROBLEMS[problem],
  webhook_types_unknown: 'there is no event type {unknown}; there are {known}',
  webhook_types_missing: 'no event type is named; there are {known}',
  webhook_too_many: 'merchant {merchant} has {most} webhook endpoints, and can have no more',
  webhook_event_not_found: 'there is no event {event} of this merchant; it may be older than events are kept',

  acquirer_not_found: 'there is no acquirer {acquirer}',
  acquirer_exists: 'the acquirer {acquirer} exists already',
  acquirer_not_allowed: inWords,
  acquirer_in_use: 'merchants pay over {acquirer}: {merchants}',
  acquirer_in_doubt:
    '{inDoubt} transactions are in doubt at {acquirer}: nobody could resolve them without it',
  acquirer_does_not_answer: '{acquirer}: {reason}',
  acquirer_of_other_mode: '{acquirer} is a {mode} link, and the merchant is not {mode}',
  acquirer_needs_real_time: 'a real acquirer needs real time, and the clock is ahead of it',
  acquirer_needs_terminals:
    'merchant {merchant} needs an acceptor ID and terminals to pay over this acquirer',
  route_not_allowed: inWords,
  route_not_found: 'merchant {merchant} has no such route',
  route_shares_exceed:
    'the shares of routes for the same payments and in the same place would add up to {percent} %, which is more than 100',
  route_too_many: 'merchant {merchant} would have more than {most} routes',
  acquirer_routed: 'routes of merchants lead to {acquirer}: {merchants}',
  acceptor_not_permitted: inWords,
  acceptor_not_allowed: inWords,
  brand_not_allowed: inWords,

  key_encryption_key_being_renewed: 'another process is renewing the key-encryption key',
  key_version_not_destroyable:
    'version {version} of merchant {merchant} cannot be destroyed: it must exist, have been replaced for a minute, and seal nothing',

  // Signing in to the console.
  sign_in_link_refused: 'this link was used already, is more than 15 minutes old, or is not valid',
  sign_in_failed: 'the name, the password or the code is wrong',
  passkey_refused: 'this passkey is not known here, or did not answer as it should',
  provider_refused: 'the identity provider did not identify an operator',
  passkey_not_found: 'there is no such passkey',
  last_passkey: 'this passkey is the only way to sign in: add another first',
  too_many_passkeys: 'an operator can have {most} passkeys at most',
  too_many_attempts:
    'there were too many attempts; wait half an hour, or ask an administrator for a new link',
  password_too_short: 'a password takes {least} characters or more',
  password_too_easy:
    'this password is too easily guessed: {because}. Take four or more unrelated words, or let a password manager make one',
  password_used_before: 'this is one of your last {count} passwords: choose another',
  code_refused: 'the code is wrong, or was used before',
  session_not_found: 'there is no session {id}',

  // Operators' requests and approvals.
  reason_not_allowed:
    'a reason is needed: 1 to 200 characters without control characters, and no card number',
  request_key_not_allowed: 'a key takes 16 to 64 letters, digits, and - _',
  request_key_used: 'this key was used for something else: a {operation} of transaction {audit}',
  request_not_found: 'there is no request {request}',
  request_outcome_unknown: ({ reason }: { key?: string; reason: string }) =>
    `the outcome is unknown (${reason}); repeat it with the same key: it happens at most once`,
  request_altered:
    'request {request} is not as it was stored: somebody has changed it in the database; nothing was done',
  request_of_changed_operator:
    'the operator who made or approved request {request} was changed or removed since; nothing was done: ask for it again',
  no_gateway_running:
    'no gateway runs on this database that could carry it out; nothing was stored or done: start one, and try again',
  request_decided: 'request {request} cannot be decided any more: it is {state}',
  request_of_same_operator:
    'request {request} needs the approval of another operator than the one who made it',
  export_recipient_not_shown:
    'a second person has to see who can open it: give each public key itself (age1…), and no file of them',
  second_person_needed:
    'request {request} waits for a second person; once it is approved, do the same again within an hour',
  nobody_else_can_approve: ({ request, from }: { request: number; from: string }) =>
    `request ${request} waits for a day, because nobody else can approve it: approve it yourself from ${from.slice(0, 16).replace('T', ' ')} (Sydney) on, then do the same again within an hour`,
  second_person_not_independent:
    'request {request}: {approver} cannot be the second person to {requester}: within the last seven days one of them was added, linked or changed by the other, by the same person, or from the command line without a token',
  approval_rules_contradict: 'a currency has one limit: name each once',
  approval_needs_operator: 'only a named operator can approve: an account of the system is not a person',

  // Wallets.
  wallet_key_not_found: 'merchant {merchant} has no key {key} for wallets',
  wallet_key_known: 'merchant {merchant} has this key for this wallet already',
  wallet_too_many_keys: 'merchant {merchant} has {most} keys for wallets already: remove one first',
  wallet_identity_unreadable: 'the files are not a certificate and its private key, each in PEM',
  wallet_key_is_identity:
    'key {key} of merchant {merchant} is a certificate of Apple: give it another with wallet identify, and remove this one',
  wallet_key_unreadable: 'the key is not a private key on the curve P-256, in PEM',
  wallet_roots_unreadable:
    'the file holds nothing to trust: it takes certificates of authorities in PEM for Apple Pay, and for Google Pay the JSON that Google publishes, with keys for ECv2 and the time when each expires',
  wallet_recipient_not_allowed:
    'a recipient is the merchant identifier of Apple or its SHA-256, or merchant:ID or gateway:ID of Google',
  wallet_gateway_merchant:
    'a recipient gateway:ID of Google needs what the merchant is called there, and no other takes that',

  // Settlement.
  settlement_file_without_header: 'the first line of {path} must be {columns}',
  acquirer_not_known: ({ acquirer, known }: { acquirer: string; known: readonly string[] }) =>
    `there is no acquirer ${named(acquirer)}; known are: ${known.join(', ')}`,
  difference_not_found: 'there is no difference {difference}',
  difference_looked_at: '{by} has looked at difference {difference} already',
  differences_not_named: 'name one difference, or a day and an acquirer',
  no_differences_open: ({ date, acquirer }: { date: string; acquirer: string }) =>
    `no difference of ${date} is open for the acquirer ${named(acquirer)}`,
  differences_changed: '{open} differences are open now, not {expected}: look at them again',

  // Checkouts.
  checkout_not_found: 'this merchant has no checkout {checkout}',
  checkout_not_open: 'the checkout {checkout} is {status}',
  checkout_changed:
    'the checkout {checkout} is not as it was sealed: somebody has changed it in the database',
  checkout_without_pages:
    'there are no pages for payers: set TOLLGATE_CHECKOUT_URL, or give TOLLGATE_CHECKOUT_PORT a port',
  checkout_not_allowed: inWords,

  // Schedules.
  schedule_not_found: 'this merchant has no schedule {schedule}',
  schedule_not_open: 'the schedule {schedule} is {status}',
  schedule_changed:
    'the schedule {schedule} is not as it was sealed: somebody has changed it in the database',

  // The vault, its exports and imports.
  customer_not_found: 'there is no customer {customer}',
  token_not_found: 'there is no token {token}, or it was deleted',
  former_id_not_found: 'no token of merchant {merchant} was imported as {formerId}',
  vault_not_enabled: 'merchant {merchant} does not have the vault product',
  export_unconfirmed:
    'merchant {merchant} is live: the holder of the key can open all {tokens} of its cards and accounts',
  recipient_unreadable:
    '{recipient} is neither an age public key, which begins with age1, nor a file of such keys',
  identity_unreadable: '{path} holds no secret key of age, which begins with AGE-SECRET-KEY-1',
  identity_missing: '{path} is encrypted by age: the secret key is needed to open it',
  identity_of_another: '{path} is encrypted to another key, or is not a complete age file',
  card_file_broken: '{path} is cut short, or was changed; what stood before that place is imported',
  card_file_is_pgp: '{path} is encrypted by PGP, which is opened elsewhere',
  card_file_in_clear: '{path} holds cards in clear, which must never be on a disk; nothing was imported',
  card_file_without_names:
    'the first line must name the columns, or every line be JSON; there is no column {missing}',
  source_not_allowed: 'a source takes 1 to 32 letters, digits, and . _ -',

  // The installation as a whole.
  nothing_lost: 'nothing is lost, or all of it was reconciled',
  lost_time_not_reconciled: ({ days }: { days: readonly OpenDay[] }) =>
    days
      .map(({ acquirer, date, reconciled, missingHere }) =>
        reconciled
          ? `${missingHere} payments of ${acquirer} on ${date} are not here, and nobody has looked at them`
          : `no file of ${acquirer} for ${date} was reconciled since the restore`,
      )
      .join('; '),
  demo_absent:
    'this is no demo: only an installation that `serve` has made as one is filled with made-up trade',
  demo_has_live_merchants: 'there is a live merchant here: made-up trade must not mix with real payments',
  not_distributed_engine:
    'this PostgreSQL has no Citus: there is nothing to distribute over, and nothing that has to be distributed',
  distribution_version:
    'Citus {version} is not one that this release was tried with; it takes 13.2 or a later 13',
  not_coordinator: 'this server is a worker of a Citus cluster; name its coordinator',
  coordinator_unknown:
    'Citus does not know its own coordinator; call its function citus_set_coordinator_host with the name that the other servers reach it by',
  no_workers: 'Citus knows no server but its coordinator; add others with its function citus_add_node',
  worker_forgets:
    '{server} runs with fsync off, or commits without waiting for its disk, and may lose payments',
  not_distributed:
    'Citus is installed and the transactions are not distributed, or not as this release needs it',
  distributed_without_citus:
    'the transactions of this database were distributed, and it has no Citus any more: they are elsewhere',
} as const satisfies Record<string, string | ((details: never) => string)>;

type Refusals = typeof REFUSALS;
export type RefusalCode = keyof Refusals;

type InBraces<Sentence> = Sentence extends `${string}{${infer Name}}${infer Rest}`
  ? Name | InBraces<Rest>
  : never;
type Shown = string | number | readonly (string | number)[];

/** The details of a refusal with this code; undefined if there are none. */
type RefusalDetails<Code extends RefusalCode> = Refusals[Code] extends (details: infer Details) => string
  ? Details
  : [InBraces<Refusals[Code]>] extends [never]
    ? undefined
    : { readonly [Name in InBraces<Refusals[Code]>]: Shown };

/** The operator's command cannot be carried out. */
export class Refusal<Code extends RefusalCode = RefusalCode> extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly code: Code,
    readonly details: RefusalDetails<Code>,
  ) {
    super(sentence(REFUSALS[code], details));
  }
}

function sentence(said: Refusals[RefusalCode], details: unknown): string {
  if (typeof said !== 'string') return said(details as never);
  const shown = details as Readonly<Record<string, Shown>>;
  return said.replaceAll(/\{(\w+)\}/g, (_, name: string) => [shown[name]].flat().join(', '));
}

export function refuse<Code extends RefusalCode>(
  code: Code,
  ...[details]: RefusalDetails<Code> extends undefined ? [] : [RefusalDetails<Code>]
): never {
  throw new Refusal(code, details as RefusalDetails<Code>);
}
