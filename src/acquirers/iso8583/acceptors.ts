// How acquirers identify merchants: acceptor ID, terminals and category code, read from the database and cached for a second or two.
import type { Database } from '../../postgres/database.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import { ACCEPTOR } from './acceptors.sql.js';
import type { Acceptor, Acceptors } from './numbers.js';

interface Known {
  acceptor: Acceptor;
  readAtMs: number;
  reading: Promise<Acceptor> | undefined;
}

interface AcceptorRow {
  readonly acceptorId: string;
  readonly terminals: readonly string[];
  readonly categoryCode: string | null;
}

/** After this age the entry is read again in the background. */
const FRESH_MS = 1_000;
/** After this age payments wait for the read. */
const STALE_MS = 2_000;
const MOST_KEPT = 10_000;

export class StoredAcceptors implements Acceptors {
  /** Merchant IDs are unique across the gateway. */
  readonly #known = new Map<MerchantId, Known>();

  constructor(private readonly database: Database) {}

  of(organisationId: OrganisationId, merchantId: MerchantId): Acceptor | Promise<Acceptor> {
    const known = this.#known.get(merchantId);
    if (known === undefined) return this.#read(organisationId, merchantId);
    const ageMs = performance.now() - known.readAtMs;
    if (ageMs < FRESH_MS) return known.acceptor;
    known.reading ??= this.#read(organisationId, merchantId).finally(() => {
      known.reading = undefined;
    });
    if (ageMs >= STALE_MS) return known.reading;
    // If the read fails, the next caller reads again, and waits once the entry is too old.
    known.reading.catch(() => {});
    return known.acceptor;
  }

  async #read(organisationId: OrganisationId, merchantId: MerchantId): Promise<Acceptor> {
    const readAtMs = performance.now();
    const { rows } = await this.database.query<AcceptorRow>(ACCEPTOR, [organisationId, merchantId]);
    const [row] = rows;
    if (row === undefined) {
      this.#known.delete(merchantId);
      throw new Error(`merchant ${merchantId} has no terminals`);
    }
    const acceptor = { ...row, categoryCode: row.categoryCode ?? undefined };
    const known = this.#known.get(merchantId);
    if (known !== undefined) {
      known.acceptor = acceptor;
      known.readAtMs = readAtMs;
    } else {
      if (this.#known.size >= MOST_KEPT) this.#known.clear();
      this.#known.set(merchantId, { acceptor, readAtMs, reading: undefined });
    }
    return acceptor;
  }
}
