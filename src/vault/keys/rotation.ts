// Key rotation while serving: a new data key for each merchant, and everything resealed under it in bounded batches. It can be
// interrupted and resumed at any point, and several processes share the work.
import { setTimeout as sleep } from 'node:timers/promises';
import { type JournalEntry, journal } from '../../journal/journal.js';
import type { Database, Queryable } from '../../postgres/database.js';
import type { MerchantId } from '../../values/ids.js';
import { refuse } from '../../values/refusal.js';
import {
  type DataKey,
  type DataKeyRow,
  DataKeys,
  type OnBroken,
  SETTLE_MS,
  SealBroken,
  seal,
} from './keys.js';
import { NEWEST_DATA_KEY } from './keys.sql.js';
import { Rewrapping, type RewrappingParts } from './rewrapping.js';
import {
  DESTROY_DATA_KEY,
  EMPTIED_DATA_KEYS,
  LOCK_MERCHANT,
  MERCHANTS_WITH_KEYS,
  RESEALED,
} from './rotation.sql.js';
import { locked, type SealedRow, type SealedRows, type SealOwner } from './sealed-rows.js';

export interface RotationProgress {
  readonly merchantId: MerchantId;
  readonly done: number;
  readonly total: number;
}

export interface RotationResult {
  readonly merchants: number;
  readonly rows: number;
  /** Rows whose seal does not open. They stay as they are. */
  readonly broken: number;
}

const BATCH = 1_000;
/** After every batch, so that payments are served in between. */
const BREATH_MS = 5;
/** A version is destroyed at the earliest this long after a newer one was created. */
const DESTROY_AFTER_MS = 60_000;

export interface RotationParts extends RewrappingParts {
  /** Everything that is sealed under the data keys. */
  readonly sealed: readonly SealedRows[];
  readonly onBroken?: OnBroken;
  /** Where to read data keys while rows are locked, if not on the same sessions: those may all be taken. */
  readonly keysDatabase?: Database | undefined;
  /** How long to rest after each batch, as a multiple of the batch's own time. */
  readonly rest?: number;
}

interface NewVersion {
  readonly isDue: (newest: DataKeyRow) => boolean;
  /** A version whose rotation is finished, although something is left under older ones. */
  readonly finished?: number;
}

export class Rotation {
  readonly #keys: DataKeys;

  constructor(private readonly parts: RotationParts) {
    this.#keys = new DataKeys(parts.keysDatabase ?? parts.database, parts.provider, parts.onBroken);
  }

  /** New versions for every merchant, or for one. Resumes an unfinished rotation before it starts another. */
  async rotate(
    merchantId: number | undefined,
    progress: (at: RotationProgress) => void,
  ): Promise<RotationResult> {
    const { rows: owners } = await this.parts.database.query<SealOwner>(MERCHANTS_WITH_KEYS, [
      merchantId ?? null,
    ]);
    let [rows, broken] = [0, 0];
    for (const owner of owners) {
      const result = await this.rotateOne(owner, () => true, progress);
      rows += result.rows;
      broken += result.broken;
    }
    return { merchants: owners.length, rows, broken };
  }

