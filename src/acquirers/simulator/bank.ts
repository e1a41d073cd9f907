// The simulated bank: takes the items of a direct-entry file, returns those whose account number asks for it, and records them in the
// simulator's ledger.
import type { BankAccount } from '../../values/bank-account.js';
import type { Cents } from '../../values/money.js';
import type { SimulatorLedger } from './ledger.js';

export interface LodgedItem {
  readonly reference: string;
  readonly operation: 'purchase' | 'refund' | 'standalone_refund';
  readonly amountCents: Cents;
  readonly account: BankAccount;
}

export class SimulatedBank {
  constructor(private readonly ledger: SimulatorLedger) {}

  /** Takes an item, idempotently. Returns the code with which it will come back, if it will. */
  async take({ reference, operation, amountCents, account }: LodgedItem): Promise<number | undefined> {
    const { entry } = await this.ledger.find(reference);
    if (entry === undefined) {
      await this.ledger.append({
        atMs: Date.now(),
        reference,
        operation,
        amountCents,
        currency: 'AUD',
        responseCode: '00',
      });
    }
    return returnCodeOf(account);
  }

  /** The item has come back: no money moved in the end. */
  async giveBack(reference: string): Promise<void> {
    const { reversed } = await this.ledger.find(reference);
    if (!reversed) await this.ledger.append({ atMs: Date.now(), reference, operation: 'reversal' });
  }
}

/** The digit R of account number 90000R. */
function returnCodeOf(account: BankAccount): number | undefined {
  const [, code] = /^90000([1-9])$/.exec(account.reveal()) ?? [];
  return code === undefined ? undefined : Number(code);
}
