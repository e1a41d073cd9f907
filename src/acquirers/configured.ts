// Links that operators have added: read from the database, created, and replaced when they change.
import { type Fit, fitNow, isAsSealed, type ReadRow } from '../journal/seals.js';
import type { Database, Queryable } from '../postgres/database.js';
import type { Mode } from '../values/mode.js';
import { refuse } from '../values/refusal.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import { ACQUIRER_BY_NAME, ACQUIRERS } from './configured.sql.js';
import type { AcquirerLink } from './contract.js';
import { dialectOf } from './iso8583/dialects/dialects.js';
import { type Alarm, Iso8583Link } from './iso8583/link.js';
import { openMacs } from './iso8583/mac-keys.js';
import type { Acceptors, Stans } from './iso8583/numbers.js';
import { StoredReversals } from './iso8583/reversals.js';
import { StanLeases } from './iso8583/stan-leases.js';
import { TIMINGS, type TraceLine } from './iso8583/wire/connection.js';
import { type ConnectionEvent, Line, type LineEvent, type LineParts } from './iso8583/wire/line.js';
import type { AcquirerLinks } from './links.js';
import { builtInNames } from './registry.js';

/** A link as it is stored. */
export interface AcquirerRow {
  readonly name: string;
  readonly kind: 'iso8583';
  readonly mode: Mode;
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly trusted: string | null;
  readonly dialect: string;
  readonly connections: number;
  readonly institution: string | null;
  readonly deadlineMs: number;
  /** The key of the link's wrapped MAC keys, if it has any. */
  readonly keyId: string | null;
  readonly wrapped: Buffer | null;
  /** Somebody has said that it may go without TLS or MAC in production. */
  readonly plaintextKnown: boolean;
  /** Its newest seal in the journal, behind its version. */
  readonly newest: Buffer | null;
}

/** For the journal, which seals everything that a link is opened by. */
export function sealedAcquirer(row: AcquirerRow): ReadRow {
  const { name, kind, mode, host, port, tls, trusted, dialect, connections, institution, deadlineMs } = row;
  const { keyId, wrapped, plaintextKnown, newest } = row;
  // guard(directions: a link is sealed with where it leads): host, port, tls, trusted ⇒ trusted
  const line = [host, port, tls, trusted, dialect, connections, institution, deadlineMs];
  const macKeys = [keyId, wrapped?.toString('hex') ?? null];
  return {
    subject: subjectOfAcquirer(name),
    state: [kind, mode, ...line, ...macKeys, plaintextKnown],
    newest,
  };
}

/** By the journal, without a look at whether it is true: for a list. */
export function versionSaid({ newest }: AcquirerRow): number {
  return newest?.readInt32BE(0) ?? 0;
}

export const subjectOfAcquirer = (name: string) => `acquirer/${name}`;

/** Whether a live link would send cards in clear, or take answers from anybody, and nobody has said that it may. */
export function isUnprotected({ mode, tls, wrapped, plaintextKnown }: AcquirerRow): boolean {
  return mode === 'live' && !(tls && wrapped !== null) && !plaintextKnown;
}

export interface ConfiguredParts {
  /** For STAN leases: payments wait for it. */
  readonly vital: Database;
  /** What acquirers know merchants by. */
  readonly acceptors: Acceptors;
  readonly others: Database;
  readonly looks: Database;
  readonly provider: KeyProvider;
  /** Live links without TLS or MAC are not opened, unless somebody has said that they may. */
  readonly inProduction: boolean;
  readonly onConnectionEvent: (link: string, event: ConnectionEvent) => void;
  readonly onLineEvent?: ((link: string, event: LineEvent) => void) | undefined;
  readonly onAlarm: (link: string, alarm: Alarm) => void;
  readonly onTrace?: ((link: string, line: TraceLine) => void) | undefined;
  /** An approval has arrived for an order that was reversed: it must be reversed again. */
  readonly onApprovedAfterReversal: () => void;
  /** A link could not be created, because its key or its dialect is missing. */
  readonly onUnmade: (link: string, reason: unknown) => void;
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;

export async function readAcquirers(database: Queryable): Promise<AcquirerRow[]> {
  return (await database.query<AcquirerRow>(ACQUIRERS)).rows;
}

/** The names of all links, built in or added. */
export async function acquirerNames(database: Queryable): Promise<string[]> {
  const added = await readAcquirers(database);
  return [...builtInNames(), ...added.map(({ name }) => name)].sort();
}

export async function readAcquirer(database: Queryable, name: string): Promise<AcquirerRow | undefined> {
  return (await database.query<AcquirerRow>(ACQUIRER_BY_NAME, [name])).rows[0];
}

export class ConfiguredLinks {
  /** The seal of each link in use. */
  readonly #seals = new Map<string, string>();
  readonly #unmade = new Set<string>();
  readonly #stans: Stans;

