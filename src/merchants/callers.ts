// Who is calling, and for which merchants: users with their merchants, cached for a second.
import type { PluginSettings } from '../plugins/contract.js';
import type { Database } from '../store/database.js';
import { fault, type Location } from '../values/faults.js';
import { FIND_USER } from './callers.sql.js';
import { digestSecret, secretMatches } from './credentials.js';

export interface Merchant {
  readonly id: number;
  readonly vault: boolean;
  readonly preauthorisationDays: number;
  readonly acquirer: string;
  readonly plugins: PluginSettings;
}

export interface Caller {
  readonly username: string;
  readonly organisationId: number;
  readonly assignedMerchantId: number;
  readonly merchants: ReadonlyMap<number, Merchant>;
}

interface KnownUser {
  readonly caller: Caller;
  readonly secretDigest: Buffer;
}

interface Cached {
  readonly loadedAtMs: number;
  readonly user: Promise<KnownUser | undefined>;
}

interface UserRow extends Merchant {
  readonly organisationId: number;
  readonly assignedMerchantId: number;
  readonly secretDigest: Buffer;
}

/** A revoked user or a withdrawn grant is refused at the latest after this. */
const FRESH_MS = 1_000;
const MAX_CACHED = 10_000;
const NOBODY = digestSecret('');

export class Callers {
  readonly #cache = new Map<string, Cached>();

  constructor(private readonly database: Database) {}

  /** The caller with these credentials, or nobody. */
  async authenticate(username: string, secret: string): Promise<Caller | undefined> {
    const cached = this.#cache.get(username);
    if (cached !== undefined && performance.now() - cached.loadedAtMs < FRESH_MS) {
      const user = await cached.user;
      if (user !== undefined && secretMatches(secret, user.secretDigest)) return user.caller;
    }
    // An unknown user, a wrong secret and one that was just changed all cost one read and one comparison: the time
    // of the answer does not tell them apart.
    const user = await this.#load(username);
    const matches = secretMatches(secret, user?.secretDigest ?? NOBODY);
    return user !== undefined && matches ? user.caller : undefined;
  }

  #load(username: string): Promise<KnownUser | undefined> {
    const user = this.#read(username);
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    // Cached while still being read: the many requests that find an entry stale at once share one read.
    this.#cache.set(username, { loadedAtMs: performance.now(), user });
    user.then(
      (found) => {
        if (found === undefined) this.#cache.delete(username);
      },
      () => this.#cache.delete(username),
    );
    return user;
  }

  async #read(username: string): Promise<KnownUser | undefined> {
    const { rows } = await this.database.query<UserRow>(FIND_USER, [username]);
    const [first] = rows;
    if (first === undefined) return undefined;
    const merchants = new Map(
      rows.map(({ id, vault, preauthorisationDays, acquirer, plugins }) => [
        id,
        { id, vault, preauthorisationDays, acquirer, plugins },
      ]),
    );
    const { organisationId, assignedMerchantId, secretDigest } = first;
    return { caller: { username, organisationId, assignedMerchantId, merchants }, secretDigest };
  }
}

/** The merchant, if this caller may act for it; the same refusal whether that merchant exists or not. */
export function permittedMerchant(caller: Caller, merchantId: number, location: Location): Merchant {
  const merchant = caller.merchants.get(merchantId);
  if (merchant === undefined) throw fault('merchant_not_permitted', location);
  return merchant;
}
