// What payers do with a checkout. However often a payer tries, in however many tabs, and whatever crashes, one payment comes of it: an
// attempt is claimed in the database before the pipeline hears of it, and while one is under way or in doubt there is no other.
import type { Clock } from '../clock/clock.js';
import { journal } from '../journal/journal.js';
import { type Limited, limitsOfCheckouts } from '../organisations/limits.js';
import { actingMerchant, callerFor, type Merchant } from '../organisations/users/callers.js';
import type { Lookup } from '../payments/finding/lookup.js';
import type { InFlightRequest, SearchFence } from '../payments/finding/search-fence.js';
import type { Amount } from '../payments/pipeline/command.js';
import type { Creation } from '../payments/pipeline/create.js';
import type { LimitCounts } from '../payments/pipeline/limit-counts.js';
import type { Transaction } from '../payments/transaction.js';
import type { Database } from '../postgres/database.js';
import type { BankAccount } from '../values/bank-account.js';
import { type CardDetails, CardNumber } from '../values/card.js';
import { Fault, fault } from '../values/faults.js';
import type { Audit } from '../values/ids.js';
import type { OneTimeCards } from '../vault/one-time-cards.js';
import type { Tokens } from '../vault/tokens.js';
import type { Payload } from '../wallets/payloads.js';
import type { Untaken, Wallets } from '../wallets/wallets.js';
import { type Checkout, correlationIdOfAttempt, type Paid } from './checkout.js';
import type { CheckoutRow, Checkouts, KnownCheckout } from './checkouts.js';
import {
  CHECKOUTS_DUE,
  CLAIM_ATTEMPT,
  EXPIRE_CHECKOUTS,
  LEFT_ATTEMPTS,
  PUT_OFF,
  SETTLE_ATTEMPT,
} from './checkouts.sql.js';

/** What a payer has given. */
export type Given = Opened | { readonly kind: 'wallet'; readonly payload: Payload };

/** `keepAs`: the name on the card, if it is to become a token of the customer. `payload`: of the wallet that the card comes from. */
type Opened =
  | {
      readonly kind: 'card';
      readonly card: CardDetails;
      readonly keepAs?: string;
      readonly payload?: Untaken;
    }
  | { readonly kind: 'bank_account'; readonly bankAccount: BankAccount; readonly agreement: string };

interface PayersParts {
  readonly database: Database;
  /** For looks whether there is anything to do. */
  readonly looks: Database;
  readonly checkouts: Checkouts;
  readonly creation: Pick<Creation, 'create'>;
  readonly limits: LimitCounts;
  readonly lookup: Lookup;
  readonly searchFence: SearchFence;
  readonly clock: Clock;
  readonly tokens: Tokens;
  readonly oneTimeCards: OneTimeCards;
  readonly wallets: Pick<Wallets, 'open'>;
  /** So long an attempt's own process looks after it. */
  readonly leaseMs: number;
  readonly onError: (error: unknown) => void;
}

const EXPIRED_AT_ONCE = 100;
const LOOKED_AT_AT_ONCE = 20;
const LOOK_AGAIN_MS = 5_000;
/** Of correlation IDs of attempts, which are found however old they are. */
const EVER = { nowMs: 0 };

export class Payers {
  constructor(private readonly parts: PayersParts) {}

  /** As it is stored. */
  find(id: string): Promise<KnownCheckout | undefined> {
    return this.parts.checkouts.find(id);
  }

  /** As it is now: the outcome of an attempt may be known by now. */
  async asItIs(checkout: KnownCheckout): Promise<KnownCheckout> {
    if (checkout.status !== 'processing') return checkout;
    await this.#findOut(checkout, checkout.isLeft);
    return (await this.parts.checkouts.find(checkout.id)) ?? checkout;
  }

