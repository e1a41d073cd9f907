// Copies the rows of an organisation from cell to cell, page by page: while it trades, and once it is closed what is left. Rows travel as
// JSON that PostgreSQL writes and reads. What was changed since a pass is found by the transactions that wrote it, without triggers.
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Prepared } from '../../acquirers/contract.js';
import { sealedWords } from '../../checkout/checkout.js';
import { isAsAsked, isAsDecided, outcomeSealOf } from '../../payments/outcome-seals.js';
import { attestedWords, type StoredOutcome } from '../../payments/transaction.js';
import type { Queryable } from '../../postgres/database.js';
import type { Audit, OrganisationId } from '../../values/ids.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import { networkIdWords } from '../../vault/tokens.js';
import {
  COLUMNS_OF_TABLE,
  type Column,
  changedKeys,
  digestOf,
  digestOfWhole,
  IN_UTC,
  keysOf,
  PASS_BEGINS,
  PASS_THE_FENCE,
  pageOf,
  putPage,
  putRows,
  removeOthers,
  removeRows,
  rowsOf,
} from './table-statements.js';
import { IN_PAGES, type TableInPages, WHOLE } from './tables.js';

/** What the copying needs of a cell. */
export interface CopiedCell {
  readonly database: Queryable;
  readonly keys: DataKeys;
  /** What it is called at acquirers. */
  readonly installation: string;
}

/** How far a table is copied. Transaction IDs are those of the source. */
interface CopiedTable {
  /** The whole table was copied in a pass that began then. */
  readonly done?: string;
  /** The pass under way: when it began, and how far it is. */
  readonly began?: string;
  readonly after?: readonly unknown[];
}

export interface Copied {
  /** Of the source: under another one its transaction IDs mean nothing. */
  readonly lineage?: string;
  readonly tables?: Readonly<Record<string, CopiedTable>>;
  /** Up to this entry of the source's journal. */
  readonly journal?: number;
}

export interface Compared {
  readonly table: string;
  readonly rows: number;
  readonly sha256: string;
}

interface Difference {
  readonly table: string;
  readonly source: string;
  readonly destination: string;
}

interface Digested {
  readonly rows: number;
  /** Its last key. */
  readonly last: string;
  readonly digest: string;
}

interface PageRow {
  readonly key: string;
  readonly row: string;
  readonly stored?: StoredOutcome;
  readonly prepared?: Prepared | null;
  readonly attestation?: Buffer | null;
  readonly archived?: boolean;
  readonly checkout?: SealedCheckout;
  /** A token, and what the network calls the first payment with it. */
  readonly network?: Parameters<typeof networkIdWords>[0] | null;
  readonly seal?: Buffer;
}

type SealedCheckout = Parameters<typeof sealedWords>[0] & { readonly terms: string };

export interface CopyingParts {
  readonly organisation: OrganisationId;
  readonly source: CopiedCell;
  readonly destination: CopiedCell;
  /** Stores how far the copying is, for a command that goes on. */
  readonly remember: (copied: Copied) => Promise<void>;
  /** Brings the data keys of the destination up to date: a token may be sealed under a new one. */
  readonly copyKeys: () => Promise<void>;
  /** A row that is not as the source has sealed it. Throws unless an operator has named it. */
  readonly onBroken: (what: string) => void;
  /** Raises the destination's events above this position of the source. */
  readonly raisePositions: () => Promise<void>;
  readonly tell: (rows: number) => void;
}

const PAGE = 1_000;
const PAGE_OF_KEYS = 20_000;
const PAGE_OF_DIGEST = 5_000;
/** The organisation trades, and others do: for as long as a page has taken nothing is done. */
const REST = 1;
const REMEMBERED_EVERY = 20;

/** A statement whose row refers to another that is not there yet. */
const FOREIGN_KEY = '23503';

export class Copying {
  readonly #columns = new Map<string, readonly Column[]>();
  /** Pages that were the same in both cells, by the key before them, and since when their changes count. */
  readonly #ahead = new Map<
    string,
    { readonly began: string; readonly pages: ReadonlyMap<string, Digested> }
  >();
  #copied: Copied;
  #rows = 0;

