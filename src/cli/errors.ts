// How the commands word what went wrong: one line for everything that an operator can put right.
import { CommanderError } from 'commander';
import { lineForOperator } from '../gateway/database/connection.js';
import { type FieldProblem, Refusal, type RefusalCode } from '../values/refusal.js';
import { SealBroken } from '../vault/keys/keys.js';

type Wording<Code extends RefusalCode> = (refusal: Refusal<Code>) => string;

/** Refusals for which the command line has words of its own: what to type instead. */
const HERE: { readonly [Code in RefusalCode]?: Wording<Code> } = {
  live_merchant_needs_real_time: ({ message }) => `${message}; \`tollgate clock reset\` brings it back`,
  operator_not_proved: ({ message }) => `${message}, in TOLLGATE_OPERATOR_TOKEN`,
  second_person_needed: ({ message }) => `${message}; \`tollgate approval list\` shows it`,
  nobody_else_can_approve: ({ message, details }) =>
    `${message}; \`tollgate approval refuse ${details.request}\` takes it back`,
  operator_must_name_organisation: ({ message }) => `${message}, with --organisation or --merchant`,
  user_seal_broken: ({ message }) =>
    `${message}; look at \`tollgate user list\`, then \`user revoke\` it, or \`user rotate --reseal\` if it is right`,
  journal_changed_before_sealing: ({ message }) =>
    `${message}; look at \`tollgate journal verify\` and find out who; bring back a backup, or seal all as it is with \`tollgate migrate --changed-journal-i-know\``,
  gateways_serve_before_sealing: ({ message }) => `${message}; stop them, and try again 20 seconds later`,
  subject_not_sealable: ({ message }) =>
    `${message}; use \`tollgate user revoke\` or \`user rotate --reseal\`, \`operator remove\`, \`approval require\` or \`approval refuse\``,
  acquirer_unprotected: ({ message }) =>
    `${message}; give --tls and --mac-key-file, or --plaintext-i-know where the way itself is protected`,
  organisation_row_broken: ({ message, details }) => `${message}, with --even-broken ${details.what}`,
  organisation_events_wait: ({ message }) => `${message}; \`tollgate event status\` shows it`,
  seal_broken: ({ message, details }) =>
    `${message}; find out who, put it right, then seal it as it is with \`tollgate keys seal ${details.subject}\``,
  several_organisations: ({ message }) => `${message}, with --organisation or --merchant`,
  audit_in_several_organisations: ({ message }) => `${message}; say which with --organisation`,
  no_gateway_running: ({ message }) => `${message}; \`tollgate serve\` starts one`,
  request_outcome_unknown: ({ message, details }) =>
    details.key === undefined ? message : `${message}, with --key ${details.key}`,
  transaction_under_way: ({ message }) => `${message}; \`tollgate transaction in-doubt\` shows it`,
  previous_key_provider_unset: () =>
    'TOLLGATE_PREVIOUS_KEY_PROVIDER is needed with keys move: the provider that is to be left',
  period_ends_before_it_begins: () => '--from must not be after --until',
  surcharge_without_rules: () => 'give at least one of --default, --method and --card',
  surcharge_ends_before_it_begins: () => '--from must not be after --until',
  surcharge_perhaps_forbidden: ({ message }) =>
    `${message}; if this merchant may all the same, say so with --i-may`,
  bank_not_set: ({ message }) => `${message}; \`tollgate directdebit set\` says how it lodges`,
  bank_needs_real_time: ({ message }) => `${message}; \`tollgate clock reset\` brings it back`,
  live_merchant_needs_real_bank: ({ message }) => `${message}; leave out --simulated`,
  direct_entry_not_allowed: ({ details }) => byOption(details.problems),
  acceptor_not_permitted: ({ details }) => byOption(details.problems),
  acceptor_not_allowed: ({ details }) => byOption(details.problems),
  brand_not_allowed: ({ details }) => byOption(details.problems),
  acquirer_not_allowed: ({ details }) => byOption(details.problems),
  not_distributed: ({ message }) => `${message}; run \`tollgate distribute\``,
  differences_not_named: ({ message }) => `${message}, with --date and --acquirer`,
  lost_time_not_reconciled: ({ message }) =>
    `${message}; see \`tollgate settlement reconcile\` and \`settlement looked-at\`, or say with --note how you know what is missing`,
  counters_exhausted: ({ message }) => `${message}, with --ahead`,
  route_not_allowed: ({ details }) => byOption(details.problems),
  route_not_found: ({ message }) => `${message}; \`tollgate route show\` shows what it has`,
  acquirer_routed: ({ message }) => `${message}; take them away with \`tollgate route off --acquirer\``,
  acquirer_in_use: ({ message }) => `${message}; give them another with \`tollgate merchant set --acquirer\``,
  acquirer_in_doubt: ({ message }) => `${message}; \`tollgate transaction in-doubt\` shows them`,
  acquirer_needs_terminals: ({ message }) => `${message}; give --acceptor-id and --terminals`,
  export_unconfirmed: ({ message }) => `${message}; if you mean it, say so with --yes`,
  identity_missing: ({ message }) => `${message}, with --identity FILE`,
  card_file_in_clear: ({ message }) =>
    `${message}; encrypt it with \`age -r\`, or pipe it: \`gpg --decrypt cards.gpg | tollgate vault import - …\` (for made-up cards of a test merchant there is --clear-test-file)`,
  card_file_is_pgp: ({ message, details }) =>
    `${message}: \`gpg --decrypt ${details.path === '-' ? 'FILE' : details.path} | tollgate vault import - …\``,
  acquirer_needs_real_time: ({ message }) => `${message}; \`tollgate clock reset\` brings it back`,
};

export function explain(error: unknown): string {
  if (error instanceof CommanderError) {
    return `${error.message.replace(/^error: /, '').replaceAll('\n', ' ')} (tollgate --help shows the commands)`;
  }
  if (error instanceof Refusal) return wordingOf(error);
  if (error instanceof SealBroken) return `${error.message}; \`tollgate keys verify\` looks at everything`;
  return lineForOperator(error) ?? (error as Error).stack ?? String(error);
}

function wordingOf<Code extends RefusalCode>(refusal: Refusal<Code>): string {
  const wording = HERE[refusal.code] as Wording<Code> | undefined;
  return wording?.(refusal) ?? refusal.message;
}

function byOption(problems: readonly FieldProblem[]): string {
  return problems.map(({ field, rule }) => `${OPTIONS[field] ?? optionOf(field)} ${rule}`).join('; ');
}

/** What is given in another way than by an option of its name. */
const OPTIONS: Readonly<Record<string, string>> = {
  name: 'the name',
  deadlineMs: '--deadline',
  macKeys: '--mac-key-file:',
  trusted: '--tls-ca-file',
};

/** The option for a field: `--user-name` for `userName`. */
function optionOf(field: string): string {
  return `--${field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
