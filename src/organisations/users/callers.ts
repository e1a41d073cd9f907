// Who is calling, and for which merchants: users with their merchants, cached for a second or two, and what it takes to be one of them.
import { fitNow, sealToRead } from '../../journal/seals.js';
import type { PluginSettings } from '../../plugins/contract.js';
import { Batcher } from '../../postgres/batches.js';
import type { Database, Queryable } from '../../postgres/database.js';
import { fault } from '../../values/faults.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import type { Mode } from '../../values/mode.js';
import { Networks } from '../../values/network.js';
import { rowOfMerchant, type SealedMerchant } from '../sealed-merchant.js';
import { type Abode, type Home, homeAsSealed } from '../sealed-organisation.js';
import { FIND_MERCHANT, FIND_SECRETS, FIND_USERS, STORE_USE, USERNAMES } from './callers.sql.js';
import { isAdmitted, type ShownCertificate } from './client-certificate.js';
import { type CredentialKey, journalledUser, type SealedUser, sameBytes } from './credentials.js';
import { bitsOf, PERMISSIONS } from './permissions.js';

export interface Merchant {
  readonly id: MerchantId;
  readonly name: string;
  readonly vault: boolean;
  readonly preauthorisationDays: number;
  /** For how many days what was paid by card can be refunded, and the card is kept for that. */
  readonly cardDays: number;
  readonly mode: Mode;
  /** The link for its cards; empty where it has none. */
  readonly acquirer: string | null;
  /** Of its routes, as the journal has sealed them; absent where it has none. */
  readonly routes?: RoutesSeal | undefined;
  /** Nothing is created or changed for it. */
  readonly suspended: boolean;
  /** Somebody has changed its row in the database: nothing is created or changed for it until it was put right. */
  readonly altered: boolean;
  readonly plugins: PluginSettings;
}

/** Which routes a merchant has: the seal differs, where one version comes twice after a failover that has lost something. */
export interface RoutesSeal {
  readonly version: number;
  readonly seal: string;
}

export interface Caller {
  readonly username: string;
  /** What transactions and events know it by. */
  readonly userId: number;
  /** A bit for each permission. */
  readonly permissions: number;
  /** From where it may call; undefined: from everywhere. */
  readonly networks: Networks | undefined;
  readonly organisationId: OrganisationId;
  readonly assignedMerchantId: MerchantId;
  readonly merchants: ReadonlyMap<number, Merchant>;
}

/** A caller of this interface: of an organisation that is served under its host name, if it has one, and in one cell. */
export interface Client extends Caller {
  readonly home: Home;
}

/** Why a user that is in the database is nobody all the same. */
type BrokenSeal = 'not sealed' | 'changed';

interface CallerReports {
  /** The row of a user is not as it was sealed: somebody has written it who is no operator. */
  readonly onBrokenSeal: (username: string, how: BrokenSeal) => void;
}

interface User {
  readonly caller: Client;
  readonly required: Required;
  readonly version: number;
  readonly loadedAtMs: number;
}

/** Credentials that were right. Whether they still are, what is required of the user tells. */
interface Proof {
  readonly username: string;
  readonly organisationId: OrganisationId;
  readonly required: Required;
  /** The end of the user, of the secret, or of the certificate that was shown, where one has to be. */
  readonly untilMs: number;
}

interface Attempt {
  readonly organisationId: typeof NO_ORGANISATION;
  readonly username: string;
}

interface Reading {
  readonly organisationId: number;
  readonly username: string;
}

interface UserRow extends MerchantRow, SealedUser, Abode {
  readonly name: string;
  readonly seal: Buffer | null;
  readonly newest: Buffer | null;
}

/** After this a user is read again, while requests go on. */
const FRESH_MS = 1_000;
/** After this it is read again as soon as another one is: a statement for many costs little more than one for each. */
const SOON_MS = 500;
/** After this they wait for it: a revoked user or a withdrawn grant is refused at the latest then. */
const STALE_MS = 2_000;
const MAX_CACHED = 10_000;
const ATTEMPTS = { maxBatch: 256, lanes: 1 };
/** Where a thousand users pay at the same time, a thousand are read again each second. Few at once: some have thousands of merchants. */
const READINGS = { maxBatch: 32, lanes: 2 };

/**
 * Credentials are known by a digest of them, and only right ones are kept: wrong ones, however many, change nothing for
 * those who have the right ones.
 */
export class Callers {
  readonly #users = new Map<string, User>();
  readonly #proven = new Map<string, Proof>();
  readonly #loading = new Map<string, Promise<User | undefined>>();
  /** Those that are read together with the next one. */
  readonly #soon = new Set<string>();
  /** On which day a user has called last, and whether that is stored. */
  readonly #used = new Map<string, { readonly day: string; isStored: boolean }>();
  readonly #attempts: Batcher<Attempt, Required | undefined>;
  readonly #readings: Batcher<Reading, readonly UserRow[]>;

