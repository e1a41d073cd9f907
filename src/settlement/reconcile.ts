// Holds an acquirer's settlement file against the entries of a day: what matches, what one side lacks, and what differs.

import { createReadStream } from 'node:fs';
import { acquirerNames } from '../acquirers/configured.js';
import type { Prepared } from '../acquirers/contract.js';
import { listedReference } from '../acquirers/iso8583/numbers.js';
import { isBuiltIn } from '../acquirers/registry.js';
import type { Queryable } from '../postgres/database.js';
import type { Audit, MerchantId, OrganisationId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { type TextLine, textLines } from '../values/text-lines.js';
import { CLOSED_DAY, FIND_LISTED, LISTED, SETTLED_AT_ALL, SETTLED_OVER_ACQUIRER } from './reconcile.sql.js';
import {
  type About,
  type AcquirerLine,
  acquirerLine,
  agrees,
  COLUMNS,
  type Different,
  inWords,
  isHeader,
  Listed,
  type MissingThere,
  type Reconciliation,
  type Said,
  transactionOf,
  type WrongLine,
} from './reconciliation.js';

/** Longer lines are not kept, so that a file without line ends cannot fill the memory. */
const LONGEST_LINE = 1_000;

export interface ReconcileWish {
  readonly path: string;
  readonly acquirer: string;
  readonly date: string;
  readonly progress?: (lines: number) => void;
}

interface FoundRow {
  readonly place: number;
  readonly merchantId: MerchantId;
  readonly status: string;
  readonly acquirer: string;
  readonly settlementDate: string | null;
  /** Empty where nothing of it settles on the day over the acquirer. */
  readonly transactionType: string | null;
  readonly amountCents: number;
  readonly currency: string;
  /** The installation that sent it, if that was another cell. */
  readonly sentBy: string | null;
}

interface SettledRow {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly audit: Audit;
  readonly transactionType: string;
  readonly amountCents: number;
  readonly currency: string;
  readonly prepared: Prepared;
  readonly counterpart: Audit | null;
  readonly sentBy: string | null;
}

/** A line that is about a transaction of ours. */
interface OwnLine {
  readonly line: AcquirerLine;
  readonly organisationId: OrganisationId;
  readonly audit: Audit;
  readonly isReturn: boolean;
  /** The installation that the line names, if it names one. */
  readonly installation?: string;
}

const PAGE = 2_000;
/** So many references that are none of ours are remembered, to tell which comes twice. They may be anything. */
const MOST_FOREIGN = 1_000_000;

export async function reconcile(database: Queryable, wish: ReconcileWish): Promise<Reconciliation> {
  type Row = { readonly closed: boolean; readonly installation: string; readonly former: readonly string[] };
  const { rows } = await database.query<Row>(CLOSED_DAY, [wish.date]);
  const { closed, installation, former } = rows[0] as Row;
  // guard(reconciliation: under the name of no acquirer nothing is kept): await checkAcquirer(database, wish); ⇒
  await checkAcquirer(database, wish);
  const work = new Work(database, wish, installation, new Set([installation, ...former]));
  await work.readReferences();
  await work.readFile();
  await work.readEntries();
  return work.result(closed);
}

/** Under a name that is none, everything in the file would differ. A link that was removed may still have settled on the day. */
async function checkAcquirer(database: Queryable, { acquirer, date }: ReconcileWish): Promise<void> {
  const known = await acquirerNames(database);
  if (known.includes(acquirer)) return;
  const { rows } = await database.query(SETTLED_AT_ALL, [date, acquirer]);
  if (rows.length === 0) refuse('acquirer_not_known', { acquirer, known });
}

class Work {
  /** What the file has listed: transactions, and returns of them. */
  readonly #transactions = new AuditSet();
  readonly #returns = new AuditSet();
  readonly #foreign = new Set<string>();
  readonly #retrievalReferences = new RetrievalReferences();
  /** Lines with the retrieval reference of something that is not as they say. */
  readonly #similar: AcquirerLine[] = [];
  readonly #missingHere = new Listed<AcquirerLine>();
  readonly #missingThere = new Listed<MissingThere>();
  readonly #different = new Listed<Different>();
  readonly #about = new Listed<About>();
  readonly #wrong = new Listed<{ readonly line: number; readonly reason: WrongLine }>();
  #lines = 0;
  #matched = 0;

  constructor(
    private readonly database: Queryable,
    private readonly wish: ReconcileWish,
    private readonly installation: string,
    /** This one, and those that have sent what came with an organisation from another cell. */
    private readonly installations: ReadonlySet<string>,
  ) {}

  /** The links that are part of the program list what is ours under our own reference: nothing has to be known before. */
  async readReferences(): Promise<void> {
    if (isBuiltIn(this.wish.acquirer)) return;
    for await (const row of this.#settled()) this.#retrievalReferences.add(row);
  }

  async readFile(): Promise<void> {
    const { path, progress = () => {} } = this.wish;
    let headed = false;
    try {
      for await (const all of textLines(createReadStream(path, { highWaterMark: 1 << 18 }), LONGEST_LINE)) {
        const lines = all.filter(({ text }) => text !== '');
        if (!headed && lines[0] !== undefined) {
          if (!isHeader(lines[0]))
            refuse('settlement_file_without_header', { path, columns: COLUMNS.join() });
          headed = true;
          await this.#readLines(lines.slice(1));
        } else await this.#readLines(lines);
        progress(this.#lines);
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR')
        refuse('path_not_readable', { path, reason: code });
      throw error;
    }
    if (!headed) refuse('settlement_file_without_header', { path, columns: COLUMNS.join() });
    await this.#compareSimilar();
  }

  async #readLines(lines: readonly TextLine[]): Promise<void> {
    const own: OwnLine[] = [];
    for (const read of lines) {
      this.#lines += 1;
      const line = acquirerLine(read);
      if (typeof line === 'string') {
        this.#wrong.add({ line: read.number, reason: line });
        continue;
      }
      const isReturn = line.transactionType === 'return';
      const listed = this.#retrievalReferences.take(line);
      if (listed === undefined && this.#retrievalReferences.has(line.reference)) {
        this.#similar.push(line);
        continue;
      }
      const key = listed ?? transactionOf(line.reference, this.installations);
      if (!this.#isNew(line, key, isReturn)) this.#wrong.add({ line: line.line, reason: 'listed before' });
      else if (key === undefined) this.#missingHere.add(line);
      else own.push({ line, ...key, isReturn });
    }
    await this.#compareAll(own);
  }

  /** After all others: what is left by then is what these can be about. */
  async #compareSimilar(): Promise<void> {
    const own: OwnLine[] = [];
    for (const line of this.#similar) {
      const key = this.#retrievalReferences.takeSimilar(line);
      if (key === undefined) this.#wrong.add({ line: line.line, reason: 'listed before' });
      else {
        this.#transactions.add(key);
        own.push({ line, ...key, isReturn: false });
      }
    }
    await this.#compareAll(own);
  }

  async #compareAll(own: readonly OwnLine[]): Promise<void> {
    for (let at = 0; at < own.length; at += PAGE) await this.#compare(own.slice(at, at + PAGE));
  }

  #isNew({ reference }: AcquirerLine, key: AuditKey | undefined, isReturn: boolean): boolean {
    if (key !== undefined) return (isReturn ? this.#returns : this.#transactions).add(key);
    const before = this.#foreign.size;
    if (before === MOST_FOREIGN) return true;
    return this.#foreign.add(`${reference} ${isReturn}`).size > before;
  }

  async #compare(own: readonly OwnLine[]): Promise<void> {
    const { date, acquirer } = this.wish;
    const { rows } = await this.database.query<FoundRow>(FIND_LISTED, [
      date,
      acquirer,
      ...LISTED.encode(own),
    ]);
    const found = new Map(rows.map((row) => [row.place, row]));
    for (const [index, { line, organisationId, audit, installation }] of own.entries()) {
      const row = found.get(index + 1);
      // guard(moved: an acquirer's line is about what the installation that it names has sent): installation !== (row.sentBy ?? this.installation) ⇒ false
      const isForeign =
        row !== undefined && installation !== undefined && installation !== (row.sentBy ?? this.installation);
      if (row === undefined || isForeign) this.#missingHere.add(line);
      else if (agrees(row, line)) this.#matched += 1;
      else {
        this.#about.add({ organisationId, merchantId: row.merchantId, audit });
        this.#different.add({
          line: line.line,
          reference: line.reference,
          there: inWords(line),
          here: this.#hereInWords(row),
        });
      }
    }
  }

  #hereInWords({
    transactionType,
    amountCents,
    currency,
    acquirer,
    status,
    settlementDate,
  }: FoundRow): string {
    if (transactionType !== null) return inWords({ transactionType, amountCents, currency });
    if (acquirer !== this.wish.acquirer) return `went to ${acquirer}`;
    const elsewhere = settlementDate !== null && settlementDate !== this.wish.date;
    return elsewhere
      ? `${status}, settlement date ${settlementDate}`
      : `${status}, does not settle on this day`;
  }

  async readEntries(): Promise<void> {
    for await (const row of this.#settled())
      if (this.#isMissingThere(row)) this.#missingThere.add(this.#missing(row));
  }

  /** What settles on the day over the acquirer, page by page. */
  async *#settled(): AsyncGenerator<SettledRow> {
    const { date, acquirer } = this.wish;
    for (let place: readonly (number | string)[] = [0, 0, 0, '']; ; ) {
      const values = [date, acquirer, ...place, PAGE];
      const { rows } = await this.database.query<SettledRow>(SETTLED_OVER_ACQUIRER, values);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield* rows;
      place = [last.organisationId, last.merchantId, last.audit, last.transactionType];
    }
  }

  /** A payment that was voided on its own day comes to nothing: the acquirer may list both, or neither. */
  #isMissingThere({ organisationId, audit, transactionType, counterpart }: SettledRow): boolean {
    const listed = transactionType === 'return' ? this.#returns : this.#transactions;
    if (listed.has({ organisationId, audit })) return false;
    return counterpart === null || this.#transactions.has({ organisationId, audit: counterpart });
  }

  #missing({
    organisationId,
    merchantId,
    audit,
    transactionType,
    amountCents,
    currency,
    prepared,
    sentBy,
  }: SettledRow): MissingThere {
    const reference =
      listedReference(prepared) ?? `${sentBy ?? this.installation}-${organisationId}-${audit}`;
    return { organisationId, merchant: merchantId, audit, reference, transactionType, amountCents, currency };
  }

  result(closed: boolean): Reconciliation {
    return {
      acquirer: this.wish.acquirer,
      date: this.wish.date,
      closed,
      lines: this.#lines,
      matched: this.#matched,
      missingHere: this.#missingHere.count,
      missingThere: this.#missingThere.count,
      different: this.#different.count,
      wrong: this.#wrong.count,
      differentAbout: this.#about.first,
      listed: {
        missingHere: this.#missingHere.first.toSorted((one, other) => one.line - other.line),
        missingThere: this.#missingThere.first,
        different: this.#different.first,
        wrong: this.#wrong.first,
      },
    };
  }
}