  /**
   * The attempt `n`, if it is the payer's turn: otherwise nothing happens, and the checkout says why. Returns when the outcome is known, or
   * known to be in doubt.
   */
  async pay(checkout: Checkout, n: number, given: Given, address: string): Promise<void> {
    const { searchFence } = this.parts;
    // Before the attempt is claimed: whoever finds it left, and no payment, refuses this request by its fence.
    const inFlight = searchFence.arrive(correlationIdOfAttempt(checkout.id, n));
    // The pipeline erases what it has sent.
    const kept = copyToKeep(given);
    let opened: Opened | undefined;
    let isOurs = false;
    try {
      const { caller, merchant } = await this.#ready(checkout, inFlight);
      // Before the attempt is claimed: what does not open, or was blocked, uses none up.
      opened = await this.#open(checkout, given);
      const reached = await this.#count(checkout, n, opened, { address, merchant });
      isOurs = await this.#claim(checkout, n);
      if (!isOurs) return;
      if (opened.kind === 'bank_account') await this.#noteAgreement(checkout, n, opened, address);
      const { operation, amountCents, currency } = checkout.terms;
      if (operation === 'tokenise') {
        await this.#settle(checkout, n, { virtualPan: await this.#tokenised(checkout, n, opened, address) });
        return;
      }
      const transaction = await this.parts.creation.create({
        operation,
        caller,
        address,
        merchant,
        correlationId: inFlight.correlationId,
        inFlight,
        reference: checkout.terms.reference,
        kvps: { CHECKOUT: checkout.id },
        method: opened,
        reached,
        ...({ amountCents, currency } as Amount),
      });
      await this.#settleBy(checkout, n, transaction);
      if (isPaid(transaction) && kept !== undefined)
        await this.#keep(checkout, n, kept, address).catch(this.parts.onError);
    } catch (error) {
      if (!isOurs) throw error;
      if (!(error instanceof Fault)) this.parts.onError(error);
      // Whether it has come to a payment is found out below.
    } finally {
      searchFence.leave(inFlight);
      erase(opened ?? given);
      if (kept !== undefined) erase(kept);
    }
    await this.#findOut({ ...checkout, attempts: upTo(checkout, n) }, true);
  }

  /** Ends what has expired, and finds out what has come of attempts that were left. */
  async run(): Promise<void> {
    const { database, looks, checkouts, onError } = this.parts;
    const [due] = (await looks.query<{ expired: boolean; left: boolean }>(CHECKOUTS_DUE)).rows;
    if (due?.expired) await database.query(EXPIRE_CHECKOUTS, [EXPIRED_AT_ONCE]);
    if (!due?.left) return;
    const { rows } = await database.query<CheckoutRow>(LEFT_ATTEMPTS, [LOOKED_AT_AT_ONCE]);
    for (const row of rows) {
      const { organisationId, number } = row;
      // First: one that cannot be found out keeps no other waiting.
      await database.query(PUT_OFF, [organisationId, number, LOOK_AGAIN_MS]);
      await checkouts
        .asSealed(row)
        .then((checkout) => this.#findOut(checkout, true))
        .catch(onError);
    }
  }

  async #ready(checkout: Checkout, inFlight: InFlightRequest) {
    const { id, organisationId, merchantId, userId } = checkout;
    const acting = { username: `checkout:${id}`, userId: userId ?? 0 };
    const caller = await callerFor(this.parts.database, { organisationId, merchantId }, acting);
    const merchant = actingMerchant(caller, merchantId);
    // guard(checkout: what was received before an organisation came from another cell is not processed): inFlight.heard < caller.arrivedAbsence ⇒ false
    if (inFlight.turnedAway || inFlight.heard < caller.arrivedAbsence) throw fault('not_processed');
    Object.assign(inFlight, { organisationId, merchantId, begun: true });
    return { caller, merchant };
  }

