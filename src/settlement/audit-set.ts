// A set of audits, of any organisation: a bit each, so that a day of millions fits into little memory.
import type { Audit, OrganisationId } from '../values/ids.js';

export interface AuditKey {
  readonly organisationId: OrganisationId;
  readonly audit: Audit;
}

/** In small blocks, so that a file full of made-up references cannot fill the memory. */
const BITS = 256;

export class AuditSet {
  readonly #blocks = new Map<string, Uint8Array>();

  has(key: AuditKey): boolean {
    const { block, byte, bit } = placeOf(key);
    return ((this.#blocks.get(block)?.[byte] ?? 0) & bit) !== 0;
  }

  /** Whether it is new. */
  add(key: AuditKey): boolean {
    // guard(reconciliation: a line that is there twice counts once): if (this.has(key)) return false; ⇒
    if (this.has(key)) return false;
    const { block, byte, bit } = placeOf(key);
    const bytes = this.#blocks.get(block) ?? new Uint8Array(BITS / 8);
    bytes[byte] = (bytes[byte] ?? 0) | bit;
    this.#blocks.set(block, bytes);
    return true;
  }
}

function placeOf({ organisationId, audit }: AuditKey): { block: string; byte: number; bit: number } {
  const within = audit % BITS;
  return { block: `${organisationId}/${(audit - within) / BITS}`, byte: within >> 3, bit: 1 << (within & 7) };
}
