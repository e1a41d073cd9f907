// One execution of a prepared statement. The driver lets the server describe the rows anew with every execution, and makes each row
// member by member; together that costs more than all the rest of a small batch. Here a session describes a statement once.
import pg from 'pg';
import type { Rows, Statement } from './statement.js';

/** What the rows of a statement are like. */
export interface Description {
  readonly names: readonly string[];
  readonly parsers: readonly ((text: string) => unknown)[];
  /** A row without values. Copies of it have one shape, however many columns there are. */
  readonly emptyRow: Readonly<Record<string, null>>;
}

/** Of a session, by the names of its statements. */
export type Descriptions = Map<string, Description>;

/** What it takes of the driver's connection. */
interface Connection {
  /** The texts that the server has, by name. */
  readonly parsedStatements: Readonly<Record<string, string>>;
  readonly stream: { cork(): void; uncork(): void };
  parse(statement: Statement): void;
  bind(bound: {
    statement: string;
    values: readonly unknown[];
    valueMapper: (value: unknown) => string;
  }): void;
  describe(described: { type: 'P' }): void;
  execute(): void;
  sync(): void;
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

interface Settled<Row> {
  readonly resolve: (rows: Rows<Row>) => void;
  readonly reject: (error: unknown) => void;
}

/** Whether it can be executed here. How anything else than texts and numbers is written, the driver knows. */
export function isExecutable({ name }: Statement, values: readonly unknown[]): boolean {
  return name !== '' && values.every((value) => typeof value === 'string' || typeof value === 'number');
}

export class Execution<Row> implements pg.Submittable {
  /** The driver notes under this name that the server has the statement. */
  readonly name: string;
  readonly text: string;
  readonly #rows: Row[] = [];
  #count = 0;
  #description: Description | undefined;
  /** Why a row could not be read. Thrown at once, it would end the process. */
  #unread: unknown;

  constructor(
    { name, text }: Statement,
    private readonly values: readonly unknown[],
    private readonly descriptions: Descriptions,
    private readonly settled: Settled<Row>,
  ) {
    this.name = name;
    this.text = text;
    this.#description = descriptions.get(name);
  }

  submit(driversConnection: pg.Connection): Error | undefined {
    const connection = driversConnection as unknown as Connection;
    const { name, text, values } = this;
    const parsed = connection.parsedStatements[name];
    if (parsed !== undefined && parsed !== text) return new Error(`two statements are called ${name}`);
    // One packet for all of it.
    connection.stream.cork();
    try {
      if (parsed === undefined) connection.parse({ name, text });
      connection.bind({ statement: name, values, valueMapper: String });
      if (this.#description === undefined) connection.describe({ type: 'P' });
      connection.execute();
      connection.sync();
    } finally {
      connection.stream.uncork();
    }
    return undefined;
  }

  handleRowDescription({ fields }: { fields: readonly Field[] }): void {
    const names = fields.map(({ name }) => name);
    this.#description = {
      names,
      parsers: fields.map(({ dataTypeID }) => pg.types.getTypeParser(dataTypeID, 'text')),
      // Read from a text, since an object to which so many members were added one by one would be slow for ever.
      emptyRow: JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:null`).join()}}`),
    };
    this.descriptions.set(this.name, this.#description);
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    try {
      this.#rows.push(rowOf(this.#description as Description, fields) as Row);
    } catch (error) {
      this.#unread ??= error;
    }
  }

  /** How many rows it was is the last word, whatever the command. */
  handleCommandComplete({ text }: { text: string }): void {
    this.#count = Number(text.slice(text.lastIndexOf(' ') + 1)) || 0;
  }

  /** Only now it is committed: what the server says before, it says before its commit. */
  handleReadyForQuery(): void {
    if (this.#unread === undefined) this.settled.resolve({ rows: this.#rows, count: this.#count });
    else this.settled.reject(this.#unread);
  }

  handleError(error: unknown): void {
    this.settled.reject(error);
  }

  /** Without a limit to the rows no portal is suspended, and no statement is empty or copies. */
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}
}

function rowOf(
  { names, parsers, emptyRow }: Description,
  fields: readonly (string | null)[],
): Record<string, unknown> {
  const row: Record<string, unknown> = { ...emptyRow };
  for (let column = 0; column < fields.length; column += 1) {
    const field = fields[column] as string | null;
    if (field !== null) row[names[column] as string] = parsers[column]?.(field);
  }
  return row;
}
