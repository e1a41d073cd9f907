// Batches: entries submitted while a batch is under way share the next batch and its one statement. For statements that write, this is a
// group commit. There is no timer: a lone entry does not wait.
import { Histogram } from '../values/histogram.js';
import { DatabaseUnavailable, isDeadlock, isLockTimeout } from './database.js';

const DEADLOCK_ATTEMPTS = 5;
const SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000];

/** The organisation that an entry belongs to: batches take organisations in turns. */
export interface Owned {
  readonly organisationId: number;
}

interface Waiting<Entry, Result> {
  readonly entry: Entry;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export interface BatcherOptions<Entry> {
  /** The most entries in one statement. 1 turns batching off. */
  readonly maxBatch: number;
  /** How many batches may be under way at once. */
  readonly lanes: number;
  /** Entries with the same key never share a batch: a statement can change a row only once. */
  readonly exclusiveKey?: (entry: Entry) => string;
  /** If the database does not mix organisations, each batch belongs to one organisation. */
  readonly database?: { readonly mixesOrganisations: boolean };
}

export class Batcher<Entry extends Owned, Result> {
  /** Queues by organisation, in the order of their turns. No queue is empty. */
  readonly #waiting = new Map<number, Waiting<Entry, Result>[]>();
  #underWay = 0;
  /** How many entries the batches had. */
  readonly sizes = new Histogram(SIZES);

  constructor(
    private readonly run: (entries: readonly Entry[]) => Promise<readonly Result[]>,
    private readonly options: BatcherOptions<Entry>,
  ) {}

  submit(entry: Entry): Promise<Result> {
    return new Promise((resolve, reject) => {
      const waiting = { entry, resolve, reject };
      // Entries submitted in the same turn of the event loop share the first batch too.
      if (this.#waiting.size === 0 && this.#underWay < this.options.lanes) setImmediate(() => this.#flush());
      const queue = this.#waiting.get(entry.organisationId);
      if (queue === undefined) this.#waiting.set(entry.organisationId, [waiting]);
      else queue.push(waiting);
    });
  }

  #flush(): void {
    while (this.#waiting.size > 0 && this.#underWay < this.options.lanes) {
      void this.#runBatch(this.#nextBatch());
    }
  }

  /**
   * Divides the room in the batch among the waiting organisations, until the batch is full. However many entries one organisation has
   * waiting, the others' entries are in the next batch.
   */
  #nextBatch(): Waiting<Entry, Result>[] {
    const batch: Waiting<Entry, Result>[] = [];
    const keys = new Set<string>();
    const { maxBatch, database } = this.options;
    if (database?.mixesOrganisations === false) return this.#nextOfOne();
    for (let before = -1; before < batch.length && batch.length < maxBatch && this.#waiting.size > 0; ) {
      before = batch.length;
      const share = Math.ceil((maxBatch - before) / this.#waiting.size);
      for (const [organisationId, queue] of [...this.#waiting]) {
        const room = Math.min(share, maxBatch - batch.length);
        if (room === 0) break;
        const rest = this.#take(queue, room, batch, keys);
        // Moves the organisation behind those that have not had their turn yet.
        this.#waiting.delete(organisationId);
        if (rest.length > 0) this.#waiting.set(organisationId, rest);
      }
    }
    return batch;
  }

  #nextOfOne(): Waiting<Entry, Result>[] {
    const batch: Waiting<Entry, Result>[] = [];
    for (const [organisationId, queue] of this.#waiting) {
      const rest = this.#take(queue, this.options.maxBatch, batch, new Set());
      this.#waiting.delete(organisationId);
      if (rest.length > 0) this.#waiting.set(organisationId, rest);
      break;
    }
    return batch;
  }

  /** Moves the first entries of a queue that may share the batch into it, and returns the rest. */
  #take(
    queue: Waiting<Entry, Result>[],
    room: number,
    batch: Waiting<Entry, Result>[],
    keys: Set<string>,
  ): Waiting<Entry, Result>[] {
    const { exclusiveKey } = this.options;
    if (exclusiveKey === undefined) {
      for (const waiting of queue.splice(0, room)) batch.push(waiting);
      return queue;
    }
    const full = batch.length + room;
    return queue.filter((waiting) => {
      if (batch.length === full) return true;
      const key = exclusiveKey(waiting.entry);
      if (keys.has(key)) return true;
      keys.add(key);
      batch.push(waiting);
      return false;
    });
  }

  async #runBatch(batch: readonly Waiting<Entry, Result>[]): Promise<void> {
    this.#underWay += 1;
    this.sizes.observe(batch.length);
    await this.#send(batch);
    this.#underWay -= 1;
    this.#flush();
  }

  #rejectWaiting(error: DatabaseUnavailable): void {
    const queues = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const waiting of queues.flat()) waiting.reject(error);
  }

  async #send(batch: readonly Waiting<Entry, Result>[], attempt = 1): Promise<void> {
    try {
      const results = await this.run(batch.map((waiting) => waiting.entry));
      for (const [index, waiting] of batch.entries()) waiting.resolve(results[index] as Result);
    } catch (error) {
      if (isDeadlock(error) && attempt < DEADLOCK_ATTEMPTS) {
        // The batch was only the victim of a deadlock.
        await this.#send(batch, attempt + 1);
      } else if (error instanceof DatabaseUnavailable || isLockTimeout(error) || batch.length === 1) {
        for (const waiting of batch) waiting.reject(error);
        // Entries behind this batch have waited long enough, and would now wait as long again.
        if (error instanceof DatabaseUnavailable && error.unresponsive) this.#rejectWaiting(error);
      } else {
        // One entry broke the statement, and nothing was committed. No client can cause that. If it happens anyway, halving finds the
        // entry in a few statements.
        const half = batch.length >> 1;
        await this.#send(batch.slice(0, half));
        await this.#send(batch.slice(half));
      }
    }
  }
}

