// Tables with secrets that the key-encryption key wraps directly, each in a named row.
import type { Queryable, Statement } from '../../postgres/database.js';

export interface WrappedRows {
  readonly context: (name: string) => string;
  /** Every `name`, `keyId` and `wrapped`. */
  readonly all: Statement;
  /** Takes the name, the new key's ID, the newly wrapped secret and the previous one. */
  readonly rewrap: Statement;
  /** For rows that the journal seals: does the same around it, in one transaction. */
  readonly resealing?: (
    connection: Queryable,
    actor: string,
    name: string,
    rewrap: () => Promise<unknown>,
  ) => Promise<void>;
}