  constructor(
    private readonly parts: CopyingParts,
    copied: Copied,
  ) {
    this.#copied = copied;
  }

  get copied(): Copied {
    return this.#copied;
  }

  get rows(): number {
    return this.#rows;
  }

  /** All tables once. Returns how many rows were new or changed. `rests`: leaves time to others. */
  async pass(rests: boolean): Promise<number> {
    const { lineage } = await this.#now();
    // After a failover of the source, or a restore, everything comes again.
    if (this.#copied.lineage !== lineage) this.#copied = { lineage };
    let rows = 0;
    for (const table of IN_PAGES) rows += await this.#passOf(table, rests);
    return rows;
  }

  /** Small tables as a whole, and rows that are gone at the source; in a transaction of the destination. */
  async replaceWhole(connection: Queryable, changed: ReadonlyMap<string, string>): Promise<void> {
    const { organisation, source } = this.parts;
    const read: { name: string; rows: string }[] = [];
    for (const name of WHOLE) {
      const found = changed.get(name);
      const rows = found ?? (await this.#wholeOf(source.database, name, organisation));
      read.push({ name, rows });
    }
    for (const { name } of read.toReversed()) await connection.query(removeRows(name), [organisation]);
    for (const { name, rows } of read) {
      const text = putRows(name, await this.#columnsOf(name));
      if (rows !== '[]') await connection.query({ name: '', text }, [rows]);
    }
  }

  async removeGone(connection: Queryable): Promise<void> {
    const { organisation, source } = this.parts;
    for (const table of IN_PAGES.filter(({ removable }) => removable)) {
      const columns = await this.#columnsOf(table.name);
      const key = table.key[0] as string;
      for (let last = 0; ; ) {
        const statement = keysOf(table, columns, true);
        const values = [organisation, PAGE_OF_KEYS, last];
        const { rows } = await source.database.query<Record<string, number>>(statement, values);
        const keys = rows.map((row) => row[key] as number);
        const upTo = keys.length < PAGE_OF_KEYS ? 2_147_483_647 : (keys.at(-1) as number);
        // guard(moving: what has gone at the source goes at the destination): await connection.query(removeOthers(table) ⇒ void (removeOthers(table)
        await connection.query(removeOthers(table), [organisation, last, upTo, keys]);
        if (keys.length < PAGE_OF_KEYS) break;
        last = upTo;
      }
    }
  }

  /** Counts and digests of both cells. Differences are to be empty. */
  async compare(): Promise<{ compared: Compared[]; differences: Difference[] }> {
    const { source, destination } = this.parts;
    const compared: Compared[] = [];
    const differences: Difference[] = [];
    const held = (table: string, there: Compared, here: Compared) => {
      compared.push(there);
      if (there.sha256 !== here.sha256 || there.rows !== here.rows)
        differences.push({ table, source: inWords(there), destination: inWords(here) });
    };
    for (const table of IN_PAGES) {
      const { isSame, ...there } = await this.#compareTable(table);
      compared.push(there);
      // guard(moving: a copy that differs is not opened): if (!isSame) ⇒ if (there.rows < 0)
      if (!isSame)
        differences.push({ table: table.name, source: inWords(there), destination: 'not the same' });
    }
    for (const name of WHOLE.filter((table) => table !== COUNTED_IN_PASSING)) {
      const [there, here] = await Promise.all(
        [source, destination].map(({ database }) => this.#digestOfWhole(database, name)),
      );
      held(name, there as Compared, here as Compared);
    }
    return { compared, differences };
  }

  async #passOf(table: TableInPages, rests: boolean): Promise<number> {
    const known = this.#copied.tables?.[table.name] ?? {};
    const { done } = known;
    const began = known.began ?? (await this.#now()).xmin;
    let after = known.began === undefined ? undefined : known.after;
    if (table.name === 'event_feed') await this.parts.raisePositions();
    const columns = await this.#columnsOf(table.name);
    let rows = 0;
    for (let pages = 1; ; pages += 1) {
      const beganMs = performance.now();
      const page = await this.#page(table, columns, done, after);
      if (page.length > 0) await this.#put(table, columns, page);
      rows += page.length;
      this.#rows += page.length;
      this.parts.tell(this.#rows);
      if (page.length < PAGE) break;
      after = JSON.parse((page.at(-1) as PageRow).key) as unknown[];
      if (pages % REMEMBERED_EVERY === 0) await this.#remember(table.name, { ...known, began, after });
      if (rests) await sleep((performance.now() - beganMs) * REST);
    }
    await this.#remember(table.name, { done: began });
    return rows;
  }

  async #page(
    table: TableInPages,
    columns: readonly Column[],
    since: string | undefined,
    after: readonly unknown[] | undefined,
  ): Promise<readonly PageRow[]> {
    const { organisation, source } = this.parts;
    const statement = pageOf(table, columns, { changed: since !== undefined, after: after !== undefined });
    const values = [organisation, PAGE, ...(since === undefined ? [] : [since]), ...(after ?? [])];
    return (await source.database.query<PageRow>(statement, values)).rows;
  }

  async #put(table: TableInPages, columns: readonly Column[], page: readonly PageRow[]): Promise<void> {
    const rows = await this.#madeAnew(table, page);
    const statement = putPage(table, columns);
    const text = `[${rows.join(',')}]`;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#atDestination((connection) => connection.query(statement, [text]));
        return;
      } catch (error) {
        if ((error as { code?: string }).code !== FOREIGN_KEY || attempt === 3) throw error;
        await this.#parentsOf(table);
      }
    }
  }

  /** What a row refers to may be younger than the copy of it. */
  async #parentsOf({ name }: TableInPages): Promise<void> {
    await this.parts.copyKeys();
    const files = IN_PAGES.find((table) => table.name === 'directdebit_file');
    if (name === 'directdebit_item' && files !== undefined) await this.#passOf(files, false);
  }