// A batch is sent as one array per column, which is cheap to write and cheap to read. One record gives each column's name, its type, and
// how to read its value from an entry.

/** One column: the SQL of its array for a given parameter, and the parameter's text. */
interface Column<Entry> {
  readonly array: (parameter: string) => string;
  readonly encode: (entries: readonly Entry[]) => string;
}

type Read<Entry, Value> = (entry: Entry) => Value;
type Optional<Value> = Value | null | undefined;

export interface Columns<Entry> {
  /** The arrays alone, for functions that take arrays. */
  readonly arrays: string;
  /** For FROM and JOIN: the entries as rows, under the alias. */
  readonly rows: string;
  /** The same, with a column `place` that numbers the entries from 1. */
  readonly places: string;
  /** The number of the last parameter. */
  readonly last: number;
  /** The parameters, in the order of the columns. */
  readonly encode: (entries: readonly Entry[]) => string[];
}

/** The type that the columns are read from. */
export type EntryOf<Batch> = Batch extends Columns<infer Entry> ? Entry : never;

/** `after` is the number of the last parameter before them. */
export function columns<Entry>(
  alias: string,
  record: Readonly<Record<string, Column<Entry>>>,
  { after = 0 }: { readonly after?: number } = {},
): Columns<Entry> {
  const names = Object.keys(record);
  const all = Object.values(record);
  const arrays = all.map(({ array }, index) => array(`$${after + index + 1}`)).join(', ');
  return {
    arrays,
    // In the select list, where PostgreSQL unnests the arrays in step. In FROM it would first store each array separately, which costs a
    // small batch more than the rest of its statement.
    rows: `(SELECT ${all.map(({ array }, index) => `unnest(${array(`$${after + index + 1}`)}) AS ${names[index]}`).join(', ')}) AS ${alias}`,
    places: `unnest(${arrays}) WITH ORDINALITY AS ${alias}(${names.join(', ')}, place)`,
    last: after + all.length,
    encode: (entries) => all.map((column) => column.encode(entries)),
  };
}

/** Separates texts inside one parameter. */
const SEPARATOR = '\u001f';
/** Stands for NULL. */
const NONE = '\u001e';
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const RESERVED = /[\u001e\u001f]/;

/** A text with a separator would become two entries. The code that let it in must be fixed, so the text is refused, not cleaned. */
export class SeparatorInText extends Error {
  constructor() {
    // The message leaves out the text, which may be secret.
    super('a text in a batch contains the control character that separates entries');
  }
}

function checked(value: string): string {
  if (RESERVED.test(value)) throw new SeparatorInText();
  return value;
}

function numeric(type: string) {
  return <Entry>(read: Read<Entry, Optional<number>>): Column<Entry> => ({
    array: (parameter) => `${parameter}::${type}[]`,
    encode: (entries) => `{${entries.map((entry) => read(entry) ?? 'NULL').join(',')}}`,
  });
}

export const smallint = numeric('smallint');
export const integer = numeric('integer');
export const bigint = numeric('bigint');
export const float = numeric('float8');

export function boolean<Entry>(read: Read<Entry, boolean>): Column<Entry> {
  return {
    array: (parameter) => `${parameter}::boolean[]`,
    encode: (entries) => `{${entries.map(read).join(',')}}`,
  };
}

const textArray = (parameter: string) => `string_to_array(${parameter}, E'\\x1f')`;
const optionalTextArray = (parameter: string) => `string_to_array(${parameter}, E'\\x1f', E'\\x1e')`;

/** Never empty: an empty text alone in its batch arrives as NULL. */
export function text<Entry>(read: Read<Entry, string>): Column<Entry> {
  return {
    array: textArray,
    encode: (entries) => entries.map((entry) => checked(read(entry))).join(SEPARATOR),
  };
}

/** An empty text counts as NULL, alone in its batch or not. */
export function optionalText<Entry>(read: Read<Entry, Optional<string>>): Column<Entry> {
  return {
    array: optionalTextArray,
    encode: (entries) => entries.map((entry) => checked(read(entry) ?? '') || NONE).join(SEPARATOR),
  };
}

export function date<Entry>(read: Read<Entry, Optional<string>>): Column<Entry> {
  return { ...optionalText(read), array: (parameter) => `${optionalTextArray(parameter)}::date[]` };
}

/** Arrives as text: `column::json`. JSON escapes control characters, so it holds no separator. */
export function json<Entry>(read: Read<Entry, unknown>): Column<Entry> {
  return {
    array: optionalTextArray,
    encode: (entries) => entries.map((entry) => jsonOrNone(read(entry))).join(SEPARATOR),
  };
}

function jsonOrNone(value: unknown): string {
  return value === undefined || value === null ? NONE : JSON.stringify(value);
}

/** Arrives as base64: `decode(column, 'base64')`. */
export function bytes<Entry>(read: Read<Entry, Buffer>): Column<Entry> {
  return {
    array: textArray,
    encode: (entries) => entries.map((entry) => read(entry).toString('base64')).join(SEPARATOR),
  };
}

/** The same, for values that may be missing. */
export function optionalBytes<Entry>(read: Read<Entry, Optional<Buffer>>): Column<Entry> {
  return optionalText((entry) => read(entry)?.toString('base64'));
}

/** Arrives as the text of an array: `column::integer[]`. */
export function integers<Entry>(read: Read<Entry, readonly number[]>): Column<Entry> {
  return {
    array: textArray,
    encode: (entries) => entries.map((entry) => `{${read(entry).join(',')}}`).join(SEPARATOR),
  };
}
