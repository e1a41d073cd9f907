// Registers a gateway in the process registry of its database, with the things that processes share through it.
import type { AcquirerLinks } from '../acquirers/links.js';
import { Clock } from '../clock/clock.js';
import { SearchFence } from '../payments/finding/search-fence.js';
import { AuditLeases, ProcessRegistry } from '../payments/processes/process-registry.js';
import { type ProcessTimes, processTimes } from '../payments/processes/process-times.js';
import { type AcquirerReference, acquirerReferences } from '../payments/transaction.js';
import type { ClosingStack } from './closing-stack.js';
import type { Databases } from './database/databases.js';
import type { DatabaseWatch } from './observability/database-watch.js';

export interface ProcessRegistration {
  readonly times: ProcessTimes;
  readonly registry: ProcessRegistry;
  readonly leases: AuditLeases;
  readonly referenceOf: AcquirerReference;
  readonly clock: Clock;
  readonly searchFence: SearchFence;
}

export interface RegistrationParts {
  readonly processTimeoutMs: number;
  readonly databases: Databases;
  readonly links: AcquirerLinks;
  readonly watch: DatabaseWatch;
  /** How many connections the kernel queues for a process that is too busy to accept them. */
  readonly backlog: number;
}

/** Registers this process, with its first heartbeat. */
export async function register(parts: RegistrationParts, stack: ClosingStack): Promise<ProcessRegistration> {
  const { databases, links, watch, backlog } = parts;
  const times = processTimes(parts.processTimeoutMs);
  const registry = await ProcessRegistry.register(databases.vital, times, () => links.reports);
  const leases = new AuditLeases(databases.vital, registry);
  stack.opened(registry, () =>
    registry.deregister(leases).catch((error) => watch.jobFailed('deregistration', error)),
  );
  const { advancedMs, forgotten, newest } = await registry.heartbeat(leases);
  const clock = new Clock();
  clock.advancedBy(advancedMs);
  const searchFence = new SearchFence({
    database: databases.others,
    process: registry,
    forgotten,
    newest,
    backlog,
  });
  return { times, registry, leases, referenceOf: acquirerReferences(registry), clock, searchFence };
}
