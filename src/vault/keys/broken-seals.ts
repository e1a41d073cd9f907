// Seals that do not open: the database was changed by something other than the gateway. Each is journalled, logged and counted.
import { journal } from '../../journal/journal.js';
import type { Queryable } from '../../postgres/database.js';
import type { Audit, TokenId } from '../../values/ids.js';
import type { Place } from './keys.js';

/** The same seal is journalled and logged again after this time. Repeated payments with it must not fill the journal. */
const AGAIN_AFTER_MS = 3_600_000;
/** Beyond this, the seals reported longest ago are forgotten. */
const MOST_REMEMBERED = 10_000;

export interface BrokenSealsParts {
  readonly database: Queryable;
  /** For the journal. */
  readonly actor: string;
  readonly onBroken: (place: Place) => void;
  /** The journal could not be written. */
  readonly onUnjournalled: (error: unknown) => void;
}

export class BrokenSeals {
  readonly #told = new Map<string, number>();
  #count = 0;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(private readonly parts: BrokenSealsParts) {}

  /** How many seals did not open since the process started. */
  get count(): number {
    return this.#count;
  }

  /** The callback for `DataKeys`. */
  readonly report = (place: Place): void => {
    this.#count += 1;
    const name = `${place.table}/${place.organisationId}/${place.row}`;
    const nowMs = performance.now();
    const toldMs = this.#told.get(name);
    if (toldMs !== undefined && nowMs - toldMs < AGAIN_AFTER_MS) return;
    this.#told.delete(name);
    this.#told.set(name, nowMs);
    if (this.#told.size > MOST_REMEMBERED) this.#told.delete(this.#told.keys().next().value as string);
    this.parts.onBroken(place);
    // guard(broken seals: each is in the journal): journal(this.parts.database, ⇒ Promise.resolve(
    const writing = journal(this.parts.database, this.#entry(place)).catch(this.parts.onUnjournalled);
    this.#writing = Promise.all([this.#writing, writing]);
  };

  /** Resolves when every report is in the journal. */
  async written(): Promise<void> {
    await this.#writing;
  }

  #entry({ table, organisationId, merchantId, row }: Place) {
    return {
      actor: this.parts.actor,
      action: 'seal.broken',
      organisationId,
      merchantId,
      ...(table === 'token' && { tokenId: row as TokenId }),
      ...(table === 'transaction' && { audit: row as Audit }),
      detail: `${table} ${row}`,
    } as const;
  }
}
