// Tables with secrets that the key-encryption key wraps directly, each in a named row.
import type { Statement } from '../../postgres/database.js';

export interface WrappedRows {
  readonly context: (name: string) => string;
  /** Every `name`, `keyId` and `wrapped`. */
  readonly all: Statement;
  /** Takes the name, the new key's ID, the newly wrapped secret and the previous one. */
  readonly rewrap: Statement;
}
