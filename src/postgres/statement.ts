// A statement and its result.

export interface Statement {
  /** Prepared under this name once per connection. */
  readonly name: string;
  readonly text: string;
  /** Replaces `text` on Citus where that does not work there: see `distributed.ts`. */
  readonly spread?: string;
}

export interface Rows<Row> {
  readonly rows: Row[];
  readonly count: number;
}
