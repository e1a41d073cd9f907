// The events of a gateway: the process's watcher, and the sessions that readers share.
import { EventWatcher } from '../events/watcher.js';
import { FairConnections } from '../postgres/fair-connections.js';
import type { ClosingStack } from './closing-stack.js';
import { EVENT_SESSIONS } from './database/databases.js';
import type { PipelineParts } from './pipeline.js';

const READERS = { connections: EVENT_SESSIONS - 1, perOrganisation: 2, maxWaiting: 200, maxWaitMs: 5_000 };
/** Each holds a connection open for up to half a minute. */
const WAITING = { maxWaiting: 2_000, maxWaitingOfOrganisation: 200 };

const MADE_UP_FROM_SECONDS = 86_400;

export interface Events {
  readonly watcher: EventWatcher;
  readonly connections: FairConnections;
}

export function startEvents({ settings, databases, log, watch }: EventParts, stack: ClosingStack): Events {
  const watcher = new EventWatcher({
    database: databases.events,
    looks: databases.looks,
    ...WAITING,
    onError: (error) => watch.jobFailed('event feed', error),
    onLate: ({ seconds, events }) => {
      // No transaction stays open for that long: this is the demo's backdated trade.
      if (!settings.demo || seconds < MADE_UP_FROM_SECONDS)
        log.warn({ seconds, events }, 'events came late into the feed');
    },
  });
  stack.opened(watcher, (opened) => opened.stop());
  watcher.start();
  return { watcher, connections: new FairConnections(databases.events, READERS) };
}

type EventParts = Pick<PipelineParts, 'settings' | 'databases' | 'log' | 'watch'>;
