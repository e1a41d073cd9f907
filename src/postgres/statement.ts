// What the server is asked, and what comes back.

export interface Statement {
  /** Prepared under this name once per connection. */
  readonly name: string;
  readonly text: string;
}

export interface Rows<Row> {
  readonly rows: Row[];
  readonly count: number;
}