  constructor(private readonly parts: ConfiguredParts) {
    this.#stans = new StanLeases(parts.vital);
  }

  /**
   * Opens links that were added or changed since the last call, and drops those that were removed. Does not wait for them to open. The
   * journal decides: a link in use stays as it is for as long as the journal names its version, whatever is in its row.
   */
  async follow(links: AcquirerLinks): Promise<{ readonly opened: Promise<unknown> }> {
    const { others, looks } = this.parts;
    const rows = await readAcquirers(looks);
    const names = new Set(rows.map(({ name }) => name));
    const gone = [...this.#seals.keys()].filter((name) => !names.has(name));
    for (const name of gone) {
      const removed = { subject: subjectOfAcquirer(name), state: null };
      if (await isAsSealed(others, removed)) this.#drop(name, links);
    }
    const opening: Promise<void>[] = [];
    for (const row of rows) {
      const { name } = row;
      const fit = await fitNow(others, sealedAcquirer(row));
      const isInUse = this.#seals.get(name) === fit.seal;
      // guard(directions: a link that is not as it was sealed is not opened): fit.kind === 'misfit' ⇒ fit.version < 0
      if (fit.kind === 'misfit') {
        if (!isInUse && fit.version > 0) this.#drop(name, links);
        continue;
      }
      if (isInUse) continue;
      const link = await this.#made(row, fit);
      if (link !== undefined) opening.push(links.put(link));
    }
    return { opened: Promise.all(opening) };
  }

  #drop(name: string, links: AcquirerLinks): void {
    if (this.#seals.delete(name)) void links.drop(name);
  }

  /** Undefined if the link cannot be created: tried again the next time, and reported once. */
  async #made(row: AcquirerRow, { version, seal }: Fit): Promise<AcquirerLink | undefined> {
    const { name } = row;
    try {
      // guard(links: in production no live link goes without TLS and MAC unsaid): this.parts.inProduction && isUnprotected(row) ⇒ this.parts.inProduction && !row.name
      if (this.parts.inProduction && isUnprotected(row)) refuse('acquirer_unprotected', { acquirer: name });
      const link = await this.#make(row, version);
      this.#unmade.delete(name);
      this.#seals.set(name, seal);
      return link;
    } catch (reason) {
      if (!this.#unmade.has(name)) this.parts.onUnmade(name, reason);
      this.#unmade.add(name);
      return undefined;
    }
  }

  async #make(row: AcquirerRow, version: number): Promise<AcquirerLink> {
    const { others, onConnectionEvent, onLineEvent, onAlarm, onTrace, onApprovedAfterReversal } = this.parts;
    const { name, mode } = row;
    const line = await lineOf(row, this.parts.provider, {
      onConnectionEvent: (event) => onConnectionEvent(name, event),
      onLineEvent: onLineEvent && ((event) => onLineEvent(name, event)),
      onTrace: onTrace && ((traced) => onTrace(name, traced)),
    });
    return new Iso8583Link({
      name,
      mode,
      version,
      dialect: line.dialect,
      institution: row.institution ?? undefined,
      line: new Line(line),
      acceptors: this.parts.acceptors,
      stans: this.#stans,
      reversals: new StoredReversals(others, name),
      onApprovedAfterReversal,
      onAlarm: (alarm) => onAlarm(name, alarm),
    });
  }
}

type LineReports = Pick<LineParts, 'onConnectionEvent' | 'onLineEvent' | 'onTrace'>;

/** The parts of a line for this link. */
export async function lineOf(
  row: AcquirerRow,
  provider: KeyProvider,
  reports: LineReports,
): Promise<LineParts> {
  const { name, host, port, tls, connections, deadlineMs, keyId, wrapped } = row;
  const dialect = dialectOf(row.dialect);
  if (dialect === undefined) throw new Error(`there is no dialect ${row.dialect} in this version`);
  const macs =
    keyId === null || wrapped === null ? undefined : await openMacs(provider, name, { keyId, wrapped });
  return {
    dialect,
    host: { host, port, tls, trusted: row.trusted ?? undefined },
    connections,
    institution: row.institution ?? undefined,
    macs,
    deadlineMs,
    timings: TIMINGS,
    firstPauseMs: FIRST_PAUSE_MS,
    longestPauseMs: LONGEST_PAUSE_MS,
    ...reports,
  };
}
