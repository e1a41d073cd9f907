// Data keys and seals. Each merchant has a series of data key versions, wrapped by the key-encryption key. The newest seals,
// all open. A seal is AES-256-GCM, bound to the place of its ciphertext: moved elsewhere, it does not open.
import { createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import { type DecidingEntry, isKeyDestroyed } from '../../journal/deciding-entries.js';
import { signerOf } from '../../journal/entry-signer.js';
import type { EntryOf } from '../../postgres/batches.js';
import { type Database, isUndefined, type Queryable } from '../../postgres/database.js';
import { decrypt, encrypt } from '../../values/aes-gcm.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import { secretsWereUsed } from '../../values/traces-of-secrets.js';
import { makeInstallationKey } from './installation-keys.js';
import { type KeyProvider, KeyUnavailable } from './key-provider.js';
import {
  ADD_DATA_KEY,
  COUNT_SEALS,
  COUNTED,
  DATA_KEY,
  KEY_PROOF,
  KNOWN_KEYS,
  NEWEST_DATA_KEY,
  OTHER_NEWEST_KEYS,
  SET_KEY_PROOF,
} from './keys.sql.js';

export interface DataKeyRow {
  readonly version: number;
  readonly keyId: string;
  readonly wrapped: Buffer;
}

interface FoundDataKey extends DataKeyRow {
  readonly destroyed: readonly DecidingEntry[] | null;
}

/** Called for every seal that does not open. */
export type OnBroken = (place: Place) => void;

interface Newest {
  readonly organisationId: OrganisationId;
  readonly key: Promise<DataKey>;
  /** When it was last certain to be the newest. */
  seenAtMs: number;
  /** Once it is loaded. */
  version: number | undefined;
  /** At which look it was last needed. */
  needed: number;
}

/** How long a process may still seal under a version after a newer one was created. */
const NEWEST_KNOWN_WITHIN_MS = 1_000;
/** After so many looks in which nobody needed it, a key is read again when it is needed. */
const LOOKS_UNNEEDED = 60;
/** A slow process may seal under the old version for this long. */
export const SETTLE_MS = NEWEST_KNOWN_WITHIN_MS + 1_000;
const PROOF = Buffer.from('tollgate');
const PROOF_CONTEXT = 'tollgate/proof';

/** The purpose that a data key is wrapped for. */
export function dataKeyContext(
  organisationId: OrganisationId,
  merchantId: MerchantId,
  version: number,
): string {
  return `tollgate/data-key/${organisationId}/${merchantId}/${version}/bound`;
}

const ATTESTATION_BYTES = 16;

/**
 * Makes sure that the key-encryption key is the one this database was sealed under. A provider that creates its own key does so
 * only if nothing was ever sealed in the database.
 */
export async function proveKey(database: Queryable, provider: KeyProvider): Promise<void> {
  const { rows } = await database.query<{ keyId: string; wrapped: Buffer }>(KEY_PROOF);
  const [proof] = rows;
  if (proof === undefined) {
    await provider.prepare?.();
    await renewProof(database, provider, false);
    // Two processes may have started at once: the stored proof decides.
    const stored = await database.query<{ keyId: string; wrapped: Buffer }>(KEY_PROOF);
    if (stored.rows[0] !== undefined) await checkProof(provider, stored.rows[0]);
    return;
  }
  await checkProof(provider, proof);
}

/** Returns the ID of the key-encryption key that made it. */
export async function renewProof(
  database: Queryable,
  provider: KeyProvider,
  replace: boolean,
): Promise<string> {
  const { keyId, wrapped } = await provider.wrap(PROOF, PROOF_CONTEXT);
  await database.query(SET_KEY_PROOF, [keyId, wrapped, replace]);
  return keyId;
}

/** For a database that may not have a schema yet: fails if the key is not the one it was sealed under. */
export async function checkKeyIfProven(database: Database, provider: KeyProvider): Promise<void> {
  const found = await database
    .query<{ keyId: string; wrapped: Buffer }>(KEY_PROOF)
    .catch((error: unknown) => {
      if (isUndefined(error)) return undefined;
      throw error;
    });
  if (found?.rows[0] !== undefined) await checkProof(provider, found.rows[0]);
}

async function checkProof(provider: KeyProvider, proof: { keyId: string; wrapped: Buffer }): Promise<void> {
  const opened = await provider.unwrap(proof, PROOF_CONTEXT);
  if (!opened.equals(PROOF))
    throw new KeyUnavailable('the key-encryption key is not the one that this database was sealed under');
}

/** The key will not come back. */
class KeyDestroyed extends KeyUnavailable {}

export class DataKeys {
  readonly #newest = new Map<MerchantId, Newest>();
  /** The last look whether the newest keys are still these, of all merchants. */
  #looks = 0;
  #looking: Promise<void> | undefined;
  readonly #byVersion = new Map<string, Promise<DataKey>>();
  readonly #opened: { organisationId: OrganisationId; merchantId: MerchantId; key: DataKey }[] = [];
  #attesting: Promise<KeyObject> | undefined;

  constructor(
    private readonly database: Queryable,
    private readonly provider: KeyProvider,
    private readonly onBroken: OnBroken = () => {},
  ) {}

  /** Opens a seal. Throws `SealBroken` if the seal, or the row it is bound to, was changed, moved or set back. */
  async open(place: Place, keyVersion: number, sealed: Buffer): Promise<string> {
    try {
      return open(await this.version(place.organisationId, place.merchantId, keyVersion), place, sealed);
    } catch (error) {
      // A key is destroyed only when nothing is sealed under it: somebody has put the row back, or named another key.
      // guard(broken seals: a seal under a key that was destroyed is one): || error instanceof KeyDestroyed ⇒
      if (error instanceof SealBroken || error instanceof KeyDestroyed) throw this.broken(place);
      throw error;
    }
  }

  /** Whether the seal opens. Its content is wiped at once, and a seal that does not open is not reported. */
  async opens(place: Place, keyVersion: number, sealed: Buffer): Promise<boolean> {
    try {
      const key = await this.version(place.organisationId, place.merchantId, keyVersion);
      const opened = decrypt(key.key, sealed, boundTo(place, key));
      opened?.fill(0);
      return opened !== undefined;
    } catch (error) {
      if (error instanceof KeyDestroyed) return false;
      throw error;
    }
  }

  /** For errors beside the seal itself. */
  broken(place: Place): SealBroken {
    // guard(broken seals: each is told): this.onBroken(place); ⇒
    this.onBroken(place);
    return new SealBroken(place);
  }

  /** Later proves that this installation made the statement. */
  async attest(statement: string | Buffer): Promise<Buffer> {
    const key = await this.#attestationKey();
    return createHmac('sha256', key).update(statement).digest().subarray(0, ATTESTATION_BYTES);
  }

  async hasAttested(statement: string, attestation: Buffer): Promise<boolean> {
    const expected = await this.attest(statement);
    return attestation.length === expected.length && timingSafeEqual(attestation, expected);
  }

  /** The key to seal with. Merchant IDs are unique across the gateway. */
  newest(organisationId: OrganisationId, merchantId: MerchantId): Promise<DataKey> {
    const known = this.#newest.get(merchantId);
    if (known === undefined) return this.#keepNewest(organisationId, merchantId).key;
    known.needed = this.#looks;
    // guard(renewal of keys: a newer version is seen within a second): performance.now() - known.seenAtMs < NEWEST_KNOWN_WITHIN_MS ⇒ known.seenAtMs > 0
    if (performance.now() - known.seenAtMs < NEWEST_KNOWN_WITHIN_MS) return known.key;
    this.#looking ??= this.#lookForOthers().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking.then(
      () => (this.#newest.get(merchantId) ?? this.#keepNewest(organisationId, merchantId)).key,
    );
  }

  #keepNewest(organisationId: OrganisationId, merchantId: MerchantId): Newest {
    const key = this.#loadNewest(organisationId, merchantId);
    const kept: Newest = {
      organisationId,
      seenAtMs: performance.now(),
      key,
      version: undefined,
      needed: this.#looks,
    };
    this.#newest.set(merchantId, kept);
    key.then(
      ({ version }) => {
        kept.version = version;
      },
      () => this.#newest.delete(merchantId),
    );
    return kept;
  }

  /** One statement for all merchants: where a thousand trade at the same time, one for each cost more than the rest of a purchase. */
  async #lookForOthers(): Promise<void> {
    const atMs = performance.now();
    const known: (EntryOf<typeof KNOWN_KEYS> & { readonly kept: Newest })[] = [];
    for (const [merchantId, kept] of this.#newest) {
      const { organisationId, version } = kept;
      if (this.#looks - kept.needed > LOOKS_UNNEEDED) this.#newest.delete(merchantId);
      else if (version !== undefined) known.push({ organisationId, merchantId, version, kept });
    }
    this.#looks += 1;
    const { rows } = await this.database.query<{ merchantId: MerchantId }>(
      OTHER_NEWEST_KEYS,
      KNOWN_KEYS.encode(known),
    );
    for (const { merchantId } of rows) this.#newest.delete(merchantId);
    for (const { kept } of known) kept.seenAtMs = atMs;
  }

  /** The key version that a row names. */
  version(organisationId: OrganisationId, merchantId: MerchantId, version: number): Promise<DataKey> {
    return this.#remembered(merchantId, version, async () => {
      const { rows } = await this.database.query<FoundDataKey>(DATA_KEY, [
        organisationId,
        merchantId,
        version,
      ]);
      const [row] = rows;
      // guard(keys: one that was destroyed does not come back): || isKeyDestroyed(row.destroyed, await signerOf(this.database)) ⇒
      if (row === undefined || isKeyDestroyed(row.destroyed, await signerOf(this.database))) {
        throw new KeyDestroyed(`version ${version} of merchant ${merchantId}'s data key was destroyed`);
      }
      return this.#unwrap(organisationId, merchantId, row);
    });
  }

  async #loadNewest(organisationId: OrganisationId, merchantId: MerchantId): Promise<DataKey> {
    for (;;) {
      const { rows } = await this.database.query<DataKeyRow>(NEWEST_DATA_KEY, [organisationId, merchantId]);
      const [row] = rows;
      if (row !== undefined) {
        return this.#remembered(merchantId, row.version, () => this.#unwrap(organisationId, merchantId, row));
      }
      await this.add(organisationId, merchantId, 1);
    }
  }

  /** A version never changes, so it is unwrapped once. */
  #remembered(merchantId: MerchantId, version: number, load: () => Promise<DataKey>): Promise<DataKey> {
    const name = `${merchantId}/${version}`;
    let key = this.#byVersion.get(name);
    if (key === undefined) {
      key = load();
      this.#byVersion.set(name, key);
      key.catch(() => this.#byVersion.delete(name));
    }
    return key;
  }

  async #unwrap(organisationId: OrganisationId, merchantId: MerchantId, row: DataKeyRow): Promise<DataKey> {
    const { version } = row;
    const context = dataKeyContext(organisationId, merchantId, version);
    const key: DataKey = { version, key: await this.provider.unwrap(row, context), seals: 0 };
    this.#opened.push({ organisationId, merchantId, key });
    return key;
  }

  /** Adds this process's recent seals to each key's total. */
  async recordSeals(): Promise<void> {
    const used = this.#opened
      .filter(({ key }) => (key.seals ?? 0) > 0)
      .map(({ key, ...owner }) => ({ ...owner, key, version: key.version, count: key.seals as number }));
    if (used.length === 0) return;
    await this.database.query(COUNT_SEALS, COUNTED.encode(used));
    for (const { key, count } of used) key.seals = (key.seals as number) - count;
  }

  #attestationKey(): Promise<KeyObject> {
    if (this.#attesting === undefined) {
      // As an object, Node does not read the key again for each of them.
      this.#attesting = makeInstallationKey(this.database, this.provider, 'attestation').then((key) =>
        createSecretKey(key),
      );
      this.#attesting.catch(() => {
        this.#attesting = undefined;
      });
    }
    return this.#attesting;
  }

  /** If two processes create the same version at once, one key is stored and both use it. */
  async add(
    organisationId: OrganisationId,
    merchantId: MerchantId,
    version: number,
    connection: Queryable = this.database,
  ): Promise<void> {
    const context = dataKeyContext(organisationId, merchantId, version);
    const { keyId, wrapped } = await this.provider.wrap(randomBytes(32), context);
    await connection.query(ADD_DATA_KEY, [organisationId, merchantId, version, keyId, wrapped]);
  }
}

