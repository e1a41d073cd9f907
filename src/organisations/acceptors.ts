// How acquirers identify merchants: acceptor ID, terminals and category code, read from the database and cached for a second or two.
import type { Acceptor, Acceptors } from '../acquirers/iso8583/numbers.js';
import { fitNow } from '../journal/seals.js';
import type { Database } from '../postgres/database.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import { findSealedMerchant, rowOfMerchant } from './sealed-merchant.js';

interface Known {
  acceptor: Acceptor;
  readAtMs: number;
  reading: Promise<Acceptor> | undefined;
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
    const acceptor = await this.#find(organisationId, merchantId);
    if (acceptor === undefined) {
      this.#known.delete(merchantId);
      throw new Error(`merchant ${merchantId} has no terminals, or is not as it was sealed`);
    }
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

  async #find(organisationId: OrganisationId, merchantId: MerchantId): Promise<Acceptor | undefined> {
    const merchant = await findSealedMerchant(this.database, merchantId);
    if (merchant?.merchantOrganisationId !== organisationId) return undefined;
    const { acceptorId, terminals, categoryCode } = merchant;
    if (acceptorId === null || terminals === null || terminals.length === 0) return undefined;
    const fit = await fitNow(this.database, rowOfMerchant(merchant));
    // guard(directions: nothing is sent under altered terminals): fit.kind === 'misfit' ⇒ fit.version < 0
    if (fit.kind === 'misfit') return undefined;
    return { acceptorId, terminals, categoryCode: categoryCode ?? undefined };
  }
}
