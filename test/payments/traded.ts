// A few days of trade of every kind: cards, bank accounts, tokens and targets, in every status. For lists of transactions.
import { expect } from 'vitest';
import type { Answer, Client, Json } from '../../testkit/client.js';
import type { TestGateway } from '../../testkit/gateway.js';
import { DECLINED_CARD, LOST_REQUEST_CARD, UNREACHABLE_CARD } from '../../testkit/test-cards.js';
import { bankAccount, vaultOf } from '../../testkit/vault-client.js';

/** A transaction as a look-up shows it, and its payment method. */
export interface Traded {
  readonly shown: Json;
  readonly customerId?: number;
  readonly tokenId?: number;
}

export interface Trading {
  /** The newest first. */
  readonly all: readonly Traded[];
  /** Of a customer with two tokens, one of them deleted since. */
  readonly customerId: number;
  readonly tokenId: number;
  /** Of a purchase with two refunds. */
  readonly refunded: number;
}

/** Trades as the owner for merchants 1, 2 and 3, and as the stranger, whose transactions must never appear. */
export async function trade(gateway: TestGateway): Promise<Trading> {
  const { api } = gateway;
  const audits: { audit: number; customerId?: number; tokenId?: number }[] = [];
  const made = async (answer: Promise<Answer>, paidWith: { customerId?: number; tokenId?: number } = {}) => {
    const { status, headers, body } = await answer;
    expect([201, 502, 504]).toContain(status);
    const audit: number = body.audit ?? Number(headers.get('location')?.split('/').at(-1));
    audits.push({ audit, ...paidWith });
    return audit;
  };
  const vault = vaultOf(api);
  const card = await vault.newToken({ preferred_name: 'Card' });
  const account = await vault.newToken({ preferred_name: 'Bank', account: bankAccount() }, card.customerId);
  const byCard = { customerId: card.customerId, tokenId: card.id };
  const byAccount = { customerId: card.customerId, tokenId: account.id };

  const refunded = await made(api.purchase({ reference: 'order-1', amount: 5_000 }));
  await made(api.refund(refunded, 1_000, { reference: 'back-1' }));
  await made(api.refund(refunded, 500, { reference: 'back-2' }));
  await made(api.purchase({ reference: 'Order-2', pan: '5555555555554444', amount: 1_995 }));
  await made(api.purchase({ reference: 'order-10', pan: '378282246310005', amount: 1_995 }));
  await made(api.purchase({ reference: 'order_1', pan: DECLINED_CARD }));
  await made(api.purchase({ reference: 'order%', pan: UNREACHABLE_CARD }));
  await made(api.purchase({ reference: 'lost', pan: LOST_REQUEST_CARD }));
  await made(
    api.purchase({
      reference: 'unknown scheme',
      pan: '6304985028090561515',
    }),
  );
  await made(api.purchase({ reference: 'debit', bankAccount: {} }));
  await made(api.standaloneRefund({ reference: 'gift', amount: 100 }));
  const held = await made(
    api.preauthorise({ reference: 'room 1', amount: 20_000, pan: card.virtualPan }),
    byCard,
  );
  const taken = await made(api.complete(held, 15_000, { reference: 'room 1' }), byCard);
  await made(api.refund(taken, 100, { reference: 'room 1' }), byCard);
  await gateway.advance('3d');
  await made(api.purchase({ reference: 'order-11', pan: card.virtualPan }), byCard);
  await made(api.purchase({ reference: 'debit 2', pan: account.virtualPan }), byAccount);
  const voided = await made(api.purchase({ reference: 'order-12', merchant: 2 }));
  await made(api.void(voided, { reference: 'order-12', merchant: 2 }));
  await made(api.purchase({ reference: 'order-13', merchant: 3, amount: 1_995 }));
  for (let index = 0; index < 12; index += 1) await made(api.purchase({ reference: `many-${index}` }));
  const stranger = gateway.as(gateway.stranger);
  for (const reference of ['order-1', 'order-13']) await stranger.purchase({ reference, merchant: 4 });
  await vault.deleteToken(card.customerId, card.id);

  const all = await Promise.all(
    audits.map(async ({ audit, ...paidWith }) => ({ shown: await settled(api, audit), ...paidWith })),
  );
  return { all: all.sort(newestFirst), customerId: card.customerId, tokenId: card.id, refunded };
}

async function settled(api: Client, audit: number): Promise<Json> {
  await api.decided(audit);
  return (await api.lookUp(audit)).body;
}

function newestFirst({ shown: one }: Traded, { shown: other }: Traded): number {
  return Date.parse(other.gateway_timestamp) - Date.parse(one.gateway_timestamp) || other.audit - one.audit;
}
