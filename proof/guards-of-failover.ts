// Guards of what is promised while servers change places.
import type { Guard, NamedTest } from './guard.js';

const FAILOVER = 'test/processes/failover.test.ts';
const LEFT_BEHIND: NamedTest = [FAILOVER, 'the old primary, left behind'];

export const FAILOVER_GUARDS: readonly Guard[] = [
  {
    name: 'failover: no session on a standby is used',
    slow: true,
    processes: true,
    file: 'src/postgres/session.ts',
    find: 'if (found.standby) throw',
    replace: 'if (found.standby && found.processId === 0) throw',
    tests: [[FAILOVER, 'a standby → no session on it is used']],
  },
  {
    // Each of these is enough by itself to keep a standby from saying "not there".
    name: 'failover: neither a standby nor a former primary is asked, and neither is believed',
    slow: true,
    processes: true,
    file: 'src/postgres/session.ts',
    find: 'if (found.standby) throw',
    replace: 'if (found.standby && found.processId === 0) throw',
    also: [
      {
        file: 'src/postgres/servers.ts',
        find: 'if (session.timeline < this.#timeline) {',
        replace: 'if (session.timeline < 0) {',
      },
      {
        file: 'src/transactions/lookup.sql.ts',
        find: "(SELECT pg_logical_emit_message(true, 'tollgate', ''))",
        replace: '(SELECT 1)',
      },
    ],
    tests: [['test/proof/failover-proof.test.ts', 'two failovers']],
  },
  {
    name: 'failover: a former primary is not used again',
    slow: true,
    processes: true,
    file: 'src/postgres/servers.ts',
    find: 'if (session.timeline < this.#timeline) {',
    replace: 'if (session.timeline < 0) {',
    tests: [LEFT_BEHIND],
  },
  {
    name: 'failover: "not there" is said after a commit',
    slow: true,
    processes: true,
    file: 'src/transactions/lookup.sql.ts',
    find: "(SELECT pg_logical_emit_message(true, 'tollgate', ''))",
    replace: '(SELECT 1)',
    tests: [LEFT_BEHIND],
  },
  {
    name: 'failover: that nobody knows the outcome is said after a commit',
    slow: true,
    processes: true,
    file: 'src/transactions/lookup.ts',
    find: "return found !== undefined && found.status !== 'unknown';",
    replace: 'return found !== undefined;',
    tests: [LEFT_BEHIND],
  },
  {
    name: 'failover: the last look of a search ends with a commit',
    slow: true,
    processes: true,
    file: 'src/transactions/search-fence.ts',
    find: 'const found = await prove();',
    replace: 'const found = await look();',
    // To raise a fence is a commit as well, but of another session.
    also: [
      {
        file: 'src/transactions/search-fence.ts',
        find: 'if (!raised) await this.#patiently(',
        replace: 'if (!raised && key.merchantId < 0) await this.#patiently(',
      },
    ],
    tests: [LEFT_BEHIND],
  },
  {
    name: 'failover: a commit that did not wait for its standby is not acknowledged',
    slow: true,
    processes: true,
    file: 'src/postgres/database.ts',
    find: 'if (session.unreplicated) throw',
    replace: 'if (session.unreplicated && session.broken) throw',
    tests: [[FAILOVER, 'a commit that stopped waiting for its standby']],
  },
];
