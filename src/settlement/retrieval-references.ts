// What an acquirer that speaks ISO 8583 lists transactions by: the retrieval reference (field 37). A payment shares it with everything
// that goes back to it, and payments over two terminals may have the same one, so that type and amount tell them apart.
import type { Prepared } from '../acquirers/contract.js';
import { listedReference } from '../acquirers/iso8583/numbers.js';
import type { AcquirerLine } from './acquirer-line.js';
import type { AuditKey } from './audit-set.js';

interface Candidate extends AuditKey, Pick<AcquirerLine, 'transactionType' | 'amountCents' | 'currency'> {}

type Settled = Candidate & { readonly prepared: Prepared };

export class RetrievalReferences {
  /** Those of the day that no line has been found to be about yet. */
  readonly #left = new Map<string, Candidate[]>();

  add({ organisationId, audit, transactionType, amountCents, currency, prepared }: Settled): void {
    const reference = listedReference(prepared);
    if (reference === undefined) return;
    const candidate = { organisationId, audit, transactionType, amountCents, currency };
    const others = this.#left.get(reference);
    if (others === undefined) this.#left.set(reference, [candidate]);
    else others.push(candidate);
  }

  /** Whether anything of the day has this reference, listed or not. */
  has(reference: string): boolean {
    return this.#left.has(reference);
  }

  /** The transaction that the line says exactly. No other line is about it. */
  take(line: AcquirerLine): AuditKey | undefined {
    return this.#take(
      line,
      ({ transactionType, amountCents, currency }) =>
        transactionType === line.transactionType &&
        amountCents === line.amountCents &&
        currency === line.currency,
    );
  }

  /** Where none is left that says it exactly: the one that is most like it. */
  takeSimilar(line: AcquirerLine): AuditKey | undefined {
    const isOfType = ({ transactionType }: Candidate) => transactionType === line.transactionType;
    return this.#take(line, isOfType) ?? this.#take(line, () => true);
  }

  #take({ reference }: AcquirerLine, fits: (candidate: Candidate) => boolean): AuditKey | undefined {
    const candidates = this.#left.get(reference) ?? [];
    const place = candidates.findIndex(fits);
    return place < 0 ? undefined : candidates.splice(place, 1)[0];
  }
}
