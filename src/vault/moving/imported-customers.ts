// The customers of tokens that are imported: those that are here by their reference, and the others made, many at once.
import { journalAll } from '../../journal/journal.js';
import type { EntryOf } from '../../postgres/batches.js';
import type { Database, Queryable } from '../../postgres/database.js';
import { IdBlocks } from '../../postgres/id-blocks.js';
import type { CustomerId } from '../../values/ids.js';
import { type Customer, entryOf, type VaultAccess } from '../customers.js';
import {
  ADD_CUSTOMERS,
  CUSTOMERS_BY_REFERENCE,
  LEASE_CUSTOMER_IDS,
  NEW_CUSTOMERS,
} from '../customers.sql.js';

export type NewCustomer = EntryOf<typeof NEW_CUSTOMERS>;

interface Wanted {
  readonly reference: string;
  readonly customerName: string;
}

export class ImportedCustomers {
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
