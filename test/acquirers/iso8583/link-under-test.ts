// An ISO 8583 link for tests of its own: to a host in this process, with numbers and reversals that are kept in memory.

import type { Dialect } from '../../../src/acquirers/iso8583/dialects/dialect.js';
import { type Alarm, Iso8583Link } from '../../../src/acquirers/iso8583/link.js';
import type { Stans } from '../../../src/acquirers/iso8583/numbers.js';
import type { Begun, Reversals } from '../../../src/acquirers/iso8583/reversals.js';
import { Line, type LineParts } from '../../../src/acquirers/iso8583/wire/line.js';
import type { LateAnswer } from '../../../src/acquirers/iso8583/wire/outstanding.js';

/** As several processes share them through a database. */
export class SharedNumbers implements Stans {
  #last = 0;

  take(): number {
    this.#last += 1;
    return this.#last;
  }
}

export class SharedReversals implements Reversals {
  readonly begun = new Map<string, Begun>();
  readonly acknowledgements: string[] = [];
  readonly approvals: LateAnswer[] = [];

  async find({ reference }: { reference: string }): Promise<Begun | undefined> {
    return this.begun.get(reference);
  }

  async begin({ reference }: { reference: string }, begun: Begun): Promise<Begun> {
    const before = this.begun.get(reference);
    if (before === undefined) this.begun.set(reference, begun);
    return before ?? begun;
  }

  async acknowledged({ reference }: { reference: string }): Promise<boolean> {
    this.acknowledgements.push(reference);
    return true;
  }

  async approved(approvals: readonly LateAnswer[]): Promise<number> {
    this.approvals.push(...approvals);
    return 0;
  }
}

export interface Shared {
  readonly stans: SharedNumbers;
  readonly reversals: SharedReversals;
  readonly alarms: Alarm[];
}

export function shared(): Shared {
  return { stans: new SharedNumbers(), reversals: new SharedReversals(), alarms: [] };
}

const INSTITUTION = '560279';

/** What a line to a host in this process is made of. */
export function linePartsTo(port: number, dialect: Dialect): LineParts {
  return {
    dialect,
    host: { host: '127.0.0.1', port, tls: false },
    connections: 2,
    institution: INSTITUTION,
    macs: undefined,
    deadlineMs: 2_000,
    timings: { connectMs: 2_000, networkAnswerMs: 2_000, echoAfterMs: 30_000 },
    firstPauseMs: 5,
    longestPauseMs: 20,
    onConnectionEvent: () => {},
  };
}

export function linkTo(
  port: number,
  dialect: Dialect,
  { stans, reversals, alarms }: Shared,
  change: Partial<LineParts> = {},
): Iso8583Link {
  const acceptor = {
    acceptorId: 'MERCHANT0000001',
    terminals: ['TERM0001', 'TERM0002'],
    categoryCode: '5999',
  };
  return new Iso8583Link({
    name: 'iso',
    mode: 'test',
    version: 1,
    dialect,
    institution: INSTITUTION,
    line: new Line({ ...linePartsTo(port, dialect), ...change }),
    acceptors: { of: () => acceptor },
    stans,
    reversals,
    onAlarm: (alarm) => alarms.push(alarm),
  });
}
