// Tokens that come from another vault, many at once. The database decides which are new: the ID under which each was known there, and
// the card of its customer, are claimed in the transaction that adds the token. So nothing is added twice, whoever is killed when.
import { openSignerOf } from '../../journal/entry-signer.js';
import { journalAll } from '../../journal/journal.js';
import type { EntryOf } from '../../postgres/batches.js';
import { type Database, isDeadlock, type Queryable } from '../../postgres/database.js';
import { IdBlocks } from '../../postgres/id-blocks.js';
import type { CustomerId, TokenId } from '../../values/ids.js';
import { type Account, secretsOf, shownAccount } from '../account.js';
import { type Customer, entryOf, type VaultAccess } from '../customers.js';
import {
  ADD_CUSTOMERS,
  CUSTOMERS_BY_REFERENCE,
  LEASE_CUSTOMER_IDS,
  NEW_CUSTOMERS,
} from '../customers.sql.js';
import { type DataKey, type DataKeys, seal } from '../keys/keys.js';
import { tokenPlace } from '../keys/sealed-rows.js';
import { keepNetworkIds } from '../tokens.js';
import { ADD_TOKENS, LEASE_TOKEN_IDS, NEW_TOKENS } from '../tokens.sql.js';
import { makeVirtualPan } from '../virtual-pan.js';
import { CLAIM_FORMER_IDS, CLAIMED, FORMER_IDS, IMPORTED_CARDS, RECOGNISED } from './former-ids.sql.js';
import { recognitionOf } from './recognition.js';

/** A token as the other vault has it. */
export interface FormerToken {
  /** What it was called there. */
  readonly formerId: string;
  /** What else it is known as, such as in a vault before that one. */
  readonly alsoFormerIds: readonly string[];
  readonly reference: string;
  readonly customerName: string;
  /** Changed where the customer has a token of this name. */
  readonly preferredName: string;
  readonly active: boolean;
  readonly account: Account;
  /** Under which the card's network knows the first payment with it. */
  readonly networkTransactionId?: string;
}

/** `duplicate`: the customer has this card already, and the token that has it is known by this ID too. `taken`: the ID stands for another card. */
export interface ImportEnding {
  readonly kind: 'imported' | 'already there' | 'duplicate' | 'taken';
  readonly customerId: CustomerId;
  readonly tokenId: TokenId;
  readonly virtualPan: string;
}

interface FoundRow extends Omit<ImportEnding, 'kind'> {
  readonly formerId: string;
  readonly recognition: Buffer | null;
}

interface Recognised {
  readonly token: FormerToken;
  readonly customerId: CustomerId;
  readonly recognition: Buffer;
}

/** On its way: whose it will be, and under which number. */
interface Arriving extends Recognised {
  readonly tokenId: TokenId;
}

type NewToken = EntryOf<typeof NEW_TOKENS>;

const ATTEMPTS = 10;
const FIRST_SEAL = 1;
const NAME_MAX_LENGTH = 50;

/** Somebody has deleted what this batch counted on: it is begun anew. */
class Overtaken extends Error {}

export class VaultImports {
  readonly #customers: ImportedCustomers;
  readonly #tokenIds: IdBlocks<TokenId>;

  constructor(
    private readonly database: Database,
    private readonly keys: DataKeys,
    /** By which cards are recognised. */
    private readonly recognitionKey: Buffer,
    private readonly access: VaultAccess,
    /** Whose IDs they are. */
    private readonly source: string,
  ) {
    this.#customers = new ImportedCustomers(database, access);
    this.#tokenIds = new IdBlocks(database, LEASE_TOKEN_IDS);
  }