  /** Rotates one merchant's key, if it is still due once the merchant is locked. */
  async rotateOne(
    owner: SealOwner,
    isDue: (newest: DataKeyRow) => boolean,
    progress: (at: RotationProgress) => void,
  ): Promise<Omit<RotationResult, 'merchants'>> {
    const { version, fresh } = await this.#newVersion(owner, { isDue });
    const expected = await this.#countOlder(owner, version);
    const tell = (done: number) =>
      progress({ merchantId: owner.merchantId, done, total: Math.max(expected, done) });
    const resealed = await this.#resealAll(owner, version, tell);
    await this.#keys.recordSeals();
    await journal(this.parts.database, this.#entry(owner, 'keys.rotated', `version ${version}`));
    // The remaining rows did not open. This was not an interrupted rotation.
    const again = !fresh && resealed.rows === 0 && resealed.broken > 0;
    if (!again) return resealed;
    return this.#rotateAgain(owner, version, isDue, tell);
  }

  /** Although something is left under an older version: its seals are broken. */
  async #rotateAgain(
    owner: SealOwner,
    version: number,
    isDue: (newest: DataKeyRow) => boolean,
    tell: (done: number) => void,
  ): Promise<Omit<RotationResult, 'merchants'>> {
    const next = await this.#newVersion(owner, { isDue, finished: version });
    if (!next.fresh) return { rows: 0, broken: 0 };
    const resealed = await this.#resealAll(owner, next.version, tell);
    await journal(this.parts.database, this.#entry(owner, 'keys.rotated', `version ${next.version}`));
    return resealed;
  }

  /** See `Rewrapping`. */
  rewrap(): Promise<number> {
    return new Rewrapping(this.parts).rewrap();
  }

  /** Anything still sealed under it, in dead rows or the write-ahead log, now opens only with an old backup of the key. */
  async destroy(merchant: number, version: number): Promise<void> {
    // guard(destroying a key: with its entry in the journal, or not at all): await this.parts.database.transaction(async (connection ⇒ const connection = this.parts.database; ⏎ await (async (
    await this.parts.database.transaction(async (connection) => {
      const values = [merchant, version, DESTROY_AFTER_MS];
      const { rows } = await connection.query<SealOwner>(DESTROY_DATA_KEY, values);
      const owner = rows[0] ?? refuse('key_version_not_destroyable', { merchant, version });
      await journal(connection, this.#entry(owner, 'keys.destroyed', `version ${version}`));
      // guard(destroying a key: with its entry in the journal, or not at all): ; ⇒ ();
    });
  }

  /** The newest version if it is not due or its rotation is unfinished; `finished` names one that is finished. */
  async #newVersion(
    owner: SealOwner,
    { isDue, finished }: NewVersion,
  ): Promise<{ version: number; fresh: boolean }> {
    const { organisationId, merchantId } = owner;
    return this.parts.database.transaction(async (connection) => {
      await connection.query(LOCK_MERCHANT, [organisationId, merchantId]);
      const { rows } = await connection.query<DataKeyRow>(NEWEST_DATA_KEY, [organisationId, merchantId]);
      const newest = rows[0] as DataKeyRow;
      const { version } = newest;
      if (!isDue(newest)) return { version, fresh: false };
      if (version !== finished && (await this.#olderLeft(connection, owner, version)))
        return { version, fresh: false };
      await this.#keys.add(organisationId, merchantId, version + 1, connection);
      await journal(connection, this.#entry(owner, 'keys.rotation_begun', `version ${version + 1}`));
      return { version: version + 1, fresh: true };
    });
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

  async #resealAll(
    owner: SealOwner,
    version: number,
    tell: (done: number) => void,
  ): Promise<{ rows: number; broken: number }> {
    const key = await this.#keys.version(owner.organisationId, owner.merchantId, version);
    const broken = this.parts.sealed.map((): number[] => []);
    let done = 0;
    tell(done);
    for (let settled = false; ; ) {
      for (const [index, kind] of this.parts.sealed.entries()) {
        for (let after = 0; ; ) {
          const began = performance.now();
          const batch = await this.#resealBatch(owner, key, kind, after, broken[index] as number[]);
          done += batch.count;
          tell(done);
          if (batch.last === undefined) break;
          after = kind.inOrder ? batch.last : 0;
          await sleep(BREATH_MS + (performance.now() - began) * (this.parts.rest ?? 0));
        }
      }
      // A process unaware of the new version, or a locked row, may have left something behind.
      const brokenRows = broken.reduce((sum, rows) => sum + rows.length, 0);
      if (settled && (await this.#countOlder(owner, version)) <= brokenRows) {
        const { organisationId, merchantId } = owner;
        await this.parts.database.query(EMPTIED_DATA_KEYS, [organisationId, merchantId, version]);
        return { rows: done, broken: brokenRows };
      }
      if (!settled) await sleep(SETTLE_MS);
      settled = true;
    }
  }

  async #resealBatch(
    owner: SealOwner,
    key: DataKey,
    kind: SealedRows,
    after: number,
    broken: number[],
  ): Promise<{ count: number; last: number | undefined }> {
    const { organisationId, merchantId } = owner;
    return this.parts.database.transaction(async (connection) => {
      const values = [organisationId, merchantId, key.version, BATCH, after, broken];
      const { rows } = await connection.query<SealedRow>(locked(kind.page), values);
      const resealed: { row: number; sealed: Buffer }[] = [];
      for (const taken of rows) {
        const place = kind.place(owner, taken);
        try {
          const text = await this.#keys.open(place, taken.keyVersion, taken.sealed);
          resealed.push({ row: taken.row, sealed: seal(key, place, text) });
        } catch (error) {
          // Somebody has changed the row. It stays as it is, as evidence.
          if (!(error instanceof SealBroken)) throw error;
          broken.push(taken.row);
        }
      }
      if (resealed.length > 0) {
        const renewed = RESEALED.encode(resealed);
        await connection.query(kind.reseal, [organisationId, merchantId, key.version, ...renewed]);
      }
      return { count: resealed.length, last: rows.at(-1)?.row };
    });
  }

  #entry(owner: SealOwner, action: JournalEntry['action'], detail: string): JournalEntry {
    return { ...owner, actor: this.parts.actor, action, detail };
  }
}
