// Data keys: one line of versions for each merchant, wrapped by the key-encryption key. The newest seals, all open.
import { randomBytes } from 'node:crypto';
import { type Database, isUndefined, type Queryable } from '../postgres/database.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import { type KeyProvider, KeyUnavailable } from './key-provider.js';
import { ADD_DATA_KEY, DATA_KEY, KEY_PROOF, NEWEST_DATA_KEY, SET_KEY_PROOF } from './keys.sql.js';
import type { DataKey } from './sealing.js';

export interface DataKeyRow {
  readonly version: number;
  readonly keyId: string;
  readonly wrapped: Buffer;
}

interface Newest {
  readonly loadedAtMs: number;
  readonly key: Promise<DataKey>;
}

/** How long a process may go on sealing under a version after a newer one was made. */
export const NEWEST_KNOWN_WITHIN_MS = 1_000;
const PROOF = Buffer.from('tollgate');
const PROOF_CONTEXT = 'tollgate/proof';

export function dataKeyContext(
  organisationId: OrganisationId,
  merchantId: MerchantId,
  version: number,
): string {
  return `tollgate/data-key/${organisationId}/${merchantId}/${version}`;
}

/**
 * Makes sure that the key-encryption key is the one that this database was sealed under. A provider that
 * makes its own key does so only for a database that nothing was ever sealed in.
 */
export async function proveKey(database: Database, provider: KeyProvider): Promise<void> {
  const { rows } = await database.query<{ keyId: string; wrapped: Buffer }>(KEY_PROOF);
  const [proof] = rows;
  if (proof === undefined) {
    await provider.prepare?.();
    await renewProof(database, provider, false);
    // Two may have started at once: what counts is what is stored.
    const stored = await database.query<{ keyId: string; wrapped: Buffer }>(KEY_PROOF);
    if (stored.rows[0] !== undefined) await checkProof(provider, stored.rows[0]);
    return;
  }
  await checkProof(provider, proof);
}

/** Returns which key-encryption key it was made under. */
export async function renewProof(
  database: Database,
  provider: KeyProvider,
  replace: boolean,
): Promise<string> {
  const { keyId, wrapped } = await provider.wrap(PROOF, PROOF_CONTEXT);
  await database.query(SET_KEY_PROOF, [keyId, wrapped, replace]);
  return keyId;
}

/** For a database that may not even have a schema yet: stops when the key is not the one that it was sealed under. */
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

export class DataKeys {
  readonly #newest = new Map<number, Newest>();
  readonly #byVersion = new Map<string, Promise<DataKey>>();

  constructor(
    private readonly database: Database,
    private readonly provider: KeyProvider,
  ) {}

  /** The key to seal with. Merchant IDs are unique across the gateway. */
  newest(organisationId: OrganisationId, merchantId: MerchantId): Promise<DataKey> {
    const known = this.#newest.get(merchantId);
    if (known !== undefined && performance.now() - known.loadedAtMs < NEWEST_KNOWN_WITHIN_MS)
      return known.key;
    const key = this.#loadNewest(organisationId, merchantId);
    this.#newest.set(merchantId, { loadedAtMs: performance.now(), key });
    key.catch(() => this.#newest.delete(merchantId));
    return key;
  }

  /** The key that a row names. */
  version(organisationId: OrganisationId, merchantId: MerchantId, version: number): Promise<DataKey> {
    return this.#remembered(merchantId, version, async () => {
      const { rows } = await this.database.query<DataKeyRow>(DATA_KEY, [organisationId, merchantId, version]);
      const [row] = rows;
      if (row === undefined) {
        throw new KeyUnavailable(`version ${version} of merchant ${merchantId}'s data key was destroyed`);
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
    const context = dataKeyContext(organisationId, merchantId, row.version);
    return { version: row.version, key: await this.provider.unwrap(row, context) };
  }

  /** Where two make the same version at once, one of them is stored and both use it. */
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
