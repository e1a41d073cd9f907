// Writes files durably, and returns their checksums.
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';

export interface Copied {
  readonly bytes: number;
  readonly sha256: string;
}

const CHUNK_BYTES = 1024 * 1024;

/** Copies at most this many bytes of the file into a new file. */
export async function copyDurably(from: FileHandle, path: string, atMostBytes: number): Promise<Copied> {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(1, atMostBytes)));
  const to = await open(path, 'wx', 0o600);
  try {
    let bytes = 0;
    while (bytes < atMostBytes) {
      const { bytesRead } = await from.read(chunk, 0, Math.min(chunk.length, atMostBytes - bytes), bytes);
      if (bytesRead === 0) break;
      hash.update(chunk.subarray(0, bytesRead));
      await to.writeFile(chunk.subarray(0, bytesRead));
      bytes += bytesRead;
    }
    await to.sync();
    return { bytes, sha256: hash.digest('hex') };
  } finally {
    await to.close();
  }
}

export async function writeDurably(path: string, content: Buffer): Promise<Copied> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') };
}

/** Waiting for the disk takes most of the time, and many files can wait together. */
const AT_ONCE = 16;

/** Stops at the first failure, after the files already begun. */
export async function forEachFile<File>(
  files: readonly File[],
  work: (file: File) => Promise<void>,
): Promise<void> {
  const left = [...files].reverse();
  const lane = async () => {
    for (let file = left.pop(); file !== undefined; file = left.pop()) await work(file);
  };
  const lanes = Array.from({ length: AT_ONCE }, () =>
    lane().catch((error) => {
      left.length = 0;
      throw error;
    }),
  );
  const failed = (await Promise.allSettled(lanes)).find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
}
