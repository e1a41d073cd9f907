// The shop as a program. It places SHOP_ORDERS orders, SHOP_CONCURRENCY at a time, and exits with 0 when each has a known outcome.
// After a kill, start it again on the same books to continue. With SHOP_WEBHOOK_PORT it receives webhooks until it is stopped.
import type { PaymentMethod } from 'tollgate-client';
import { Tollgate } from 'tollgate-client';
import { Books } from './books.js';
import { receiveWebhooks } from './receiver.js';
import { Shop } from './shop.js';

function setting(name: string, otherwise?: string): string {
  const value = process.env[name] ?? otherwise;
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

const seed = Number(setting('SHOP_SEED', '1'));
const orders = Number(setting('SHOP_ORDERS'));
const referenceOf = (order: number) => `shop-${seed}-${order}`;

/** Customers, made up: the same ones for the same seed. Most pay by a good card. */
function basketOf(order: number) {
  const chance = (Math.imul(seed * 7_919 + order, 2_654_435_761) >>> 0) / 2 ** 32;
  return { order, amountCents: 100 + Math.floor(chance * 99_000), paymentMethod: methodOf(order, chance) };
}

function methodOf(order: number, chance: number): PaymentMethod {
  if (setting('SHOP_DIRECT_DEBITS', 'no') === 'yes' && order % 2 === 1) {
    // The simulated bank returns the debit of every fourth order.
    const account_number = order % 4 === 1 ? '900006' : '123456789';
    return { bankaccount: { bsb: '062-000', account_number, account_name: 'A Customer' } };
  }
  const pans = ['4111111111111111', '5555555555554444', '4111111111111111', '4100000000000514'];
  // One in ten is approved, but its answer is lost between the acquirer and the gateway.
  const pan = chance < 0.1 ? '4200000000000034' : (pans[order % pans.length] as string);
  return { creditcard: { pan, expiry_date: '1239', cvv: '123' } };
}

const books = await Books.open(setting('SHOP_BOOKS'), referenceOf);
const webhooks =
  process.env.SHOP_WEBHOOK_PORT === undefined
    ? undefined
    : await receiveWebhooks(books, setting('SHOP_WEBHOOK_SECRET'), Number(process.env.SHOP_WEBHOOK_PORT));
const tollgate = new Tollgate({
  baseUrl: setting('TOLLGATE_CLIENT_URL'),
  username: setting('TOLLGATE_CLIENT_USERNAME'),
  password: setting('TOLLGATE_CLIENT_PASSWORD'),
  requestTimeoutMs: Number(setting('SHOP_TIMEOUT_SECONDS', '15')) * 1_000,
  memory: books,
});
const merchantId = Number(setting('SHOP_MERCHANT', '1'));
const shop = new Shop({ tollgate, books, merchantId, referenceOf });

const numbers = Array.from({ length: orders }, (_, order) => order);
const due = numbers.filter((order) => !books.orders.has(order));
const workers = Array.from({ length: Number(setting('SHOP_CONCURRENCY', '4')) }, placeDue);
// Neither new orders nor those of an earlier process wait for each other. It left no more open than it placed at once.
await Promise.all([...workers, placeOpen()]);

async function placeDue(): Promise<void> {
  for (let order = due.shift(); order !== undefined; order = due.shift()) await shop.place(basketOf(order));
}

async function placeOpen(): Promise<void> {
  const placed: Promise<void>[] = [];
  for await (const order of shop.recover()) placed.push(shop.place(basketOf(order)));
  await Promise.all(placed);
}

const states = [...books.orders.values()].map(({ state }) => state);
const counts = [...new Set(states)]
  .sort()
  .map((state) => `${states.filter((each) => each === state).length} ${state}`);
process.stdout.write(`${counts.join(', ')}\n`);

if (webhooks !== undefined) {
  await new Promise((resolve) => process.once('SIGTERM', resolve));
  webhooks.close();
  webhooks.closeAllConnections();
}
await books.close();
