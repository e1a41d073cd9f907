// Who is calling, and for which merchants: users with their merchants, cached for a second or two.

import type { PluginSettings } from '../plugins/contract.js';
import { Batcher } from '../postgres/batcher.js';
import type { Database } from '../postgres/database.js';
import { fault } from '../values/faults.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { FIND_SECRETS, FIND_USER, USERNAMES } from './callers.sql.js';
import { digestSecret, secretMatches } from './credentials.js';

export interface Merchant {
  readonly id: MerchantId;
  readonly vault: boolean;
  readonly preauthorisationDays: number;
  /** For how many days what was paid by card can be refunded, and the card is kept for that. */
  readonly cardDays: number;
  readonly mode: Mode;
  /** The links for its cards and for bank accounts; empty where it has none. */
  readonly acquirer: string | null;
  readonly bank: string | null;
  /** Of the routes of its cards; empty where it has none. */
  readonly routesVersion: number | null;
  readonly plugins: PluginSettings;
}

export interface Caller {
  readonly username: string;
  readonly organisationId: OrganisationId;
  readonly assignedMerchantId: MerchantId;
  readonly merchants: ReadonlyMap<number, Merchant>;
}

interface User {
  readonly caller: Caller;
  readonly secretDigest: Buffer;
  readonly loadedAtMs: number;
}

/** Credentials that were right. Whether they still are, the user's digest tells. */
interface Proof {
  readonly username: string;
  readonly organisationId: OrganisationId;
  readonly secretDigest: Buffer;
}

interface Attempt {
  readonly organisationId: typeof NO_ORGANISATION;
  readonly username: string;
}

interface UserRow extends Merchant {
  readonly organisationId: OrganisationId;
  readonly assignedMerchantId: MerchantId;
  readonly secretDigest: Buffer;
}

/** After this a user is read again, while requests go on. */
const FRESH_MS = 1_000;
/** After this they wait for it: a revoked user or a withdrawn grant is refused at the latest then. */
const STALE_MS = 2_000;
const MAX_CACHED = 10_000;
const NOBODY = digestSecret('');
/** Who tries to log in has none yet. */
const NO_ORGANISATION = 0;
const BATCHES = { maxBatch: 256, lanes: 1 };

/**
 * Credentials are known by a digest of them, and only right ones are kept: wrong ones, however many, change nothing for
 * those who have the right ones.
 */
export class Callers {
  readonly #users = new Map<string, User>();
  readonly #proven = new Map<string, Proof>();
  readonly #loading = new Map<string, Promise<User | undefined>>();
  readonly #attempts: Batcher<Attempt, Buffer | undefined>;

  constructor(private readonly database: Database) {
    this.#attempts = new Batcher((attempts) => this.#secretsOf(attempts), BATCHES);
  }

  /** Whose these credentials are, if they were right when they were last used: good enough to tell tenants apart. */
  organisationOf(credentials: string): number | undefined {
    return this.#proven.get(credentials)?.organisationId;
  }

  /** The caller, if these credentials were proved and their user was read a moment ago. */
  known(credentials: string): Caller | undefined {
    const proof = this.#proven.get(credentials);
    const user = proof && this.#users.get(proof.username);
    if (user === undefined || user.secretDigest !== proof?.secretDigest) return undefined;
    const ageMs = performance.now() - user.loadedAtMs;
    if (ageMs < FRESH_MS) return user.caller;
    // Should it fail, somebody asks again, and from some age on waits for the answer.
    this.#load(proof.username).catch(() => {});
    return ageMs < STALE_MS ? user.caller : undefined;
  }

  /** The caller with these credentials, or nobody. */
  async authenticate(credentials: string, username: string, secret: string): Promise<Caller | undefined> {
    const proof = this.#proven.get(credentials);
    if (proof !== undefined) {
      const user = await this.#load(username);
      if (user?.secretDigest === proof.secretDigest) return user.caller;
      this.#proven.delete(credentials);
    }
    // An unknown user and a wrong secret cost one read and one comparison: the time of the answer does not tell them apart.
    const digest = await this.#attempts.submit({ organisationId: NO_ORGANISATION, username });
    const matches = secretMatches(secret, digest ?? NOBODY);
    if (digest === undefined || !matches) return undefined;
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      // The first may have been under way before the secret was changed.
      const user = await this.#load(username);
      if (user === undefined || !secretMatches(secret, user.secretDigest)) continue;
      const { caller, secretDigest } = user;
      forgetOldest(this.#proven);
      this.#proven.set(credentials, { username, organisationId: caller.organisationId, secretDigest });
      return caller;
    }
    return undefined;
  }

  /** Those who want the same user at the same time share one read. */
  #load(username: string): Promise<User | undefined> {
    const known = this.#loading.get(username);
    if (known !== undefined) return known;
    const loading = this.#read(username).finally(() => this.#loading.delete(username));
    this.#loading.set(username, loading);
    return loading;
  }

  async #read(username: string): Promise<User | undefined> {
    const loadedAtMs = performance.now();
    const { rows } = await this.database.query<UserRow>(FIND_USER, [username]);
    const [first] = rows;
    if (first === undefined) {
      this.#users.delete(username);
      return undefined;
    }
    const merchants = new Map(
      rows.map(
        ({ id, vault, preauthorisationDays, cardDays, mode, acquirer, bank, routesVersion, plugins }) => [
          id,
          { id, vault, preauthorisationDays, cardDays, mode, acquirer, bank, routesVersion, plugins },
        ],
      ),
    );
    const { organisationId, assignedMerchantId, secretDigest: read } = first;
    const before = this.#users.get(username)?.secretDigest;
    // The same object as long as it is the same secret: proofs are compared with it at every request.
    const secretDigest = before?.equals(read) ? before : read;
    const user = {
      caller: { username, organisationId, assignedMerchantId, merchants },
      secretDigest,
      loadedAtMs,
    };
    forgetOldest(this.#users);
    this.#users.set(username, user);
    return user;
  }

  async #secretsOf(attempts: readonly Attempt[]): Promise<readonly (Buffer | undefined)[]> {
    const names = new Set(attempts.map(({ username }) => username));
    const { rows } = await this.database.query<{ username: string; secretDigest: Buffer }>(
      FIND_SECRETS,
      USERNAMES.encode([...names]),
    );
    const digests = new Map(rows.map(({ username, secretDigest }) => [username, secretDigest]));
    return attempts.map(({ username }) => digests.get(username));
  }
}

function forgetOldest(cache: Map<string, unknown>): void {
  if (cache.size < MAX_CACHED) return;
  for (const oldest of cache.keys()) {
    cache.delete(oldest);
    return;
  }
}

/** The merchant, if this caller may act for it; the same refusal whether that merchant exists or not. */
export function permittedMerchant(caller: Caller, merchantId: number): Merchant {
  const merchant = caller.merchants.get(merchantId);
  if (merchant === undefined) throw fault('merchant_not_permitted', 'merchant');
  return merchant;
}
