// Which way the money of a direct debit goes: a purchase is collected from the account, everything else is paid into it.

export type DirectDebitMode = 'debit' | 'credit';

export function directDebitMode(transactionType: string): DirectDebitMode {
  return transactionType === 'purchase' ? 'debit' : 'credit';
}
