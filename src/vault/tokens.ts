// Tokens: stored payment methods. Their secrets are sealed, and no operation ever returns them.
import { type DecidingEntry, journalledSeal } from '../journal/deciding-entries.js';
import { openSignerOf } from '../journal/entry-signer.js';
import { journal } from '../journal/journal.js';
import { Batcher, type EntryOf } from '../postgres/batches.js';
import { type Database, isUniqueViolation, type Queryable } from '../postgres/database.js';
import type { FairConnections } from '../postgres/fair-connections.js';
import { IdBlocks } from '../postgres/id-blocks.js';
import { fault } from '../values/faults.js';
import type { Histogram } from '../values/histogram.js';
import type { CustomerId, MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import type { Page } from '../values/page.js';
import { type Account, type AccountType, type ShownAccount, secretsOf, shownAccount } from './account.js';
import { customerNotFound, entryOf, type VaultAccess } from './customers.js';
import { CUSTOMER } from './customers.sql.js';
import { type DataKeys, SealBroken, seal } from './keys/keys.js';
import { tokenPlace } from './keys/sealed-rows.js';
import { reseal } from './resealing.js';
import {
  ADD_TOKENS,
  CHANGE_TOKEN,
  DELETE_TOKEN,
  KEEP_NETWORK_IDS,
  LEASE_TOKEN_IDS,
  NEW_TOKENS,
  TOKEN,
  TOKENS_OF_CUSTOMER,
  USABLE_TOKENS,
  VIRTUAL_PANS,
} from './tokens.sql.js';
import { makeVirtualPan } from './virtual-pan.js';

export interface Token {
  readonly id: TokenId;
  readonly virtualPan: string;
  readonly preferredName: string;
  readonly active: boolean;
  readonly accountType: AccountType;
  readonly shown: ShownAccount;
}

/** A token opened for a payment. */
export interface OpenedToken {
  readonly tokenId: TokenId;
  readonly customerId: CustomerId;
  readonly accountType: AccountType;
  readonly secrets: string;
  readonly sealVersion: number;
  /** Under which the card's network knows the first payment with it. */
  readonly networkTransactionId?: string;
}

type NewToken = EntryOf<typeof NEW_TOKENS>;

/** The result of adding a token. A conflict is with a token added at the same moment. */
type Ending = 'added' | 'no customer' | 'name in use' | 'conflict';

interface UsableRow {
  readonly place: number;
  readonly id: TokenId;
  readonly customerId: CustomerId;
  readonly accountType: AccountType;
  readonly sealVersion: number;
  readonly keyVersion: number;
  readonly sealed: Buffer;
  readonly networkTransactionId: string | null;
  readonly networkTransactionMark: Buffer | null;
  /** What the journal says of its seals. */
  readonly journalled: readonly DecidingEntry[] | null;
}

const BATCHES = { maxBatch: 128, lanes: 2 };
/** The second attempt finds the name in use, or has another virtual PAN; more are for names that come and go. */
const ATTEMPTS = 10;
const FIRST_SEAL = 1;

export interface TokenConnections {
  /** For leases of IDs. */
  readonly leases: Database;
  readonly vault: FairConnections;
  /** For batches of new tokens. */
  readonly additions: Database;
  /** For tokens used in payments. */
  readonly lookUps: Database;
}

export class Tokens {
  readonly #ids: IdBlocks<TokenId>;
  readonly #adding: Batcher<NewToken, Ending>;
  readonly #opening: Batcher<EntryOf<typeof VIRTUAL_PANS>, UsableRow | undefined>;

  constructor(
    private readonly connections: TokenConnections,
    private readonly keys: DataKeys,
  ) {
    this.#ids = new IdBlocks(connections.leases, LEASE_TOKEN_IDS);
    this.#adding = new Batcher((tokens) => this.#add(tokens), BATCHES);
    this.#opening = new Batcher((asked) => this.#usable(asked), BATCHES);
  }

  /** By kind. */
  get batchSizes(): Readonly<Record<string, Histogram>> {
    return { 'new tokens': this.#adding.sizes, 'opened tokens': this.#opening.sizes };
  }

  async create(
    access: VaultAccess,
    customerId: CustomerId,
    wish: { preferredName: string; active: boolean; account: Account },
  ): Promise<Token> {
    const { organisationId, merchantId } = access;
    const id = await this.#ids.take(organisationId);
    const key = await this.keys.newest(organisationId, merchantId);
    const { preferredName, active, account } = wish;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const virtualPan = makeVirtualPan();
      const accountType = account.type;
      const place = tokenPlace(access, { id, customerId, virtualPan, accountType, sealVersion: FIRST_SEAL });
      const token: NewToken = {
        id,
        virtualPan,
        preferredName,
        active,
        accountType,
        shown: shownAccount(account),
        organisationId,
        access,
        customerId,
        mac: openSignerOf(this.connections.additions)?.macOf({
          ...entryOf(access),
          action: 'token.created',
          customerId,
          tokenId: id,
        }),
        keyVersion: key.version,
        sealed: seal(key, place, secretsOf(account)),
      };
      const ending = await this.#adding.submit(token);
      if (ending === 'added') return token;
      if (ending === 'no customer') throw customerNotFound();
      if (ending === 'name in use') throw nameInUse();
    }
    throw fault('not_processed');
  }

  async list(
    access: VaultAccess,
    customerId: CustomerId,
    page: { limit: number; offset: number; after?: number | undefined },
  ): Promise<Page<Token>> {
    await this.#checkCustomer(access, customerId);
    const { limit, offset, after } = page;
    const { rows } = await this.#vaultOf(access).query<Token>(TOKENS_OF_CUSTOMER, [
      access.organisationId,
      access.merchantId,
      customerId,
      limit + 1,
      after === undefined ? offset : 0,
      after ?? 0,
    ]);
    const items = rows.slice(0, limit);
    const last = rows.length > limit ? items.at(-1) : undefined;
    return { items, end: last && { place: '', id: last.id } };
  }

  async find(access: VaultAccess, customerId: CustomerId, id: TokenId): Promise<Token> {
    const values = [access.organisationId, access.merchantId, customerId, id];
    const { rows } = await this.#vaultOf(access).query<Token>(TOKEN, values);
    return rows[0] ?? (await this.#notFound(access, customerId));
  }

  /** New payment details replace the old ones; the token keeps its ID and its virtual PAN. */
  async update(
    access: VaultAccess,
    customerId: CustomerId,
    id: TokenId,
    change: {
      preferredName?: string | undefined;
      active?: boolean | undefined;
      account?: Account | undefined;
    },
  ): Promise<Token> {
    const { organisationId, merchantId } = access;
    const { preferredName, active, account } = change;
    const key = account && (await this.keys.newest(organisationId, merchantId));
    const updated = await this.#vaultOf(access)
      .transaction(async (connection) => {
        const resealed =
          account && key && (await reseal(connection, access, { customerId, id, account, key }));
        const { rows } = await connection.query<Token>(CHANGE_TOKEN, [
          organisationId,
          merchantId,
          customerId,
          id,
          preferredName ?? null,
          active ?? null,
          account?.type ?? null,
          account === undefined ? null : JSON.stringify(shownAccount(account)),
          resealed?.sealed ?? null,
          key?.version ?? null,
          resealed?.sealVersion ?? null,
          access.userId,
        ]);
        const changed = Object.keys(change).filter(
          (name) => change[name as keyof typeof change] !== undefined,
        );
        if (rows[0] !== undefined) {
          // A payment with the token checks its seal version against the journal.
          const seals = resealed === undefined ? [] : [`seal ${resealed.sealVersion}`];
          const detail = [...changed, ...seals].join(', ');
          await journal(connection, {
            ...entryOf(access),
            action: 'token.updated',
            customerId,
            tokenId: id,
            detail,
          });
        }
        return rows[0];
      })
      .catch((error: unknown) => {
        throw isUniqueViolation(error, 'preferred_name_once') ? nameInUse() : error;
      });
    return updated ?? (await this.#notFound(access, customerId));
  }

  async delete(access: VaultAccess, customerId: CustomerId, id: TokenId): Promise<void> {
    const deleted = await this.#vaultOf(access).transaction(async (connection) => {
      const values = [access.organisationId, access.merchantId, customerId, id, access.userId];
      const { rows } = await connection.query(DELETE_TOKEN, values);
      if (rows.length === 1)
        await journal(connection, { ...entryOf(access), action: 'token.deleted', customerId, tokenId: id });
      return rows.length === 1;
    });
    if (!deleted) await this.#notFound(access, customerId);
  }

  /** Opens the token behind a virtual PAN; undefined if it cannot be used for a payment of this merchant. */
  async openForPayment(
    organisationId: OrganisationId,
    merchantId: MerchantId,
    virtualPan: string,
  ): Promise<OpenedToken | undefined> {
    const row = await this.#opening.submit({ organisationId, merchantId, virtualPan });
    if (row === undefined) return undefined;
    const { keyVersion, sealed, sealVersion } = row;
    const journalled = journalledSeal(row.journalled, openSignerOf(this.connections.lookUps));
    const place = tokenPlace({ organisationId, merchantId }, { ...row, virtualPan });
    try {
      // Set back to one of its earlier accounts, or restored after its deletion.
      // guard(payment by virtual PAN: not with a seal that the journal knows to be replaced, or a token that it knows to be gone): !== null ⇒ === sealVersion
      if (journalled !== null && journalled !== sealVersion) throw this.keys.broken(place);
      const secrets = await this.keys.open(place, keyVersion, sealed);
      const networkTransactionId = await this.#networkIdOf(organisationId, row);
      return {
        tokenId: row.id,
        customerId: row.customerId,
        accountType: row.accountType,
        secrets,
        sealVersion,
        ...(networkTransactionId !== undefined && { networkTransactionId }),
      };
    } catch (error) {
      // A token changed directly in the database cannot be used for payments.
      if (error instanceof SealBroken) return undefined;
      throw error;
    }
  }

  /** Of the first payment that was approved. Later ones name it. */
  keepNetworkId(organisationId: OrganisationId, named: Named): Promise<void> {
    return keepNetworkIds(this.connections.additions, this.keys, organisationId, [named]);
  }

  /** One that somebody has written into the database is not sent to an acquirer. */
  async #networkIdOf(
    organisationId: OrganisationId,
    { id: tokenId, sealVersion, networkTransactionId, networkTransactionMark: mark }: UsableRow,
  ): Promise<string | undefined> {
    if (networkTransactionId === null || mark === null) return undefined;
    const words = networkIdWords({ organisationId, tokenId, sealVersion, networkTransactionId });
    // guard(network transaction ID: of a token, as the gateway has kept it): (await this.keys.hasAttested(words, mark)) ⇒ true
    return (await this.keys.hasAttested(words, mark)) ? networkTransactionId : undefined;
  }

  async #add(tokens: readonly NewToken[]): Promise<readonly Ending[]> {
    const { rows } = await this.connections.additions.query<{
      organisationId: OrganisationId;
      id: TokenId;
      ending: Ending;
    }>(ADD_TOKENS, NEW_TOKENS.encode(tokens));
    const endings = new Map(
      rows.map(({ organisationId, id, ending }) => [`${organisationId}/${id}`, ending]),
    );
    return tokens.map(({ organisationId, id }) => endings.get(`${organisationId}/${id}`) ?? 'conflict');
  }

  async #usable(asked: readonly EntryOf<typeof VIRTUAL_PANS>[]): Promise<readonly (UsableRow | undefined)[]> {
    const values = VIRTUAL_PANS.encode(asked);
    const { rows } = await this.connections.lookUps.query<UsableRow>(USABLE_TOKENS, values);
    const byPlace = new Map(rows.map((row) => [row.place, row]));
    return asked.map((_, index) => byPlace.get(index + 1));
  }

  #vaultOf({ organisationId }: VaultAccess): Queryable {
    return this.connections.vault.of(organisationId);
  }

  async #checkCustomer(access: VaultAccess, customerId: CustomerId): Promise<void> {
    const { organisationId, merchantId } = access;
    const { rows } = await this.#vaultOf(access).query(CUSTOMER, [organisationId, merchantId, customerId]);
    if (rows.length === 0) throw customerNotFound();
  }

  async #notFound(access: VaultAccess, customerId: CustomerId): Promise<never> {
    await this.#checkCustomer(access, customerId);
    throw fault('token_not_found', 'token');
  }
}

function nameInUse() {
  return fault('preferred_name_in_use', 'preferred name');
}

/** A token with its account: another account has another. */
interface Named {
  readonly tokenId: TokenId;
  readonly sealVersion: number;
  readonly networkTransactionId: string;
}

/** Attested, so that none is sent that somebody has written into the database. */
export async function keepNetworkIds(
  database: Queryable,
  keys: Pick<DataKeys, 'attest'>,
  organisationId: OrganisationId,
  named: readonly Named[],
): Promise<void> {
  if (named.length === 0) return;
  const marks = await Promise.all(
    named.map((one) => keys.attest(networkIdWords({ organisationId, ...one }))),
  );
  await database.query(KEEP_NETWORK_IDS, [
    organisationId,
    named.map(({ tokenId }) => tokenId),
    named.map(({ sealVersion }) => sealVersion),
    named.map(({ networkTransactionId }) => networkTransactionId),
    marks.map((mark) => mark.toString('base64')),
  ]);
}

export function networkIdWords(named: Named & { readonly organisationId: OrganisationId }): string {
  const { organisationId, tokenId, sealVersion, networkTransactionId } = named;
  return `network transaction of token/${organisationId}/${tokenId}/${sealVersion}/${networkTransactionId}`;
}
