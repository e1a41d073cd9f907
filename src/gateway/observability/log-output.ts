// Standard output for a log: in blocks, never waited for, and given up when nobody is there to read it.
//
// Why not sonic-boom. Version 4, which pino brings, never returns from `flushSync` when the reader has gone, and loses the block that
// waits for room in a full pipe; test/processes/log-output.long.test.ts shows both. Version 5 does neither, but each line costs it
// several times as much: 8 µs against 2, measured with 300,000 lines of requests and a reader that kept up.
import { write, writeSync } from 'node:fs';

const STANDARD_OUTPUT = 1;
/** A line is on its way at the latest after this. */
const LATEST_MS = 200;
/** A pipe or a disk that is full is tried again after this. */
const PAUSE_MS = 50;
/** How often the end of the process pauses for it. */
const LAST_PAUSES = 20;
/** Of what nobody takes, no more than this is kept in memory. */
const MOST_WAITING_BYTES = 8 * 1024 * 1024;

export class LogOutput {
  /** Whole lines each. The first is being written, as far as it has not been yet. */
  readonly #blocks: Buffer[] = [];
  #filling = '';
  #waitingBytes = 0;
  #underWay = false;
  #dropped = 0;
  /** Lines that nobody has taken in time, since the start. */
  totalDropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #gone = false;

  /** No more than `blockBytes` at once: what is longer can be torn apart by what others write to the same pipe. */
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

  /** The rest, before the process ends. Who is gone or does not read must not keep it alive. */
  flushSync(): void {
    const [first, ...others] = this.#blocks;
    // What the system has been given already is not given again.
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
   * Where there was no room, tries again later. Not in another thread: a pipe that is full returns at once, and should the process
   * end meanwhile, it is known what was written.
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
