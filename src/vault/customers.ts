// Customers, the owners of tokens. Each merchant with the vault product has its own.
import { journal, journalAll } from '../journal/journal.js';
import {
  type Database,
  isStatementTimeout,
  isUniqueViolation,
  type Queryable,
} from '../postgres/database.js';
import type { FairConnections } from '../postgres/fair-connections.js';
import { IdBlocks } from '../postgres/id-blocks.js';
import { fault } from '../values/faults.js';
import type { CustomerId, MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import type { Page, PageEnd } from '../values/page.js';
import { customerPage, type Ordering } from './customer-page.js';
import {
  ADD_CUSTOMER,
  CHANGE_CUSTOMER,
  CUSTOMER,
  CUSTOMER_BY_REFERENCE,
  DELETE_CUSTOMER,
  LEASE_CUSTOMER_IDS,
  REFERENCES_NEAR,
} from './customers.sql.js';
import { DELETE_TOKENS_OF_CUSTOMER } from './tokens.sql.js';

export interface Customer {
  readonly id: CustomerId;
  readonly name: string;
  readonly reference: string;
}

/** Whose vault, and who asks under which correlation ID. */
export interface VaultAccess {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly username: string;
  readonly userId: number;
  /** The client's address. */
  readonly address: string;
  readonly correlationId: string;
  /** For the journal, if it is not a user. */
  readonly actor?: string;
}

export interface CustomerSearch {
  readonly ordering: Ordering;
  readonly name?: string | undefined;
  readonly reference?: string | undefined;
  readonly limit: number;
  readonly offset: number;
  /** Where the previous page ended; replaces `offset`. */
  readonly after?: PageEnd | undefined;
}

/** Destroys the other stored cards of a deleted customer in the same database transaction, and returns how many there were. */
export type DestroyCards = (
  connection: Queryable,
  deleted: Pick<VaultAccess, 'organisationId' | 'merchantId'> & { readonly customerId: CustomerId },
) => Promise<number>;

export interface CustomerConnections {
  /** For leases of IDs. */
  readonly leases: Database;
  readonly vault: Pick<FairConnections, 'of'>;
  /** Statements with a short timeout: the cost of a search depends on how much the organisation has stored. */
  readonly searches: Pick<FairConnections, 'of'>;
}

export class Customers {
  readonly #ids: IdBlocks<CustomerId>;

  constructor(
    private readonly connections: CustomerConnections,
    private readonly destroyCards: DestroyCards,
  ) {
    this.#ids = new IdBlocks(connections.leases, LEASE_CUSTOMER_IDS);
  }

  #vaultOf({ organisationId }: VaultAccess): Queryable {
    return this.connections.vault.of(organisationId);
  }

  async search(access: VaultAccess, search: CustomerSearch): Promise<Page<Customer>> {
    const { ordering, name, reference, limit, offset, after } = search;
    const searches = this.connections.searches.of(access.organisationId);
    const find = async () => {
      const part = reference === undefined ? undefined : await selectiveSuffix(searches, access, reference);
      const byReference = part === undefined ? reference !== undefined : 'part';
      const statement = customerPage(ordering, after !== undefined, name !== undefined, byReference);
      return searches.query<Customer & { place: string }>(statement, [
        access.organisationId,
        access.merchantId,
        name === undefined ? null : containing(name),
        reference === undefined ? null : containing(part ?? reference),
        // One extra row shows whether there is a next page.
        limit + 1,
        after === undefined ? offset : 0,
        after?.place ?? null,
        after?.id ?? null,
        reference === undefined || part === undefined ? null : containing(reference),
      ]);
    };
    const { rows } = await find().catch((error: unknown) => {
      throw isStatementTimeout(error) ? fault('search_too_slow', 'search') : error;
    });
    const items = rows.slice(0, limit);
    const last = rows.length > limit ? items.at(-1) : undefined;
    return { items, end: last && { place: last.place, id: last.id } };
  }

  /** The customer with this reference, and whether it was created now. An existing customer keeps its name. */
  async findOrCreate(
    access: VaultAccess,
    reference: string,
    name: string,
  ): Promise<{ customer: Customer; created: boolean }> {
    const { organisationId, merchantId } = access;
    for (;;) {
      const known = await this.#vaultOf(access).query<Customer>(CUSTOMER_BY_REFERENCE, [
        organisationId,
        merchantId,
        reference,
      ]);
      if (known.rows[0] !== undefined) return { customer: known.rows[0], created: false };
      const id = await this.#ids.take(organisationId);
      const added = await this.#vaultOf(access).transaction(async (connection) => {
        const values = [organisationId, merchantId, id, reference, name, access.userId];
        const { rows } = await connection.query<Customer>(ADD_CUSTOMER, values);
        if (rows[0] !== undefined)
          await journal(connection, { ...entryOf(access), action: 'customer.created', customerId: id });
        return rows[0];
      });
      // Another request created it at the same moment, or it was created and deleted: look again.
      if (added !== undefined) return { customer: added, created: true };
    }
  }

  async find(access: VaultAccess, id: CustomerId): Promise<Customer> {
    const { organisationId, merchantId } = access;
    const { rows } = await this.#vaultOf(access).query<Customer>(CUSTOMER, [organisationId, merchantId, id]);
    if (rows[0] === undefined) throw customerNotFound();
    return rows[0];
  }

  async update(
    access: VaultAccess,
    id: CustomerId,
    change: { reference?: string; name?: string },
  ): Promise<Customer> {
    return this.#vaultOf(access).transaction(async (connection) => {
      const values = [
        access.organisationId,
        access.merchantId,
        id,
        change.reference ?? null,
        change.name ?? null,
        access.userId,
      ];
      const { rows } = await connection.query<Customer>(CHANGE_CUSTOMER, values).catch((error: unknown) => {
        if (isUniqueViolation(error, 'customer_reference_once'))
          throw fault('reference_in_use', 'customer reference');
        throw error;
      });
      if (rows[0] === undefined) throw customerNotFound();
      await journal(connection, { ...entryOf(access), action: 'customer.updated', customerId: id });
      return rows[0];
    });
  }

  /** Also deletes its tokens with their card data, and the cards in its finished transactions. */
  async delete(access: VaultAccess, id: CustomerId): Promise<void> {
    await this.#vaultOf(access).transaction(async (connection) => {
      const values = [access.organisationId, access.merchantId, id, access.userId];
      const { rows } = await connection.query(DELETE_CUSTOMER, values);
      if (rows.length === 0) throw customerNotFound();
      // guard(deleted customer: its tokens go too): values ⇒ [0, 0, 0, 0]
      const tokens = await connection.query<{ id: TokenId }>(DELETE_TOKENS_OF_CUSTOMER, values);
      const deleted = { ...entryOf(access), action: 'token.deleted', customerId: id } as const;
      await journalAll(
        connection,
        tokens.rows.map(({ id: tokenId }) => ({ ...deleted, tokenId })),
      );
      const { organisationId, merchantId } = access;
      // guard(customer: its cards go with it): await this.destroyCards(connection, { organisationId, merchantId, customerId: id }) ⇒ 0
      const cards = await this.destroyCards(connection, { organisationId, merchantId, customerId: id });
      await journal(connection, {
        ...entryOf(access),
        action: 'customer.deleted',
        customerId: id,
        ...(cards > 0 && { detail: `${cards} cards of its transactions destroyed` }),
      });
    });
  }
}