  constructor(
    private readonly database: Database,
    private readonly key: CredentialKey,
    private readonly reports: CallerReports,
  ) {
    this.#attempts = new Batcher((attempts) => this.#requiredOf(attempts), ATTEMPTS);
    this.#readings = new Batcher((readings) => this.#rowsOf(readings), READINGS);
  }

  /** Whose these credentials are, if they were right when they were last used: good enough to tell tenants apart. */
  organisationOf(credentials: string): number | undefined {
    return this.#proven.get(credentials)?.organisationId;
  }

  /** The caller, if these credentials were proved and their user was read a moment ago. */
  known(credentials: string): Client | undefined {
    const proof = this.#proven.get(credentials);
    const user = proof && this.#users.get(proof.username);
    // guard(client certificates: the end of one ends what it has proved): || Date.now() >= proof.untilMs ⇒
    if (user === undefined || user.required !== proof?.required || Date.now() >= proof.untilMs) {
      return undefined;
    }
    const ageMs = performance.now() - user.loadedAtMs;
    if (ageMs < FRESH_MS) {
      if (ageMs >= SOON_MS && this.#soon.size < READINGS.maxBatch) this.#soon.add(proof.username);
      return user.caller;
    }
    // Should it fail, somebody asks again, and from some age on waits for the answer.
    this.#soon.add(proof.username);
    for (const username of this.#soon) this.#load(username).catch(() => {});
    this.#soon.clear();
    return ageMs < STALE_MS ? user.caller : undefined;
  }

  /** Those of these names that users have, with their organisations. */
  async organisationsOf(usernames: readonly string[]): Promise<ReadonlyMap<string, OrganisationId>> {
    const { rows } = await this.database.query<{ username: string; organisationId: OrganisationId }>(
      FIND_SECRETS,
      USERNAMES.encode(usernames),
    );
    return new Map(rows.map(({ username, organisationId }) => [username, organisationId]));
  }

  /** The caller with these credentials, or nobody. `credentials` stands for all of what is said. */
  async authenticate(credentials: string, said: LogIn): Promise<Client | undefined> {
    const { username } = said;
    const proof = this.#proven.get(credentials);
    if (proof !== undefined) {
      const user = await this.#load(username);
      if (user?.required === proof.required && Date.now() < proof.untilMs) return user.caller;
      this.#proven.delete(credentials);
    }
    // An unknown user, a wrong secret and a wrong certificate cost one read and the same comparisons: the time of the answer
    // does not tell them apart.
    const required = await this.#attempts.submit({ organisationId: NO_ORGANISATION, username });
    const until = await metUntil(this.key, required ?? NOBODY, said);
    if (required?.secretTag === null) this.reports.onBrokenSeal(username, 'not sealed');
    if (required === undefined || until === undefined) return undefined;
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      // The first may have been under way before the secret was changed.
      const user = await this.#load(username);
      const untilMs = user && (await metUntil(this.key, user.required, said));
      if (user === undefined || untilMs === undefined) continue;
      const { caller, required } = user;
      forgetOldest(this.#proven);
      this.#proven.set(credentials, { username, organisationId: caller.organisationId, required, untilMs });
      return caller;
    }
    return undefined;
  }

  /** For reviews of who still needs access. Away from the requests, so that none waits for it. */
  async storeUse(database: Queryable): Promise<void> {
    const day = today();
    const unstored = [...this.#used].filter(([, use]) => use.day === day && !use.isStored);
    if (unstored.length === 0) return;
    await database.query(STORE_USE, [unstored.map(([username]) => username).sort(), day]);
    for (const [, use] of unstored) use.isStored = true;
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
    const whose = this.#users.get(username)?.caller.organisationId ?? NO_ORGANISATION;
    const rows = await this.#readings.submit({ organisationId: whose, username });
    const [first] = rows;
    if (first === undefined) {
      this.#users.delete(username);
      return undefined;
    }
    // guard(callers: nobody who is not as it was sealed): !this.key.isSealed(first, first.seal) ⇒ first.username === undefined
    if (!this.key.isSealed(first, first.seal)) {
      this.reports.onBrokenSeal(username, first.seal === null ? 'not sealed' : 'changed');
      this.#users.delete(username);
      return undefined;
    }
    const fit = await fitNow(this.database, { ...journalledUser(first), newest: first.newest });
    // guard(callers: nobody whose earlier row was put back): fit.kind === 'misfit' ⇒ fit.version < 0
    if (fit.kind === 'misfit') {
      this.#users.delete(username);
      return undefined;
    }
    const merchants = new Map<number, Merchant>();
    for (const row of rows) {
      const merchant = await merchantAsSealed(this.database, row);
      merchants.set(merchant.id, merchant);
    }
    const known = this.#users.get(username);
    const { organisationId, assignedMerchantId, userId, permissions, fromAddresses, version } = first;
    const user = {
      caller: {
        username,
        userId,
        permissions: bitsOf(permissions),
        networks: fromAddresses.length === 0 ? undefined : Networks.read(fromAddresses.join(',')),
        organisationId,
        assignedMerchantId,
        merchants,
        home: await homeAsSealed(this.database, organisationId, first),
      },
      // The same object as long as the same is required: proofs are compared with it at every request.
      required: known !== undefined && isSame(known.required, first) ? known.required : requiredOf(first),
      version,
      loadedAtMs,
    };
    forgetOldest(this.#users);
    this.#users.set(username, user);
    const day = today();
    if (this.#used.get(username)?.day !== day) {
      forgetOldest(this.#used);
      this.#used.set(username, { day, isStored: false });
    }
    return user;
  }

  /** Of each user its merchants, with what is known of the user; none where there is no such user. */
  async #rowsOf(readings: readonly Reading[]): Promise<readonly (readonly UserRow[])[]> {
    const names = readings.map(({ username }) => username);
    const { rows } = await this.database.query<UserRow>(FIND_USERS, USERNAMES.encode(names));
    const found = new Map<string, UserRow[]>(names.map((username) => [username, []]));
    for (const row of rows) found.get(row.username)?.push(row);
    return names.map((username) => found.get(username) ?? []);
  }

  async #requiredOf(attempts: readonly Attempt[]): Promise<readonly (Required | undefined)[]> {
    const names = new Set(attempts.map(({ username }) => username));
    const { rows } = await this.database.query<Required>(FIND_SECRETS, USERNAMES.encode([...names]));
    const required = new Map(rows.map((row) => [row.username, row]));
    return attempts.map(({ username }) => required.get(username));
  }
}

/** A merchant as it is read for whoever acts for it. */
export interface MerchantRow extends SealedMerchant {
  readonly newestOfRoutes: Buffer | null;
}

/**
 * What was processed for a merchant is found even if its row is not as it was sealed: a shop that does not find a payment pays again.
 */
export async function merchantAsSealed(database: Queryable, row: MerchantRow): Promise<Merchant> {
  const fit = await fitNow(database, rowOfMerchant(row));
  const { id, name, vault, preauthorisationDays, cardDays, mode, acquirer, suspended, plugins } = row;
  const routes = await sealToRead(database, `routes/${id}`, row.newestOfRoutes);
  // guard(directions: nobody acts for a merchant that is not as it was sealed): fit.kind === 'misfit' ⇒ fit.version < 0
  const altered = fit.kind === 'misfit';
  const settings = { vault, preauthorisationDays, cardDays, mode, acquirer, suspended, plugins };
  return { id, name, ...settings, routes, altered };
}

export interface ActingCaller extends Caller {
  readonly arrivedAbsence: number;
  /** The cell in which the organisation lives now, if that is another one. */
  readonly movedTo: string | undefined;
}

/** Whoever acts on behalf of a merchant without being one of its users, as the pipeline of payments knows its callers. */
export async function callerFor(
  database: Queryable,
  {
    organisationId,
    merchantId,
  }: { readonly organisationId: OrganisationId; readonly merchantId: MerchantId },
  { username, userId }: Pick<Caller, 'username' | 'userId'>,
): Promise<ActingCaller> {
  const { rows } = await database.query<MerchantRow & Abode>(FIND_MERCHANT, [organisationId, merchantId]);
  const [row] = rows;
  const home = row && (await homeAsSealed(database, organisationId, row));
  const sealed = row && (await merchantAsSealed(database, row));
  // guard(cells: operators create nothing for an organisation that is elsewhere): home?.writes ? ⇒ home ?
  const merchant = home?.writes ? sealed : sealed && { ...sealed, altered: true };
  return {
    username,
    userId,
    permissions: bitsOf(PERMISSIONS),
    networks: undefined,
    organisationId,
    assignedMerchantId: merchantId,
    merchants: new Map(merchant && [[merchant.id, merchant]]),
    arrivedAbsence: home?.arrivedAbsence ?? 0,
    movedTo: home?.movedTo,
  };
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

function forgetOldest(cache: Map<string, unknown>): void {
  if (cache.size < MAX_CACHED) return;
  for (const oldest of cache.keys()) {
    cache.delete(oldest);
    return;
  }
}

/** The same caller, as though it had been granted test merchants only. */
export function amongTestMerchants(caller: Caller): Caller {
  const merchants = [...caller.merchants].filter(([, { mode }]) => mode === 'test');
  return { ...caller, merchants: new Map(merchants) };
}

/** The merchant, if this caller may act for it; the same refusal whether that merchant exists or not. */
export function permittedMerchant(caller: Caller, merchantId: number): Merchant {
  const merchant = caller.merchants.get(merchantId);
  if (merchant === undefined) throw fault('merchant_not_permitted', 'merchant');
  return merchant;
}

/** The same, for what creates or changes something: not for one that is suspended. */
export function actingMerchant(caller: Caller, merchantId: number): Merchant {
  const merchant = permittedMerchant(caller, merchantId);
  // First: whoever has changed the row may have written that it is suspended.
  if (merchant.altered) throw fault('not_processed');
  // guard(merchants: nothing is created for one that is suspended): if (merchant.suspended) throw fault('merchant_suspended', 'merchant'); ⇒
  if (merchant.suspended) throw fault('merchant_suspended', 'merchant');
  return merchant;
}

/** What it takes to be a user. */
type Required = Pick<
  SealedUser,
  | 'organisationId'
  | 'username'
  | 'secretTag'
  | 'previousSecretTag'
  | 'previousUntilMs'
  | 'secretFrom'
  | 'previousSecretFrom'
  | 'expiresMs'
  | 'clientCertificates'
>;

/** What somebody says who it is. */
interface LogIn {
  readonly username: string;
  readonly secret: string;
  readonly certificate: ShownCertificate | undefined;
}

/** Who tries to log in has none yet. */
const NO_ORGANISATION = 0;
const NO_TAG = Buffer.alloc(32);

/** What an unknown user is held against. */
const NOBODY: Required = {
  organisationId: NO_ORGANISATION as OrganisationId,
  username: '',
  secretTag: null,
  previousSecretTag: null,
  previousUntilMs: null,
  secretFrom: null,
  previousSecretFrom: null,
  expiresMs: null,
  clientCertificates: [],
};

/** Until when what was said is right, if it is now. Everything is always looked at. */
async function metUntil(
  key: CredentialKey,
  required: Required,
  { secret, certificate }: LogIn,
): Promise<number | undefined> {
  const nowMs = Date.now();
  const { clientCertificates, previousUntilMs, expiresMs } = required;
  const { secretFrom, previousSecretFrom } = required;
  const tag = (await key.of(secretFrom)).tagOf(required, secret);
  const previous =
    previousSecretFrom === secretFrom ? tag : (await key.of(previousSecretFrom)).tagOf(required, secret);
  const isCurrent = sameBytes(tag, required.secretTag ?? NO_TAG);
  const isPrevious = sameBytes(previous, required.previousSecretTag ?? NO_TAG);
  const isCertified = isAdmitted(certificate, clientCertificates, nowMs);
  // guard(client certificates: a user that is bound to one must show it): !isCertified ⇒ (!isCertified && certificate !== undefined)
  if (!isCertified || !(isCurrent || isPrevious)) return undefined;
  const untilMs = Math.min(
    // guard(credentials: a user ends when it was said to): expiresMs ?? Number.POSITIVE_INFINITY, ⇒
    expiresMs ?? Number.POSITIVE_INFINITY,
    // guard(credentials: the secret before ends when it was said to): ? Number.POSITIVE_INFINITY : (previousUntilMs ?? 0) ⇒ || previousUntilMs !== null ? Number.POSITIVE_INFINITY : 0
    isCurrent ? Number.POSITIVE_INFINITY : (previousUntilMs ?? 0),
    (clientCertificates.length > 0 ? certificate?.expiresAtMs : undefined) ?? Number.POSITIVE_INFINITY,
  );
  return nowMs < untilMs ? untilMs : undefined;
}

function requiredOf(user: SealedUser): Required {
  const { organisationId, username, secretTag, previousSecretTag, previousUntilMs, expiresMs } = user;
  const { clientCertificates, secretFrom, previousSecretFrom } = user;
  return {
    organisationId,
    username,
    secretTag,
    previousSecretTag,
    previousUntilMs,
    secretFrom,
    previousSecretFrom,
    expiresMs,
    clientCertificates,
  };
}

function isSame(one: Required, other: Required): boolean {
  const [ours, theirs] = [one.clientCertificates, other.clientCertificates];
  return (
    isSameTag(one.secretTag, other.secretTag) &&
    isSameTag(one.previousSecretTag, other.previousSecretTag) &&
    one.previousUntilMs === other.previousUntilMs &&
    one.secretFrom === other.secretFrom &&
    one.previousSecretFrom === other.previousSecretFrom &&
    one.expiresMs === other.expiresMs &&
    // guard(client certificates: a user that is bound later is asked at once): ours.length === theirs.length && ⇒
    ours.length === theirs.length &&
    ours.every((fingerprint, index) => fingerprint.equals(theirs[index] as Buffer))
  );
}

function isSameTag(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other);
}
