// Links that operators have added: read from the database, created, and replaced when they change.
import type { Database, Queryable } from '../postgres/database.js';
import type { Mode } from '../values/mode.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import { ACQUIRER_BY_NAME, ACQUIRER_VERSIONS, ACQUIRERS } from './configured.sql.js';
import type { AcquirerLink } from './contract.js';
import { StoredAcceptors } from './iso8583/acceptors.js';
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
  readonly version: number;
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
}

export interface ConfiguredParts {
  /** For STAN leases and acceptors: payments wait for it. */
  readonly vital: Database;
  readonly others: Database;
  readonly provider: KeyProvider;
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
  /** The version of each link in use. */
  readonly #versions = new Map<string, number>();
  readonly #unmade = new Set<string>();
  readonly #acceptors: Acceptors;
  readonly #stans: Stans;

  constructor(private readonly parts: ConfiguredParts) {
    this.#acceptors = new StoredAcceptors(parts.vital);
    this.#stans = new StanLeases(parts.vital);
  }

  /** Opens links that were added or changed since the last call, and drops those that were removed. Does not wait for them to open. */
  async follow(links: AcquirerLinks): Promise<{ readonly opened: Promise<unknown> }> {
    const { rows } = await this.parts.others.query<{ name: string; version: number }>(ACQUIRER_VERSIONS);
    const current = new Map(rows.map(({ name, version }) => [name, version]));
    const gone = [...this.#versions.keys()].filter((name) => !current.has(name));
    for (const name of gone) {
      this.#versions.delete(name);
      void links.drop(name);
    }
    const opening: Promise<void>[] = [];
    if (rows.some(({ name, version }) => this.#versions.get(name) !== version)) {
      for (const row of await readAcquirers(this.parts.others)) {
        if (this.#versions.get(row.name) === row.version) continue;
        const link = await this.#made(row);
        if (link !== undefined) opening.push(links.put(link));
      }
    }
    return { opened: Promise.all(opening) };
  }

  /** Undefined if the link cannot be created: tried again the next time, and reported once. */
  async #made(row: AcquirerRow): Promise<AcquirerLink | undefined> {
    const { name, version } = row;
    try {
      const link = await this.#make(row);
      this.#unmade.delete(name);
      this.#versions.set(name, version);
      return link;
    } catch (reason) {
      if (!this.#unmade.has(name)) this.parts.onUnmade(name, reason);
      this.#unmade.add(name);
      return undefined;
    }
  }

  async #make(row: AcquirerRow): Promise<AcquirerLink> {
    const { others, onConnectionEvent, onLineEvent, onAlarm, onTrace, onApprovedAfterReversal } = this.parts;
    const { name, mode, version } = row;
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
      acceptors: this.#acceptors,
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
