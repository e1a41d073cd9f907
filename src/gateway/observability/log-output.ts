// Writes the log to standard output: in blocks, without waiting, and given up when nobody reads.
//
// Why not sonic-boom: version 4, which pino brings, never returns from `flushSync` when the reader has gone, and loses the block that
// waits for a full pipe; test/processes/log-output.long.test.ts shows both. Version 5 does neither, but a line costs 8 µs instead of 2
// (measured with 300,000 request lines and a reader that kept up).
import { write, writeSync } from 'node:fs';

const STANDARD_OUTPUT = 1;
/** A line is written at the latest after this. */
const LATEST_MS = 200;
/** A full pipe or disk is retried after this. */
const PAUSE_MS = 50;
/** How often the end of the process pauses for it. */
const LAST_PAUSES = 20;
/** If nobody reads, no more than this is kept in memory. */
const MOST_WAITING_BYTES = 8 * 1024 * 1024;

export class LogOutput {
  /** Whole lines each. The first may be partly written. */
  readonly #blocks: Buffer[] = [];
  #filling = '';
  #waitingBytes = 0;
  #underWay = false;
  #dropped = 0;
  /** Lines that were dropped because nobody read them in time. */
  totalDropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #gone = false;

  /** No more than `blockBytes` at once: other writers to the same pipe can interleave with a longer block. */
  constructor(private readonly blockBytes: number) {}

  write(line: string): void {
    if (this.#gone) {
      this.totalDropped += 1;
      return;
    }
    if (this.#waitingBytes > MOST_WAITING_BYTES) {
      this.#dropped += 1;
      this.totalDropped += 1;
      return;
    }
    if (this.#filling.length + line.length > this.blockBytes) this.#closeBlock();
    this.#filling += line;
    this.#timer ??= setTimeout(() => this.#closeBlock(), LATEST_MS).unref();
  }

  /** Writes the rest before the process ends. A reader that is gone or slow must not keep the process alive. */
  flushSync(): void {
    const [first, ...others] = this.#blocks;
    // A block already handed to the system is not written again.
    const rest = first === undefined || this.#underWay ? others : [first, ...others];
    let pauses = 0;
    for (let left of [...rest, Buffer.from(this.#filling)]) {
      while (left.length > 0) {
        try {
          left = left.subarray(writeSync(STANDARD_OUTPUT, left));
        } catch (error) {
          if (isGone(error) || ++pauses > LAST_PAUSES) return;
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
        }
      }
    }
  }

  #closeBlock(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#filling === '') return;
    this.#add(this.#filling);
    this.#filling = '';
    if (this.#blocks.length === 1) this.#writeFirst();
  }

  #add(lines: string): void {
    const block = Buffer.from(lines);
    this.#blocks.push(block);
    this.#waitingBytes += block.length;
  }

  #writeFirst(): void {
    const [block] = this.#blocks;
    if (block === undefined) return;
    this.#underWay = true;
    write(STANDARD_OUTPUT, block, (error, bytes) => {
      this.#underWay = false;
      if (error === null) this.#written(block, bytes);
      else this.#failed(block, error);
    });
  }

  /**
   * If there was no space, tries again later. Not in another thread: a write to a full pipe returns at once, and if the process
   * ends meanwhile, it is known what was written.
   */
  #failed(block: Buffer, error: unknown): void {
    if (isGone(error)) this.#giveUp();
    else setTimeout(() => this.#tryAgain(block), PAUSE_MS).unref();
  }

  #tryAgain(block: Buffer): void {
    let bytes: number;
    try {
      bytes = writeSync(STANDARD_OUTPUT, block);
    } catch (error) {
      this.#failed(block, error);
      return;
    }
    this.#written(block, bytes);
  }

  #written(block: Buffer, bytes: number): void {
    this.#waitingBytes -= bytes;
    if (bytes < block.length) this.#blocks[0] = block.subarray(bytes);
    else this.#blocks.shift();
    if (this.#dropped > 0) this.#tellDropped();
    this.#writeFirst();
  }

  #tellDropped(): void {
    const time = new Date().toISOString();
    this.#add(`${JSON.stringify({ level: 'warn', time, lines: this.#dropped, msg: 'log lines dropped' })}\n`);
    this.#dropped = 0;
  }

  #giveUp(): void {
    this.#gone = true;
    this.#blocks.length = 0;
    this.#filling = '';
  }
}

function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EPIPE' || code === 'EBADF';
}
