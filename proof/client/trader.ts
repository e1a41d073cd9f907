// The trading shop of the TypeScript client as a program. It places SHOP_ORDERS orders, SHOP_CONCURRENCY at a time, follows each to a known
// outcome, and exits with 0. After a kill, start it again on the same books to continue.
import { OutcomeUnknown, type PaymentMethod, Refused, Tollgate } from 'tollgate-client';
import { Books, type Order } from './books.js';

function setting(name: string, otherwise?: string): string {
  const value = process.env[name] ?? otherwise;
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

const seed = Number(setting('SHOP_SEED', '1'));
const orders = Number(setting('SHOP_ORDERS'));
const merchantId = Number(setting('SHOP_MERCHANT', '1'));
const referenceOf = (order: number) => `shop-${seed}-${order}`;

/** Customers, made up: the same ones for the same seed. Most pay by a good card. */
function basketOf(order: number) {
  const chance = (Math.imul(seed * 7_919 + order, 2_654_435_761) >>> 0) / 2 ** 32;
  return { amountCents: 100 + Math.floor(chance * 99_000), paymentMethod: methodOf(order, chance) };
}

function methodOf(order: number, chance: number): PaymentMethod {
  const pans = ['4111111111111111', '5555555555554444', '4111111111111111', '4100000000000514'];
  // One in ten is approved, but its answer is lost between the acquirer and the gateway.
  const pan = chance < 0.1 ? '4200000000000034' : (pans[order % pans.length] as string);
  return { creditcard: { pan, expiry_date: '1239', cvv: '123' } };
}

const books = await Books.open(setting('SHOP_BOOKS'), referenceOf);
const tollgate = new Tollgate({
  baseUrl: setting('TOLLGATE_CLIENT_URL'),
  username: setting('TOLLGATE_CLIENT_USERNAME'),
  password: setting('TOLLGATE_CLIENT_PASSWORD'),
  requestTimeoutMs: Number(setting('SHOP_TIMEOUT_SECONDS', '15')) * 1_000,
  memory: books,
});

const numbers = Array.from({ length: orders }, (_, order) => order);
const due = numbers.filter((order) => !books.orders.has(order));
const workers = Array.from({ length: Number(setting('SHOP_CONCURRENCY', '4')) }, placeDue);
// Neither new orders nor those of an earlier process wait for each other. It left no more open than it placed at once.
await Promise.all([...workers, placeOpen()]);

async function placeDue(): Promise<void> {
  for (let order = due.shift(); order !== undefined; order = due.shift()) await place(order);
}

/** What an earlier process has begun and not ended. The client records its findings in the books. */
async function placeOpen(): Promise<void> {
  const placed: Promise<void>[] = [];
  for await (const found of tollgate.recoverAll()) {
    const { correlationId } = found instanceof Error ? found : found.begun;
    const order = books.byCorrelationId(correlationId)?.order;
    if (order !== undefined && !isDone(order)) placed.push(place(order));
  }
  await Promise.all(placed);
}

function isDone(number: number): boolean {
  const state = books.orders.get(number)?.state;
  return state !== undefined && state !== 'begun' && state !== 'unknown';
}

async function place(number: number): Promise<void> {
  const { amountCents, paymentMethod } = basketOf(number);
  const order: Order = books.orders.get(number) ?? {
    order: number,
    correlationId: crypto.randomUUID(),
    amountCents,
    state: 'begun',
  };
  books.take(order);
  const body = {
    merchant: { id: merchantId },
    transaction: {
      reference: referenceOf(number),
      amount_details: { total_amount: String(amountCents), currency: 'AUD' },
      payment_method: paymentMethod,
    },
  };
  while (!isDone(number)) {
    try {
      // The books have the correlation ID before anything is sent, and the outcome before this returns.
      await tollgate.purchase(body, { correlationId: order.correlationId });
    } catch (error) {
      if (error instanceof Refused) return;
      // This is not a failure: the client asks again later, under the same correlation ID.
      // An untrusted certificate, for example, has to be fixed first. The order stays open.
      if (!(error instanceof OutcomeUnknown) || error.reason === 'not_trusted') throw error;
      await books.write({ ...(books.orders.get(number) as Order), state: 'unknown' });
    }
  }
}

const states = [...books.orders.values()].map(({ state }) => state);
const counts = [...new Set(states)]
  .sort()
  .map((state) => `${states.filter((each) => each === state).length} ${state}`);
process.stdout.write(`${counts.join(', ')}\n`);
await books.close();