  /** Which of these are here, without writing anything. */
  async known(
    tokens: readonly FormerToken[],
    connection: Queryable = this.database,
  ): Promise<Map<string, ImportEnding>> {
    const { organisationId, merchantId } = this.access;
    const byId = new Map(tokens.map((token) => [token.formerId, token]));
    const values = [organisationId, merchantId, this.source, [...byId.keys()]];
    const { rows } = await connection.query<FoundRow>(FORMER_IDS, values);
    return new Map(
      rows.map((row) => [row.formerId, this.#endingOf(row, byId.get(row.formerId) as FormerToken)]),
    );
  }

  /** Those of which the customer is here and has the card, as far as it was imported; without writing anything. */
  async duplicates(tokens: readonly FormerToken[]): Promise<Map<string, ImportEnding>> {
    const customerIds = await this.#customers.find(this.database, tokens);
    const cards = tokens.flatMap((token) => {
      const customerId = customerIds.get(token.reference);
      return customerId === undefined ? [] : [this.#recognised(token, customerId)];
    });
    return this.#sameCards(this.database, cards);
  }

  /** In one commit. Each has an ID of its own. */
  async add(tokens: readonly FormerToken[]): Promise<Map<string, ImportEnding>> {
    const endings = await this.known(tokens);
    // guard(import: a token is added only for an old ID that the database had not): !endings.has(formerId) ⇒ formerId !== ""
    const fresh = tokens.filter(({ formerId }) => !endings.has(formerId));
    for (let attempt = 1; fresh.length > 0; attempt += 1) {
      try {
        for (const [formerId, ending] of await this.#addFresh(fresh)) endings.set(formerId, ending);
        break;
      } catch (error) {
        const again = error instanceof Overtaken || isDeadlock(error);
        if (!again || attempt === ATTEMPTS) throw error;
      }
    }
    return endings;
  }

  async #addFresh(fresh: readonly FormerToken[]): Promise<Map<string, ImportEnding>> {
    const { organisationId, merchantId } = this.access;
    // What takes another connection is done before the transaction.
    const key = await this.keys.newest(organisationId, merchantId);
    const tokenIds: TokenId[] = [];
    for (const _ of fresh) tokenIds.push(await this.#tokenIds.take(organisationId));
    const missing = await this.#customers.missing(fresh);
    return this.database.transaction(async (connection) => {
      const customerIds = await this.#customers.findOrCreate(connection, fresh, missing);
      const arriving = fresh.map((token, place): Arriving => {
        const customerId = customerIds.get(token.reference);
        if (customerId === undefined) throw new Overtaken();
        return { ...this.#recognised(token, customerId), tokenId: tokenIds[place] as TokenId };
      });
      const won = await this.#claim(connection, arriving);
      const added = await this.#addTokens(connection, key, won);
      const named = won.flatMap(({ token: { networkTransactionId: id }, tokenId }) =>
        id === undefined ? [] : { tokenId, sealVersion: FIRST_SEAL, networkTransactionId: id },
      );
      await keepNetworkIds(connection, this.keys, organisationId, named);
      const others = await this.#explain(
        connection,
        arriving.filter((one) => !won.includes(one)),
      );
      const endings = new Map([...added, ...others]);
      await this.#claimFurtherIds(connection, fresh, endings);
      return endings;
    });
  }

  /** Those whose ID and card nobody has brought before. */
  async #claim(connection: Queryable, arriving: readonly Arriving[]): Promise<Arriving[]> {
    const { rows } = await this.#claimIds(
      connection,
      arriving.map(({ token: { formerId }, ...one }) => ({ ...one, formerId })),
    );
    const won = new Set(rows.map(({ formerId }) => formerId));
    // guard(import: a card that the customer has is no second token): has(token.formerId) ⇒ size >= 0 && token !== undefined
    // guard(import: a token is added only for an old ID that the database had not): has(token.formerId) ⇒ size >= 0 && token !== undefined
    return arriving.filter(({ token }) => won.has(token.formerId));
  }

  #claimIds(connection: Queryable, claims: readonly EntryOf<typeof CLAIMED>[]) {
    const { organisationId, merchantId } = this.access;
    const values = [organisationId, merchantId, this.source, ...CLAIMED.encode(claims)];
    return connection.query<{ formerId: string }>(CLAIM_FORMER_IDS, values);
  }

  async #addTokens(
    connection: Queryable,
    key: DataKey,
    won: readonly Arriving[],
  ): Promise<Map<string, ImportEnding>> {
    const endings = new Map<string, ImportEnding>();
    let left = won.map((one) => ({ one, names: namesFor(one) }));
    for (let attempt = 1; left.length > 0; attempt += 1) {
      if (attempt > ATTEMPTS) throw new Overtaken();
      const asked = left.map(({ one, names }) => this.#newToken(key, one, names[0] as string));
      const { rows } = await connection.query<{ id: TokenId; ending: string }>(
        ADD_TOKENS,
        NEW_TOKENS.encode(asked),
      );
      const became = new Map(rows.map(({ id, ending }) => [id, ending]));
      left = left.filter(({ one, names }, place) => {
        const ending = became.get(one.tokenId);
        if (ending === 'no customer') throw new Overtaken();
        if (ending === 'name in use' && names.length > 1) names.shift();
        if (ending !== 'added') return true;
        const { virtualPan } = asked[place] as NewToken;
        const { customerId, tokenId } = one;
        endings.set(one.token.formerId, { kind: 'imported', customerId, tokenId, virtualPan });
        return false;
      });
    }
    return endings;
  }

  #newToken(key: DataKey, { token, customerId, tokenId: id }: Arriving, preferredName: string): NewToken {
    const { account, active } = token;
    const { access } = this;
    const virtualPan = makeVirtualPan();
    const accountType = account.type;
    const place = tokenPlace(access, { id, customerId, virtualPan, accountType, sealVersion: FIRST_SEAL });
    return {
      id,
      virtualPan,
      preferredName,
      active,
      accountType,
      shown: shownAccount(account),
      organisationId: access.organisationId,
      access,
      customerId,
      mac: openSignerOf(this.database)?.macOf({
        ...entryOf(access),
        action: 'token.created',
        customerId,
        tokenId: id,
      }),
      keyVersion: key.version,
      sealed: seal(key, place, secretsOf(account)),
    };
  }

