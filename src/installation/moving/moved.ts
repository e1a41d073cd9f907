// What a move says of itself, to the operator and in both journals.
import { createHash } from 'node:crypto';
import type { Compared } from './copying.js';
import type { Size } from './obstacles.js';

export interface Sums {
  readonly transactions: number;
  readonly amountCents: number;
  readonly inDoubt: number;
  readonly settledCents: number;
  readonly tokens: number;
  readonly customers: number;
}

export interface Moved extends Sums {
  readonly move: string;
  readonly organisation: number;
  readonly from: string;
  readonly to: string;
  readonly outcome: 'moved' | 'taken back' | 'finished';
  readonly rowsCopied: number;
  /** From when on the source refused, until the destination was open. */
  readonly closedMs: number | null;
  readonly operatorsLeft: readonly string[];
  readonly broken: readonly string[];
  /** Of all tables together. */
  readonly sha256: string | null;
}

export interface Foreseen {
  readonly organisation: number;
  readonly from: string;
  readonly to: string;
  readonly obstacles: readonly string[];
  readonly operatorsLeft: readonly string[];
  readonly size: Size;
}

export function inWords({
  transactions,
  amountCents,
  inDoubt,
  settledCents,
  tokens,
  customers,
}: Sums): string {
  return `${transactions} transactions of ${amountCents} cents, ${inDoubt} in doubt, ${settledCents} cents settled, ${tokens} tokens of ${customers} customers`;
}

export function digestOf(compared: readonly Compared[]): string {
  const hash = createHash('sha256');
  for (const { table, rows, sha256 } of compared) hash.update(`${table} ${rows} ${sha256}\n`);
  return hash.digest('hex');
}
