import { statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Run processes of their own, and take longest. Were they begun last, two workers would end long before the third.
const LONG =
  /\/test\/(proof|embedded-postgres|processes|directdebit\/(killed|large)|cli\/commands|postgres\/plans)/;

class LongOnesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => Number(LONG.test(moduleId));
    return sorted.toSorted((one, other) => isLong(other) - isLong(one));
  }
}

// Hundreds of databases are made and dropped again. In a file system in memory that takes a fifth less of all CPU time. They use
// less than a gigabyte of it at once.
const MEMORY = '/dev/shm';
const ROOM_BYTES = 3 * 1024 ** 3;

function hasRoom(directory: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return Math.min(bavail * bsize, freemem()) >= ROOM_BYTES;
  } catch {
    return false;
  }
}

if (process.env.TMPDIR === undefined && hasRoom(MEMORY)) process.env.TMPDIR = MEMORY;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['testkit/database-server.ts'],
    setupFiles: ['test/every-file.ts'],
    // A worker keeps its modules from file to file. To load them anew for each costs a good second of CPU time.
    isolate: false,
    sequence: { sequencer: LongOnesFirst },
    // Nothing is shown by how long a test takes: these only end what hangs, also on a machine that others starve.
    testTimeout: 150_000,
    hookTimeout: 150_000,
    expect: { poll: { timeout: 20_000 } },
    // Two cores, and every file runs gateways of its own: more at once only makes them slow.
    maxWorkers: 4,
  },
});
