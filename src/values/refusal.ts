// What an operator can be refused: every code, what it names, and one plain sentence. The sentences know neither the
// command line nor a page; whoever shows one may add what to do there, by its code.

const REFUSALS = {
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
  user_not_found: ({ username }: { username: string }) => `there is no user ${username}`,
  user_exists: ({ username }: { username: string }) => `the user ${username} exists already`,
  user_revoked: ({ username }: { username: string }) => `the user ${username} is revoked`,
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