  /** With what the source has authenticated under its own keys made anew, if it fits. What does not stays as it is, and stays broken. */
  async #madeAnew({ name }: TableInPages, page: readonly PageRow[]): Promise<string[]> {
    if (name === 'transaction') return Promise.all(page.map((each) => this.#resealed(each)));
    if (name === 'token') return Promise.all(page.map((each) => this.#markedAnew(each)));
    if (name === 'checkout') return Promise.all(page.map((each) => this.#attestedAnew(each)));
    // By it an import knows a card again. It is made when the token is imported again.
    if (name === 'former_token_id') return page.map(({ row }) => withMembers(row, { recognition: null }));
    return page.map(({ row }) => row);
  }

  async #resealed({ row, stored, prepared, attestation, archived }: PageRow): Promise<string> {
    const { source, destination } = this.parts;
    if (stored === undefined) throw new Error('a transaction without what its seal is of');
    const what = `transaction/${stored.audit}`;
    // guard(moving: an outcome that was changed does not become genuine): !(await isAsDecided(source.keys, stored)) ⇒ false
    if (!(await isAsDecided(source.keys, stored))) {
      this.parts.onBroken(what);
      return row;
    }
    const made: Record<string, string | null> = {};
    if (stored.status !== 'unknown')
      made.outcome_seal = bytea(await outcomeSealOf(destination.keys, stored, stored));
    const targetAudit = stored.targetAudit as Audit | null;
    // What was prepared is only in the archive: nothing is done by it any more, and nothing is left to attest.
    if (targetAudit !== null && archived && prepared === null) made.attestation = null;
    else if (targetAudit !== null) {
      const asked = {
        ...stored,
        targetAudit,
        prepared: prepared as Prepared,
        attestation: attestation ?? null,
      };
      // guard(moving: an operation that was changed does not become one that was asked for): !(await isAsAsked(source.keys, asked)) ⇒ false
      if (!(await isAsAsked(source.keys, asked))) {
        this.parts.onBroken(what);
        return row;
      }
      const { organisationId, merchantId, audit, transactionType, amountCents, currency } = stored;
      const amount = transactionType === 'void' ? {} : { amountCents, currency };
      const words = {
        organisationId,
        merchantId,
        audit,
        transactionType,
        targetAudit,
        prepared: asked.prepared,
      };
      made.attestation = bytea(await destination.keys.attest(attestedWords({ ...words, ...amount })));
    }
    return withMembers(row, made);
  }

  async #attestedAnew({ row, checkout, seal }: PageRow): Promise<string> {
    const { source, destination } = this.parts;
    if (checkout === undefined || seal === undefined)
      throw new Error('a checkout without what its seal is of');
    const words = sealedWords(checkout, checkout.terms);
    // guard(moving: a checkout that was changed does not become genuine): !(await source.keys.hasAttested(words, seal)) ⇒ false
    if (!(await source.keys.hasAttested(words, seal))) {
      this.parts.onBroken(`checkout/${checkout.id}`);
      return row;
    }
    return withMembers(row, { seal: bytea(await destination.keys.attest(words)) });
  }

  /** What the network calls the first payment with a token. What was changed is not sent in the destination, either. */
  async #markedAnew({ row, network, seal }: PageRow): Promise<string> {
    const { source, destination } = this.parts;
    if (network === undefined || network === null || seal === undefined) return row;
    const words = networkIdWords(network);
    // guard(moving: a network transaction ID that was changed does not become genuine): !(await source.keys.hasAttested(words, seal)) ⇒ false
    if (!(await source.keys.hasAttested(words, seal))) return row;
    return withMembers(row, { network_transaction_mark: bytea(await destination.keys.attest(words)) });
  }

  async #wholeOf(database: Queryable, name: string, organisation: OrganisationId): Promise<string> {
    const statement = rowsOf(name, await this.#columnsOf(name));
    const { rows } = await database.query<{ row: string }>(statement, [organisation]);
    return `[${rows.map(({ row }) => row).join(',')}]`;
  }

  /**
   * Page by page while the organisation trades, so that little is left to compare once it is closed: pages that are the same in both cells
   * stay so, unless the source changes a row of them.
   */
  async compareAhead(): Promise<void> {
    for (const table of IN_PAGES.filter(({ removable }) => removable !== true)) {
      const began = (await this.#now()).xmin;
      const pages = new Map<string, Digested>();
      for (let after: readonly unknown[] | undefined; ; ) {
        const beganMs = performance.now();
        const [there, here] = await this.#digests(table, after);
        if (there !== undefined && isDeepStrictEqual(there, here))
          pages.set(JSON.stringify(after ?? null), there);
        if (there === undefined || there.rows < PAGE_OF_DIGEST) break;
        after = JSON.parse(there.last) as unknown[];
        await sleep((performance.now() - beganMs) * REST);
      }
      this.#ahead.set(table.name, { began, pages });
    }
  }

  async #compareTable(table: TableInPages): Promise<Compared & { readonly isSame: boolean }> {
    const { organisation, source } = this.parts;
    const { began, pages } = this.#ahead.get(table.name) ?? { began: undefined, pages: new Map() };
    const changed: Place[] = [];
    if (began !== undefined) {
      const values = [organisation, began];
      const { rows } = await source.database.query<{ key: string }>(changedKeys(table), values);
      for (const { key } of rows) changed.push(placeIn(key));
    }
    const hash = createHash('sha256');
    let rows = 0;
    let isSame = true;
    for (let after: readonly unknown[] | undefined; ; ) {
      const from = JSON.stringify(after ?? null);
      const known = pages.get(from);
      const isKnown =
        known !== undefined && known.rows === PAGE_OF_DIGEST && !isChanged(from, known.last, changed);
      const [there, here] = isKnown ? [known, known] : await this.#digests(table, after);
      isSame &&= isDeepStrictEqual(there, here);
      if (there !== undefined) {
        hash.update(there.digest);
        rows += there.rows;
      }
      if (there === undefined || there.rows < PAGE_OF_DIGEST)
        return { table: table.name, rows, sha256: hash.digest('hex'), isSame };
      after = JSON.parse(there.last) as unknown[];
    }
  }

  /** Of the page after a key, at the source and at the destination; undefined where there is none. */
  #digests(table: TableInPages, after: readonly unknown[] | undefined): Promise<(Digested | undefined)[]> {
    const { organisation, source, destination } = this.parts;
    return Promise.all(
      [source, destination].map(({ database }) =>
        database.transaction(async (connection) => {
          await connection.query(IN_UTC);
          const statement = digestOf(table, await this.#columnsOf(table.name), after !== undefined);
          const values = [organisation, PAGE_OF_DIGEST, ...(after ?? [])];
          return (await connection.query<Digested>(statement, values)).rows[0];
        }),
      ),
    );
  }

  #digestOfWhole(database: Queryable, name: string): Promise<Compared> {
    return database.transaction(async (connection) => {
      await connection.query(IN_UTC);
      const statement = digestOfWhole(name, await this.#columnsOf(name), MADE_OF_WHOLE[name] ?? []);
      type Row = { readonly rows: number; readonly digest: string };
      const [found] = (await connection.query<Row>(statement, [this.parts.organisation])).rows;
      return { table: name, rows: found?.rows ?? 0, sha256: found?.digest ?? '' };
    });
  }

  async #columnsOf(name: string): Promise<readonly Column[]> {
    let columns = this.#columns.get(name);
    if (columns === undefined) {
      columns = (await this.parts.source.database.query<Column>(COLUMNS_OF_TABLE, [name])).rows;
      this.#columns.set(name, columns);
    }
    return columns;
  }

  #atDestination<Result>(work: (connection: Queryable) => Promise<Result>): Promise<Result> {
    return passingFence(this.parts.destination.database, this.parts.organisation, work);
  }

