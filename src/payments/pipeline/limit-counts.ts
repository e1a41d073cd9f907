// Counts attempts to pay against the limits of a merchant: all processes together, in the database.
import type { Limit, Limited, LimitMode } from '../../organisations/limits.js';
import type { Queryable } from '../../postgres/database.js';
import type { CardNumber } from '../../values/card.js';
import { fault, type Subject } from '../../values/faults.js';
import type { CustomerId, MerchantId, OrganisationId } from '../../values/ids.js';
import { networkOf } from '../../values/network.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import { COUNT_ATTEMPT, FORGET_ATTEMPTS } from './limit-counts.sql.js';

/** An attempt to pay. */
export interface Attempt {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly correlationId: string;
  readonly userId: number | null;
  readonly card?: CardNumber | undefined;
  /** The payer's. */
  readonly address?: string | undefined;
  readonly customerId?: CustomerId | undefined;
  readonly checkout?: { readonly number: number; readonly reference: string } | undefined;
}

/** What has reached limits, for metrics. */
export interface ReachedCount {
  readonly per: Limited;
  readonly mode: LimitMode;
  count: number;
}

interface Counted {
  /** What it is, as operators see it. */
  readonly shown: string;
  /** As it is counted. */
  writeTo(words: Buffer): number;
}

interface Reached {
  readonly per: Limited;
  readonly mode: LimitMode;
}

/** Where a client finds what was refused. */
const ABOUT: Readonly<Record<Limited, Subject | undefined>> = {
  card: 'card number',
  bin: 'card number',
  address: 'payer address',
  customer: 'payment method',
  checkout: undefined,
};
const LONGEST_WORDS = 128;
const BIN_DIGITS = 8;

export class LimitCounts {
  readonly #reached = new Map<string, ReachedCount>();

  constructor(
    private readonly database: Queryable,
    private readonly keys: Pick<DataKeys, 'attest'>,
  ) {}

  get reached(): Iterable<ReachedCount> {
    return this.#reached.values();
  }

  /** Returns the limits that it has reached, of those that only watch. Throws if it has reached one that blocks: then it does not count. */
  async count(attempt: Attempt, limits: readonly Limit[]): Promise<readonly Limited[]> {
    const asked: object[] = [];
    const tags = new Map<Limited, string>();
    for (const [place, limit] of limits.entries()) {
      const { per, attempts, declines, withinMs: within_ms, mode } = limit;
      const counted = countedOf(per, attempt);
      if (counted === undefined) continue;
      const tag = tags.get(per) ?? (await this.#tagOf(per, attempt, counted));
      tags.set(per, tag);
      asked.push({ place, per, tag, shown: counted.shown, attempts, declines, within_ms, mode });
    }
    if (asked.length === 0) return [];
    const { organisationId, merchantId, correlationId, userId } = attempt;
    const { rows } = await this.database.query<Reached>(COUNT_ATTEMPT, [
      organisationId,
      merchantId,
      correlationId,
      JSON.stringify(asked),
      userId,
    ]);
    for (const reached of rows) this.#note(reached);
    const blocking = rows.find(({ mode }) => mode === 'block');
    // guard(limits: what reaches one that blocks is not paid): if (blocking !== undefined) throw fault('limit_reached', ABOUT[blocking.per]); ⇒
    if (blocking !== undefined) throw fault('limit_reached', ABOUT[blocking.per]);
    return rows.map(({ per }) => per);
  }

  /** What nobody counts any more. */
  async forget(): Promise<void> {
    await this.database.query(FORGET_ATTEMPTS);
  }

  /** Whoever reads the database finds no card number by it, and merchants' attempts are not compared with each other. */
  async #tagOf(per: Limited, { merchantId }: Attempt, counted: Counted): Promise<string> {
    const words = Buffer.alloc(LONGEST_WORDS);
    let length = words.write(`limit\n${merchantId}\n${per}\n`, 'latin1');
    length += counted.writeTo(words.subarray(length));
    const tag = await this.keys.attest(words.subarray(0, length));
    words.fill(0);
    return tag.toString('hex');
  }

  #note({ per, mode }: Reached): void {
    const name = `${per} ${mode}`;
    const counted = this.#reached.get(name) ?? { per, mode, count: 0 };
    counted.count += 1;
    this.#reached.set(name, counted);
  }
}

/** Undefined where the attempt has none. */
function countedOf(per: Limited, { card, address, customerId, checkout }: Attempt): Counted | undefined {
  switch (per) {
    case 'card':
      return card && { shown: card.mask, writeTo: (words) => card.writeTo(words, 0) };
    case 'bin':
      return card && text(String(card.bin).padStart(BIN_DIGITS, '0'));
    case 'address':
      return address === undefined ? undefined : text(networkOf(address.toLowerCase()));
    case 'customer':
      return customerId === undefined ? undefined : text(String(customerId));
    case 'checkout':
      return checkout && { ...text(String(checkout.number)), shown: checkout.reference };
  }
}

function text(shown: string): Counted {
  return { shown, writeTo: (words) => words.write(shown, 'latin1') };
}