  /** The card that a wallet's payload holds: limits count it as any other. */
  async #open(owner: Checkout, given: Given): Promise<Opened> {
    if (given.kind !== 'wallet') return given;
    const { wallets, clock } = this.parts;
    const payload = await wallets.open(owner, given.payload, clock.now());
    // guard(checkout: a wallet's payload is for one payment, of the amount that it says): card: payload.card, payload } ⇒ card: payload.card }
    return { kind: 'card', card: payload.card, payload };
  }

  #count(
    { organisationId, merchantId, id, number, userId, terms }: Checkout,
    n: number,
    given: Opened,
    { address, merchant }: { readonly address: string; readonly merchant: Merchant },
  ): Promise<readonly Limited[]> {
    const { customerId, reference } = terms;
    const attempt = {
      organisationId,
      merchantId,
      correlationId: correlationIdOfAttempt(id, n),
      userId,
      address,
      customerId,
      card: given.kind === 'card' ? given.card.number : undefined,
      checkout: { number, reference },
    };
    // guard(limits: a checkout has some from the start): limitsOfCheckouts(merchant) ⇒ []
    return this.parts.limits.count(attempt, limitsOfCheckouts(merchant));
  }

  async #claim({ organisationId, number }: Checkout, n: number): Promise<boolean> {
    const values = [organisationId, number, n, this.parts.leaseMs];
    return (await this.parts.database.query(CLAIM_ATTEMPT, values)).count > 0;
  }

  /**
   * What has come of the last attempt. `mayDeny`: if no payment is found, there is none, and from now on there can be none: its own process
   * is not at it any more.
   */
  async #findOut(checkout: Checkout, mayDeny: boolean): Promise<void> {
    const { lookup, searchFence } = this.parts;
    const { id, organisationId, merchantId, terms, attempts } = checkout;
    const n = attempts.length;
    const key = { organisationId, merchantId, correlationId: correlationIdOfAttempt(id, n) };
    const look = () => lookup.byCorrelationId({ ...EVER, ...key });
    const prove = () => lookup.provenByCorrelationId({ ...EVER, ...key });
    let found = terms.operation === 'tokenise' ? undefined : await look();
    if (found === undefined) {
      if (!mayDeny) return;
      // guard(checkout: a payment is denied only behind a fence): await searchFence.findOrFence(key, { look, prove }) ⇒ await look()
      if (terms.operation !== 'tokenise') found = await searchFence.findOrFence(key, { look, prove });
      if (found === undefined) return this.#settle(checkout, n, undefined);
    }
    await this.#settleBy(checkout, n, found);
  }

  async #settleBy(checkout: Checkout, n: number, transaction: Transaction): Promise<void> {
    const { audit, status } = transaction;
    // guard(checkout: while a payment is in doubt there is no other): if (status === 'unknown') return; ⇒
    if (status === 'unknown') return;
    await this.#settle(checkout, n, isPaid(transaction) ? { audit } : undefined, audit);
  }

  async #settle(checkout: Checkout, n: number, paid: Paid | undefined, audit?: Audit): Promise<void> {
    const { organisationId, number } = checkout;
    const virtualPan = paid !== undefined && 'virtualPan' in paid ? paid.virtualPan : null;
    const outcome = paid === undefined ? 'not paid' : 'paid';
    const values = [organisationId, number, n, outcome, audit ?? null, virtualPan];
    await this.parts.database.query(SETTLE_ATTEMPT, values);
  }

  /** The virtual PAN of a new token, or of a card for one payment. */
  async #tokenised(checkout: Checkout, n: number, given: Opened, address: string): Promise<string> {
    if (given.kind === 'card' && checkout.terms.customerId === undefined)
      return this.parts.oneTimeCards.add(checkout, given.card);
    return this.#keep(checkout, n, given, address);
  }

  async #keep(checkout: Checkout, n: number, given: Opened, address: string): Promise<string> {
    const { organisationId, merchantId, id, number, correlationId, userId, terms } = checkout;
    const { customerId } = terms;
    if (customerId === undefined) throw fault('customer_not_found', 'customer');
    const who = { username: `checkout:${id}`, userId: userId ?? 0, actor: `checkout:${id}` };
    const access = { organisationId, merchantId, address, correlationId, ...who };
    const { virtualPan } = await this.parts.tokens.create(access, customerId, {
      // A customer has no two tokens of the same name, and an earlier attempt may have left one.
      preferredName: `${nameOf(given)} (${number}.${n})`,
      active: true,
      account: accountOf(given),
    });
    return virtualPan;
  }

  /** The bank wants to see what a payer has agreed to. */
  async #noteAgreement(
    { organisationId, merchantId, id }: Checkout,
    n: number,
    { bankAccount, agreement }: Extract<Given, { kind: 'bank_account' }>,
    address: string,
  ): Promise<void> {
    await journal(this.parts.database, {
      organisationId,
      merchantId,
      actor: `checkout:${id}`,
      action: 'checkout.agreed',
      correlationId: correlationIdOfAttempt(id, n),
      address,
      detail: `direct debit agreement ${agreement}, account ${bankAccount.bsb} ${bankAccount.mask}`,
    });
  }
}

/** A voided payment was one: the payer is not asked again. */
function isPaid({ status }: Transaction): boolean {
  return status === 'approved' || status === 'pending' || status === 'voided';
}

function upTo({ attempts }: Checkout, n: number): Checkout['attempts'] {
  return [...attempts.filter((attempt) => attempt.n < n), { n, outcome: null, audit: null }];
}

function nameOf(given: Opened): string {
  if (given.kind === 'bank_account') return `Account ${given.bankAccount.mask.slice(-3)}`;
  const { type, mask } = given.card.number;
  return `${type === '' ? 'card' : type} ${mask.slice(-4)}`;
}

function accountOf(given: Opened) {
  if (given.kind === 'bank_account')
    return { type: 'general_bankaccount', bankAccount: given.bankAccount } as const;
  const { number, expiry } = given.card;
  return { type: 'general_creditcard', number, expiry, name: given.keepAs ?? '' } as const;
}

function copyToKeep(given: Given): Opened | undefined {
  if (given.kind !== 'card' || given.keepAs === undefined) return undefined;
  const { number, expiry } = given.card;
  return { ...given, card: { number: new CardNumber(number.reveal()), expiry } };
}

function erase(given: Given): void {
  if (given.kind !== 'card') return;
  const { number, cvv, threeDSecure } = given.card;
  number.erase();
  cvv?.erase();
  threeDSecure?.authenticationValue?.erase();
}
