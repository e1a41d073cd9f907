import { statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// What takes long, the longest first: begun last, one of them would keep one worker busy while the others have ended. Those that keep the
// processors busy and those that mostly wait are begun in turns. One kind after the other, there was too much to do for three minutes
// and then too little.
const BUSY = names(`
  console/browser-pages proof/client-proof console/browser-money console/browser-sign-in proof/backup-proof proof/crash
  console/browser reference/browser console/hostile-routes operators/password-sign-in directdebit/killed processes/workers
  processes/backup processes/data-directory directdebit/large-files proof/ api/isolation processes/crash-points embedded-postgres/
  directdebit/directdebit-crash-points payments/pipeline/failing-links payments/races vault/secrecy processes/settings
  cli/commands`);
const WAITING = names(`
  processes/failover http/tls payments/cards/card-destruction settlement/settlement processes/full-disk client/python
  payments/pipeline/faults client/recovery acquirers/iso8583/iso8583-foreign-host acquirers/iso8583/iso8583-gateway
  vault/keys/keys processes/database-outage processes/certificates processes/two-processes vault/keys/key-limits
  payments/doubt/in-doubt acquirers/awkward-link webhooks/failing-endpoints api/correlation-search http/warnings
  payments/requests/transaction-operations payments/pipeline/later-operations payments/cards/cards-of processes/ http/connections
  webhooks/delivery organisations/sealed-users vault/database-writer payments/doubt/sweep payments/pipeline/rerouting
  figures/today operators/operator-roles postgres/plans payments/finding/search-fences payments/finding/received-before-empty
  organisations/permissions payments/ cli/ vault/ figures/day-figures payments/doubt/late-answers http/ organisations/
  directdebit/ console/ operators/ acquirers/ client/`);

function names(list: string): readonly string[] {
  return list.trim().split(/\s+/);
}

function inOrderOf(list: readonly string[], files: readonly TestSpecification[]): TestSpecification[] {
  // A set has each where it was named first.
  return [
    ...new Set(list.flatMap((name) => files.filter(({ moduleId }) => moduleId.includes(`/test/${name}`)))),
  ];
}

class LongOnesFirst extends BaseSequencer {
  /** The rest follows, by what vitest knows of it. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const busy = inOrderOf(BUSY, sorted);
    const others = sorted.filter((file) => !busy.includes(file));
    const waiting = inOrderOf(WAITING, others);
    const inTurns = waiting.flatMap((file, index) => [...busy.slice(index, index + 1), file]);
    return [...inTurns, ...busy.slice(waiting.length), ...others.filter((file) => !waiting.includes(file))];
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
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
    // Two cores, and every file runs gateways of its own: with four the cores are idle for a fifth of the time, with many everything is slow.
    maxWorkers: 5,
  },
});
