// Journal entries that decide something: whether a token was deleted, which of its seals is the newest, whether a data key was destroyed. Only
// an entry with a right MAC decides: Tollgate did not write the others.
import type { EntrySigner, SignedEntry } from './entry-signer.js';

/** As statements return it, in JSON. */
export interface DecidingEntry extends SignedEntry {
  readonly id: number;
  /** In base64. */
  readonly mac: string | null;
}

/** So many at most are asked for (`JOURNALLED_SEALS`, `KEY_DESTROYED`). There are fewer, unless somebody has forged some. */
const MOST_DECIDING = 20;

type OnForged = (entry: DecidingEntry) => void;

/** Of a token that was deleted. */
export const DELETED = -1;
/** Forged entries hide what the journal says. No seal has this number. */
const HIDDEN = -2;

/** The first one with a right MAC; `hidden` if there are only forged ones, and there may be more. */
function deciding(
  entries: readonly DecidingEntry[],
  signer: EntrySigner | undefined,
  onForged: OnForged,
): DecidingEntry | 'hidden' | undefined {
  for (const entry of entries) {
    const mac = entry.mac === null ? null : Buffer.from(entry.mac, 'base64');
    // guard(journal: an entry that Tollgate did not write decides nothing): signer.isSigned(entry, mac) ⇒ mac !== undefined
    if (signer === undefined || signer.isSigned(entry, mac)) return entry;
    onForged(entry);
  }
  // guard(journal: forged entries do not hide what it says): entries.length >= MOST_DECIDING ⇒ entries.length < 0
  return entries.length >= MOST_DECIDING ? 'hidden' : undefined;
}

/** The number of a token's newest seal, `DELETED`, or null if the token has not changed. Reads `JOURNALLED_SEALS`. */
export function journalledSeal(
  entries: readonly DecidingEntry[] | null,
  signer: EntrySigner | undefined,
  onForged: OnForged = (entry) => signer?.watch?.passedOver(entry.id),
): number | null {
  const found = deciding(entries ?? [], signer, onForged);
  if (found === undefined) return null;
  if (found === 'hidden') return HIDDEN;
  return found.action === 'token.deleted' ? DELETED : Number(/seal ([0-9]+)$/.exec(found.detail ?? '')?.[1]);
}

/** Reads `KEY_DESTROYED`. */
export function isKeyDestroyed(
  entries: readonly DecidingEntry[] | null,
  signer: EntrySigner | undefined,
): boolean {
  return deciding(entries ?? [], signer, (entry) => signer?.watch?.passedOver(entry.id)) !== undefined;
}
