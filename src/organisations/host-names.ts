// Whose host name a request was sent to: read for organisations that have none of their own, and cached for a second or two.
import { fitNow } from '../journal/seals.js';
import { Batcher } from '../postgres/batches.js';
import type { Database } from '../postgres/database.js';
import type { OrganisationId } from '../values/ids.js';
import { HOSTS, ORGANISATIONS_CALLED } from './host-names.sql.js';
import { rowOfOrganisation, type SealedOrganisation } from './sealed-organisation.js';

/** Of a name that no organisation has. */
const NOBODY = 0;

type Owner = OrganisationId | typeof NOBODY;

interface Reading {
  readonly organisationId: OrganisationId;
  readonly name: string;
}

interface Known {
  readonly owner: Owner;
  readonly readAtMs: number;
}

/** After this a name is read again, while requests go on; after that they wait for it. */
const FRESH_MS = 1_000;
const STALE_MS = 2_000;
const MOST_KNOWN = 1_000;
const READINGS = { maxBatch: 64, lanes: 1 };

export class HostNames {
  /** By the header `Host`, as it was sent. */
  readonly #known = new Map<string, Known>();
  readonly #reading = new Map<string, Promise<Owner>>();
  readonly #readings: Batcher<Reading, Owner>;

  constructor(private readonly database: Database) {
    this.#readings = new Batcher((readings) => this.#ownersOf(readings), READINGS);
  }

  /** Whether the name is another organisation's; undefined if it was not read a moment ago. */
  isOthers(host: string, organisation: OrganisationId): boolean | undefined {
    const known = this.#known.get(host);
    if (known === undefined) return undefined;
    const ageMs = performance.now() - known.readAtMs;
    if (ageMs >= STALE_MS) return undefined;
    // Should it fail, somebody asks again, and soon waits for the answer.
    if (ageMs >= FRESH_MS) this.#read(host, organisation).catch(() => {});
    return isAnother(known.owner, organisation);
  }

  /** The same, read again. */
  async isOthersNow(host: string, organisation: OrganisationId): Promise<boolean> {
    return isAnother(await this.#read(host, organisation), organisation);
  }

  /** Those who want the same name at the same time share one read. `organisation`: whose client asks. */
  #read(host: string, organisation: OrganisationId): Promise<Owner> {
    const under = this.#reading.get(host);
    if (under !== undefined) return under;
    const readAtMs = performance.now();
    const reading = this.#readings
      .submit({ organisationId: organisation, name: plainHost(host) })
      .then((owner) => {
        // Whoever calls under ever new names gains nothing by it.
        if (this.#known.size >= MOST_KNOWN) this.#known.clear();
        this.#known.set(host, { owner, readAtMs });
        return owner;
      })
      .finally(() => this.#reading.delete(host));
    this.#reading.set(host, reading);
    return reading;
  }

  async #ownersOf(readings: readonly Reading[]): Promise<readonly Owner[]> {
    const names = readings.map(({ name }) => name);
    const { rows } = await this.database.query<SealedOrganisation>(ORGANISATIONS_CALLED, HOSTS.encode(names));
    const owners = new Map<string | null, OrganisationId>();
    for (const row of rows) {
      const { kind } = await fitNow(this.database, rowOfOrganisation(row));
      if (kind === 'fits') owners.set(row.hostName, row.id);
    }
    return names.map((name) => owners.get(name) ?? NOBODY);
  }
}

/** A name that an organisation has just been given is its own, although its users were read before that. */
function isAnother(owner: Owner, organisation: OrganisationId): boolean {
  return owner !== NOBODY && owner !== organisation;
}

/** As organisations have it: in lower case, without a port. */
export function plainHost(host: string): string {
  const name = host
    .toLowerCase()
    .replace(/:[0-9]*$/, '')
    .replace(/\.$/, '');
  return /^[a-z0-9.-]{1,253}$/.test(name) ? name : '';
}
