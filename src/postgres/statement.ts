// What the server is asked, and what comes back.

export interface Statement {
  /** Prepared under this name once per connection. */
  readonly name: string;
  readonly text: string;
  /** In place of it, where organisations are spread over several servers and the text does not work there: see `distributed.ts`. */
  readonly spread?: string;
}

export interface Rows<Row> {
  readonly rows: Row[];
  readonly count: number;
}
