// The shop as a program: a page to order on, and a page for each order. Kill it at any moment, and start it again on the same file.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Tollgate } from 'tollgate-client';
import { type Order, Orders, type State } from './orders.js';
import { Shop } from './shop.js';

function setting(name: string, otherwise?: string): string {
  const value = process.env[name] ?? otherwise;
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

const port = Number(setting('SHOP_PORT', '3000'));
const orders = await Orders.open(setting('SHOP_ORDERS', 'orders.ndjson'));
const shop = new Shop({
  tollgate: new Tollgate({
    baseUrl: setting('TOLLGATE_CLIENT_URL', 'http://127.0.0.1:8080/v1'),
    username: setting('TOLLGATE_CLIENT_USERNAME'),
    password: setting('TOLLGATE_CLIENT_PASSWORD'),
    // A customer waits.
    outcomeTimeoutMs: 20_000,
  }),
  orders,
  merchantId: Number(setting('SHOP_MERCHANT', '1')),
  pageOf: (orderId) => `http://127.0.0.1:${port}/orders/${orderId}`,
});

const SAYS: Readonly<Record<State, string>> = {
  unpaid: 'We have no payment for this order yet.',
  pending: 'Thank you. Your bank will transfer the money within days.',
  paid: 'Thank you: you have paid.',
  returned: 'Your bank has returned the payment. Please contact us.',
  voided: 'Your payment was taken back.',
};
const BUY = '<form method="post" action="/orders"><button>Buy two tickets for $19.95</button></form>';

function pageOf({ id, state }: Order): string {
  const button = `<form method="post" action="/orders/${id}/pay"><button>Pay</button></form>`;
  return `<p>${SAYS[state]}</p>${state === 'unpaid' ? button : ''}`;
}

async function answer({ method, url = '/' }: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, place, orderId = '', action] = new URL(url, 'http://shop').pathname.split('/');
  const order = orders.get(orderId);
  if (method === 'GET' && place === '') show(response, BUY);
  else if (method === 'POST' && place === 'orders' && orderId === '') {
    const { id } = await shop.order(1_995);
    sendTo(response, await shop.pay(id));
  } else if (method === 'POST' && order !== undefined && action === 'pay')
    sendTo(response, await shop.pay(order.id));
  else if (method === 'GET' && order !== undefined && action === undefined)
    show(response, pageOf(await shop.look(order.id)));
  else response.writeHead(404).end();
}

function show(response: ServerResponse, content: string): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  response.end(`<!doctype html><html lang="en"><title>Shop</title><h1>Shop</h1>${content}</html>`);
}

function sendTo(response: ServerResponse, location: string): void {
  response.writeHead(303, { location }).end();
}

function complain({ name, message }: Error): void {
  process.stderr.write(`${name}: ${message}\n`);
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: Error) => {
    // The order stays as it was, and can be paid later.
    complain(error);
    response.writeHead(503, { 'retry-after': '10' }).end('Please try again in a moment.');
  });
});
server.listen(port, '127.0.0.1', () => process.stdout.write(`the shop is at http://127.0.0.1:${port}\n`));

const stopping = new AbortController();
const { signal } = stopping;
process.once('SIGTERM', () => stopping.abort());
while (!signal.aborted) {
  // Without a gateway the shop waits for it, and goes on where it was.
  await shop.follow(signal).catch(complain);
  await sleep(2_000, undefined, { signal }).catch(() => {});
}
server.close();
server.closeAllConnections();
await orders.close();
