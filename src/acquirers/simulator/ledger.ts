// The simulated acquirer's ledger: an append-only file, shared by every process that simulates the same acquirer. The order of the
// entries is the order of events.

import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** How the simulator treats an order: normally if neither is set. */
export interface Behaviour {
  readonly code?: string;
  readonly fault?: string;
}

export interface LedgerEntry {
  readonly atMs: number;
  readonly reference: string;
  readonly operation:
    | 'purchase'
    | 'preauthorisation'
    | 'completion'
    | 'refund'
    | 'standalone_refund'
    | 'void'
    | 'reversal';
  readonly targetReference?: string;
  readonly amountCents?: number;
  readonly currency?: string;
  readonly cardMask?: string;
  readonly responseCode?: string;
  /** What a test card asked for: how operations on this payment are answered. */
  readonly later?: Behaviour;
  readonly authorisationCode?: string;
  readonly networkTransactionId?: string;
}

/** The ledger's record of one reference. */
export interface LedgerRecord {
  readonly entry: LedgerEntry | undefined;
  readonly reversed: boolean;
}

interface Waiting {
  readonly entry: LedgerEntry;
  readonly resolve: (accepted: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** How many references each of two maps keeps in memory; older ones are looked up in the file. */
const REMEMBERED = 50_000;
const CHUNK_BYTES = 1 << 20;

export class SimulatorLedger {
  #file: number | undefined;
  readonly #buffer = Buffer.allocUnsafe(1 << 16);
  #readOffset = 0;
  #partialLine = '';
  #recent = new Map<string, LedgerEntry>();
  /** References before the recent ones. Dropped all at once, because finding the oldest in a map is slow. */
  #older = new Map<string, LedgerEntry>();
  #forgotten = false;
  /** Never dropped, because an operation may arrive any time after its reversal. Reversals are few. */
  readonly #reversed = new Set<string>();
  /** Never dropped either, because a payment can be refunded at any time. Payments with test cards are few. */
  readonly #later = new Map<string, Behaviour>();
  #waiting: Waiting[] = [];

  constructor(private readonly path: string) {}

  static async open(path: string): Promise<SimulatorLedger> {
    const ledger = new SimulatorLedger(path);
    await ledger.open();
    return ledger;
  }

  async open(): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true });
    this.#file ??= openSync(this.path, 'a+', 0o600);
    this.#readNew();
  }

  /**
   * Writes the entry and returns whether it counts: an operation that arrives after its own reversal does not. Entries of one turn of the
   * event loop are written together.
   */
  append(entry: LedgerEntry): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject });
      if (this.#waiting.length === 1) queueMicrotask(() => this.#write());
    });
  }

  /** The record of a reference. */
  async find(reference: string): Promise<LedgerRecord> {
    this.#readNew();
    const remembered = this.#recent.get(reference) ?? this.#older.get(reference);
    const entry = remembered ?? (this.#forgotten ? await this.#search(reference) : undefined);
    return { entry, reversed: this.#reversed.has(reference) };
  }

  /** How to answer operations on this payment, if its test card asked for something. */
  later(reference: string): Behaviour | undefined {
    const known = this.#later.get(reference);
    // A remembered payment that asked for nothing need not be looked up in the file.
    if (known !== undefined || this.#recent.has(reference) || this.#older.has(reference)) return known;
    this.#readNew();
    return this.#later.get(reference);
  }

  /** A slow answer may still be on its way: it must find the ledger closed, not another file with the same descriptor. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #write(): void {
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      const file = this.#open();
      // After a line that was cut short, so that only that line is lost.
      const start = this.#partialLine === '' ? '' : '\n';
      // O_APPEND: entries of other processes come before or after this write, never between.
      const written = writeSync(
        file,
        start + batch.map(({ entry }) => `${JSON.stringify(entry)}\n`).join(''),
      );
      if (this.#partialLine === '' && fstatSync(file).size === this.#readOffset + written) {
        // Nobody else has written since the last read: the new bytes are our own.
        this.#readOffset += written;
        for (const { entry } of batch) this.#remember(entry);
      } else {
        this.#readNew();
      }
      // The order in the file decides. A reversal before the operation stops it, and one after it undoes it: either way the operation has
      // no effect.
      for (const { entry, resolve } of batch) resolve(!this.#reversed.has(entry.reference));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  #open(): number {
    if (this.#file === undefined) throw new Error('the ledger is closed');
    return this.#file;
  }

  #readNew(): void {
    const file = this.#open();
    const buffer = this.#buffer;
    for (;;) {
      const length = readSync(file, buffer, 0, buffer.length, this.#readOffset);
      if (length === 0) return;
      this.#readOffset += length;
      const lines = (this.#partialLine + buffer.toString('latin1', 0, length)).split('\n');
      this.#partialLine = lines.pop() ?? '';
      for (const line of lines) this.#remember(parseLine(line));
      if (length < buffer.length) return;
    }
  }

  #remember(entry: LedgerEntry | undefined): void {
    if (entry === undefined) return;
    if (entry.operation === 'reversal') {
      this.#reversed.add(entry.reference);
      return;
    }
    if (this.#recent.has(entry.reference) || this.#older.has(entry.reference)) return;
    this.#recent.set(entry.reference, entry);
    if (entry.later !== undefined) this.#later.set(entry.reference, entry.later);
    if (this.#recent.size === REMEMBERED) {
      this.#forgotten ||= this.#older.size > 0;
      this.#older = this.#recent;
      this.#recent = new Map();
    }
  }

  /** Most of what is looked for was never entered: only lines that have the reference are parsed. */
  async #search(reference: string): Promise<LedgerEntry | undefined> {
    const written = JSON.stringify({ reference }).slice(1, -1);
    for await (const lines of wholeLines(this.path)) {
      if (!lines.includes(written)) continue;
      const entries = lines.split('\n').filter((line) => line.includes(written));
      for (const entry of entries.map(parseLine))
        if (entry?.reference === reference && entry.operation !== 'reversal') return entry;
    }
    return undefined;
  }
}

// A line that a crash cut short is not an entry.
function parseLine(line: string): LedgerEntry | undefined {
  try {
    return JSON.parse(line) as LedgerEntry;
  } catch {
    return undefined;
  }
}

/** Every entry of a ledger, in order. */
export async function* readLedger(path: string): AsyncGenerator<LedgerEntry> {
  for await (const lines of wholeLines(path)) {
    for (const line of lines.split('\n')) {
      const entry = parseLine(line);
      if (entry !== undefined) yield entry;
    }
  }
}

/** The lines of a ledger, many at a time. One that has no end yet is left out. */
async function* wholeLines(path: string): AsyncGenerator<string> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let partialLine = '';
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES);
      if (bytesRead === 0) return;
      const text = partialLine + buffer.toString('latin1', 0, bytesRead);
      const end = text.lastIndexOf('\n');
      partialLine = text.slice(end + 1);
      if (end >= 0) yield text.slice(0, end);
    }
  } finally {
    await file.close();
  }
}
