// Orders as the pipeline makes them, for links that are tried without it.
import { randomUUID } from 'node:crypto';
import type {
  AcquirerLink,
  Answer,
  Order,
  PaymentMethod,
  Prepared,
  StoredOrder,
} from '../../src/acquirers/contract.js';
import { BankAccount } from '../../src/values/bank-account.js';
import { CardNumber, Cvv } from '../../src/values/card.js';
import type { MerchantId, OrganisationId } from '../../src/values/ids.js';
import { cents } from '../../src/values/money.js';

export type PaymentOrder = Extract<Order, { method: PaymentMethod }>;
type TargetedOrder = Exclude<Order, PaymentOrder>;

const CVV = '7391';
const ACCOUNT_NUMBER = '907654321';
/** What is in every order, besides the card number, and may stand nowhere else. */
export const SECRETS = [CVV, ACCOUNT_NUMBER];

export interface OrderChange {
  readonly operation?: PaymentOrder['operation'];
  readonly pan?: string;
  readonly amountCents?: string;
  readonly currency?: string;
  readonly atMs?: number;
  readonly reference?: string;
}

/** A payment with a card. */
export function cardPayment(pan: string, change: OrderChange = {}): PaymentOrder {
  const card = { number: new CardNumber(pan), expiry: { month: 12, year: 2039 }, cvv: new Cvv(CVV) };
  return payment({ kind: 'card', card }, change);
}

/** A payment with a bank account. */
export function bankPayment(change: OrderChange = {}): PaymentOrder {
  const bankAccount = new BankAccount('062-000', ACCOUNT_NUMBER, 'A Customer');
  return payment({ kind: 'bank_account', bankAccount }, change);
}

function payment(
  method: PaymentMethod,
  {
    operation = 'purchase',
    amountCents = '1995',
    currency = 'AUD',
    atMs = Date.now(),
    reference = `T-1-${randomUUID()}`,
  }: OrderChange = {},
): PaymentOrder {
  return {
    operation,
    reference,
    organisationId: 1 as OrganisationId,
    merchantId: 1 as MerchantId,
    amountCents: cents(amountCents),
    currency,
    atMs,
    method,
  };
}

/** An order on a payment that was asked, as the pipeline would make it. */
export function onTarget(
  operation: TargetedOrder['operation'],
  target: Order,
  { prepared, answer }: { prepared?: Prepared; answer?: Answer } = {},
): TargetedOrder {
  const { organisationId, merchantId, amountCents, currency } = target;
  const codes = answer?.kind === 'approved' ? answer : {};
  return {
    operation,
    reference: `T-1-${randomUUID()}`,
    organisationId,
    merchantId,
    amountCents,
    currency,
    atMs: Date.now(),
    target: {
      reference: target.reference,
      read: async () => ({
        ...codes,
        operation: target.operation,
        amountCents,
        currency,
        atMs: target.atMs,
        prepared,
      }),
    },
    openCard: () => openCard(target),
  };
}

/** What is stored of an order: the CVV is not. */
export function stored(order: Order): StoredOrder {
  if ('target' in order) return order;
  const { method: _, ...rest } = order;
  return { ...rest, openCard: () => openCard(order) };
}

async function openCard(order: Order) {
  if ('target' in order) return order.openCard();
  if (order.method.kind !== 'card') throw new Error('the transaction has no card');
  const { number, expiry } = order.method.card;
  // Decrypted each time: the caller may erase it.
  return { number: new CardNumber(number.reveal()), expiry };
}

/** Prepares an order if the link wants that, and keeps what it prepared as the database would. */
export async function prepare(link: AcquirerLink, order: Order): Promise<Prepared> {
  const prepared = await link.prepare?.(order);
  return prepared === undefined ? undefined : JSON.parse(JSON.stringify(prepared));
}

/** Tried again until it opens, as the gateway does. */
export async function opened(link: AcquirerLink): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await link.open();
      return;
    } catch (error) {
      if (attempt === 5) throw error;
    }
  }
}
