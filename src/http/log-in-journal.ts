// Failed log-ins of the API in the journal: counted together for each minute, and written beside the requests. Somebody who tries names or
// addresses one after the other does not fill the journal.
import { journalAll } from '../journal/journal.js';
import type { Database } from '../postgres/database.js';
import type { OrganisationId } from '../values/ids.js';
import { networkOf } from '../values/network.js';

/** Names of a minute that are kept apart; the others are counted together. */
const MOST_NAMES = 100;
/** Networks that an entry lists. */
const MOST_NETWORKS = 8;

/** `elsewhere`: the secret was right, and the address forbidden. */
export type FailedHow = 'wrong' | 'elsewhere';

interface Counted {
  count: number;
  elsewhere: number;
  readonly networks: Set<string>;
  hasMoreNetworks: boolean;
}

export interface LogInJournalParts {
  readonly database: Database;
  /** Those of these names that users have, with their organisations. */
  readonly organisationsOf: (usernames: readonly string[]) => Promise<ReadonlyMap<string, OrganisationId>>;
}

export class LogInJournal {
  #byName = new Map<string, Counted>();
  /** Those without a possible name, and beyond the bound. */
  #others = none();

  constructor(private readonly parts: LogInJournalParts) {}

  /** `username`: undefined if it cannot be one. */
  note(username: string | undefined, address: string, how: FailedHow): void {
    add(this.#countedFor(username), address, how);
  }

  /** Writes what was counted since the last run. If that fails, it is counted on. */
  async run(): Promise<void> {
    const [byName, others] = [this.#byName, this.#others];
    if (byName.size === 0 && others.count === 0) return;
    this.#byName = new Map();
    this.#others = none();
    try {
      const organisations = await this.parts.organisationsOf([...byName.keys()]);
      // guard(failed log-ins: what was typed is journalled only if it is the name of a user): has(name) ⇒ has(name) || true
      const isUser = (name: string) => organisations.has(name);
      for (const [name, counted] of byName) if (!isUser(name)) merge(others, counted);
      const ofUsers = [...byName].filter(([name]) => isUser(name));
      await journalAll(this.parts.database, [
        ...ofUsers.map(([name, counted]) => ({
          ...ENTRY,
          organisationId: organisations.get(name),
          detail: `user ${name}: ${inWords(counted)}`,
        })),
        ...(others.count > 0 ? [{ ...ENTRY, detail: `no such user: ${inWords(others)}` }] : []),
      ]);
    } catch (error) {
      for (const [name, counted] of byName) merge(this.#countedFor(name), counted);
      merge(this.#others, others);
      throw error;
    }
  }

  #countedFor(username: string | undefined): Counted {
    if (username === undefined) return this.#others;
    const known = this.#byName.get(username);
    if (known !== undefined) return known;
    if (this.#byName.size >= MOST_NAMES) return this.#others;
    const counted = none();
    this.#byName.set(username, counted);
    return counted;
  }
}

const ENTRY = { actor: 'gateway:log-ins', action: 'user.log_ins_failed' } as const;

function none(): Counted {
  return { count: 0, elsewhere: 0, networks: new Set(), hasMoreNetworks: false };
}

function add(counted: Counted, address: string, how: FailedHow): void {
  counted.count += 1;
  if (how === 'elsewhere') counted.elsewhere += 1;
  addNetwork(counted, networkOf(address));
}

function addNetwork(counted: Counted, network: string): void {
  if (counted.networks.has(network)) return;
  if (counted.networks.size < MOST_NETWORKS) counted.networks.add(network);
  else counted.hasMoreNetworks = true;
}

function merge(into: Counted, from: Counted): void {
  into.count += from.count;
  into.elsewhere += from.elsewhere;
  for (const network of from.networks) addNetwork(into, network);
  into.hasMoreNetworks ||= from.hasMoreNetworks;
}

function inWords({ count, elsewhere, networks, hasMoreNetworks }: Counted): string {
  const right = elsewhere > 0 ? `, ${elsewhere} of them with the right secret from a forbidden address` : '';
  return `${count} failed${right}, from ${[...networks].join(', ')}${hasMoreNetworks ? ' and others' : ''}`;
}
