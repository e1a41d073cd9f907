// Rewraps every data key, and everything else under the key-encryption key, under the provider's current key.
import { setTimeout as sleep } from 'node:timers/promises';
import { journal } from '../../journal/journal.js';
import type { Database } from '../../postgres/database.js';
import { refuse } from '../../values/refusal.js';
import type { KeyProvider, WrappedKey } from './key-provider.js';
import { type DataKeyRow, dataKeyContext, renewProof, SETTLE_MS } from './keys.js';
import { ALL_DATA_KEYS, LOCK_REWRAPPING, REWRAP_DATA_KEY } from './rotation.sql.js';
import type { SealOwner } from './sealed-rows.js';
import type { WrappedRows } from './wrapped-rows.js';

export interface RewrappingParts {
  readonly database: Database;
  readonly provider: KeyProvider;
  /** For the journal. */
  readonly actor: string;
  /** Everything else that the key-encryption key wraps. */
  readonly wrapped: readonly WrappedRows[];
}

export class Rewrapping {
  constructor(private readonly parts: RewrappingParts) {}

  /**
   * Rewraps every data key under the provider's current key; no card data is touched. Only one at a time: two at once would
   * each forget the other's key.
   */
  async rewrap(): Promise<number> {
    return this.parts.database.transaction(async (connection) => {
      const { rows } = await connection.query<{ locked: boolean }>(LOCK_REWRAPPING);
      if (!rows[0]?.locked) refuse('key_encryption_key_being_renewed');
      return this.#renewAndRewrap();
    });
  }

  async #renewAndRewrap(): Promise<number> {
    await this.parts.provider.renew?.();
    const current = await renewProof(this.parts.database, this.parts.provider, true);
    let count = await this.#rewrapAll(current);
    await this.#rewrapOthers(current);
    if (this.parts.provider.forgetOthers !== undefined) {
      // A process may just have wrapped a new data key under the old key, and store it only now.
      // guard(renewing the key-encryption key: what a process has just stored under the old one is wrapped anew, too): count = await this.#rewrapAll(current); ⇒
      await sleep(SETTLE_MS);
      count = await this.#rewrapAll(current);
      await this.#rewrapOthers(current);
    }
    await journal(this.parts.database, {
      actor: this.parts.actor,
      action: 'keys.rewrapped',
      detail: `${count} data keys`,
    });
    await this.parts.provider.forgetOthers?.();
    return count;
  }

  /** Returns the number of data keys. */
  async #rewrapAll(current: string): Promise<number> {
    let count = 0;
    let after: [number, number, number] = [0, 0, 0];
    for (;;) {
      const { rows } = await this.parts.database.query<SealOwner & DataKeyRow>(ALL_DATA_KEYS, after);
      for (const row of rows) {
        if (row.keyId !== current) await this.#rewrapOne(row);
        after = [row.organisationId, row.merchantId, row.version];
        count += 1;
      }
      if (rows.length === 0) return count;
    }
  }

  async #rewrapOthers(current: string): Promise<void> {
    const { database, provider, actor, wrapped: kinds } = this.parts;
    // guard(moving the key: the keys of the installation go along): ) ⇒ .slice(kinds.length))
    for (const { all, rewrap, context, resealing } of kinds) {
      const { rows } = await database.query<WrappedKey & { readonly name: string }>(all);
      for (const row of rows.filter(({ keyId }) => keyId !== current)) {
        const purpose = context(row.name);
        const { keyId, wrapped } = await provider.wrap(await provider.unwrap(row, purpose), purpose);
        const values = [row.name, keyId, wrapped, row.wrapped];
        if (resealing === undefined) await database.query(rewrap, values);
        else
          await database.transaction((connection) =>
            resealing(connection, actor, row.name, () => connection.query(rewrap, values)),
          );
      }
    }
  }

  async #rewrapOne(row: SealOwner & DataKeyRow): Promise<void> {
    const { organisationId, merchantId, version } = row;
    const context = dataKeyContext(organisationId, merchantId, version);
    const { keyId, wrapped } = await this.parts.provider.wrap(
      await this.parts.provider.unwrap(row, context),
      context,
    );
    const values = [organisationId, merchantId, version, keyId, wrapped, row.wrapped];
    await this.parts.database.query(REWRAP_DATA_KEY, values);
  }
}