  /** Why the others are not new. A card that the customer has gets this ID too. */
  async #explain(connection: Queryable, others: readonly Arriving[]): Promise<Map<string, ImportEnding>> {
    if (others.length === 0) return new Map();
    const tokens = others.map(({ token }) => token);
    const endings = new Map([
      ...(await this.#sameCards(connection, others)),
      ...(await this.known(tokens, connection)),
    ]);
    if (endings.size < others.length) throw new Overtaken();
    const duplicates = [...endings].filter(([, { kind }]) => kind === 'duplicate');
    if (duplicates.length > 0)
      await this.#claimIds(
        connection,
        duplicates.map(([formerId, { customerId, tokenId }]) => ({ formerId, customerId, tokenId })),
      );
    return endings;
  }

  #recognised(token: FormerToken, customerId: CustomerId): Recognised {
    const recognition = recognitionOf(this.recognitionKey, this.access, customerId, token.account);
    return { token, customerId, recognition };
  }

  async #sameCards(connection: Queryable, cards: readonly Recognised[]): Promise<Map<string, ImportEnding>> {
    const { organisationId, merchantId } = this.access;
    const values = [organisationId, merchantId, ...RECOGNISED.encode(cards)];
    const { rows } = await connection.query<FoundRow>(IMPORTED_CARDS, values);
    const byCard = new Map(rows.map((row) => [cardOf(row as FoundRow & { recognition: Buffer }), row]));
    return new Map(
      cards.flatMap((card): [string, ImportEnding][] => {
        const row = byCard.get(cardOf(card));
        return row === undefined ? [] : [[card.token.formerId, asEnding(row, 'duplicate')]];
      }),
    );
  }

  /** What each is known as beside. One that stands for another token by now is left to that. */
  async #claimFurtherIds(
    connection: Queryable,
    tokens: readonly FormerToken[],
    endings: ReadonlyMap<string, ImportEnding>,
  ): Promise<void> {
    const claims = tokens.flatMap(({ formerId, alsoFormerIds }) => {
      const { customerId, tokenId } = endings.get(formerId) as ImportEnding;
      return alsoFormerIds.map((further) => ({ formerId: further, customerId, tokenId }));
    });
    if (claims.length > 0) await this.#claimIds(connection, claims);
  }

  /** Of an ID that is here. Where the token has another card since, or none, nothing can be said against the one that comes now. */
  #endingOf(row: FoundRow, { account }: FormerToken): ImportEnding {
    const { customerId, recognition } = row;
    const same =
      recognition === null ||
      recognition.equals(recognitionOf(this.recognitionKey, this.access, customerId, account));
    return asEnding(row, same ? 'already there' : 'taken');
  }
}

