// The memory of a running process, as a core dump would hold it: read from /proc, if the system has and permits it.
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

export interface Region {
  /** What the system calls it: `[heap]`, `[stack]`, a file; empty for what the process has asked for. */
  readonly name: string;
  readonly from: bigint;
  readonly to: bigint;
}

const PIECE_BYTES = 4 << 20;
/** What lies across the end of a piece is found in the next one. */
const OVERLAP_BYTES = 256;

/** Everything that the process could have written to. Programs and libraries as they lie on the disk are left out. */
function regionsOf(pid: number): Region[] {
  return readFileSync(`/proc/${pid}/maps`, 'latin1')
    .split('\n')
    .flatMap((line) => {
      const [, from, to, name = ''] = /^([0-9a-f]+)-([0-9a-f]+) rw\S* \S+ \S+ \d+ *(.*)$/.exec(line) ?? [];
      if (from === undefined) return [];
      return [{ name, from: BigInt(`0x${from}`), to: BigInt(`0x${to}`) }];
    });
}

/** Whether this process may read the memory of that one. */
export function isReadable(pid: number): boolean {
  try {
    closeSync(openSync(`/proc/${pid}/mem`, 'r'));
    return true;
  } catch {
    return false;
  }
}

/**
 * Shows all of it piece by piece, while the process runs on. The pieces overlap and reuse one buffer, so that no finding stays
 * in memory here. Returns the number of bytes.
 */
export function readMemory(pid: number, look: (piece: Buffer, region: Region, at: bigint) => void): number {
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  const buffer = Buffer.alloc(PIECE_BYTES);
  let total = 0;
  try {
    for (const region of regionsOf(pid)) {
      for (let at = region.from; at < region.to; at += BigInt(PIECE_BYTES - OVERLAP_BYTES)) {
        const left = region.to - at;
        const wanted = left < PIECE_BYTES ? Number(left) : PIECE_BYTES;
        const read = readAt(memory, buffer, wanted, at);
        if (read === 0) break;
        total += read;
        look(buffer.subarray(0, read), region, at);
        if (wanted < PIECE_BYTES) break;
      }
    }
  } finally {
    closeSync(memory);
  }
  return total;
}

/** A region may be gone since it was listed. */
function readAt(memory: number, into: Buffer, wanted: number, at: bigint): number {
  try {
    return readSync(memory, into, 0, wanted, at);
  } catch {
    return 0;
  }
}
