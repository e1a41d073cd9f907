// Cards that a merchant must not try again by itself: what was declined is kept for 30 days, under an HMAC of the card.
import type { Queryable } from '../../postgres/database.js';
import type { CardDetails, CardNumber } from '../../values/card.js';
import { fault } from '../../values/faults.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import { forbidsRetry, MOST_DECLINES } from '../decline-advice.js';
import type { DecidedIntent } from '../transaction.js';
import { DECLINES_OF_CARD, FORGET_DECLINES, NOTE_RETRY_FORBIDDEN } from './retries.sql.js';

interface CardOfMerchant {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly number: CardNumber;
}

interface Declines {
  readonly responseCode: string;
  readonly adviceCode: string | null;
  readonly count: number;
}

interface RetriesParts {
  readonly database: Queryable;
  readonly keys: Pick<DataKeys, 'attest'>;
  /** The sealed card of a payment that is in doubt. */
  readonly openCard: (payment: DecidedIntent) => Promise<CardDetails>;
}

const LONGEST_WORDS = 80;

export class Retries {
  #refused = 0;

  constructor(private readonly parts: RetriesParts) {}

  /** How many payments were refused, for metrics. */
  get refused(): number {
    return this.#refused;
  }

  /** Throws if the merchant must not try the card by itself. `most`: declines of its link in 30 days. */
  async check(
    card: CardOfMerchant & { readonly userId: number | null },
    most = MOST_DECLINES,
  ): Promise<void> {
    const { organisationId, merchantId, number, userId } = card;
    const tag = await this.tagOf(card);
    const { rows } = await this.parts.database.query<Declines>(DECLINES_OF_CARD, [
      organisationId,
      merchantId,
      tag,
    ]);
    const declines = rows.reduce((sum, { count }) => sum + count, 0);
    const isForbidden = rows.some(({ responseCode, adviceCode }) => forbidsRetry(responseCode, adviceCode));
    // guard(retries: a card that was declined for good is not tried again): !isForbidden && declines < most ⇒ declines < most
    // guard(retries: a card is not tried again for ever): !isForbidden && declines < most ⇒ !isForbidden
    if (!isForbidden && declines < most) return;
    this.#refused += 1;
    const values = [organisationId, merchantId, tag, number.mask, userId];
    await this.parts.database.query(NOTE_RETRY_FORBIDDEN, values);
    throw fault('retry_forbidden', 'card number');
  }

  /** Whoever reads the database finds no card number by it, and merchants' cards are not compared with each other. */
  async tagOf({ organisationId, merchantId, number }: CardOfMerchant): Promise<Buffer> {
    const words = Buffer.alloc(LONGEST_WORDS);
    let length = words.write(`card\n${organisationId}\n${merchantId}\n`, 'latin1');
    length += number.writeTo(words, length);
    const tag = await this.parts.keys.attest(words.subarray(0, length));
    words.fill(0);
    return tag;
  }

  /** Of a payment in doubt that turns out to be declined. Undefined if its card does not open: it was paid from a bank account, perhaps. */
  async tagOfStored(payment: DecidedIntent): Promise<Buffer | undefined> {
    const { organisationId, merchantId, transactionType } = payment;
    if (transactionType !== 'purchase' && transactionType !== 'preauthorisation') return undefined;
    const card = await this.parts.openCard(payment).catch(() => undefined);
    if (card === undefined) return undefined;
    try {
      return await this.tagOf({ organisationId, merchantId, number: card.number });
    } finally {
      card.number.erase();
    }
  }

  async forget(): Promise<void> {
    await this.parts.database.query(FORGET_DECLINES);
  }
}
