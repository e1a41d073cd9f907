// What an operator can be refused about the vault, and about moving it: codes and sentences, as in `refusal.ts`.

export const VAULT_REFUSALS = {
  customer_not_found: ({ customer }: { customer: number }) => `there is no customer ${customer}`,
  token_not_found: ({ token }: { token: number }) => `there is no token ${token}, or it was deleted`,
  former_id_not_found: ({ formerId, merchant }: { formerId: string; merchant: number }) =>
    `no token of merchant ${merchant} was imported as ${formerId}`,
  vault_not_enabled: ({ merchant }: { merchant: number }) =>
    `merchant ${merchant} does not have the vault product`,
  export_unconfirmed: ({ merchant, tokens }: { merchant: number; tokens: number }) =>
    `merchant ${merchant} is live: whoever has the key can open all ${tokens} cards and accounts of it`,
  recipient_unreadable: ({ recipient }: { recipient: string }) =>
    `${recipient} is no public key of age, which begins with age1, and no file of such keys`,
  identity_unreadable: ({ path }: { path: string }) =>
    `${path} holds no secret key of age, which begins with AGE-SECRET-KEY-1`,
  identity_missing: ({ path }: { path: string }) =>
    `${path} is encrypted by age: the secret key is needed to open it`,
  identity_of_another: ({ path }: { path: string }) =>
    `${path} is encrypted to another key than this one, or is no whole file of age`,
  card_file_broken: ({ path }: { path: string }) =>
    `${path} is cut short, or was changed; what stood before that place is imported`,
  card_file_is_pgp: ({ path }: { path: string }) => `${path} is encrypted by PGP, which is opened elsewhere`,
  card_file_in_clear: ({ path }: { path: string }) =>
    `${path} holds cards in clear, which must never be on a disk; nothing was imported`,
  card_file_without_names: ({ missing }: { missing: string }) =>
    `the first line must name the columns, or every line be JSON; there is no column ${missing}`,
  source_not_allowed: () => 'a source takes 1 to 32 letters, digits, and . _ -',
} as const;