interface AuditKey {
  readonly organisationId: OrganisationId;
  readonly audit: Audit;
}

/** In small blocks, so that a file full of made-up references cannot fill the memory. */
const BITS = 256;

/** A set of audits, of any organisation: a bit each, so that a day of millions fits into little memory. */
class AuditSet {
  readonly #blocks = new Map<string, Uint8Array>();

  has(key: AuditKey): boolean {
    const { block, byte, bit } = placeOf(key);
    return ((this.#blocks.get(block)?.[byte] ?? 0) & bit) !== 0;
  }

  /** Whether it is new. */
  add(key: AuditKey): boolean {
    // guard(reconciliation: a line that is there twice counts once): if (this.has(key)) return false; ⇒
    if (this.has(key)) return false;
    const { block, byte, bit } = placeOf(key);
    const bytes = this.#blocks.get(block) ?? new Uint8Array(BITS / 8);
    bytes[byte] = (bytes[byte] ?? 0) | bit;
    this.#blocks.set(block, bytes);
    return true;
  }
}

function placeOf({ organisationId, audit }: AuditKey): { block: string; byte: number; bit: number } {
  const within = audit % BITS;
  return { block: `${organisationId}/${(audit - within) / BITS}`, byte: within >> 3, bit: 1 << (within & 7) };
}

interface Candidate extends AuditKey, Said {}

type Settled = Candidate & { readonly prepared: Prepared };

/**
 * What an acquirer that speaks ISO 8583 lists transactions by: the retrieval reference (field 37). A payment shares it with everything
 * that goes back to it, and payments over two terminals may have the same one, so that type and amount tell them apart.
 */
class RetrievalReferences {
  /** Those of the day that no line has been found to be about yet. */
  readonly #left = new Map<string, Candidate[]>();

  add({ organisationId, audit, transactionType, amountCents, currency, prepared }: Settled): void {
    const reference = listedReference(prepared);
    if (reference === undefined) return;
    const candidate = { organisationId, audit, transactionType, amountCents, currency };
    const others = this.#left.get(reference);
    if (others === undefined) this.#left.set(reference, [candidate]);
    else others.push(candidate);
  }

  /** Whether anything of the day has this reference, listed or not. */
  has(reference: string): boolean {
    return this.#left.has(reference);
  }

  /** The transaction that the line says exactly. No other line is about it. */
  take(line: AcquirerLine): AuditKey | undefined {
    return this.#take(line, (candidate) => agrees(candidate, line));
  }

  /** Where none is left that says it exactly: the one that is most like it. */
  takeSimilar(line: AcquirerLine): AuditKey | undefined {
    const isOfType = ({ transactionType }: Candidate) => transactionType === line.transactionType;
    return this.#take(line, isOfType) ?? this.#take(line, () => true);
  }

  #take({ reference }: AcquirerLine, fits: (candidate: Candidate) => boolean): AuditKey | undefined {
    const candidates = this.#left.get(reference) ?? [];
    const place = candidates.findIndex(fits);
    return place < 0 ? undefined : candidates.splice(place, 1)[0];
  }
}