export interface DataKey {
  readonly version: number;
  readonly key: Buffer;
  /** Seals made with it that the database has not counted yet. */
  seals?: number;
}

/** Where a ciphertext belongs. */
export interface Place {
  readonly table: 'transaction' | 'token' | 'webhook_endpoint' | 'one_time_card' | 'wallet_key';
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly row: number;
  readonly field: string;
  /** The row's other values that decide what the sealed secret may be used for. If they change, the seal does not open. */
  readonly says: string;
}

export class SealBroken extends Error {
  override readonly name = 'SealBroken';
  constructor(readonly place: Place) {
    super(
      `the seal of ${place.table} ${place.row} of merchant ${place.merchantId} does not open: it, or the row that it belongs to, was changed in the database`,
    );
  }
}

function boundTo(place: Place, { version }: DataKey): string {
  const { table, organisationId, merchantId, row, field, says } = place;
  // guard(seal: bound to its key version): ${version} ⇒ -
  // guard(seal: bound to its field): ${field} ⇒ -
  // guard(seal: bound to its row): ${row} ⇒ -
  // guard(seal: bound to its merchant): ${merchantId} ⇒ -
  // guard(seal: bound to its organisation): ${organisationId} ⇒ -
  // guard(seal: bound to its table): ${table} ⇒ -
  const where = `${table}/${organisationId}/${merchantId}/${row}/${field}/${version}`;
  // guard(seal: bound to what its row says): ${says} ⇒ -
  return `${where}/${says}`;
}

/** Secrets given as bytes are overwritten. */
export function seal(dataKey: DataKey, place: Place, secrets: string | Buffer): Buffer {
  dataKey.seals = (dataKey.seals ?? 0) + 1;
  const sealed = encrypt(dataKey.key, secrets, boundTo(place, dataKey));
  if (typeof secrets !== 'string') secrets.fill(0);
  return sealed;
}

export function open(dataKey: DataKey, place: Place, sealed: Buffer): string {
  secretsWereUsed();
  const opened = decrypt(dataKey.key, sealed, boundTo(place, dataKey));
  if (opened === undefined) throw new SealBroken(place);
  const secrets = opened.toString('utf8');
  opened.fill(0);
  return secrets;
}
