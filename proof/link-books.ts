// The books of the test host, as a proof over a link asks for them.
import type { HostProcess } from '../testkit/iso8583-host/host-process.js';
import type { Entry } from '../testkit/iso8583-host/ledger.js';
import type { TradedHost } from './link-arena.js';

export function hostBooks(host: HostProcess, dialect = 'as2805'): TradedHost {
  return {
    port: host.port,
    dialect,
    get pid() {
      return host.pid;
    },
    async books() {
      const entries = host.entries();
      return {
        positions: new Map(Object.entries(await host.positions())),
        retrievalReferences: retrievalReferencesIn(entries),
        complaints: (await host.complaints()).map((complaint) => JSON.stringify(complaint)),
        acknowledged: entries.filter(({ kind }) => kind === 'acknowledged').length,
      };
    },
  };
}

/** Of everything that a host has decided, by terminal, day and STAN. */
export function retrievalReferencesIn(entries: readonly Entry[]): Map<string, string> {
  return new Map(
    entries.flatMap((entry) => (entry.kind === 'decided' ? [[entry.key, entry.retrievalReference]] : [])),
  );
}
