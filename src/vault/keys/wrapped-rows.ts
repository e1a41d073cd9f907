// Tables with secrets that the key-encryption key wraps itself, each in a row with a name.
import type { Statement } from '../../postgres/database.js';

export interface WrappedRows {
  readonly context: (name: string) => string;
  /** Every `name`, `keyId` and `wrapped`. */
  readonly all: Statement;
  /** Takes the name, the new key's ID, what it wrapped, and what was there before. */
  readonly rewrap: Statement;
}
