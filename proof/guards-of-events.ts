// The guards of the feed of events: once each, in order, to whom they belong, as it was then.
import type { Guard } from './guard.js';

const FEED = 'test/events/feed.test.ts';
const SEQUENCER = 'test/events/sequencer.test.ts';
const WAITING = 'test/events/waiting.test.ts';
const POSITIONS = 'migrations/0016_feed.sql';
const SEQUENCING = 'migrations/0040_events_together.sql';

export const EVENT_GUARDS: readonly Guard[] = [
  {
    name: 'events: one at a time gives positions',
    file: SEQUENCING,
    find: "    PERFORM pg_advisory_xact_lock(hashtext('tollgate events'));",
    replace: '    PERFORM 1;',
    tests: [[SEQUENCER, 'somebody gives positions while another']],
  },
  {
    name: 'events: those of one round go by when they were written, and not by when their transactions began',
    file: SEQUENCING,
    find: 'row_number() OVER (ORDER BY id)',
    replace: 'row_number() OVER (ORDER BY xid)',
    tests: [[FEED, 'a later version whose transaction began first']],
  },
  {
    name: 'events: positions that readers may know are not given again',
    file: SEQUENCING,
    find: 'newest := newest + 1000000000;',
    replace: 'newest := newest;',
    tests: [[SEQUENCER, 'failover that has lost the last positions']],
  },
  {
    name: 'events: under another lineage everything is looked at',
    file: POSITIONS,
    find: "FROM (SELECT under = here AND here <> '' AS known) lineage",
    replace: "FROM (SELECT under <> here OR here <> '' AS known) lineage",
    tests: [[SEQUENCER, 'dump whose transaction IDs this server has just come to']],
  },
  {
    name: 'events: a crowd is moved from its beginning',
    file: SEQUENCING,
    find: '(last_id IS NULL OR id <= last_id)',
    replace: '(last_id IS NULL OR id >= last_id)',
    tests: [[SEQUENCER, 'more events than one round takes']],
  },
  {
    name: 'events: a clock that goes back takes no position back',
    file: POSITIONS,
    find: 'greatest(last / 10000000000 + 1, event_day())',
    replace: 'greatest(0, event_day())',
    tests: [[SEQUENCER, 'clock of the server that goes back']],
  },
  {
    name: 'events: a merchant reads its own',
    file: 'src/events/events.sql.ts',
    find: 'AND organisation_id = $5 AND merchant_id = $6',
    replace: 'AND ($5::integer, $6::integer) IS NOT NULL',
    tests: [[FEED, 'other merchants of the same user']],
  },
  {
    name: 'events: those of the vault are for users with the permission vault',
    file: 'src/events/events.sql.ts',
    find: " AND split_part(type, '.', 1) = ANY ($7::text[])",
    replace: ' AND $7::text[] IS NOT NULL',
    tests: [['test/events/vault-events.test.ts', 'user without the permission vault →']],
  },
  {
    name: 'events: whoever waits is not told of what it may not see',
    file: 'src/api/permissions.ts',
    find: "  customer: 'vault',\n  token: 'vault',\n};",
    replace: "  customer: 'read',\n  token: 'read',\n};",
    tests: [['test/events/vault-events.test.ts', 'user without the permission vault that waits']],
  },
  {
    name: 'events: a cursor behind which events are forgotten is refused',
    file: 'src/events/feed.ts',
    find: 'const skipped = position > 0 && position < forgotten;',
    replace: 'const skipped = false;',
    tests: [[FEED, 'cursor of which events after it are not kept any more']],
  },
  {
    name: 'events: what was in doubt is told without what was found later',
    file: 'src/transactions/past.ts',
    find: 'return { ...silent(now), status, gatewayStatusCode: GATEWAY_STATUS.unknown };',
    replace: 'return now;',
    tests: [[FEED, 'purchase in doubt, decided, voided']],
  },
  {
    name: 'events: whoever goes away gives its place among those who wait back',
    file: 'src/events/watcher.ts',
    find: "gone?.addEventListener('abort', () => resolve(), { once: true });",
    replace: '',
    tests: [[WAITING, 'client that goes away while it waits']],
  },
  {
    name: 'events: an organisation has so many who wait, and no more',
    file: 'src/events/watcher.ts',
    find: ' || ofOrganisation >= maxWaitingOfOrganisation',
    replace: '',
    tests: [[WAITING, 'more requests of an organisation that wait than it may have']],
  },
];
