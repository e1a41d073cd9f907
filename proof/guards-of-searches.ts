// Guards of "there is no such transaction": nothing that was received before it is processed after it.
import type { Guard } from './guard.js';

const EMPTY = 'test/http/received-before-empty.test.ts';

export const SEARCH_GUARDS: readonly Guard[] = [
  {
    name: 'search: what was held back while a search here found nothing is not processed',
    file: 'src/transactions/search-fence.ts',
    find: 'unseen: received.toldAbsent !== this.#now.toldAbsent,',
    replace: 'unseen: received.toldAbsent > this.#now.toldAbsent,',
    tests: [[EMPTY, 'a request that was sent ahead, behind the search for it']],
  },
  {
    name: 'search: what was turned away by a search is not processed',
    file: 'src/http/operation-routes.ts',
    find: "if (inFlight.turnedAway) throw refused('not_processed');",
    replace: "if (inFlight.turnedAway && inFlight.begun) throw refused('not_processed');",
    tests: [[EMPTY, 'a body that is half sent, searched for twice in the same process']],
  },
];
