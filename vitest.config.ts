// All tests, of both tiers: `npm test` leaves out files that end in `.long.test.ts`, and `npm run test:all` runs those.
import { statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { defineConfig } from 'vitest/config';

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

// Each process that is started would read all these certificates anew, which takes it longer than to start; none here needs them.
delete process.env.NODE_EXTRA_CA_CERTS;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['testkit/database-server.ts'],
    setupFiles: ['test/every-file.ts'],
    // A worker keeps its modules from file to file. To load them anew for each costs a good second of CPU time.
    isolate: false,
    // By default V8 compiles much that was run a little and is run hardly ever again. What is really hot is compiled all the same, which
    // --no-opt would not do.
    execArgv: ['--interrupt-budget=1000000'],
    // Nothing is shown by how long a test takes: these only end what hangs, also on a machine that others starve.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
    // Two cores, and every file runs gateways of its own: with four the cores are idle for a fifth of the time, with many everything is slow.
    maxWorkers: 5,
  },
});
