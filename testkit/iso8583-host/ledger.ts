// The host's store: an append-only file, which survives `kill -9`.
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

export type Operation = 'purchase' | 'preauthorisation' | 'completion' | 'refund' | 'standalone_refund';

/** A payment, refund or completion that the host has decided. */
export interface Decided {
  readonly kind: 'decided';
  readonly atMs: number;
  /** Terminal, day and STAN: under this nothing else is known. */
  readonly key: string;
  /** As it was sent for the first time. */
  readonly mti: string;
  readonly operation: Operation;
  /** Field 7. */
  readonly sentAt: string;
  readonly processingCode: string;
  readonly retrievalReference: string;
  /** What it was approved for: less than was asked where it was approved for a part. */
  readonly amountCents: number;
  readonly askedCents: number;
  readonly currency: string;
  readonly cardMask: string;
  readonly responseCode: string;
  readonly authorisationCode?: string;
  /** Of a completion or a refund: the key of what it belongs to. */
  readonly original?: string;
  /** Whether the answer was spoilt on purpose. */
  readonly fault?: string;
  /** Over which the answer went. */
  readonly connection: number;
  readonly digest: string;
}

/** From now on its original has no effect, whether it came before this or comes after it. */
export interface Reversed {
  readonly kind: 'reversed';
  readonly atMs: number;
  readonly key: string;
  readonly original: string;
  readonly seen: boolean;
  readonly digest: string;
}

/** An advice or a reversal came in, or was answered. */
export interface AdviceTraffic {
  readonly kind: 'received' | 'acknowledged';
  readonly atMs: number;
  readonly mti: string;
  readonly key: string;
  /** Of a reversal or a completion: what it belongs to. */
  readonly original?: string;
  readonly responseCode?: string;
  readonly digest?: string;
}

/** Something that a gateway must not do. */
export interface Complaint {
  readonly kind: 'complaint';
  readonly atMs: number;
  readonly what:
    | 'STAN used twice'
    | 'asked again'
    | 'unreadable'
    | 'wrong MAC'
    | 'field missing'
    | 'not signed on'
    | 'unknown message'
    | 'unlike its original'
    | 'original unknown'
    | 'repeated without saying so';
  readonly mti?: string;
  readonly key?: string;
  readonly detail?: string;
}

/** What was answered over it shortly before may not have come to the gateway. */
export interface ConnectionClosed {
  readonly kind: 'connection closed';
  readonly atMs: number;
  readonly connection: number;
}

export interface StoreLost {
  readonly kind: 'store lost';
  readonly atMs: number;
}

export type Entry = Decided | Reversed | AdviceTraffic | Complaint | ConnectionClosed | StoreLost;

export class Ledger {
  readonly #file: number;
  #unwritten: Entry[] = [];

  private constructor(file: number) {
    this.#file = file;
  }

  /** Opens the file, and hands over what stands in it. */
  static open(path: string): { readonly ledger: Ledger; readonly entries: Entry[] } {
    mkdirSync(dirname(path), { recursive: true });
    const file = openSync(path, 'a+', 0o600);
    const text = readFileSync(path, 'utf8');
    // Behind a line that was cut short, so that it spoils only itself.
    if (text !== '' && !text.endsWith('\n')) writeSync(file, '\n');
    return { ledger: new Ledger(file), entries: entriesIn(text) };
  }

  append(entry: Entry): void {
    this.#unwritten.push(entry);
  }

  /** Nothing is answered before this: what an answer says must be known after a crash. */
  flush(): void {
    if (this.#unwritten.length === 0) return;
    const lines = this.#unwritten.map((entry) => `${JSON.stringify(entry)}\n`).join('');
    this.#unwritten = [];
    writeSync(this.#file, lines);
  }

  lose(): void {
    this.#unwritten = [];
    ftruncateSync(this.#file);
  }

  close(): void {
    this.flush();
    closeSync(this.#file);
  }
}

/** What a host has written, as others can read it while it runs or after it died. */
export function readEntries(path: string): Entry[] {
  return entriesIn(readFileSync(path, 'utf8'));
}

function entriesIn(text: string): Entry[] {
  return text.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as Entry];
    } catch {
      return [];
    }
  });
}
