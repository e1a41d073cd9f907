// Direct debit as the pipeline sees it: a link that takes everything in. The bank hears of an item when the file
// is made that carries it, so nothing can be lost on the way there, and nothing needs reversing.
import type { AcquirerLink, Decision, MoneyOperation, Pending } from './contract.js';

/** The merchant's own bank, which gets its items in a file from the operator. */
const OWN_BANK = 'directdebit';
/** The simulated bank, which takes the items of test merchants by itself. */
const SIMULATED_BANK = 'simulated-bank';

export class DirectDebit implements AcquirerLink {
  /** An item stays with the bank whose link took it in, whatever bank the merchant has later. */
  static toOwnBank(): DirectDebit {
    return new DirectDebit(OWN_BANK, 'of_merchant');
  }

  static toSimulatedBank(): DirectDebit {
    return new DirectDebit(SIMULATED_BANK, 'test');
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

  /** What was claimed is as good as taken in, also if the process died before it could say so. */
  async inquire({ operation }: { operation: MoneyOperation }): Promise<Decision | Pending> {
    return takenIn(operation);
  }

  async reverse(): Promise<'reversed'> {
    return 'reversed';
  }
}

function takenIn(operation: MoneyOperation): Decision | Pending {
  // The claim of a void has made sure that no file carries its target, and that none will.
  if (operation === 'void') return { kind: 'approved', responseCode: '00', responseMessage: 'Approved' };
  return { kind: 'pending' };
}
