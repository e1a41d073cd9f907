// Direct debit as a link that accepts everything. The bank learns of an item from the file that carries it, so nothing can be lost on the
// way, and nothing needs reversing.
import type { AcquirerLink, Decision, MoneyOperation, Pending } from './contract.js';

/** The merchant's own bank, to which the operator brings a file. */
export const OWN_BANK_LINK = 'directdebit';
/** The simulated bank, which takes the items of test merchants by itself. */
export const SIMULATED_BANK_LINK = 'simulated-bank';

export class DirectDebit implements AcquirerLink {
  /** An item stays with the bank whose link accepted it, even if the merchant changes banks. */
  static toOwnBank(): DirectDebit {
    return new DirectDebit(OWN_BANK_LINK, 'of_merchant');
  }

  static toSimulatedBank(): DirectDebit {
    return new DirectDebit(SIMULATED_BANK_LINK, 'test');
  }

  private constructor(
    readonly name: string,
    readonly mode: AcquirerLink['mode'],
  ) {}

  async open(): Promise<void> {}

  async close(): Promise<void> {}

  async ask({ operation }: { operation: MoneyOperation }): Promise<Decision | Pending> {
    return takenIn(operation);
  }

  /** A claimed item counts as accepted, even if the process died before saying so. */
  async inquire({ operation }: { operation: MoneyOperation }): Promise<Decision | Pending> {
    return takenIn(operation);
  }

  async reverse(): Promise<'reversed'> {
    return 'reversed';
  }
}

function takenIn(operation: MoneyOperation): Decision | Pending {
  // Claiming the void has made sure that no file carries its target, now or later.
  if (operation === 'void') return { kind: 'approved', responseCode: '00', responseMessage: 'Approved' };
  return { kind: 'pending' };
}
