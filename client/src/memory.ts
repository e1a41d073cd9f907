// The memory of what was begun: a table of the caller's, by which a new process finds out what became of the payments of one that
// was killed. It holds no card data.

/** An operation that creates a transaction, as it is known before anything is sent. */
export interface Begun {
  /** Unique: the key of the table. */
  readonly correlationId: string;
  readonly operation: CreatingOperation;
  readonly merchantId: number;
  readonly reference: string;
  /** A void has none. */
  readonly totalAmount?: string;
  readonly currency?: string;
  /** Of a completion, a refund or a void. */
  readonly targetAudit?: number;
  /** ISO 8601, by this machine's clock. */
  readonly begunAt: string;
}

export type CreatingOperation =
  | 'purchase'
  | 'preauthorisation'
  | 'completion'
  | 'refund'
  | 'standaloneRefund'
  | 'void';

/** How it ended. What is not known has not ended. */
export type Ending =
  | { readonly kind: 'decided'; readonly audit: number; readonly outcome: string }
  | { readonly kind: 'refused'; readonly errorCodes: readonly string[] }
  | { readonly kind: 'not_processed' };

export interface Memory {
  /** Returns once it is durable: nothing is sent before. One that is there already stays as it is, and is open again. */
  begin(begun: Begun): void | Promise<void>;
  end(correlationId: string, ending: Ending): void | Promise<void>;
  /** Those that were begun and have not ended. */
  open(): Iterable<Begun> | AsyncIterable<Begun> | Promise<Iterable<Begun>>;
}
