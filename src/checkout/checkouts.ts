// The checkouts of merchants: made, found, cancelled. A correlation ID makes one, however often it is asked for.
import type { Statement } from '../postgres/database.js';
import { type Database, isUniqueViolation } from '../postgres/database.js';
import { IdBlocks } from '../postgres/id-blocks.js';
import { Fault, fault } from '../values/faults.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { DataKeys } from '../vault/keys/keys.js';
import {
  type Checkout,
  type CheckoutStatus,
  MOST_ATTEMPTS,
  makeCheckoutId,
  sealedWords,
  type Terms,
} from './checkout.js';
import {
  ADD_CHECKOUT,
  CANCEL_CHECKOUT,
  CHECKOUT_BY_CORRELATION_ID,
  CHECKOUT_BY_ID,
  CHECKOUT_OF_MERCHANTS,
  LEASE_CHECKOUT_NUMBERS,
  LIST_CHECKOUTS,
} from './checkouts.sql.js';

export interface NewCheckout {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly correlationId: string;
  /** The gateway's time. */
  readonly nowMs: number;
  readonly expiresInS: number;
  readonly attemptsAllowed: number;
  readonly terms: Terms;
  readonly userId: number;
}

export const EXPIRES_IN_S = { least: 300, most: 2_592_000, usual: 86_400 } as const;
export const ATTEMPTS = { most: MOST_ATTEMPTS, usual: 5 } as const;

/** With its terms as they are sealed, and whether its process has left an attempt. */
export type CheckoutRow = Omit<Checkout, 'terms'> & {
  readonly terms: string;
  readonly seal: Buffer;
  readonly isLeft: boolean;
};

/** A checkout as it was sealed, with whether its last attempt was left by its process. */
export type KnownCheckout = Checkout & { readonly isLeft: boolean };

/** One that is not as it was sealed. */
interface ChangedCheckout {
  readonly id: string;
  readonly isChanged: true;
}

interface ListWish {
  readonly limit: number;
  /** The ID of a checkout: those that are older. */
  readonly after?: string | undefined;
  readonly status?: CheckoutStatus | undefined;
}

interface CheckoutParts {
  readonly database: Database;
  /** For the numbers of checkouts. */
  readonly leases: Database;
  readonly keys: DataKeys;
  /** Told of each that is not as it was sealed. */
  readonly onBroken: (subject: string) => void;
}

export class Checkouts {
  readonly #numbers: IdBlocks<number>;

  constructor(private readonly parts: CheckoutParts) {
    this.#numbers = new IdBlocks(parts.leases, LEASE_CHECKOUT_NUMBERS);
  }

  /** `isNew` is false where the correlation ID has made one before. */
  async create(wish: NewCheckout): Promise<{ checkout: KnownCheckout; isNew: boolean }> {
    const { organisationId, merchantId, correlationId, nowMs, expiresInS, attemptsAllowed, userId } = wish;
    const number = await this.#numbers.take(organisationId);
    const id = makeCheckoutId();
    const terms = JSON.stringify(wish.terms);
    const expiresMs = nowMs + expiresInS * 1_000;
    const sealed = { organisationId, number, merchantId, id, expiresMs, attemptsAllowed };
    const seal = await this.parts.keys.attest(sealedWords(sealed, terms));
    const values = [organisationId, number, merchantId, id, correlationId, nowMs, expiresMs];
    const { count } = await this.parts.database
      .query(ADD_CHECKOUT, [...values, attemptsAllowed, terms, seal, userId])
      .catch((error: unknown) => {
        // A failover has given the number to another.
        throw isUniqueViolation(error, 'checkout_pkey') ? fault('not_processed') : error;
      });
    if (count > 0) {
      const opened = { correlationId, createdMs: nowMs, terms: wish.terms, userId, status: 'open' } as const;
      const untouched = { attempts: [], isLeft: false, resultAudit: null, resultVirtualPan: null };
      return { checkout: { ...sealed, ...opened, ...untouched }, isNew: true };
    }
    const checkout = await this.byCorrelationId(organisationId, merchantId, correlationId);
    if (checkout === undefined) throw fault('not_processed');
    return { checkout, isNew: false };
  }

  /** By its ID alone, as payers know it. */
  find(id: string): Promise<KnownCheckout | undefined> {
    return this.#first(CHECKOUT_BY_ID, [id]);
  }

  ofMerchants(
    id: string,
    organisationId: OrganisationId,
    merchants: Iterable<number>,
  ): Promise<KnownCheckout | undefined> {
    return this.#first(CHECKOUT_OF_MERCHANTS, [id, organisationId, [...merchants]]);
  }

  byCorrelationId(
    organisationId: OrganisationId,
    merchantId: MerchantId,
    correlationId: string,
  ): Promise<KnownCheckout | undefined> {
    return this.#first(CHECKOUT_BY_CORRELATION_ID, [organisationId, merchantId, correlationId]);
  }

  /** Newest first. One that somebody has changed in the database is listed as such: it hides no other. */
  async list(
    { organisationId, merchantId }: Pick<Checkout, 'organisationId' | 'merchantId'>,
    { limit, after, status }: ListWish,
  ): Promise<(KnownCheckout | ChangedCheckout)[]> {
    const values = [organisationId, merchantId, limit, after ?? null, status ?? null];
    const { rows } = await this.parts.database.query<CheckoutRow>(LIST_CHECKOUTS, values);
    return Promise.all(
      rows.map((row) =>
        this.asSealed(row).catch((error: unknown) => {
          if (error instanceof Fault) return { id: row.id, isChanged: true } as const;
          throw error;
        }),
      ),
    );
  }

  /** Whether it could be: it was open, and nothing of it was under way. */
  async cancel({ organisationId, number }: Checkout): Promise<boolean> {
    return (await this.parts.database.query(CANCEL_CHECKOUT, [organisationId, number])).count > 0;
  }

  /** One that somebody has changed in the database is shown to nobody, and not paid. */
  async asSealed({ terms, seal, ...row }: CheckoutRow): Promise<KnownCheckout> {
    const words = sealedWords(row, terms);
    // guard(checkout: paid only as it was sealed): !(await this.parts.keys.hasAttested(words, seal)) ⇒ words === ''
    if (!(await this.parts.keys.hasAttested(words, seal))) {
      this.parts.onBroken(`checkout/${row.id}`);
      throw fault('not_processed');
    }
    return { ...row, terms: JSON.parse(terms) as Terms };
  }

  async #first(statement: Statement, values: unknown[]): Promise<KnownCheckout | undefined> {
    const { rows } = await this.parts.database.query<CheckoutRow>(statement, values);
    return rows[0] && this.asSealed(rows[0]);
  }
}