export function customerNotFound() {
  return fault('customer_not_found', 'customer');
}

export function entryOf(access: VaultAccess) {
  const { organisationId, merchantId, username, correlationId, address, actor = `user:${username}` } = access;
  return { organisationId, merchantId, actor, correlationId, address };
}

/** For LIKE: wildcard characters are escaped. */
export function containing(text: string): string {
  return `%${text.toLowerCase().replaceAll(/[\\%_]/g, '\\$&')}%`;
}

/** A prefix of more references than this is not selective. */
const MANY = 1_000;
/** Many references contain a shorter text by chance. */
const LONG_ENOUGH = 6;

/**
 * The selective end of a reference. References of a merchant often share a prefix ("cust-00…"), and the trigram index reads all
 * customers for such a prefix; by the rest alone it finds the same few at once. Undefined if that is the whole reference, or no
 * part is selective.
 */
async function selectiveSuffix(
  searches: Queryable,
  vault: { readonly organisationId: OrganisationId; readonly merchantId: MerchantId },
  reference: string,
): Promise<string | undefined> {
  if (reference.length <= LONG_ENOUGH) return undefined;
  const text = reference.toLowerCase();
  const values = [vault.organisationId, vault.merchantId, text, MANY];
  const { rows } = await searches.query<{ reference: string }>(REFERENCES_NEAR, values);
  let from = Math.max(0, ...rows.map((near) => commonBeginning(text, near.reference)));
  // Extends back to a useful length, but not into another word: the boundary between words is the same for all.
  while (text.length - from < LONG_ENOUGH && isOfWord(text.charAt(from - 1))) from -= 1;
  return from === 0 || text.length - from < LONG_ENOUGH ? undefined : text.slice(from);
}

function commonBeginning(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

const isOfWord = (character: string) => /[a-z\d]/.test(character);
