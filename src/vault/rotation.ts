// Rotation while serving: a new data key for each merchant, and everything sealed anew under it, in bounded batches.
// It can be interrupted and gone on with at any point; several at once share the work.
import { setTimeout as sleep } from 'node:timers/promises';
import { type JournalEntry, journal } from '../journal/journal.js';
import type { Database, Queryable, Statement } from '../postgres/database.js';
import type { MerchantId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import type { KeyProvider, WrappedKey } from './key-provider.js';
import { type DataKeyRow, DataKeys, dataKeyContext, NEWEST_KNOWN_WITHIN_MS, renewProof } from './keys.js';
import { NEWEST_DATA_KEY } from './keys.sql.js';
import {
  ALL_DATA_KEYS,
  DESTROY_DATA_KEY,
  LOCK_MERCHANT,
  LOCK_REWRAPPING,
  MERCHANTS_WITH_KEYS,
  RESEALED,
  REWRAP_DATA_KEY,
} from './rotation.sql.js';
import type { SealedRows, SealOwner } from './sealed-rows.js';
import { type DataKey, open, seal } from './sealing.js';

export interface RotationProgress {
  readonly merchantId: MerchantId;
  readonly done: number;
  readonly total: number;
}

export interface RotationResult {
  readonly merchants: number;
  readonly rows: number;
}

interface SealedRow {
  readonly row: number;
  readonly keyVersion: number;
  readonly sealed: Buffer;
}

const BATCH = 1_000;
/** After every batch, so that payments are served in between. */
const BREATH_MS = 5;
/** A process that lags may seal under the old version for this long. */
const SETTLE_MS = NEWEST_KNOWN_WITHIN_MS + 1_000;
/** A version is destroyed at the earliest this long after a newer one was made. */
const DESTROY_AFTER_MS = 60_000;

/** Secrets that the key-encryption key wraps itself, each in a row with a name. */
export interface WrappedRows {
  readonly context: (name: string) => string;
  /** Every `name`, `keyId` and `wrapped`. */
  readonly all: Statement;
  /** Takes the name, the new key's ID, what it wrapped, and what was there before. */
  readonly rewrap: Statement;
}

export interface RotationParts {
  readonly database: Database;
  readonly provider: KeyProvider;
  /** For the journal. */
  readonly actor: string;
  /** Everything that is sealed under the data keys. */
  readonly sealed: readonly SealedRows[];
  /** Everything else that the key-encryption key wraps. */
  readonly wrapped: readonly WrappedRows[];
}

export class Rotation {
  readonly #keys: DataKeys;

  constructor(private readonly parts: RotationParts) {
    this.#keys = new DataKeys(parts.database, parts.provider);
  }

  /** New versions for every merchant, or for one. Goes on with an unfinished rotation before it begins another. */
  async rotate(
    merchantId: number | undefined,
    progress: (at: RotationProgress) => void,
  ): Promise<RotationResult> {
    const { rows: owners } = await this.parts.database.query<SealOwner>(MERCHANTS_WITH_KEYS, [
      merchantId ?? null,
    ]);
    let total = 0;
    for (const owner of owners) {
      const version = await this.#newVersion(owner);
      const expected = await this.#countOlder(owner, version);
      const tell = (done: number) =>
        progress({ merchantId: owner.merchantId, done, total: Math.max(expected, done) });
      total += await this.#resealAll(owner, version, tell);
      await journal(this.parts.database, this.#entry(owner, 'keys.rotated', `version ${version}`));
    }
    return { merchants: owners.length, rows: total };
  }

  /**
   * Wraps every data key anew under the provider's current key; no card data is touched. Only one at a time: of two at
   * once each would forget the other's key.
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
      // A process may just have wrapped a new data key under the old one, and store it only now.
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

  /** Returns how many data keys there are. */
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
    const { database, provider, wrapped: kinds } = this.parts;
    for (const { all, rewrap, context } of kinds) {
      const { rows } = await database.query<WrappedKey & { readonly name: string }>(all);
      for (const row of rows.filter(({ keyId }) => keyId !== current)) {
        const purpose = context(row.name);
        const { keyId, wrapped } = await provider.wrap(await provider.unwrap(row, purpose), purpose);
        await database.query(rewrap, [row.name, keyId, wrapped, row.wrapped]);
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

  /** What is still sealed under it, in dead rows or the write-ahead log, does not open any more without an old backup of the key. */
  async destroy(merchant: number, version: number): Promise<void> {
    const values = [merchant, version, DESTROY_AFTER_MS];
    const { rows } = await this.parts.database.query<SealOwner>(DESTROY_DATA_KEY, values);
    const owner = rows[0] ?? refuse('key_version_not_destroyable', { merchant, version });
    await journal(this.parts.database, this.#entry(owner, 'keys.destroyed', `version ${version}`));
  }

  async #newVersion(owner: SealOwner): Promise<number> {
    const { organisationId, merchantId } = owner;
    const newest = await this.parts.database.transaction(async (connection) => {
      await connection.query(LOCK_MERCHANT, [organisationId, merchantId]);
      const { rows } = await connection.query<DataKeyRow>(NEWEST_DATA_KEY, [organisationId, merchantId]);
      const current = (rows[0] as DataKeyRow).version;
      if (await this.#olderLeft(connection, owner, current)) return current;
      await this.#keys.add(organisationId, merchantId, current + 1, connection);
      await journal(connection, this.#entry(owner, 'keys.rotation_begun', `version ${current + 1}`));
      return current + 1;
    });
    return newest;
  }

  async #olderLeft(
    connection: Queryable,
    { organisationId, merchantId }: SealOwner,
    version: number,
  ): Promise<boolean> {
    for (const { left } of this.parts.sealed) {
      const { rows } = await connection.query<{ left: boolean }>(left, [organisationId, merchantId, version]);
      if (rows[0]?.left) return true;
    }
    return false;
  }

  async #countOlder({ organisationId, merchantId }: SealOwner, version: number): Promise<number> {
    let older = 0;
    for (const { count } of this.parts.sealed) {
      const values = [organisationId, merchantId, version];
      const { rows } = await this.parts.database.query<{ rows: number }>(count, values);
      older += rows[0]?.rows ?? 0;
    }
    return older;
  }

  async #resealAll(owner: SealOwner, version: number, tell: (done: number) => void): Promise<number> {
    const key = await this.#keys.version(owner.organisationId, owner.merchantId, version);
    let done = 0;
    tell(done);
    for (let settled = false; ; ) {
      for (const kind of this.parts.sealed) {
        for (let after = 0; ; ) {
          const batch = await this.#resealBatch(owner, key, kind, after);
          done += batch.count;
          tell(done);
          if (batch.count === 0) break;
          after = kind.inOrder ? batch.last : 0;
          await sleep(BREATH_MS);
        }
      }
      // A process that had not heard of the new version yet, or a row that was locked, may have left something behind.
      if (settled && !(await this.#olderLeft(this.parts.database, owner, version))) return done;
      if (!settled) await sleep(SETTLE_MS);
      settled = true;
    }
  }

  async #resealBatch(
    owner: SealOwner,
    key: DataKey,
    kind: SealedRows,
    after: number,
  ): Promise<{ count: number; last: number }> {
    const { organisationId, merchantId } = owner;
    return this.parts.database.transaction(async (connection) => {
      const values = [organisationId, merchantId, key.version, BATCH, after];
      const { rows } = await connection.query<SealedRow>(kind.take, values);
      if (rows.length === 0) return { count: 0, last: after };
      const resealed: { row: number; sealed: Buffer }[] = [];
      for (const { row, keyVersion, sealed } of rows) {
        const place = kind.place(owner, row);
        const old = await this.#keys.version(organisationId, merchantId, keyVersion);
        resealed.push({ row, sealed: seal(key, place, open(old, place, sealed)) });
      }
      const renewed = RESEALED.encode(resealed);
      await connection.query(kind.reseal, [organisationId, merchantId, key.version, ...renewed]);
      return { count: rows.length, last: (rows.at(-1) as SealedRow).row };
    });
  }

  #entry(owner: SealOwner, action: JournalEntry['action'], detail: string): JournalEntry {
    return { ...owner, actor: this.parts.actor, action, detail };
  }
}
