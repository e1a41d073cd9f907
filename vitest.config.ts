import { statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// What takes long, the longest first: begun last, one of them would keep one worker busy while the others have ended.
const LONG = `
  processes/failover http/tls proof/client-proof docs/documented-commands console/browser reference/browser proof/backup-proof proof/crash
  console/hostile-routes console/password-sign-in directdebit/killed directdebit/large-files processes/workers transactions/settlement
  processes/full-disk processes/backup processes/data-directory proof/ api/isolation processes/certificates
  transactions/card-destruction transactions/faults embedded-postgres/ directdebit/directdebit-modes cli/clock cli/operator-roles
  processes/ postgres/plans acquirers/iso8583/iso8583-foreign-host acquirers/iso8583/iso8583-gateway vault/key-limits cli/commands
  directdebit/directdebit-crash-points webhooks/failing-endpoints client/ http/ directdebit/ console/ transactions/ cli/ vault/ acquirers/`
  .trim()
  .split(/\s+/);

/** The rest follows, by what vitest knows of it. */
function place({ moduleId }: TestSpecification): number {
  const found = LONG.findIndex((name) => moduleId.includes(`/test/${name}`));
  return found === -1 ? LONG.length : found;
}

class LongOnesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => place(one) - place(other));
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
    sequence: { sequencer: LongOnesFirst },
    // Nothing is shown by how long a test takes: these only end what hangs, also on a machine that others starve.
    testTimeout: 150_000,
    hookTimeout: 150_000,
    expect: { poll: { timeout: 20_000 } },
    // Two cores, and every file runs gateways of its own: with four the cores are idle for a fifth of the time, with many everything is slow.
    maxWorkers: 6,
  },
});