function asEnding({ customerId, tokenId, virtualPan }: FoundRow, kind: ImportEnding['kind']): ImportEnding {
  return { kind, customerId, tokenId, virtualPan };
}

const cardOf = ({ customerId, recognition }: Pick<Recognised, 'customerId' | 'recognition'>) =>
  `${customerId}/${recognition.toString('base64')}`;

/** The one that is wished for, what it was called, and one that nobody else can have. */
function namesFor({ token: { preferredName, formerId }, tokenId }: Arriving): string[] {
  const unique = ` ${tokenId}`;
  return [
    preferredName,
    formerId.slice(0, NAME_MAX_LENGTH),
    preferredName.slice(0, NAME_MAX_LENGTH - unique.length) + unique,
  ];
}

type NewCustomer = EntryOf<typeof NEW_CUSTOMERS>;

interface Wanted {
  readonly reference: string;
  readonly customerName: string;
}

/** The customers of tokens that are imported: those that are here by their reference, and the others made, many at once. */
class ImportedCustomers {
  readonly #ids: IdBlocks<CustomerId>;

  constructor(
    private readonly database: Database,
    private readonly access: VaultAccess,
  ) {
    this.#ids = new IdBlocks(database, LEASE_CUSTOMER_IDS);
  }

  /** Those that are not here, with a number for each. Before a transaction: numbers are leased by another connection. */
  async missing(wanted: readonly Wanted[]): Promise<NewCustomer[]> {
    const known = await this.find(this.database, wanted);
    const names = new Map(wanted.map(({ reference, customerName }) => [reference, customerName]));
    const made: NewCustomer[] = [];
    for (const [reference, name] of names) {
      if (known.has(reference)) continue;
      made.push({ id: await this.#ids.take(this.access.organisationId), reference, name });
    }
    return made;
  }

  /** All of them by reference, the missing ones made. An existing one keeps its name. */
  async findOrCreate(
    connection: Queryable,
    wanted: readonly Wanted[],
    missing: readonly NewCustomer[],
  ): Promise<Map<string, CustomerId>> {
    if (missing.length > 0) {
      const { organisationId, merchantId, userId } = this.access;
      const values = [organisationId, merchantId, userId, ...NEW_CUSTOMERS.encode(missing)];
      const { rows } = await connection.query<Customer>(ADD_CUSTOMERS, values);
      const created = { ...entryOf(this.access), action: 'customer.created' } as const;
      await journalAll(
        connection,
        rows.map(({ id: customerId }) => ({ ...created, customerId })),
      );
    }
    return this.find(connection, wanted);
  }

  /** Those that are here, by reference. */
  async find(connection: Queryable, wanted: readonly Wanted[]): Promise<Map<string, CustomerId>> {
    const references = [...new Set(wanted.map(({ reference }) => reference))];
    const values = [this.access.organisationId, this.access.merchantId, references];
    const { rows } = await connection.query<Customer>(CUSTOMERS_BY_REFERENCE, values);
    return new Map(rows.map(({ id, reference }) => [reference, id]));
  }
}