  async #now(): Promise<{ xmin: string; lineage: string }> {
    type Row = { xmin: string; lineage: string };
    return (await this.parts.source.database.query<Row>(PASS_BEGINS)).rows[0] as Row;
  }

  async #remember(name: string, table: CopiedTable): Promise<void> {
    this.#copied = { ...this.#copied, tables: { ...this.#copied.tables, [name]: table } };
    await this.parts.remember(this.#copied);
  }

  journalCopied(upTo: number): Promise<void> {
    this.#copied = { ...this.#copied, journal: upTo };
    return this.parts.remember(this.#copied);
  }
}

/** The part of a key that both cells order as numbers are, or days. */
type Place = readonly (number | string)[];

function placeIn(key: string): Place {
  const place: (number | string)[] = [];
  for (const part of JSON.parse(key) as unknown[]) {
    if (typeof part !== 'number' && !DAY.test(String(part))) break;
    place.push(part as number | string);
  }
  return place;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Whether any of the rows may lie on the page. On its borders, it does. */
function isChanged(from: string, last: string, changed: readonly Place[]): boolean {
  const [first, end] = [from === 'null' ? undefined : placeIn(from), placeIn(last)];
  return changed.some((place) => (first === undefined || order(first, place) <= 0) && order(place, end) <= 0);
}

function order(one: Place, other: Place): number {
  for (const [index, part] of one.entries()) {
    const against = other[index];
    if (against === undefined || part === against) continue;
    return part < against ? -1 : 1;
  }
  return 0;
}

/** What each cell makes for itself: seals of users under its own key, and when they called it last. */
const MADE_OF_WHOLE: Readonly<Record<string, readonly string[]>> = {
  gateway_user: ['seal', 'secret_from', 'previous_secret_from', 'used_on'],
};

/** Every process adds what it has sealed, also after the organisation is closed. */
const COUNTED_IN_PASSING = 'data_key_use';

/** In a transaction that may write what is fenced of the organisation. */
export function passingFence<Result>(
  database: Queryable,
  organisation: number,
  work: (connection: Queryable) => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (connection) => {
    await connection.query(PASS_THE_FENCE, [organisation]);
    return work(connection);
  });
}

/** PostgreSQL takes the last of two members of the same name. */
export function withMembers(row: string, members: Readonly<Record<string, unknown>>): string {
  const texts = Object.entries(members).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  return texts.length === 0 ? row : `${row.slice(0, -1)},${texts.join(',')}}`;
}

export function bytea(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}

function inWords({ rows, sha256 }: Compared): string {
  return `${rows} rows, ${sha256.slice(0, 12)}`;
}
